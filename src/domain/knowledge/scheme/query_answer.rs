//! The answer to an expression. That something is wrong is an answer too.

use std::fmt;

use super::budget::QueryLimit;
use super::query_value::QueryValue;

#[derive(Clone, Debug, PartialEq)]
pub enum QueryAnswer {
    Value(QueryValue),
    /// What `(help)` says: a list of texts, printed as lines.
    Help(Vec<QueryValue>),
    /// The expression is wrong.
    Wrong(QueryError),
    /// It went over its budget.
    Over(QueryLimit),
}

/// What is wrong with an expression, and where.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct QueryError {
    pub message: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// At most three names that may have been meant.
    pub near: Vec<QueryHint>,
}

/// A name, and how it is used.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct QueryHint {
    pub name: String,
    pub example: String,
}

impl QueryAnswer {
    pub fn is_value(&self) -> bool {
        matches!(self, Self::Value(_) | Self::Help(_))
    }

    /// The answer as data, for faces that print JSON.
    pub fn to_value(&self) -> QueryValue {
        let text = |text: &str| QueryValue::Text(text.to_string());
        match self {
            Self::Value(value) => value.clone(),
            Self::Help(lines) => QueryValue::List(lines.clone()),
            Self::Wrong(error) => {
                let near = error.near.iter().map(|hint| {
                    QueryValue::Map(vec![
                        ("name".to_string(), text(&hint.name)),
                        ("example".to_string(), text(&hint.example)),
                    ])
                });
                let mut entries = vec![
                    ("error".to_string(), text(&error.message)),
                    ("line".to_string(), QueryValue::Integer(error.line as i64)),
                    ("column".to_string(), QueryValue::Integer(error.column as i64)),
                ];
                if !error.near.is_empty() {
                    entries.push(("near".to_string(), QueryValue::List(near.collect())));
                }
                QueryValue::Map(entries)
            }
            Self::Over(limit) => QueryValue::Map(vec![
                ("error".to_string(), text("the expression went over its budget")),
                ("budget".to_string(), QueryValue::Symbol(limit.to_string())),
                ("try".to_string(), text(limit.hint())),
            ]),
        }
    }
}

impl fmt::Display for QueryAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Help(lines) = self else { return write!(f, "{}", self.to_value()) };
        for (number, line) in lines.iter().enumerate() {
            f.write_str(if number > 0 { "\n" } else { "" })?;
            match line {
                QueryValue::Text(line) => f.write_str(line)?,
                other => write!(f, "{other}")?,
            }
        }
        Ok(())
    }
}
