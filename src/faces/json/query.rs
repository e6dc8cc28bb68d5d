//! Values of expressions as JSON.

use serde_json::{Value, json};

use crate::domain::knowledge::scheme::QueryValue;

pub(in crate::faces) fn value(value: &QueryValue) -> Value {
    match value {
        QueryValue::Nil => Value::Null,
        QueryValue::Truth(truth) => json!(truth),
        QueryValue::Integer(number) => json!(number),
        QueryValue::Float(number) => json!(number),
        QueryValue::Text(text) | QueryValue::Symbol(text) | QueryValue::Keyword(text) => json!(text),
        QueryValue::List(items) => items.iter().map(self::value).collect(),
        QueryValue::Map(entries) => {
            Value::Object(entries.iter().map(|(key, value)| (key.clone(), self::value(value))).collect())
        }
    }
}
