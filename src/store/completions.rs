//! `completions.json`: who finished which task.
//!
//! It only ever grows, and most of it is never looked at again. So it is kept as the text that it is, with the ids of what
//! is done beside it: an entry is put in where its spec's object ends, and read only when somebody asks who and when.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

use jiff::Timestamp;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::wire::surrogates::{self, Halves};
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
    specs: Vec<Finished>,
}

/// What is done of one spec.
#[derive(Clone, Debug)]
pub struct Finished {
    spec: String,
    /// Where its object starts in the text, and where it ends, behind the brace.
    start: usize,
    end: usize,
    tasks: HashSet<String>,
}

impl Finished {
    pub fn spec(&self) -> &str {
        &self.spec
    }

    pub fn has(&self, task: &str) -> bool {
        self.tasks.contains(task)
    }
}

impl Default for Completions {
    fn default() -> Self {
        Self { text: "{}\n".to_string(), specs: Vec::new() }
    }
}

impl Completions {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
        let specs = Self::parse_text(text).or_else(|error| {
            // Each half of a character is replaced by as many bytes as it had, so all places are those of the text.
            let mended = surrogates::mended(bytes).and_then(|mended| String::from_utf8(mended).ok());
            mended.map_or(Err(error), |mended| Self::parse_text(&mended))
        })?;
        Ok(Self { text: text.to_string(), specs })
    }

    fn parse_text(text: &str) -> Result<Vec<Finished>, String> {
        let whole: Members<&RawValue> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut specs = Vec::with_capacity(whole.0.len());
        for (spec, raw) in whole.0 {
            let Ids(tasks) = serde_json::from_str(raw.get()).map_err(|error| {
                format!("what is done of `{}` can't be understood: {error}", spec.escape_debug())
            })?;
            // Both are slices of one text.
            let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
            specs.push(Finished { spec, start, end: start + raw.get().len(), tasks });
        }
        Ok(specs)
    }

    /// What is whole in a file that is not, and how many entries are not.
    pub(super) fn salvage(bytes: &[u8]) -> (Self, usize) {
        let (mut document, halves): (Map<String, Value>, Halves) = Halves::read(bytes).unwrap_or_default();
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
        let whole = Self::parse(&halves.written(pretty(&document))).unwrap_or_default();
        (whole, dropped)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// What is done, spec by spec.
    pub fn specs(&self) -> impl Iterator<Item = &Finished> {
        self.specs.iter()
    }

    pub fn count(&self) -> usize {
        self.specs.iter().map(|finished| finished.tasks.len()).sum()
    }

    /// Is that task of the spec with exactly this key done?
    pub fn has(&self, spec: &str, task: &str) -> bool {
        self.specs.iter().any(|finished| finished.spec == spec && finished.has(task))
    }

    /// Who finished what of that spec, and when.
    pub fn of(&self, finished: &Finished) -> Vec<Completion> {
        let text = &self.text[finished.start..finished.end];
        let read = |text: &[u8]| -> Option<Vec<Completion>> {
            let members: Members<Entry<'_>> = serde_json::from_slice(text).ok()?;
            let completion = |(task, entry): (String, Entry<'_>)| entry.into_completion(&finished.spec, task);
            Some(members.0.into_iter().map(completion).collect())
        };
        // What can't be read was refused when the file was.
        let mended = || read(&surrogates::mended(text.as_bytes())?);
        read(text.as_bytes()).or_else(mended).unwrap_or_default()
    }

    /// Who finished that task, and when.
    pub fn find(&self, finished: &Finished, task: &str) -> Option<Completion> {
        if !finished.has(task) {
            return None;
        }
        self.of(finished).into_iter().find(|completion| completion.task == task)
    }

    /// Adds one that is not there yet.
    pub fn add(&mut self, completion: &Completion) {
        let Completion { spec, task, by, at, notes } = completion;
        let mut entry = Map::new();
        entry.insert("completedBy".to_string(), Value::from(by.as_str()));
        entry.insert("completedAt".to_string(), Value::from(time::iso(*at)));
        entry.extend(notes.as_ref().map(|notes| ("notes".to_string(), Value::from(notes.as_str()))));
        let line = member(task, &Value::Object(entry), 4);
        let at = self.specs.iter().position(|finished| finished.spec == *spec);
        let at = at.unwrap_or_else(|| self.add_spec(spec));
        self.insert(self.specs[at].end, &line, 2);
        self.specs[at].tasks.insert(task.clone());
    }

    /// An empty object for a spec of which nothing was done yet. Returns its number.
    fn add_spec(&mut self, spec: &str) -> usize {
        let end = self.text.trim_end().len();
        self.insert(end, &member(spec, &Value::Object(Map::new()), 2), 0);
        // The object that was just put in ends right before what closes the whole.
        let closing = self.text.trim_end().len() - 1;
        let end = self.text[..closing].trim_end().len();
        self.specs.push(Finished { spec: spec.to_string(), start: end - 2, end, tasks: HashSet::new() });
        self.specs.len() - 1
    }

    /// Puts a member into the object that ends at `end`, and moves what lies behind.
    fn insert(&mut self, end: usize, member: &str, indent: usize) {
        let inside = self.text[..end - 1].trim_end();
        let comma = if inside.ends_with('{') { "" } else { "," };
        let at = inside.len();
        let new = format!("{comma}{member}\n{}", " ".repeat(indent));
        let shift = new.len() as isize - (end - 1 - at) as isize;
        self.text.replace_range(at..end - 1, &new);
        for finished in self.specs.iter_mut().filter(|finished| finished.end >= end) {
            finished.end = finished.end.saturating_add_signed(shift);
            if finished.start >= end {
                finished.start = finished.start.saturating_add_signed(shift);
            }
        }
    }
}

/// A key and its value on lines of their own.
fn member(key: &str, value: &Value, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    format!("\n{pad}{}: {}", Value::from(key), text.replace('\n', &format!("\n{pad}")))
}

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

impl Entry<'_> {
    fn into_completion(self, spec: &str, task: String) -> Completion {
        Completion {
            spec: spec.to_string(),
            task,
            by: self.completed_by.into_owned(),
            // What is no time is long ago: that it is done matters more than when.
            at: self.completed_at.parse().unwrap_or(Timestamp::UNIX_EPOCH),
            notes: self.notes.map(Cow::into_owned),
        }
    }
}

