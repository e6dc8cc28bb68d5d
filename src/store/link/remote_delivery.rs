//! How far a message to another machine is, before its recipient has it.

/// How far a message to another machine is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RemoteDelivery {
    /// On this machine, because the server was not reached yet.
    Queued,
    /// Safe on the server.
    Stored,
    /// In the recipient's inbox on its machine.
    Delivered,
    /// The other machine could not deliver it.
    Refused,
}
