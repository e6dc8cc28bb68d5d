//! Parses moments as people type them.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use crate::ops::error::{CommandError, CommandErrorKind};
use crate::sys::time_zone;

/// Parses `2026-11-17`, which is the end of that day, `2026-11-17T09:00` or `2026-11-17T09:00:00Z` as the value of that
/// option. Without a time zone it is the user's, as in all times that people read.
pub fn parse_moment(text: &str, option: &str) -> Result<Timestamp, CommandError> {
    moment_in(text, time_zone::user_zone()).ok_or_else(|| {
        let text = format!("invalid date `{}` for `{option}`", text.escape_debug());
        CommandError::new(CommandErrorKind::InvalidValue, text)
            .hint("expected for example 2026-11-17 or 2026-11-17T09:00:00Z")
    })
}

fn moment_in(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let there = |time: DateTime| time.to_zoned(zone.clone()).ok().map(|zoned| zoned.timestamp());
    let has_time = text.contains(['T', 't', ' ']);
    match has_time {
        true => text.parse().ok().or_else(|| there(text.parse().ok()?)),
        false => text.parse().ok().and_then(end_of_day).and_then(there),
    }
}

fn end_of_day(date: Date) -> Option<DateTime> {
    let next = date.checked_add(1.day()).ok()?.to_datetime(jiff::civil::Time::midnight());
    next.checked_sub(1.millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::{moment_in, parse_moment};

    #[test]
    fn dates_and_times() {
        for (text, moment) in [
            ("2026-11-17", "2026-11-17T23:59:59.999Z"),
            ("2024-02-28", "2024-02-28T23:59:59.999Z"),
            ("2026-11-17T09:00", "2026-11-17T09:00:00Z"),
            ("2026-11-17 09:00:01", "2026-11-17T09:00:01Z"),
            ("2026-11-17T09:00:00Z", "2026-11-17T09:00:00Z"),
            ("2026-11-17T09:00:00.5+02:00", "2026-11-17T07:00:00.5Z"),
        ] {
            assert_eq!(moment_in(text, &TimeZone::UTC).unwrap().to_string(), moment, "{text}");
        }
        let east = TimeZone::posix("CET-1").unwrap();
        for (text, moment) in [
            ("2026-11-17", "2026-11-17T22:59:59.999Z"),
            ("2026-11-17T09:00", "2026-11-17T08:00:00Z"),
            ("2026-11-17T09:00:00Z", "2026-11-17T09:00:00Z"),
        ] {
            assert_eq!(moment_in(text, &east).unwrap().to_string(), moment, "{text}");
        }
        for bad in ["", "soon", "7d", "17.11.2026", "2026-13-01", "2026-11-17T25:00", "1794700676113"] {
            assert!(parse_moment(bad, "--as-of").is_err(), "{bad}");
        }
    }
}
