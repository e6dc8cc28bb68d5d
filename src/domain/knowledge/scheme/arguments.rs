//! What functions expect of their arguments.

use super::fault::{Stop, excerpt};
use super::heap::Heap;
use super::value::{ListView, Value};

impl<'w> Heap<'w> {
    /// The elements of a list; a map has pairs, a string has characters, and `nil` has none.
    pub(super) fn as_list(&mut self, value: Value<'w>) -> Result<ListView, Stop> {
        let list = match value {
            Value::List(list) => return Ok(list),
            Value::Nil => self.list(Vec::new())?,
            Value::Dict(dict) => {
                let count = self.entries(dict).len();
                self.meter.steps(count / 8)?;
                self.meter.room(4 * count, 0)?;
                let entries = self.entries(dict).to_vec();
                let mut pairs = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    pairs.push(self.list(vec![key, value])?);
                }
                self.list(pairs)?
            }
            Value::Text(index) => {
                let (bytes, count) = (self.text_of(index).len(), self.text_of(index).chars().count());
                self.meter.steps(count)?;
                self.meter.room(2 * count, bytes)?;
                let characters: Vec<char> = self.text_of(index).chars().collect();
                let mut texts = Vec::with_capacity(count);
                for character in characters {
                    texts.push(self.text(String::from(character))?);
                }
                self.list(texts)?
            }
            other => return Err(Stop::wrong(format!("expected a list, got {}", self.describe(other)))),
        };
        match list {
            Value::List(list) => Ok(list),
            _ => Err(Stop::wrong("expected a list")),
        }
    }

    /// The elements, copied. It costs a step for each eight of them.
    pub(super) fn elements(&mut self, value: Value<'w>) -> Result<Vec<Value<'w>>, Stop> {
        let list = self.as_list(value)?;
        self.meter.steps(list.len() / 8)?;
        Ok(self.cells(list).to_vec())
    }

    /// Counts steps for a function that looks at every letter of a text.
    pub(super) fn charge_letters(&mut self, value: Value<'w>) -> Result<(), Stop> {
        let length = self.letters(value).map_or(0, str::len);
        Ok(self.meter.steps(length / 64)?)
    }

    pub(super) fn as_integer(&self, value: Value<'w>) -> Result<i64, Stop> {
        match value {
            Value::Integer(integer) => Ok(integer),
            Value::Float(float) if float.fract() == 0.0 && float.abs() < 9e15 => Ok(float as i64),
            other => Err(Stop::wrong(format!("expected a whole number, got {}", self.describe(other)))),
        }
    }

    /// A number that counts something: less than 0 is 0.
    pub(super) fn as_count(&self, value: Value<'w>) -> Result<usize, Stop> {
        Ok(usize::try_from(self.as_integer(value)?.max(0)).unwrap_or(usize::MAX))
    }

    /// A string, or how a symbol or a keyword is spelled. A record stands for its name.
    pub(super) fn as_text(&self, value: Value<'w>) -> Result<&str, Stop> {
        match value {
            Value::Record(record) => Ok(record.id.name.as_str()),
            value => self
                .letters(value)
                .ok_or_else(|| Stop::wrong(format!("expected a string, got {}", self.describe(value)))),
        }
    }

    /// A value in a message: what it is, and a short one itself.
    pub(super) fn describe(&self, value: Value<'w>) -> String {
        match value {
            Value::Integer(integer) => format!("the number {integer}"),
            Value::Float(float) => format!("the number {float}"),
            Value::Text(index) => format!("the string \"{}\"", excerpt(self.text_of(index))),
            Value::Symbol(name) => format!("the symbol {}", excerpt(self.name(name))),
            Value::Keyword(name) => format!("the keyword :{}", excerpt(self.name(name))),
            Value::Record(record) => format!("the record {}", record.id),
            other => other.kind().to_string(),
        }
    }
}
