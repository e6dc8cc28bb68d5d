//! Where a delivered message stands, as the subject for its acknowledgement says.

use jiff::Timestamp;

/// The numbers in the subject for the acknowledgement of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// How often the message was delivered, this time included.
    pub(super) tries: u64,
    /// Its number in the stream.
    pub(super) sequence: u64,
    /// The number of the delivery.
    pub(super) delivery: u64,
    pub(super) stored_at: Timestamp,
    /// How many wait behind it.
    pub(super) pending: u64,
}

impl Place {
    /// Reads `$JS.ACK.[<domain>.<account>.]<stream>.<consumer>.<tries>.<sequence>.<delivery>.<stored at>.<pending>`, which
    /// later servers may continue.
    pub(super) fn parse(subject: &str) -> Option<Self> {
        let tokens: Vec<&str> = subject.strip_prefix("$JS.ACK.")?.split('.').collect();
        let numbers = match tokens.len() {
            7 => tokens.get(2..7)?,
            9.. => tokens.get(4..9)?,
            _ => return None,
        };
        let [tries, sequence, delivery, stored_at, pending] = numbers else { return None };
        Some(Self {
            tries: tries.parse().ok()?,
            sequence: sequence.parse().ok()?,
            delivery: delivery.parse().ok()?,
            stored_at: Timestamp::from_nanosecond(stored_at.parse().ok()?).ok()?,
            pending: pending.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        for subject in [
            "$JS.ACK.S.C.2.7.3.1700000000000000000.5",
            "$JS.ACK.hub.AB12.S.C.2.7.3.1700000000000000000.5.later",
        ] {
            let place = Place::parse(subject).unwrap();
            assert_eq!(
                (place.tries, place.sequence, place.delivery, place.pending),
                (2, 7, 3, 5),
                "{subject}"
            );
            assert_eq!(place.stored_at.as_second(), 1_700_000_000);
        }
    }

    #[test]
    fn anything_else_is_not() {
        for subject in
            ["", "$JS.ACK", "$JS.ACK.S.C.2.7.3.1700000000000000000", "$JS.ACK.S.C.a.7.3.1.5", "_INBOX.a.b"]
        {
            assert_eq!(Place::parse(subject), None, "{subject}");
        }
    }
}
