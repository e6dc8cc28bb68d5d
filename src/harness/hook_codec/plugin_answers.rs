//! The answers of hooks in the format that our own plugins read.

use serde_json::{Value, json};

pub fn deny(reason: &str) -> Value {
    json!({ "deny": reason })
}

pub fn context(text: &str) -> Value {
    json!({ "context": text })
}

pub fn go_on(text: &str) -> Value {
    json!({ "goOn": text })
}
