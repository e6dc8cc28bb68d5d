//! `completions.json`: who finished which task.
//!
//! It only ever grows, so it is kept as the text that it is: an entry is put in where its spec's object ends, and all the
//! rest, keys of others included, stays as it was written.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use jiff::Timestamp;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::wire::{pretty, time};

/// Who finished a task.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Completion {
    /// The key of the spec, as it stands in the file.
    pub spec: String,
    pub task: String,
    pub by: String,
    pub at: Timestamp,
    pub notes: Option<String>,
}

/// `completions.json`, whole and of the right shape.
#[derive(Clone, Debug)]
pub struct Completions {
    text: String,
    specs: Vec<Part>,
}

/// The completions of one spec.
#[derive(Clone, Debug)]
struct Part {
    spec: String,
    /// Where its object ends in the text, behind the brace.
    end: usize,
    tasks: HashMap<String, Done>,
}

#[derive(Clone, Debug)]
struct Done {
    by: String,
    at: String,
    notes: Option<String>,
}

impl Default for Completions {
    fn default() -> Self {
        Self { text: "{}\n".to_string(), specs: Vec::new() }
    }
}

impl Completions {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
        let whole: Members<&RawValue> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut specs = Vec::new();
        for (spec, raw) in whole.0 {
            let object: Members<Entry<'_>> = serde_json::from_str(raw.get()).map_err(|error| {
                format!("what is done of `{}` can't be understood: {error}", spec.escape_debug())
            })?;
            // Both are slices of one text.
            let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
            let tasks = object.0.into_iter().map(|(task, entry)| (task.into_owned(), entry.into()));
            specs.push(Part {
                spec: spec.into_owned(),
                end: start + raw.get().len(),
                tasks: tasks.collect(),
            });
        }
        Ok(Self { text: text.to_string(), specs })
    }

    /// What is whole in a file that is not, and how many entries are not.
    pub(super) fn salvage(bytes: &[u8]) -> (Self, usize) {
        let mut document: Map<String, Value> = serde_json::from_slice(bytes).unwrap_or_default();
        let mut dropped = 0;
        document.retain(|_, tasks| {
            let Some(tasks) = tasks.as_object_mut() else {
                dropped += 1;
                return false;
            };
            tasks.retain(|_, entry| {
                let is_whole = Entry::deserialize(&*entry).is_ok();
                dropped += usize::from(!is_whole);
                is_whole
            });
            true
        });
        let whole = Self::parse(&pretty(&document)).unwrap_or_default();
        (whole, dropped)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// The keys under which there is anything.
    pub fn specs(&self) -> impl Iterator<Item = &str> {
        self.specs.iter().map(|part| part.spec.as_str())
    }

    pub fn count(&self) -> usize {
        self.specs.iter().map(|part| part.tasks.len()).sum()
    }

    pub fn find(&self, spec: &str, task: &str) -> Option<Completion> {
        let part = self.specs.iter().find(|part| part.spec == spec)?;
        Some(part.tasks.get(task)?.of(spec, task))
    }

    pub fn of_spec(&self, spec: &str) -> Vec<Completion> {
        let parts = self.specs.iter().filter(|part| part.spec == spec);
        parts.flat_map(|part| part.tasks.iter().map(|(task, done)| done.of(spec, task))).collect()
    }

    /// Adds one that is not there yet.
    pub fn add(&mut self, completion: &Completion) {
        let Completion { spec, task, by, at, notes } = completion;
        let mut entry = Map::new();
        entry.insert("completedBy".to_string(), Value::from(by.as_str()));
        entry.insert("completedAt".to_string(), Value::from(time::iso(*at)));
        entry.extend(notes.as_ref().map(|notes| ("notes".to_string(), Value::from(notes.as_str()))));
        let line = member(task, &Value::Object(entry), 4);
        let done = Done { by: by.clone(), at: time::iso(*at), notes: notes.clone() };
        if let Some(at) = self.specs.iter().position(|part| part.spec == *spec) {
            let end = self.specs[at].end;
            self.insert(end, &line, 2);
            self.specs[at].tasks.insert(task.clone(), done);
            return;
        }
        let end = self.text.trim_end().len();
        self.insert(end, &member(spec, &Value::Object(Map::new()), 2), 0);
        // The object that was just put in ends right before what closes the whole.
        let closing = self.text.trim_end().len() - 1;
        let end = self.text[..closing].trim_end().len();
        self.specs.push(Part { spec: spec.clone(), end, tasks: HashMap::from([(task.clone(), done)]) });
        self.insert(end, &line, 2);
    }

    /// Puts a member into the object that ends at `end`, and moves what lies behind.
    fn insert(&mut self, end: usize, member: &str, indent: usize) {
        let inside = self.text[..end - 1].trim_end();
        let comma = if inside.ends_with('{') { "" } else { "," };
        let at = inside.len();
        let new = format!("{comma}{member}\n{}", " ".repeat(indent));
        let shift = new.len() as isize - (end - 1 - at) as isize;
        self.text.replace_range(at..end - 1, &new);
        for part in self.specs.iter_mut().filter(|part| part.end >= end) {
            part.end = part.end.saturating_add_signed(shift);
        }
    }
}

