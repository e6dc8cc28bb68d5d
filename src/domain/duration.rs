//! Durations as people type them.

use std::time::Duration;

use jiff::{SignedDuration, Span, SpanRelativeTo};

/// Parses `90` (seconds), `90s`, `10m`, `2h` or `1d`; `None` if it is none of these.
pub fn duration_from_text(text: &str) -> Option<Duration> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let span = || -> Option<Duration> {
        let span = text.parse::<Span>().ok()?;
        let length: SignedDuration = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
        Duration::try_from(length).ok()
    };
    seconds.or_else(span)
}
