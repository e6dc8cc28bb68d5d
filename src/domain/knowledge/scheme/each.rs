//! What becomes of the results when a function has been called with each element.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::fault::Stop;
use super::heap::Heap;
use super::outcome::{EachCall, EachTask, Outcome};
use super::value::Value;

impl<'w> Heap<'w> {
    pub(super) fn finish_each(&mut self, call: EachCall<'w>) -> Result<Outcome<'w>, Stop> {
        let EachCall { task, lists, results, .. } = call;
        let elements = match lists.first() {
            Some(list) => self.cells(*list).to_vec(),
            None => Vec::new(),
        };
        self.meter.steps(results.len() / 8)?;
        let pairs = elements.into_iter().zip(results.iter().copied());
        let chosen = |wanted: bool| {
            let is_chosen = move |pair: &(Value<'w>, Value<'w>)| pair.1.is_true() == wanted;
            pairs.clone().filter(is_chosen).map(|(element, _)| element).collect::<Vec<_>>()
        };
        let value = match task {
            EachTask::Map | EachTask::Several(_) => self.list(results)?,
            EachTask::MapKeep => self.list(results.into_iter().filter(|value| value.is_true()).collect())?,
            EachTask::MapAppend => {
                let mut all = Vec::new();
                for result in results {
                    let more = self.elements(result)?;
                    self.meter.cells(more.len())?;
                    all.extend(more);
                }
                self.list(all)?
            }
            EachTask::Filter => self.list(chosen(true))?,
            EachTask::Remove => self.list(chosen(false))?,
            EachTask::Partition => {
                let both = vec![self.list(chosen(true))?, self.list(chosen(false))?];
                self.list(both)?
            }
            EachTask::Count => Value::Integer(chosen(true).len() as i64),
            EachTask::Any | EachTask::Find | EachTask::Position => Value::Nil,
            EachTask::Every | EachTask::NotAny => Value::Truth(true),
            EachTask::TakeWhile => {
                let taken = pairs.take_while(|pair| pair.1.is_true()).map(|pair| pair.0).collect();
                self.list(taken)?
            }
            EachTask::DropWhile => {
                let left = pairs.skip_while(|pair| pair.1.is_true()).map(|pair| pair.0).collect();
                self.list(left)?
            }
            EachTask::SortBy(order) => {
                let items = pairs.map(|(element, key)| (key, element)).collect();
                return Ok(Outcome::Sort { order, items });
            }
            EachTask::GroupBy => self.group(pairs.collect())?,
            EachTask::UniqueBy => self.unique(pairs.collect())?,
            EachTask::CountBy => self.count_each(results)?,
            EachTask::IndexBy => {
                let mut places: HashMap<String, usize> = HashMap::new();
                let mut entries: Vec<(Value<'w>, Value<'w>)> = Vec::new();
                for (element, key) in pairs {
                    let place = *places.entry(self.key(key)?).or_insert(entries.len());
                    match entries.get_mut(place) {
                        Some(entry) => entry.1 = element,
                        None => entries.push((key, element)),
                    }
                }
                self.dict(entries)?
            }
            EachTask::MaxBy => self.extreme(pairs.collect(), Ordering::Greater)?,
            EachTask::MinBy => self.extreme(pairs.collect(), Ordering::Less)?,
            EachTask::SumBy => self.sum(&results)?,
        };
        Ok(Outcome::Value(value))
    }

    /// A map from each key to its elements, in the order in which they came.
    fn group(&mut self, pairs: Vec<(Value<'w>, Value<'w>)>) -> Result<Value<'w>, Stop> {
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut groups: Vec<(Value<'w>, Vec<Value<'w>>)> = Vec::new();
        for (element, key) in pairs {
            let place = *places.entry(self.key(key)?).or_insert(groups.len());
            match groups.get_mut(place) {
                Some(group) => group.1.push(element),
                None => groups.push((key, vec![element])),
            }
        }
        let mut entries = Vec::new();
        for (key, elements) in groups {
            entries.push((key, self.list(elements)?));
        }
        self.dict(entries)
    }

    /// The first element of each key.
    pub(super) fn unique(&mut self, pairs: Vec<(Value<'w>, Value<'w>)>) -> Result<Value<'w>, Stop> {
        let mut seen = HashSet::new();
        let mut kept = Vec::new();
        for (element, key) in pairs {
            if seen.insert(self.key(key)?) {
                kept.push(element);
            }
        }
        self.list(kept)
    }

    /// A map from each value to how often it is there.
    pub(super) fn count_each(&mut self, values: Vec<Value<'w>>) -> Result<Value<'w>, Stop> {
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut counts: Vec<(Value<'w>, i64)> = Vec::new();
        for value in values {
            let place = *places.entry(self.key(value)?).or_insert(counts.len());
            match counts.get_mut(place) {
                Some(count) => count.1 += 1,
                None => counts.push((value, 1)),
            }
        }
        self.dict(counts.into_iter().map(|(value, count)| (value, Value::Integer(count))).collect())
    }

    fn extreme(&mut self, pairs: Vec<(Value<'w>, Value<'w>)>, wanted: Ordering) -> Result<Value<'w>, Stop> {
        let mut best: Option<(Value<'w>, Value<'w>)> = None;
        for (element, key) in pairs {
            let is_better = match best {
                None => true,
                Some((_, best_key)) => self.order(key, best_key)? == wanted,
            };
            if is_better {
                best = Some((element, key));
            }
        }
        Ok(best.map_or(Value::Nil, |(element, _)| element))
    }

    /// `nil` counts as nothing.
    pub(super) fn sum(&mut self, values: &[Value<'w>]) -> Result<Value<'w>, Stop> {
        self.meter.steps(values.len() / 8)?;
        let mut whole = Some(0_i64);
        let mut broken = 0.0;
        for value in values {
            match value {
                Value::Integer(integer) => {
                    whole = whole.and_then(|sum| sum.checked_add(*integer));
                    broken += *integer as f64;
                }
                Value::Float(float) => {
                    whole = None;
                    broken += float;
                }
                Value::Nil => {}
                other => {
                    return Err(Stop::wrong(format!("expected a number, got {}", self.describe(*other))));
                }
            }
        }
        Ok(whole.map_or(Value::Float(broken), Value::Integer))
    }
}
