//! Times as the user's clock shows them.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// Formats times in one time zone.
pub(in crate::faces::cli) struct LocalTime {
    zone: TimeZone,
}

impl LocalTime {
    pub(in crate::faces::cli) fn new(zone: TimeZone) -> Self {
        Self { zone }
    }

    fn at(&self, at: Timestamp) -> Zoned {
        at.to_zoned(self.zone.clone())
    }

    /// The name of the zone at that time: `CET (UTC+01:00)`.
    pub(super) fn zone(&self, at: Timestamp) -> String {
        match self.format(at, "%Z").as_str() {
            "UTC" => "UTC".to_string(),
            name => format!("{name} (UTC{})", self.format(at, "%:z")),
        }
    }

    pub(super) fn day(&self, at: Timestamp) -> Date {
        self.at(at).date()
    }

    /// `Wednesday, 18 November 2026`
    pub(super) fn long_day(&self, at: Timestamp) -> String {
        self.format(at, "%A, %-d %B %Y")
    }

    /// `18 Nov 2026, 14:05`
    pub(super) fn date_time(&self, at: Timestamp) -> String {
        self.format(at, "%-d %b %Y, %H:%M")
    }

    /// `14:05:09`
    pub(super) fn clock(&self, at: Timestamp) -> String {
        self.format(at, "%H:%M:%S")
    }

    /// The time of day, with the day if that is another one than `near`.
    pub(super) fn short(&self, at: Timestamp, near: Timestamp) -> String {
        let is_same_day = self.day(at) == self.day(near);
        self.format(at, if is_same_day { "%H:%M" } else { "%-d %b, %H:%M" })
    }

    /// The end of a file's name: `2026-11-18-140509`.
    pub(in crate::faces::cli) fn in_file_name(&self, at: Timestamp) -> String {
        self.format(at, "%Y-%m-%d-%H%M%S")
    }

    pub(super) fn format(&self, at: Timestamp, format: &str) -> String {
        self.at(at).strftime(format).to_string()
    }

    /// How many seconds the zone is before UTC.
    pub(super) fn offset(&self, at: Timestamp) -> i64 {
        i64::from(self.zone.to_offset(at).seconds())
    }
}
