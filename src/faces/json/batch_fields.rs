//! The members of one action of a batch. What is wrong is collected, and members that nobody read are reported.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::domain::knowledge::{BatchProblem, RecordName};
use crate::domain::suggestions;

/// Members of other tools that are accepted and mean nothing here.
const IGNORED: [&str; 2] = ["hash", "lastAnalyzed"];

pub(super) struct BatchFields<'a> {
    action: usize,
    members: &'a Map<String, Value>,
    read: BTreeSet<&'static str>,
    problems: Vec<BatchProblem>,
}

impl<'a> BatchFields<'a> {
    pub(super) fn new(action: usize, members: &'a Map<String, Value>) -> Self {
        Self { action, members, read: BTreeSet::new(), problems: Vec::new() }
    }

    pub(super) fn problem(&mut self, field: &str, message: impl Into<String>, fix: impl Into<String>) {
        let problem = BatchProblem::new(self.action, None, message, fix);
        self.problems.push(BatchProblem { field: Some(field.to_string()), ..problem });
    }

    /// Whether something was found wrong with that field.
    pub(super) fn is_wrong(&self, field: &str) -> bool {
        self.problems.iter().any(|problem| problem.field.as_deref() == Some(field))
    }

    fn get(&mut self, name: &'static str) -> Option<&'a Value> {
        self.read.insert(name);
        self.members.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        match self.get(name)? {
            Value::String(text) => Some(text.clone()),
            _ => {
                self.problem(name, "it is not a text", "write it in quotes");
                None
            }
        }
    }

    /// A text that must be there.
    pub(super) fn required(&mut self, name: &'static str) -> Option<String> {
        let text = self.text(name);
        if text.is_none() && self.members.get(name).is_none_or(Value::is_null) {
            self.problem(name, format!("`{name}` is missing"), "add it");
        }
        text
    }

    /// One of a few words.
    pub(super) fn word<T>(
        &mut self,
        name: &'static str,
        parse: fn(&str) -> Option<T>,
        words: &[&str],
    ) -> Option<T> {
        let text = self.text(name)?;
        let word = parse(&text);
        if word.is_none() {
            let message = format!("`{}` is not a known {name}", text.escape_debug());
            self.problem(name, message, format!("use one of {}", words.join(", ")));
        }
        word
    }

    pub(super) fn number(&mut self, name: &'static str) -> Option<f64> {
        let number = self.get(name)?.as_f64();
        if number.is_none() {
            self.problem(name, "it is not a number", "write a number without quotes");
        }
        number
    }

    /// Whether it is `true`.
    pub(super) fn is_set(&mut self, name: &'static str) -> bool {
        match self.get(name) {
            None => false,
            Some(Value::Bool(value)) => *value,
            Some(_) => {
                self.problem(name, "it is neither true nor false", "write true, or leave it out");
                false
            }
        }
    }

    /// A list of texts; one text alone is a list of one.
    pub(super) fn list(&mut self, name: &'static str) -> Vec<String> {
        match self.get(name) {
            None => Vec::new(),
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(items)) => {
                let texts: Vec<String> = items.iter().filter_map(Value::as_str).map(str::to_string).collect();
                if texts.len() < items.len() {
                    self.problem(name, "not all of its entries are texts", "write each entry in quotes");
                }
                texts
            }
            Some(_) => {
                self.problem(name, "it is not a list of texts", "write [\"one\", \"two\"]");
                Vec::new()
            }
        }
    }

    /// Tags: an object of texts, or a list of tags without values.
    pub(super) fn tags(&mut self, name: &'static str) -> BTreeMap<String, String> {
        let value = self.get(name);
        match value {
            Some(Value::Object(members)) => {
                let text = |value: &Value| match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                members.iter().map(|(tag, value)| (tag.clone(), text(value))).collect()
            }
            _ => self.list(name).into_iter().map(|tag| (tag, "yes".to_string())).collect(),
        }
    }

    /// Related records and files by group.
    pub(super) fn related(&mut self) -> BTreeMap<String, BTreeSet<String>> {
        let mut related: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let groups = [
            ("relatedFiles", "files"),
            ("relatedPrinciples", "principles"),
            ("relatedPatterns", "patterns"),
            ("relatedDecisions", "decisions"),
        ];
        for (member, group) in groups {
            let names = self.list(member);
            if !names.is_empty() {
                related.entry(group.to_string()).or_default().extend(names);
            }
        }
        if let Some(value) = self.get("related") {
            let Value::Object(members) = value else {
                let fix = "write {\"files\": [\"src/a.rs\"], \"decisions\": [\"one-lock\"]}";
                self.problem("related", "it is not an object", fix);
                return related;
            };
            for (group, names) in members {
                let names: Vec<&str> = match names {
                    Value::String(name) => vec![name],
                    Value::Array(names) if names.iter().all(Value::is_string) => {
                        names.iter().filter_map(Value::as_str).collect()
                    }
                    _ => {
                        let message = format!("`{}` is not a list of texts", group.escape_debug());
                        self.problem("related", message, "write [\"one\", \"two\"]");
                        Vec::new()
                    }
                };
                if group.contains('/') {
                    let message = format!("the group `{}` has a `/`", group.escape_debug());
                    self.problem("related", message, "name it files, decisions and so on");
                }
                related.entry(group.clone()).or_default().extend(names.into_iter().map(str::to_string));
            }
        }
        related
    }

    /// The name of a record; `None` if there is none or it can't be one.
    pub(super) fn record_name(&mut self, name: &'static str) -> Option<RecordName> {
        let text = self.text(name)?;
        match RecordName::new(&text) {
            Ok(name) => Some(name),
            Err(error) => {
                self.problem(name, error.to_string(), "use letters, digits and `-`");
                None
            }
        }
    }

    /// All problems, also with members that are not known.
    pub(super) fn finish(mut self) -> Vec<BatchProblem> {
        let known: Vec<&str> = self.read.iter().copied().collect();
        let unknown = self.members.keys().filter(|name| !known.contains(&name.as_str()));
        let unknown: Vec<&String> = unknown.filter(|name| !IGNORED.contains(&name.as_str())).collect();
        for name in unknown {
            let near = suggestions(name, known.iter().copied());
            let fix = match near.first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("use {}", known.join(", ")),
            };
            self.problem(name, format!("there is no field `{}`", name.escape_debug()), fix);
        }
        self.problems
    }
}
