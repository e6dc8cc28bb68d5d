//! How far the clock of the server is from the one of this machine.

use jiff::SignedDuration;

use crate::store::ServerSummary;

/// More than that shows in the times and the order of messages.
const MOST: SignedDuration = SignedDuration::from_secs(5);

/// What to do about it.
pub const SET_CLOCKS: &str = "set both clocks, for example with NTP";

/// What is wrong, if the two differ by too much.
pub fn clock_difference(server: &ServerSummary) -> Option<String> {
    let offset = SignedDuration::from_millis(server.clock_offset_millis?);
    (offset.abs() > MOST).then(|| {
        let (way, length) = if offset.is_negative() { ("behind", -offset) } else { ("ahead of", offset) };
        format!(
            "the clock of the server is {} s {way} the one of this machine: times and the order of messages from \
             different machines are wrong",
            length.as_secs()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_from_five_seconds_on() {
        let told = |millis| {
            clock_difference(&ServerSummary {
                name: "one".to_string(),
                version: "2.15.1".to_string(),
                api_level: 1,
                cluster: None,
                is_encrypted: false,
                round_trip_micros: 1,
                clock_offset_millis: millis,
            })
        };
        for small in [None, Some(0), Some(-5_000), Some(5_000)] {
            assert_eq!(told(small), None);
        }
        assert!(told(Some(3_600_000)).unwrap().contains("is 3600 s ahead of the one of this machine"));
        assert!(told(Some(-3_600_000)).unwrap().contains("is 3600 s behind the one of this machine"));
        assert!(told(Some(i64::MIN)).is_some() && told(Some(i64::MAX)).is_some());
    }
}
