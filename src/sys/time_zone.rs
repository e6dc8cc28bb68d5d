//! The user's time zone.

use std::path::Path;
use std::sync::OnceLock;

use jiff::tz::TimeZone;

use super::environment::variable;
use super::files;

/// The user's time zone: `$TZ`, otherwise the machine's; UTC if neither can be read.
pub fn user_zone() -> &'static TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    ZONE.get_or_init(|| zone_of(variable("TZ").as_deref()).unwrap_or(TimeZone::UTC))
}

fn zone_of(wanted: Option<&str>) -> Option<TimeZone> {
    let read = |path: &Path| TimeZone::tzif("", &files::read_note(path).ok()??).ok();
    match wanted.map(|name| name.trim_start_matches(':')) {
        // `/etc/localtime` is a link, which `read_note` doesn't follow.
        None => read(&std::fs::canonicalize("/etc/localtime").ok()?),
        Some(name) => {
            // `join` leaves an absolute path as it is.
            let path = std::fs::canonicalize(Path::new("/usr/share/zoneinfo").join(name)).ok();
            path.as_deref().and_then(read).or_else(|| TimeZone::posix(name).ok())
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn a_time_zone_is_told_by_a_rule_or_a_file_and_is_else_utc() {
        let noon: Timestamp = "2026-11-14T12:00:00Z".parse().unwrap();
        let shown = |wanted: &str| {
            let zone = zone_of(Some(wanted)).unwrap_or(TimeZone::UTC);
            noon.to_zoned(zone).strftime("%H:%M").to_string()
        };
        assert_eq!(
            (shown("EST5"), shown(":CET-1"), shown("UTC0")),
            ("07:00".into(), "13:00".into(), "12:00".into())
        );
        assert_eq!(shown("no/such zone"), "12:00");
    }
}