/// A key and its value on lines of their own.
fn member(key: &str, value: &Value, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    format!("\n{pad}{}: {}", Value::from(key), text.replace('\n', &format!("\n{pad}")))
}

impl Done {
    fn of(&self, spec: &str, task: &str) -> Completion {
        Completion {
            spec: spec.to_string(),
            task: task.to_string(),
            by: self.by.clone(),
            // That it is a time was looked at when it was read; one that can't be shown is long ago.
            at: self.at.parse().unwrap_or(Timestamp::UNIX_EPOCH),
            notes: self.notes.clone(),
        }
    }
}

/// An object as a list of its members, in their order.
struct Members<T>(Vec<(Cow<'static, str>, T)>);

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'t> {
    #[serde(borrow)]
    completed_by: Cow<'t, str>,
    #[serde(borrow)]
    completed_at: Cow<'t, str>,
    #[serde(borrow)]
    notes: Option<Cow<'t, str>>,
}

impl From<Entry<'_>> for Done {
    fn from(entry: Entry<'_>) -> Self {
        Self {
            by: entry.completed_by.into_owned(),
            at: entry.completed_at.into_owned(),
            notes: entry.notes.map(Cow::into_owned),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Members<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Members<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<T>, A::Error> {
                let mut members: Vec<(Cow<'static, str>, T)> = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, T>()? {
                    members.push((Cow::Owned(key), value));
                }
                Ok(Members(members))
            }
        }
        let members: Self = deserializer.deserialize_map(Reader(std::marker::PhantomData))?;
        let mut keys: Vec<&str> = members.0.iter().map(|(key, _)| key.as_ref()).collect();
        keys.sort_unstable();
        match keys.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(twice) => Err(D::Error::custom(format!("`{}` is there twice", twice[0].escape_debug()))),
            None => Ok(members),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PI: &str = include_str!("../../fixtures/pi-messenger/completions.json");

    fn completion(spec: &str, task: &str) -> Completion {
        let at = "2026-11-15T06:00:00Z".parse().unwrap();
        Completion {
            spec: spec.into(),
            task: task.into(),
            by: "SwiftRaven".into(),
            at,
            notes: Some("ok \"x\"".into()),
        }
    }

    #[test]
    fn what_pi_messenger_writes_is_read_and_extended() {
        let mut completions = Completions::parse(PI.as_bytes()).unwrap();
        let first = completions.find("/home/dev/proj/spec.md", "TASK-01").unwrap();
        assert_eq!((first.by.as_str(), first.notes.as_deref()), ("RedIce", Some("Added JWT validation")));
        let new = [
            completion("/home/dev/proj/spec.md", "TASK-02"),
            completion("/other.md", "a\"b"),
            completion("/home/dev/proj/spec.md", "__proto__"),
            completion("/other.md", ".."),
        ];
        new.iter().for_each(|completion| completions.add(completion));
        let again = Completions::parse(completions.bytes()).unwrap();
        assert_eq!(again.count(), 5);
        for completion in new {
            assert_eq!(again.find(&completion.spec, &completion.task), Some(completion.clone()));
            assert_eq!(completions.find(&completion.spec, &completion.task), Some(completion));
        }
        // As JavaScript would have written it.
        let document: Value = serde_json::from_slice(again.bytes()).unwrap();
        assert_eq!(
            String::from_utf8_lossy(again.bytes()).trim_end(),
            serde_json::to_string_pretty(&document).unwrap()
        );
    }

    #[test]
    fn from_nothing() {
        let mut completions = Completions::default();
        completions.add(&completion("/s.md", "T-1"));
        completions.add(&completion("/s.md", "T-2"));
        assert_eq!(Completions::parse(completions.bytes()).unwrap().of_spec("/s.md").len(), 2);
    }

    #[test]
    fn what_is_no_completions_file() {
        let bad = [
            "",
            "[]",
            "null",
            "{\"s\": []}",
            "{\"s\": {\"T\": null}}",
            "{\"s\": {\"T\": {}}}",
            "{\"a\"",
            "{\"s\": {\"T\": {\"completedBy\": 1, \"completedAt\": \"x\"}}}",
            "{\"s\": {}, \"s\": {}}",
        ];
        for bad in bad {
            assert!(Completions::parse(bad.as_bytes()).is_err(), "{bad:?}");
        }
        let (saved, dropped) = Completions::salvage(
            br#"{"s": {"T": null, "U": {"completedBy": "A", "completedAt": "2026-11-15T06:00:00Z"}}, "t": []}"#,
        );
        assert_eq!((saved.count(), dropped), (1, 2));
    }
}