/// An object as a list of its members, in their order. A key that is there twice is an error, as it is for [`Ids`]: of two
/// entries one would win by chance.
struct Members<T>(Vec<(String, T)>);

/// The keys of an object whose values are entries.
struct Ids(HashSet<String>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Members<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Vec::new();
        each(deserializer, |key, value| members.push((key.to_string(), value)))?;
        Ok(Self(members))
    }
}

impl<'de> Deserialize<'de> for Ids {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        each(deserializer, |_, _: Entry<'de>| {}).map(Self)
    }
}

/// Hands over each member of an object. Returns the keys.
fn each<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    take: impl FnMut(&str, T),
) -> Result<HashSet<String>, D::Error> {
    struct Reader<T, F>(F, PhantomData<T>);
    impl<'de, T: Deserialize<'de>, F: FnMut(&str, T)> Visitor<'de> for Reader<T, F> {
        type Value = HashSet<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<HashSet<String>, A::Error> {
            let mut keys = HashSet::new();
            while let Some((key, value)) = map.next_entry::<String, T>()? {
                (self.0)(&key, value);
                if let Some(twice) = keys.replace(key) {
                    return Err(A::Error::custom(format!("`{}` is there twice", twice.escape_debug())));
                }
            }
            Ok(keys)
        }
    }
    deserializer.deserialize_map(Reader(take, PhantomData))
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

    fn find(completions: &Completions, spec: &str, task: &str) -> Option<Completion> {
        let finished = completions.specs().find(|finished| finished.spec() == spec)?;
        completions.find(finished, task)
    }

    #[test]
    fn what_pi_messenger_writes_is_read_and_extended() {
        let mut completions = Completions::parse(PI.as_bytes()).unwrap();
        let first = find(&completions, "/home/dev/proj/spec.md", "TASK-01").unwrap();
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
            assert_eq!(find(&again, &completion.spec, &completion.task), Some(completion.clone()));
            assert_eq!(find(&completions, &completion.spec, &completion.task), Some(completion));
        }
        // As JavaScript would have written it.
        let document: Value = serde_json::from_slice(again.bytes()).unwrap();
        assert_eq!(
            String::from_utf8_lossy(again.bytes()).trim_end(),
            serde_json::to_string_pretty(&document).unwrap()
        );
    }

    #[test]
    fn half_a_character_costs_nobody_a_completion_and_stays_as_it_was() {
        let done = r#""completedBy": "Pia", "completedAt": "2026-11-15T22:00:00.000Z""#;
        let text =
            format!(r#"{{"/s.md": {{"T-1": {{{done}, "notes": "done \ud83d"}}, "T-2": {{{done}}}}}}}"#);
        let mut completions = Completions::parse(text.as_bytes()).unwrap();
        assert_eq!(find(&completions, "/s.md", "T-1").unwrap().notes.as_deref(), Some("done \u{fffd}"));
        completions.add(&completion("/s.md", "T-3"));
        assert!(std::str::from_utf8(completions.bytes()).unwrap().contains(r#""notes": "done \ud83d""#));
        assert_eq!(Completions::parse(completions.bytes()).unwrap().count(), 3);
    }

    #[test]
    fn from_nothing() {
        let mut completions = Completions::default();
        completions.add(&completion("/s.md", "T-1"));
        completions.add(&completion("/s.md", "T-2"));
        assert_eq!(Completions::parse(completions.bytes()).unwrap().count(), 2);
        let tasks: Vec<String> =
            completions.of(&completions.specs[0]).into_iter().map(|done| done.task).collect();
        assert_eq!(tasks, ["T-1", "T-2"]);
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
