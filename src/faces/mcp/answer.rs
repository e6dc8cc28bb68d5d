//! What a tool answers: a short text for the model, and the same for programs.
//!
//! Some clients give a model the structured content and not the text (Claude Code, Codex), so the text stands there too,
//! and nothing that peers wrote stands there unquoted beside it.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value};

use crate::domain::visible;
use crate::faces::json;
use crate::ops::CommandError;

#[derive(Debug, Default)]
pub(super) struct Answer {
    lines: Vec<String>,
    members: Map<String, Value>,
    error: Option<CommandError>,
}

impl Answer {
    /// With that text, whose lines are ours or quoted already.
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { lines: vec![text.into()], ..Self::default() }
    }

    pub(super) fn lines(lines: impl IntoIterator<Item = String>) -> Self {
        Self { lines: lines.into_iter().collect(), ..Self::default() }
    }

    /// A member of the structured content.
    #[must_use]
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_string(), value.into());
        self
    }

    /// Not all went well, although there is something to say.
    #[must_use]
    pub(super) fn failing(mut self, error: Option<CommandError>) -> Self {
        self.error = error;
        self
    }

    /// What was noticed on the way.
    #[must_use]
    pub(super) fn noting(mut self, notices: &[String]) -> Self {
        self.lines.extend(notices.iter().map(|notice| format!("note: {}", visible(notice))));
        self
    }

    /// What is wrong, for a log.
    pub(super) fn complaint(&self) -> Option<String> {
        self.error.as_ref().map(|error| visible(&error.message).into_owned())
    }

    pub(super) fn text(&self) -> String {
        let mut lines = self.lines.clone();
        if let Some(error) = &self.error {
            lines.push(format!("error ({}): {}", error.kind.name(), visible(&error.message)));
            lines.extend(error.hints.iter().map(|hint| format!("hint: {}", visible(hint))));
        }
        lines.join("\n")
    }

    /// Without the text.
    pub(super) fn structured(&self) -> Value {
        let mut members = self.members.clone();
        if let Some(error) = &self.error {
            members.insert("error".to_string(), json::error(error));
        }
        Value::Object(members)
    }
}

impl From<CommandError> for Answer {
    fn from(error: CommandError) -> Self {
        Self::default().failing(Some(error))
    }
}

impl From<Answer> for CallToolResult {
    fn from(answer: Answer) -> Self {
        let text = answer.text();
        let mut members = Map::from_iter([("text".to_string(), Value::from(text.as_str()))]);
        if let Value::Object(others) = answer.structured() {
            members.extend(others);
        }
        let content = vec![ContentBlock::text(text)];
        let mut result = match answer.error {
            Some(_) => Self::error(content),
            None => Self::success(content),
        };
        result.structured_content = Some(Value::Object(members));
        result
    }
}
