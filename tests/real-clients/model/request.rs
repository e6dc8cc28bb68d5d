//! A request of a client.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use serde_json::Value;

use super::apis::Api;

#[derive(Clone, Debug)]
pub struct Request {
    pub lane: String,
    /// `None`: not a request of one of the four APIs.
    pub api: Option<Api>,
    /// The step of its lane that it took, if it is a turn of the agent.
    pub step: Option<usize>,
    pub method: String,
    /// With the query.
    pub path: String,
    /// Null if there is none; a string if it is not JSON.
    pub body: Value,
}

impl Request {
    pub(super) fn read(http: &mut tiny_http::Request) -> Self {
        let zipped = http.headers().iter().any(|header| {
            header.field.equiv("Content-Encoding") && header.value.as_str().eq_ignore_ascii_case("gzip")
        });
        let mut bytes = Vec::new();
        let read = match zipped {
            true => MultiGzDecoder::new(http.as_reader()).read_to_end(&mut bytes),
            false => http.as_reader().read_to_end(&mut bytes),
        };
        let text = String::from_utf8_lossy(&bytes);
        let body = match (read, bytes.is_empty()) {
            (Err(error), _) => Value::String(format!("unreadable: {error}")),
            (Ok(_), true) => Value::Null,
            (Ok(_), false) => {
                serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.into_owned()))
            }
        };
        let path = http.url().to_string();
        let (api, lane) = Api::of_path(&path);
        Self { lane, api, step: None, method: http.method().to_string(), path, body }
    }

    /// Whether this is a turn of the agent, not a side question. A turn offers tools; for Codex's newer models they
    /// are in an item of the input.
    pub fn is_turn(&self) -> bool {
        let offered = self.body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        let items = self.body["input"].as_array().into_iter().flatten();
        let added = items.map(|item| &item["type"]).any(|kind| kind == "additional_tools");
        self.api.is_some() && self.method == "POST" && (offered || added) && !self.wants_a_title()
    }

    /// Whether it asks for a title. In a terminal, Codex offers tools with that too.
    fn wants_a_title(&self) -> bool {
        self.conversation()
            .last()
            .is_some_and(|said| said.starts_with("Generate a concise, single-line task title"))
    }

    /// Whether the client wants the answer as a stream.
    pub(super) fn is_streamed(&self) -> bool {
        self.body["stream"] == true || self.path.contains(":streamGenerateContent")
    }

    /// All texts of the conversation so far, in order, without the system prompt.
    pub fn conversation(&self) -> Vec<String> {
        let mut said = Vec::new();
        for key in ["messages", "input", "contents"] {
            collect(&self.body[key], &mut said);
        }
        said
    }

    /// How often the text occurs in the conversation.
    pub fn count(&self, text: &str) -> usize {
        self.conversation().iter().map(|said| said.matches(text).count()).sum()
    }
}

/// Collects every string beneath a value, except labels such as types and roles.
fn collect(value: &Value, said: &mut Vec<String>) {
    const LABELS: [&str; 10] = [
        "id",
        "call_id",
        "type",
        "role",
        "name",
        "status",
        "tool_call_id",
        "tool_use_id",
        "thoughtSignature",
        "phase",
    ];
    match value {
        Value::String(text) => said.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, said)),
        Value::Object(fields) => {
            fields
                .iter()
                .filter(|(key, _)| !LABELS.contains(&key.as_str()))
                .for_each(|(_, item)| collect(item, said));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
