//! When two values are the same, and which one comes first.

use std::cmp::Ordering;

use super::budget::QueryLimit;
use super::fault::Stop;
use super::heap::Heap;
use super::value::Value;

/// How deeply nested values are compared and shown.
pub(super) const MAX_VALUE_NESTING: usize = 48;

impl<'w> Heap<'w> {
    /// The letters of a text, a symbol, a keyword or a record's name. These are equal if they are spelled alike, because
    /// models write `"active"`, `:active` and `'active` for one thing.
    pub(super) fn letters(&self, value: Value<'w>) -> Option<&str> {
        match value {
            Value::Text(index) => Some(self.text_of(index)),
            Value::Symbol(name) | Value::Keyword(name) => Some(self.name(name)),
            _ => None,
        }
    }

    pub(super) fn are_equal(&mut self, a: Value<'w>, b: Value<'w>) -> Result<bool, Stop> {
        self.are_equal_at(a, b, 0)
    }

    fn are_equal_at(&mut self, a: Value<'w>, b: Value<'w>, nesting: usize) -> Result<bool, Stop> {
        if nesting > MAX_VALUE_NESTING {
            return Err(QueryLimit::Depth.into());
        }
        self.meter.steps(1)?;
        if let (Some(a), Some(b)) = (self.letters(a), self.letters(b)) {
            let (is_same, length) = (a == b, a.len());
            self.meter.steps(length / 256)?;
            return Ok(is_same);
        }
        Ok(match (a, b) {
            (Value::Nil, Value::Nil) => true,
            (Value::Nil, Value::List(list)) | (Value::List(list), Value::Nil) => list.len() == 0,
            (Value::Truth(a), Value::Truth(b)) => a == b,
            (Value::Integer(_) | Value::Float(_), Value::Integer(_) | Value::Float(_)) => {
                number_order(a, b) == Some(Ordering::Equal)
            }
            (Value::Record(a), Value::Record(b)) => a.id == b.id,
            (Value::Builtin(a), Value::Builtin(b)) => a == b,
            (Value::Closure(a), Value::Closure(b)) | (Value::Derived(a), Value::Derived(b)) => a == b,
            (Value::List(one), Value::List(two)) => {
                if one.len() != two.len() {
                    return Ok(false);
                }
                for index in 0..one.len() {
                    let pair = (self.cells(one)[index], self.cells(two)[index]);
                    if !self.are_equal_at(pair.0, pair.1, nesting + 1)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Value::Dict(one), Value::Dict(two)) => {
                if self.entries(one).len() != self.entries(two).len() {
                    return Ok(false);
                }
                for index in 0..self.entries(one).len() {
                    let (key, value) = self.entries(one)[index];
                    match self.entry(two, key)? {
                        Some(other) if self.are_equal_at(value, other, nesting + 1)? => {}
                        _ => return Ok(false),
                    }
                }
                true
            }
            _ => false,
        })
    }

    /// What a map has for a key.
    pub(super) fn entry(&mut self, dict: u32, key: Value<'w>) -> Result<Option<Value<'w>>, Stop> {
        let length = self.letters(key).map_or(0, str::len);
        self.meter.steps(self.entries(dict).len() * (1 + length / 256) / 16)?;
        let fast = self.letters(key).map(|wanted| {
            self.entries(dict).iter().find(|(key, _)| self.letters(*key) == Some(wanted)).map(|entry| entry.1)
        });
        if let Some(found) = fast {
            return Ok(found);
        }
        for index in 0..self.entries(dict).len() {
            let (other, value) = self.entries(dict)[index];
            if self.letters(other).is_none() && self.are_equal_at(key, other, 1)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// Adds an entry to those of a map; it replaces one with an equal key.
    pub(super) fn put_entry(
        &mut self,
        entries: &mut Vec<(Value<'w>, Value<'w>)>,
        key: Value<'w>,
        value: Value<'w>,
    ) -> Result<(), Stop> {
        match self.place_of(entries, key)? {
            Some(place) => entries[place].1 = value,
            None => entries.push((key, value)),
        }
        Ok(())
    }

    fn place_of(
        &mut self,
        entries: &[(Value<'w>, Value<'w>)],
        key: Value<'w>,
    ) -> Result<Option<usize>, Stop> {
        let length = self.letters(key).map_or(0, str::len);
        self.meter.steps(1 + entries.len() * (1 + length / 256) / 16)?;
        if let Some(wanted) = self.letters(key) {
            return Ok(entries.iter().position(|(other, _)| self.letters(*other) == Some(wanted)));
        }
        for (place, (other, _)) in entries.iter().enumerate() {
            if self.letters(*other).is_none() && self.are_equal_at(key, *other, 1)? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// The order of any two values: `nil`, booleans, numbers, texts, then lists by their elements.
    pub(super) fn order(&mut self, a: Value<'w>, b: Value<'w>) -> Result<Ordering, Stop> {
        self.order_at(a, b, 0)
    }

    fn order_at(&mut self, a: Value<'w>, b: Value<'w>, nesting: usize) -> Result<Ordering, Stop> {
        if nesting > MAX_VALUE_NESTING {
            return Err(QueryLimit::Depth.into());
        }
        self.meter.steps(1)?;
        if let (Some(a), Some(b)) = (self.letters(a), self.letters(b)) {
            let (order, length) = (a.cmp(b), a.len().min(b.len()));
            self.meter.steps(length / 256)?;
            return Ok(order);
        }
        if let Some(order) = number_order(a, b) {
            return Ok(order);
        }
        match (a, b) {
            (Value::Truth(a), Value::Truth(b)) => Ok(a.cmp(&b)),
            (Value::Record(a), Value::Record(b)) => Ok(a.id.cmp(&b.id)),
            (Value::List(one), Value::List(two)) => {
                for index in 0..one.len().min(two.len()) {
                    let pair = (self.cells(one)[index], self.cells(two)[index]);
                    let order = self.order_at(pair.0, pair.1, nesting + 1)?;
                    if order.is_ne() {
                        return Ok(order);
                    }
                }
                Ok(one.len().cmp(&two.len()))
            }
            _ => Ok(rank(a).cmp(&rank(b))),
        }
    }

    /// A text that two values have in common if and only if they are equal, for hashing.
    pub(super) fn key(&mut self, value: Value<'w>) -> Result<String, Stop> {
        let mut key = String::new();
        self.write_key(value, &mut key, 0)?;
        self.meter.text(key.len() / 4)?;
        Ok(key)
    }

    fn write_key(&mut self, value: Value<'w>, key: &mut String, nesting: usize) -> Result<(), Stop> {
        if nesting > MAX_VALUE_NESTING {
            return Err(QueryLimit::Depth.into());
        }
        self.meter.steps(1)?;
        if let Some(letters) = self.letters(value) {
            let length = letters.len();
            self.meter.text(length / 4)?;
            // With the length before it, no text can look like the end of it and something else.
            if let Some(letters) = self.letters(value) {
                key.extend([&length.to_string(), "\"", letters]);
            }
            return Ok(());
        }
        match value {
            Value::Integer(integer) => key.push_str(&format!("{integer} ")),
            // One that is an integer has the key of that integer.
            Value::Float(float) if (float as i64) as f64 == float => {
                key.push_str(&format!("{} ", float as i64));
            }
            Value::Float(float) => key.push_str(&format!("f{float} ")),
            Value::Truth(truth) => key.push_str(if truth { "#t" } else { "#f" }),
            Value::Record(record) => key.push_str(&format!("#{} ", record.id)),
            Value::Closure(index) => key.push_str(&format!("#c{index} ")),
            Value::Builtin(index) => key.push_str(&format!("#b{index} ")),
            Value::Derived(index) => key.push_str(&format!("#d{index} ")),
            Value::List(list) if list.len() > 0 => {
                key.push('(');
                for index in 0..list.len() {
                    self.write_key(self.cells(list)[index], key, nesting + 1)?;
                }
                key.push(')');
            }
            Value::Dict(dict) => {
                let mut parts = Vec::new();
                for index in 0..self.entries(dict).len() {
                    let (name, value) = self.entries(dict)[index];
                    let mut part = String::new();
                    self.write_key(name, &mut part, nesting + 1)?;
                    self.write_key(value, &mut part, nesting + 1)?;
                    parts.push(part);
                }
                parts.sort();
                key.push_str(&format!("{{{}}}", parts.concat()));
            }
            _ => key.push_str("()"),
        }
        Ok(())
    }
}

/// The order of two numbers; `None` if one is not a number.
pub(super) fn number_order(a: Value<'_>, b: Value<'_>) -> Option<Ordering> {
    match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => Some(a.cmp(&b)),
        (Value::Integer(a), Value::Float(b)) => Some(mixed_order(a, b)),
        (Value::Float(a), Value::Integer(b)) => Some(mixed_order(b, a).reverse()),
        (Value::Float(a), Value::Float(b)) => Some((a + 0.0).total_cmp(&(b + 0.0))),
        _ => None,
    }
}

/// Of large numbers, several integers are near one float; then the integer that the float is decides.
fn mixed_order(integer: i64, float: f64) -> Ordering {
    (integer as f64).total_cmp(&(float + 0.0)).then_with(|| integer.cmp(&(float as i64)))
}

fn rank(value: Value<'_>) -> u8 {
    match value {
        Value::Nil => 0,
        Value::Truth(_) => 1,
        Value::Integer(_) | Value::Float(_) => 2,
        Value::Symbol(_) | Value::Keyword(_) | Value::Text(_) => 3,
        Value::Record(_) => 4,
        Value::List(_) => 5,
        Value::Dict(_) => 6,
        Value::Closure(_) | Value::Builtin(_) | Value::Derived(_) => 7,
    }
}
