//! The values in a JSON text, with their positions.

use std::ops::Range;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{Dialect, Json};
use crate::domain::text_edit::EditError;

/// A value in the text, and its position.
#[derive(Clone, Debug)]
pub struct JsonNode {
    pub(super) range: Range<usize>,
    pub kind: NodeKind,
}

#[derive(Clone, Debug)]
pub enum NodeKind {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<JsonNode>),
    Object(Vec<Member>),
}

#[derive(Clone, Debug)]
pub struct Member {
    pub name: String,
    /// Start and end of the name.
    pub(super) start: usize,
    name_end: usize,
    pub value: JsonNode,
}

impl JsonNode {
    pub fn member(&self, name: &str) -> Option<&JsonNode> {
        match &self.kind {
            NodeKind::Object(members) => {
                members.iter().rev().find(|member| member.name == name).map(|member| &member.value)
            }
            _ => None,
        }
    }

    pub fn item(&self, index: usize) -> Option<&JsonNode> {
        match &self.kind {
            NodeKind::List(items) => items.get(index),
            _ => None,
        }
    }

    /// The names of its members.
    pub fn names(&self) -> Vec<String> {
        match &self.kind {
            NodeKind::Object(members) => members.iter().map(|member| member.name.clone()).collect(),
            _ => Vec::new(),
        }
    }

    /// The number of its elements or members.
    pub fn length(&self) -> usize {
        self.children().len()
    }

    pub fn number(&self) -> Option<u64> {
        match &self.kind {
            NodeKind::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it has the same content, regardless of formatting.
    pub fn is(&self, value: &Json) -> bool {
        match (&self.kind, value) {
            (NodeKind::Bool(a), Json::Bool(b)) => a == b,
            (NodeKind::Number(a), Json::Number(b)) => *a == b.to_string(),
            (NodeKind::Text(a), Json::Text(b)) => a == b,
            (NodeKind::List(a), Json::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is(b)),
            (NodeKind::Object(a), Json::Object(b)) => {
                a.len() == b.len() && b.iter().all(|(name, b)| self.member(name).is_some_and(|a| a.is(b)))
            }
            _ => false,
        }
    }

    pub(super) fn children(&self) -> Vec<Range<usize>> {
        match &self.kind {
            NodeKind::List(items) => items.iter().map(|item| item.range.clone()).collect(),
            NodeKind::Object(members) => {
                members.iter().map(|member| member.start..member.value.range.end).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl NodeKind {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

pub(super) fn parse(text: &str, dialect: Dialect) -> Result<Option<JsonNode>, EditError> {
    let options = ParseOptions {
        allow_comments: dialect != Dialect::Strict,
        allow_trailing_commas: dialect == Dialect::CommentsAndTrailingCommas,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options).map_err(|error| {
        let reason = error.kind().to_string();
        let lower = reason
            .chars()
            .take(1)
            .flat_map(char::to_lowercase)
            .chain(reason.chars().skip(1))
            .collect::<String>();
        EditError::at(text, error.range().start, lower)
    })?;
    let root = parsed.value.map(|value| node(&value));
    root.as_ref().map_or(Ok(()), |root| check_strings(text, root))?;
    Ok(root)
}

/// Refuses control characters in strings. The parser accepts them, but no program that reads such files does.
fn check_strings(text: &str, node: &JsonNode) -> Result<(), EditError> {
    let check = |range: Range<usize>| match text[range.clone()].find(|c: char| c < ' ') {
        Some(at) => Err(EditError::at(text, range.start + at, "control character in a string")),
        None => Ok(()),
    };
    match &node.kind {
        NodeKind::Text(_) => check(node.range.clone()),
        NodeKind::List(items) => items.iter().try_for_each(|item| check_strings(text, item)),
        NodeKind::Object(members) => members.iter().try_for_each(|member| {
            check(member.start..member.name_end)?;
            check_strings(text, &member.value)
        }),
        NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) => Ok(()),
    }
}

fn node(value: &Value<'_>) -> JsonNode {
    let range = value.range();
    let kind = match value {
        Value::NullKeyword(_) => NodeKind::Null,
        Value::BooleanLit(literal) => NodeKind::Bool(literal.value),
        Value::NumberLit(literal) => NodeKind::Number(literal.value.to_string()),
        Value::StringLit(literal) => NodeKind::Text(literal.value.to_string()),
        Value::Array(array) => NodeKind::List(array.elements.iter().map(node).collect()),
        Value::Object(object) => {
            let member = |property: &jsonc_parser::ast::ObjectProp<'_>| Member {
                name: property.name.as_str().to_string(),
                start: property.range.start,
                name_end: property.name.range().end,
                value: node(&property.value),
            };
            NodeKind::Object(object.properties.iter().map(member).collect())
        }
    };
    JsonNode { range: range.start..range.end, kind }
}
