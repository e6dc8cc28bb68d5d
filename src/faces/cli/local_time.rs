//! Times as the user's clock shows them, in one form: the time of day, with the day before it if that is not today, and
//! with the year if that is not this year.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::sys::time_zone;

/// Formats times in one time zone.
pub(in crate::faces::cli) struct LocalTime {
    zone: TimeZone,
}

impl LocalTime {
    pub(in crate::faces::cli) fn new(zone: TimeZone) -> Self {
        Self { zone }
    }

    /// In the user's time zone.
    pub(in crate::faces::cli) fn of_user() -> Self {
        Self::new(time_zone::user_zone().clone())
    }

    fn at(&self, at: Timestamp) -> Zoned {
        at.to_zoned(self.zone.clone())
    }

    /// The name of the zone at that time: `CET (UTC+01:00)`.
    pub(in crate::faces::cli) fn zone(&self, at: Timestamp) -> String {
        match self.format(at, "%Z").as_str() {
            "UTC" => "UTC".to_string(),
            name => format!("{name} (UTC{})", self.format(at, "%:z")),
        }
    }

    pub(in crate::faces::cli) fn day(&self, at: Timestamp) -> Date {
        self.at(at).date()
    }

    /// `Wednesday, 18 November 2026`
    pub(in crate::faces::cli) fn long_day(&self, at: Timestamp) -> String {
        self.format(at, "%A, %-d %B %Y")
    }

    /// `2026-11-18 14:05`
    pub(in crate::faces::cli) fn date_time(&self, at: Timestamp) -> String {
        self.format(at, "%Y-%m-%d %H:%M")
    }

    /// `14:05:09`
    pub(in crate::faces::cli) fn clock(&self, at: Timestamp) -> String {
        self.format(at, "%H:%M:%S")
    }

    /// `14:05` on the day of `now`, `Nov 12 14:05` on another day of that year, otherwise `2025-11-12 14:05`.
    pub(in crate::faces::cli) fn moment(&self, at: Timestamp, now: Timestamp) -> String {
        let (day, today) = (self.day(at), self.day(now));
        match (day == today, day.year() == today.year()) {
            (true, _) => self.format(at, "%H:%M"),
            (false, true) => self.format(at, "%b %-d %H:%M"),
            (false, false) => self.date_time(at),
        }
    }

    /// The end of a file's name: `2026-11-18-140509`.
    pub(in crate::faces::cli) fn in_file_name(&self, at: Timestamp) -> String {
        self.format(at, "%Y-%m-%d-%H%M%S")
    }

    pub(in crate::faces::cli) fn format(&self, at: Timestamp, format: &str) -> String {
        self.at(at).strftime(format).to_string()
    }

    /// How many seconds the zone is before UTC.
    pub(in crate::faces::cli) fn offset(&self, at: Timestamp) -> i64 {
        i64::from(self.zone.to_offset(at).seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_its_day_if_that_is_not_today_and_its_year_if_that_is_not_this_year() {
        let at: Timestamp = "2026-11-12T23:30:00Z".parse().unwrap();
        let shown = |zone: &str, now: &str| {
            LocalTime::new(TimeZone::posix(zone).unwrap()).moment(at, now.parse().unwrap())
        };
        assert_eq!(shown("UTC0", "2026-11-12T00:00:00Z"), "23:30");
        assert_eq!(shown("UTC0", "2026-11-13T00:00:00Z"), "Nov 12 23:30");
        assert_eq!(shown("CET-1", "2026-11-13T00:00:00Z"), "00:30");
        assert_eq!(shown("CET-1", "2026-12-31T22:00:00Z"), "Nov 13 00:30");
        assert_eq!(shown("CET-1", "2026-12-31T23:00:00Z"), "2026-11-13 00:30");
        assert_eq!(shown("UTC0", "2025-11-12T23:30:00Z"), "2026-11-12 23:30");
    }
}
