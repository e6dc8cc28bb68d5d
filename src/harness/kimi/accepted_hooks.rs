//! Finds the entries of `hooks` that Kimi Code 2.1 does not accept.
//!
//! It reads each entry by a strict schema. If one entry does not fit, it ignores all of them, ours too, and says so
//! only without a terminal and in `kimi doctor`.

use crate::domain::text_edit::EditError;
use crate::domain::text_edit::toml::table_list::{ListedTable, ListedValue, TableList};

const EVENTS: [&str; 20] = [
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "PermissionResult",
    "UserPromptSubmit",
    "UserPromptQueued",
    "TurnStarted",
    "Stop",
    "StopFailure",
    "Interrupt",
    "SessionStart",
    "SessionEnd",
    "SessionHeartbeat",
    "SubagentStart",
    "SubagentStop",
    "TaskStarted",
    "PreCompact",
    "PostCompact",
    "Notification",
];
/// The range of a time limit, in seconds.
const TIMEOUTS: std::ops::RangeInclusive<f64> = 1.0..=600.0;

/// What is wrong with each entry that is not accepted.
pub(super) fn faults(list: &TableList) -> Result<Vec<String>, EditError> {
    let at = |table: &ListedTable, fault: String| format!("`[[hooks]]` in line {} {fault}", table.line);
    let tables = list.tables()?;
    Ok(tables.iter().filter_map(|table| Some(at(table, fault(table)?))).collect())
}

fn fault(table: &ListedTable) -> Option<String> {
    for required in ["event", "command"] {
        if !table.members.iter().any(|(key, _)| key == required) {
            return Some(format!("has no `{required}`"));
        }
    }
    table.members.iter().find_map(|(key, value)| match (key.as_str(), value) {
        ("event", ListedValue::Text(event)) if EVENTS.contains(&event.as_str()) => None,
        ("event", ListedValue::Text(event)) => {
            Some(format!("has the unknown event `{}`", event.escape_debug()))
        }
        ("command", ListedValue::Text(command)) if command.is_empty() => {
            Some("has an empty `command`".to_string())
        }
        ("command" | "matcher", ListedValue::Text(_)) => None,
        ("event" | "command" | "matcher", _) => Some(format!("has a value of `{key}` that is not a text")),
        ("timeout", ListedValue::Number(seconds)) if TIMEOUTS.contains(seconds) && seconds.fract() == 0.0 => {
            None
        }
        ("timeout", _) => Some("has a `timeout` that is not a whole number from 1 to 600".to_string()),
        (key, _) => Some(format!("has the unknown key `{}`", key.escape_debug())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_in(text: &str) -> Vec<String> {
        faults(&TableList::parse(text.as_bytes(), "hooks").unwrap()).unwrap()
    }

    #[test]
    fn what_is_accepted() {
        for text in [
            "",
            "[[hooks]]\nevent = \"Stop\"\ncommand = \"x\"\n",
            "[[hooks]]\nevent = \"Notification\"\nmatcher = \"\"\ncommand = \"x\"\ntimeout = 600\n",
            "[[hooks]]\nevent = \"Stop\"\ncommand = \"x\"\ntimeout = 1.0\n",
        ] {
            assert_eq!(faults_in(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn what_is_not_accepted() {
        for (members, fault) in [
            ("event = \"Stop\"", "has no `command`"),
            ("command = \"x\"", "has no `event`"),
            ("event = \"stop\"\ncommand = \"x\"", "has the unknown event `stop`"),
            ("event = 1\ncommand = \"x\"", "has a value of `event` that is not a text"),
            ("event = \"Stop\"\ncommand = \"\"", "has an empty `command`"),
            (
                "event = \"Stop\"\ncommand = \"x\"\nmatcher = []",
                "has a value of `matcher` that is not a text",
            ),
            ("event = \"Stop\"\ncommand = \"x\"\nfail_mode = \"open\"", "has the unknown key `fail_mode`"),
            ("event = \"Stop\"\ncommand = \"x\"\nrun = { x = 1 }", "has the unknown key `run`"),
        ] {
            let text = format!("a = 1\n[[hooks]] # mine\n{members}\n");
            assert_eq!(faults_in(&text), [format!("`[[hooks]]` in line 2 {fault}")], "{text}");
        }
        for timeout in ["0", "601", "1.5", "-1", "\"10\"", "true", "inf", "nan"] {
            let text = format!("[[hooks]]\nevent = \"Stop\"\ncommand = \"x\"\ntimeout = {timeout}\n");
            let fault = "`[[hooks]]` in line 1 has a `timeout` that is not a whole number from 1 to 600";
            assert_eq!(faults_in(&text), [fault], "{text}");
        }
    }

    #[test]
    fn every_entry_is_looked_at() {
        let good = "[[hooks]]\nevent = \"Stop\"\ncommand = \"x\"\n";
        let found = faults_in(&format!("{good}[[hooks]]\nevent = \"Stop\"\n{good}[[hooks]]\n"));
        assert_eq!(found, ["`[[hooks]]` in line 4 has no `command`", "`[[hooks]]` in line 9 has no `event`"]);
    }
}
