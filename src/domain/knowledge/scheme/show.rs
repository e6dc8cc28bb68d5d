//! From the evaluator's values to plain ones.

use super::budget::QueryLimit;
use super::compare::MAX_VALUE_NESTING;
use super::fault::Stop;
use super::heap::Heap;
use super::query_value::QueryValue;
use super::value::Value;
use crate::domain::knowledge::Record;

/// Of so many records an answer has all fields, of more a row each.
const FULL_RECORDS: usize = 2;

/// Makes plain values, as long as they fit.
pub(super) struct Shower {
    /// Bytes that may follow.
    left: usize,
}

impl Shower {
    pub(super) fn new(bytes: usize) -> Self {
        Self { left: bytes }
    }

    pub(super) fn show<'w>(&mut self, heap: &mut Heap<'w>, value: Value<'w>) -> Result<QueryValue, Stop> {
        match value {
            Value::Record(record) => self.record(heap, record, 1),
            Value::List(list) if list.len() <= FULL_RECORDS => {
                let mut shown = Vec::new();
                for nth in 0..list.len() {
                    let element = heap.cells(list)[nth];
                    shown.push(match element {
                        Value::Record(record) => self.record(heap, record, 1)?,
                        other => self.show_at(heap, other, 1)?,
                    });
                }
                Ok(QueryValue::List(shown))
            }
            value => self.show_at(heap, value, 0),
        }
    }

    fn spend(&mut self, bytes: usize) -> Result<(), Stop> {
        self.left = self.left.checked_sub(bytes).ok_or(QueryLimit::AnswerSize)?;
        Ok(())
    }

    fn letters(&mut self, letters: &str) -> Result<String, Stop> {
        self.spend(letters.len() + 2)?;
        Ok(letters.to_string())
    }

    fn record<'w>(
        &mut self,
        heap: &mut Heap<'w>,
        record: &'w Record,
        nesting: usize,
    ) -> Result<QueryValue, Stop> {
        let fields = heap.shown_fields(record)?;
        self.fields(heap, fields, nesting)
    }

    fn fields<'w>(
        &mut self,
        heap: &mut Heap<'w>,
        fields: Vec<(&'static str, Value<'w>)>,
        nesting: usize,
    ) -> Result<QueryValue, Stop> {
        let mut entries = Vec::new();
        for (field, value) in fields {
            let field = if field == "headline" { "description" } else { field };
            entries.push((field.to_string(), self.show_at(heap, value, nesting + 1)?));
        }
        Ok(QueryValue::Map(entries))
    }

    fn show_at<'w>(
        &mut self,
        heap: &mut Heap<'w>,
        value: Value<'w>,
        nesting: usize,
    ) -> Result<QueryValue, Stop> {
        if nesting > MAX_VALUE_NESTING {
            return Err(QueryLimit::Depth.into());
        }
        heap.meter.steps(1)?;
        self.spend(2)?;
        Ok(match value {
            Value::Nil => QueryValue::Nil,
            Value::Truth(truth) => QueryValue::Truth(truth),
            Value::Integer(integer) => QueryValue::Integer(integer),
            Value::Float(float) => QueryValue::Float(float),
            Value::Text(text) => QueryValue::Text(self.letters(heap.text_of(text))?),
            Value::Symbol(name) => QueryValue::Symbol(self.letters(heap.name(name))?),
            Value::Keyword(name) => QueryValue::Keyword(self.letters(heap.name(name))?),
            Value::Record(record) => {
                let fields = heap.row_fields(record)?;
                self.fields(heap, fields, nesting)?
            }
            Value::List(list) => {
                let mut shown = Vec::new();
                for nth in 0..list.len() {
                    let element = heap.cells(list)[nth];
                    shown.push(self.show_at(heap, element, nesting + 1)?);
                }
                QueryValue::List(shown)
            }
            Value::Dict(dict) => {
                let mut shown = Vec::new();
                for nth in 0..heap.entries(dict).len() {
                    let (key, value) = heap.entries(dict)[nth];
                    let key = match heap.letters(key) {
                        Some(letters) => self.letters(letters)?,
                        None => self.show_at(heap, key, nesting + 1)?.to_string(),
                    };
                    shown.push((key, self.show_at(heap, value, nesting + 1)?));
                }
                QueryValue::Map(shown)
            }
            Value::Builtin(_) | Value::Closure(_) | Value::Derived(_) => {
                QueryValue::Symbol("function".to_string())
            }
        })
    }
}
