//! The value of `--since`: a length of time, or a date.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::domain::duration_from_text;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::sys::{clock, time_zone};

/// Parses `2h` or `7d`, which is so long ago, `2026-11-17`, which is the beginning of that day, `2026-11-17T09:00` or
/// `2026-11-17T09:00:00Z`. Without a time zone it is local time.
pub fn parse_since(text: &str) -> Result<Timestamp, CommandError> {
    since(text.trim(), clock::now(), time_zone::user_zone()).ok_or_else(|| {
        let text = format!("invalid time `{}` for `--since`", text.escape_debug());
        CommandError::new(CommandErrorKind::InvalidValue, text)
            .hint("expected for example 30m, 2h, 7d, 2026-11-17 or 2026-11-17T09:00")
    })
}

fn since(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    if let Some(length) = duration_from_text(text) {
        // Longer ago than there are times is from the beginning.
        let length = SignedDuration::try_from(length).ok()?;
        return Some(now.checked_sub(length).unwrap_or(Timestamp::MIN));
    }
    let local = |time: DateTime| time.to_zoned(zone.clone()).ok().map(|zoned| zoned.timestamp());
    let moment = text.parse().ok().or_else(|| local(text.parse().ok()?));
    moment.or_else(|| local(text.parse::<Date>().ok()?.to_datetime(jiff::civil::Time::midnight())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_and_dates() {
        let now: Timestamp = "2026-11-18T12:00:00Z".parse().unwrap();
        let zone = TimeZone::posix("CET-1").unwrap();
        for (text, moment) in [
            ("2h", "2026-11-18T10:00:00Z"),
            ("7d", "2026-11-11T12:00:00Z"),
            ("90", "2026-11-18T11:58:30Z"),
            ("2026-11-17", "2026-11-16T23:00:00Z"),
            ("2026-11-17T09:00", "2026-11-17T08:00:00Z"),
            ("2026-11-17 09:00:01", "2026-11-17T08:00:01Z"),
            ("2026-11-17T09:00:00Z", "2026-11-17T09:00:00Z"),
        ] {
            assert_eq!(since(text, now, &zone).unwrap().to_string(), moment, "{text}");
        }
        assert_eq!(since("1e15", now, &zone), Some(Timestamp::MIN));
        for bad in ["", "soon", "-2h", "17.11.2026", "2026-13-01", "2026-11-17T25:00"] {
            assert_eq!(since(bad, now, &zone), None, "{bad}");
        }
    }
}
