//! Whether the worker of a run gets a window in tmux.

/// A worker in a tmux window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TerminalWish {
    /// Dialogs are reported.
    Report,
    /// A dialog that asks whether the folder is trusted is answered with yes, others are reported.
    AcceptTrust,
}
