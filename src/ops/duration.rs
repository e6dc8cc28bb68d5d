//! Parses durations that are values of options.

use std::time::Duration;

use crate::domain::duration_from_text;
use crate::ops::error::{CommandError, CommandErrorKind};

/// Parses `90` (seconds), `90s`, `10m`, `2h` or `1d` as the value of that option.
pub fn parse_duration(text: &str, option: &str) -> Result<Duration, CommandError> {
    duration_from_text(text).ok_or_else(|| {
        let text = format!("invalid duration `{}` for `{option}`", text.escape_debug());
        CommandError::new(CommandErrorKind::InvalidValue, text)
            .hint("expected for example 90s, 10m, 2h or 1d")
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse_duration;

    #[test]
    fn lengths_of_time() {
        for (text, millis) in [
            ("90", 90_000),
            ("0", 0),
            ("0.05", 50),
            ("90s", 90_000),
            ("10m", 600_000),
            ("2h", 7_200_000),
            ("1d", 86_400_000),
            ("1h30m", 5_400_000),
            ("1e3", 1_000_000),
        ] {
            assert_eq!(parse_duration(text, "--ttl").unwrap(), Duration::from_millis(millis), "{text}");
        }
        for bad in ["", "-1", "-5m", "5x", "soon", "m", "1e400", "1e300", "nan"] {
            assert!(parse_duration(bad, "--ttl").is_err(), "{bad}");
        }
    }
}
