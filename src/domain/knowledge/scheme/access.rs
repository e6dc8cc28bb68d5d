//! How a part of a value is found: `(get d :status)`, `(@ 'status d)`, `(:status d)`.

use super::fault::{Stop, excerpt};
use super::heap::Heap;
use super::value::{Derived, ListView, Value};

impl<'w> Heap<'w> {
    /// The field of a record, the entry of a map, or the element of a list. Either may come first.
    pub(super) fn get(
        &mut self,
        from: Value<'w>,
        key: Value<'w>,
        default: Option<Value<'w>>,
    ) -> Result<Value<'w>, Stop> {
        let is_container = |value| matches!(value, Value::Record(_) | Value::Dict(_) | Value::List(_));
        let (from, key) = if !is_container(from) && is_container(key) { (key, from) } else { (from, key) };
        let missing = default.unwrap_or(Value::Nil);
        let written = self.key_text(key);
        self.meter.steps(1 + written.as_ref().map_or(0, |written| written.len() / 64))?;
        match (from, written) {
            (Value::Nil, _) => Ok(missing),
            (Value::Record(record), Some(written)) => match self.field(record, &written) {
                Ok(Value::Nil) => Ok(missing),
                Ok(value) => Ok(value),
                Err(Stop::Wrong(_)) if default.is_some() => Ok(missing),
                Err(stop) => Err(stop),
            },
            (Value::Dict(dict), written) => {
                let key = match (key, written) {
                    (Value::Derived(_), Some(written)) => self.keyword(&written)?,
                    _ => key,
                };
                Ok(self.entry(dict, key)?.unwrap_or(missing))
            }
            (Value::List(list), Some(written)) => self.get_in_list(list, &written, missing),
            (Value::List(list), None) => {
                let nth = self.as_integer(key)?;
                let found = usize::try_from(nth).ok().and_then(|nth| self.cells(list).get(nth).copied());
                Ok(found.unwrap_or(missing))
            }
            // `(name :active)`
            (Value::Keyword(_) | Value::Symbol(_) | Value::Text(_), Some(written)) if written == "name" => {
                let letters = self.as_text(from)?.to_string();
                self.text(letters)
            }
            (from, _) => {
                let (from, key) = (self.describe(from), self.describe(key));
                Err(Stop::wrong(format!("expected a record, a map or a list to get {key} from, got {from}")))
            }
        }
    }

    /// How a key is spelled, if it is a name.
    fn key_text(&self, key: Value<'w>) -> Option<String> {
        match key {
            Value::Derived(index) => match self.derived_of(index) {
                Derived::Accessor(field) => Some(field.to_string()),
                _ => None,
            },
            key => self.letters(key).map(str::to_string),
        }
    }

    /// A list of keys and values in turn, or of pairs.
    fn get_in_list(&mut self, list: ListView, key: &str, missing: Value<'w>) -> Result<Value<'w>, Stop> {
        self.meter.steps(list.len() * (1 + key.len() / 256) / 8)?;
        let cells = self.cells(list);
        let in_turn = cells.chunks_exact(2).find(|pair| {
            matches!(pair[0], Value::Keyword(_) | Value::Symbol(_)) && self.letters(pair[0]) == Some(key)
        });
        if let Some(pair) = in_turn {
            return Ok(pair[1]);
        }
        let pair = cells.iter().find_map(|cell| match cell {
            Value::List(pair) => match self.cells(*pair) {
                [name, value] if self.letters(*name) == Some(key) => Some(*value),
                _ => None,
            },
            _ => None,
        });
        if pair.is_none() && cells.iter().any(|cell| matches!(cell, Value::Record(_))) {
            return Err(Stop::wrong(format!(
                "this is a list of records, and only a record has a field: use (map :{} …) or (first …)",
                excerpt(key)
            )));
        }
        Ok(pair.unwrap_or(missing))
    }
}
