//! When the server writes to its disk, from its monitoring port: clients are not told.

use std::time::Duration;

use serde_json::Value;

use crate::sys::http;

const LIMIT: Duration = Duration::from_secs(3);

/// What a power cut may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Nothing that was acknowledged.
    Always,
    /// What was acknowledged within that time.
    Interval(Duration),
    Unknown,
}

/// Asks the monitoring port at `http://host:8222`.
pub async fn durability(monitor_url: &str) -> SyncPolicy {
    let url = format!("{}/jsz?config=1", monitor_url.trim_end_matches('/'));
    let answer = tokio::task::spawn_blocking(move || http::get(&url, LIMIT)).await;
    match answer {
        Ok(Ok(text)) => policy(&text),
        _ => SyncPolicy::Unknown,
    }
}

fn policy(text: &str) -> SyncPolicy {
    let Ok(answer) = serde_json::from_str::<Value>(text) else { return SyncPolicy::Unknown };
    if answer.pointer("/config/sync_always") == Some(&Value::Bool(true)) {
        return SyncPolicy::Always;
    }
    match answer.pointer("/config/sync_interval").and_then(Value::as_u64) {
        Some(interval) => SyncPolicy::Interval(Duration::from_nanos(interval)),
        None => SyncPolicy::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_a_server_is_read() {
        let always = r#"{"config": {"sync_interval": 120000000000, "sync_always": true}}"#;
        assert_eq!(policy(always), SyncPolicy::Always);
        let interval = r#"{"config": {"sync_interval": 120000000000}}"#;
        assert_eq!(policy(interval), SyncPolicy::Interval(Duration::from_secs(120)));
        for unknown in ["", "{}", r#"{"disabled": true}"#, r#"{"config": {"sync_interval": "2m"}}"#] {
            assert_eq!(policy(unknown), SyncPolicy::Unknown, "{unknown}");
        }
    }
}
