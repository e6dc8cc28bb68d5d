//! A set, recorded and asked by the commands that agents run: `msg record` and `msg know --json`.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ravenry::domain::knowledge::{MAX_STATEMENT, Record, RecordKind};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::PLACES;
use super::sets::SearchSet;

/// How many records are in a batch.
const AT_ONCE: usize = 250;

/// A project of its own in which the set is recorded.
pub struct RecordedSet {
    folder: TempDir,
    /// The id in the set by the name in the project.
    ids: HashMap<String, String>,
    /// Ids of records that were refused, such as texts with a password.
    pub refused: Vec<String>,
}

impl RecordedSet {
    pub fn new(set: &SearchSet) -> Result<Self, String> {
        let folder = TempDir::new().map_err(|error| error.to_string())?;
        let mut recorded = Self { folder, ids: HashMap::new(), refused: Vec::new() };
        let git = Command::new("git").args(["init", "-q"]).current_dir(recorded.folder.path()).status();
        git.map_err(|error| format!("git can't be started: {error}"))?;
        let mut actions = Vec::new();
        for (id, record) in set.ids.iter().zip(&set.records) {
            for anchor in &record.anchors {
                recorded.create(&anchor.target.to_string())?;
            }
            for (part, text) in parts(&record.statement.description).into_iter().enumerate() {
                let name = if part == 0 {
                    record.id.name.to_string()
                } else {
                    format!("part-{part}-of-{}", actions.len())
                };
                recorded.ids.insert(name.clone(), id.clone());
                actions.push(action(record, &name, text));
            }
        }
        for batch in actions.chunks(AT_ONCE) {
            recorded.record(batch)?;
        }
        Ok(recorded)
    }

    /// Ids, the best first.
    pub fn ask(&self, words: &str) -> Result<Vec<String>, String> {
        // What starts with a bracket would be an expression.
        let words = words.trim_start_matches(|char: char| char == '(' || char.is_whitespace());
        let mut know = self.msg(&["know", "--json", "--limit", &PLACES.to_string(), "--", words]);
        let output = know.output().map_err(|error| error.to_string())?;
        let answer: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
        let Some(records) = answer["records"].as_array() else { return Err(answer.to_string()) };
        let mut ids: Vec<String> = Vec::new();
        for name in records.iter().filter_map(|record| record["name"].as_str()) {
            let id = self.ids.get(name).ok_or_else(|| format!("`{name}` was never recorded"))?;
            if !ids.contains(id) {
                ids.push(id.clone());
            }
        }
        Ok(ids)
    }

    /// Records a batch, without those that are refused.
    fn record(&mut self, batch: &[Value]) -> Result<(), String> {
        let answer = self.tell(batch)?;
        let Some(problems) = answer["error"]["problems"].as_array() else { return Ok(()) };
        let number = |problem: &Value| problem["index"].as_u64().map(|number| number as usize);
        let bad: Vec<usize> = problems.iter().filter_map(number).collect();
        let name =
            |number: &usize| batch[*number][1]["name"].as_str().and_then(|name| self.ids.get(name)).cloned();
        self.refused.extend(bad.iter().filter_map(name));
        let rest = batch.iter().enumerate().filter(|(number, _)| !bad.contains(number));
        let rest: Vec<Value> = rest.map(|(_, action)| action.clone()).collect();
        if bad.is_empty() || rest.is_empty() {
            return if bad.is_empty() { Err(answer.to_string()) } else { Ok(()) };
        }
        match self.tell(&rest)? {
            answer if answer["error"].get("problems").is_some() => Err(answer.to_string()),
            _ => Ok(()),
        }
    }

    fn tell(&self, batch: &[Value]) -> Result<Value, String> {
        let mut command = self.msg(&["record", "-", "--json"]);
        let mut child = command.stdin(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
        if let Some(mut input) = child.stdin.take() {
            let text = json!({ "actions": batch }).to_string();
            input.write_all(text.as_bytes()).map_err(|error| error.to_string())?;
        }
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        let text = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
        serde_json::from_slice(text).map_err(|_| String::from_utf8_lossy(text).into_owned())
    }

    /// What a record is about must be there.
    fn create(&self, path: &str) -> Result<(), String> {
        let path = self.folder.path().join(path);
        if path.exists() {
            return Ok(());
        }
        let result = match (path.parent(), path.extension()) {
            (Some(parent), Some(_)) => {
                std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, "\n"))
            }
            _ => std::fs::create_dir_all(&path),
        };
        result.map_err(|error| format!("{}: {error}", path.display()))
    }

    fn msg(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        let home = self.folder.path().join(".home");
        command
            .env_clear()
            .env("HOME", home)
            .env("USER", "ann")
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.args(args).current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// The program to measure: the one that Cargo built, or the one that `$RAVENRY_BINARY` names.
fn program() -> PathBuf {
    let named = std::env::var_os("RAVENRY_BINARY").map(PathBuf::from);
    named.unwrap_or_else(|| Path::new(env!("CARGO_BIN_EXE_msg")).to_path_buf())
}

fn action(record: &Record, name: &str, text: &str) -> Value {
    let anchors: Vec<String> = record.anchors.iter().map(|anchor| anchor.target.to_string()).collect();
    let supersedes: Vec<String> = record.supersedes.iter().map(|id| id.name.to_string()).collect();
    let (verb, field) = match record.id.kind {
        RecordKind::Tried => ("record-tried", "description"),
        RecordKind::Decision => ("record-decision", "description"),
        RecordKind::Principle => ("record-principle", "description"),
        RecordKind::Pattern => ("record-pattern", "description"),
        RecordKind::File => ("record-file-understanding", "summary"),
        RecordKind::Note | RecordKind::Relationship => ("record-note", "description"),
    };
    let mut members = json!({
        "name": name, field: text, "anchors": anchors, "tags": record.tags, "also": record.also,
        "supersedes": supersedes, "new": true,
    });
    if !record.statement.rationale.is_empty() {
        members["rationale"] = json!(record.statement.rationale);
    }
    json!([verb, members])
}

/// The text, in parts that can be recorded.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while rest.len() > MAX_STATEMENT {
        let end = rest.floor_char_boundary(MAX_STATEMENT);
        let end = rest[..end].rfind(char::is_whitespace).filter(|end| *end > 0).unwrap_or(end);
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after.trim_start();
    }
    if !rest.trim().is_empty() || parts.is_empty() {
        parts.push(rest);
    }
    parts
}
