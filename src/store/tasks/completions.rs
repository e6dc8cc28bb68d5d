//! `completions.json`: who finished which task.
//!
//! The file only grows, and most entries are never read again. So each entry is kept as JSON text, with any keys that
//! other programs wrote: parsing checks every entry, and its values are extracted only when they are needed.
//!
//! A new entry is added after those of its spec; the others are written back as they were. Evidence that can't be
//! understood counts as none: that the task is finished matters more than how that was proven.

use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;

use jiff::Timestamp;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::domain::TaskEvidence;
use crate::domain::link::{MachineName, on_machine};
use crate::store::error::ParseError;
use crate::store::wire::evidence::EvidenceKeys;
use crate::store::wire::surrogates::{self, SurrogateEscapes, readable};
use crate::store::wire::{pretty, time};

/// A finished task: by whom, and when.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Completion {
    /// The key of the spec, as the file has it.
    pub spec: String,
    pub task: String,
    pub by: String,
    pub at: Timestamp,
    pub notes: Option<String>,
    /// What was recorded to prove it.
    pub evidence: Option<TaskEvidence>,
    /// The machine of whoever completed it, if that is not this one: it is in no file of completions.
    pub machine: Option<MachineName>,
}

impl Completion {
    /// Who completed it, with the machine if that is not this one.
    pub fn who(&self) -> String {
        on_machine(&self.by, self.machine.as_ref())
    }
}

/// A `completions.json` that was read in full and has the right shape.
#[derive(Clone, Debug, Default)]
pub struct Completions {
    specs: Vec<SpecCompletions>,
    /// Unpaired surrogates that other programs wrote.
    escapes: SurrogateEscapes,
}

/// The finished tasks of one spec.
#[derive(Clone, Debug)]
pub struct SpecCompletions {
    spec: String,
    tasks: Members<Box<RawValue>>,
}

impl SpecCompletions {
    pub fn spec(&self) -> &str {
        &self.spec
    }

    pub fn has(&self, task: &str) -> bool {
        self.tasks.get(task).is_some()
    }
}

impl Completions {
    pub(in crate::store) fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let (whole, escapes): (Members<Members<Box<RawValue>>>, SurrogateEscapes) =
            SurrogateEscapes::read(bytes).map_err(ParseError::new)?;
        let specs: Vec<SpecCompletions> =
            whole.list.into_iter().map(|(spec, tasks)| SpecCompletions { spec, tasks }).collect();
        for (task, entry) in specs.iter().flat_map(|finished| &finished.tasks.list) {
            Entry::read(entry).map_err(|error| {
                let task = task.escape_debug();
                ParseError::new(format!("the completion of `{task}` can't be understood: {error}"))
            })?;
        }
        Ok(Self { specs, escapes })
    }

    /// The valid entries of a damaged file, and the number of invalid ones.
    pub(in crate::store) fn salvage(bytes: &[u8]) -> (Self, usize) {
        let (specs, escapes): (Pairs, SurrogateEscapes) = SurrogateEscapes::read(bytes).unwrap_or_default();
        let mut saved = Self { specs: Vec::new(), escapes };
        let mut dropped = 0;
        for (spec, tasks) in specs.0 {
            let Ok(Pairs(tasks)) = surrogates::from_slice(tasks.get().as_bytes()) else {
                dropped += 1;
                continue;
            };
            for (task, entry) in tasks {
                // The first of several completions of a task counts.
                let is_kept = Entry::read(&entry).is_ok() && saved.tasks_of(&spec).push(task, entry);
                dropped += usize::from(!is_kept);
            }
        }
        (saved, dropped)
    }

    pub(in crate::store) fn bytes(&self) -> Vec<u8> {
        self.escapes.written(pretty(self))
    }

    /// The specs that have finished tasks, in the order of the file.
    pub fn specs(&self) -> impl Iterator<Item = &SpecCompletions> {
        self.specs.iter()
    }

    pub fn count(&self) -> usize {
        self.specs.iter().map(|finished| finished.tasks.list.len()).sum()
    }

    /// Whether this task is finished. The key of the spec must be equal; another key for the same file does not count.
    pub fn has(&self, spec: &str, task: &str) -> bool {
        self.specs.iter().any(|finished| finished.spec == spec && finished.has(task))
    }

    /// The finished tasks of this spec, in the order of the file.
    pub fn of(&self, finished: &SpecCompletions) -> Vec<Completion> {
        let tasks = finished.tasks.list.iter();
        tasks.filter_map(|(task, entry)| completion(&finished.spec, task, entry)).collect()
    }

    /// The completion of this task, if it is finished.
    pub fn find(&self, finished: &SpecCompletions, task: &str) -> Option<Completion> {
        completion(&finished.spec, task, finished.tasks.get(task)?)
    }

    /// Adds a completion. The first one of a task stays.
    pub fn add(&mut self, completion: &Completion) {
        let Completion { spec, task, by, at, notes, evidence, machine: _ } = completion;
        let mut entry = Map::new();
        entry.insert("completedBy".to_string(), Value::from(by.as_str()));
        entry.insert("completedAt".to_string(), Value::from(time::iso(*at)));
        entry.extend(notes.as_ref().map(|notes| ("notes".to_string(), Value::from(notes.as_str()))));
        let evidence =
            evidence.as_ref().and_then(|known| serde_json::to_value(EvidenceKeys::from(known)).ok());
        entry.extend(evidence.map(|evidence| ("evidence".to_string(), evidence)));
        // Indented for two levels of nesting.
        let text = serde_json::to_string_pretty(&entry).unwrap_or_default().replace('\n', "\n    ");
        let Ok(entry) = RawValue::from_string(text) else { return };
        self.tasks_of(spec).push(task.clone(), entry);
    }

    /// Takes the completion of a task back.
    pub fn remove(&mut self, completion: &Completion) {
        for finished in self.specs.iter_mut().filter(|finished| finished.spec == completion.spec) {
            finished.tasks.retain(|task| readable(task) != completion.task);
        }
    }

    /// The finished tasks of a spec, which is added if it is not there.
    fn tasks_of(&mut self, spec: &str) -> &mut Members<Box<RawValue>> {
        let place = self.specs.iter().position(|finished| finished.spec == spec);
        let place = place.unwrap_or_else(|| {
            self.specs.push(SpecCompletions { spec: spec.to_string(), tasks: Members::default() });
            self.specs.len() - 1
        });
        &mut self.specs[place].tasks
    }
}

impl Serialize for Completions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.specs.iter().map(|finished| (&finished.spec, &finished.tasks)))
    }
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    completed_by: String,
    completed_at: String,
    notes: Option<String>,
    evidence: Option<Box<RawValue>>,
}

impl Entry {
    fn read(entry: &RawValue) -> serde_json::Result<Self> {
        surrogates::from_slice(entry.get().as_bytes())
    }
}

/// The values of an entry. Never `None` after [`Completions::parse`], which has checked it.
fn completion(spec: &str, task: &str, entry: &RawValue) -> Option<Completion> {
    let entry = Entry::read(entry).ok()?;
    Some(Completion {
        spec: spec.to_string(),
        task: readable(task),
        by: readable(&entry.completed_by),
        // An invalid time counts as long ago: that the task is finished matters more than when.
        at: entry.completed_at.parse().unwrap_or(Timestamp::UNIX_EPOCH),
        notes: entry.notes.as_deref().map(readable),
        evidence: entry.evidence.as_deref().and_then(understood),
        machine: None,
    })
}

fn understood(evidence: &RawValue) -> Option<TaskEvidence> {
    surrogates::from_slice::<EvidenceKeys>(evidence.get().as_bytes()).ok().map(TaskEvidence::from)
}

/// A JSON object with its members in order. A repeated key is an error, because it is not clear which value counts.
#[derive(Clone, Debug)]
struct Members<T> {
    list: Vec<(String, T)>,
    places: HashMap<String, usize>,
}

impl<T> Default for Members<T> {
    fn default() -> Self {
        Self { list: Vec::new(), places: HashMap::new() }
    }
}

impl<T> Members<T> {
    fn get(&self, key: &str) -> Option<&T> {
        self.places.get(key).map(|place| &self.list[*place].1)
    }

    /// Adds a member. `false`: the key is there already, and its value stays.
    fn push(&mut self, key: String, value: T) -> bool {
        if self.places.contains_key(&key) {
            return false;
        }
        self.places.insert(key.clone(), self.list.len());
        self.list.push((key, value));
        true
    }

    /// Keeps the members with these keys.
    fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.list.retain(|(key, _)| is_kept(key));
        self.places = self.list.iter().enumerate().map(|(place, (key, _))| (key.clone(), place)).collect();
    }
}

impl<T: Serialize> Serialize for Members<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.list.iter().map(|(key, value)| (key, value)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Members<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Members<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<T>, A::Error> {
                let mut members = Members::default();
                while let Some((key, value)) = map.next_entry::<String, T>()? {
                    let shown = key.escape_debug().to_string();
                    if !members.push(key, value) {
                        return Err(A::Error::custom(format!("`{shown}` occurs twice")));
                    }
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

/// The members of a JSON object in order, with repeated keys. The values are not parsed, so one that can't be
/// represented, such as `1e999`, does not make the others unreadable.
#[derive(Default)]
struct Pairs(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{SeenTest, SeenWork, VerifyRun};

    const PI: &str = include_str!("../../../fixtures/pi-messenger/completions.json");

    fn completion(spec: &str, task: &str) -> Completion {
        let at = "2026-11-15T06:00:00Z".parse().unwrap();
        Completion {
            spec: spec.into(),
            task: task.into(),
            by: "SwiftRaven".into(),
            at,
            notes: Some("ok \"x\"".into()),
            evidence: None,
            machine: None,
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
        let again = Completions::parse(&completions.bytes()).unwrap();
        assert_eq!(again.count(), 5);
        for completion in new {
            assert_eq!(find(&again, &completion.spec, &completion.task), Some(completion.clone()));
            assert_eq!(find(&completions, &completion.spec, &completion.task), Some(completion));
        }
        // Formatted as `JSON.stringify(…, null, 2)` would.
        let document: Value = serde_json::from_slice(&again.bytes()).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&again.bytes()).trim_end(),
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
        assert!(String::from_utf8(completions.bytes()).unwrap().contains(r#""notes": "done \ud83d""#));
        assert_eq!(Completions::parse(&completions.bytes()).unwrap().count(), 3);
    }

    #[test]
    fn from_nothing() {
        let mut completions = Completions::default();
        completions.add(&completion("/s.md", "T-1"));
        completions.add(&completion("/s.md", "T-2"));
        assert_eq!(Completions::parse(&completions.bytes()).unwrap().count(), 2);
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

    #[test]
    fn what_a_damaged_file_still_says_is_kept_and_the_rest_is_counted() {
        let done = |by: &str| {
            format!(r#"{{"completedBy": "{by}", "completedAt": "2026-11-15T06:00:00Z", "x": 1e999}}"#)
        };
        let (ann, ben) = (done("Ann"), done("Ben"));
        let text = format!(
            r#"{{"s": {{"T": {ann}, "U": {ann}, "T": {ben}}}, "t": {{"V": {ann}}}, "s": {{"W": {ben}, "X": 1e999}}}}"#
        );
        let (saved, dropped) = Completions::salvage(text.as_bytes());
        assert_eq!((saved.count(), dropped), (4, 2), "T twice, and X");
        assert_eq!(find(&saved, "s", "T").unwrap().by, "Ann", "the first one counts");
        assert_eq!(find(&saved, "s", "W").unwrap().by, "Ben");
        assert_eq!(Completions::parse(&saved.bytes()).unwrap().count(), 4);
    }

    #[test]
    fn a_task_is_finished_once() {
        let mut completions = Completions::default();
        completions.add(&completion("/s.md", "T-1"));
        completions.add(&Completion { by: "Late".into(), ..completion("/s.md", "T-1") });
        assert_eq!(Completions::parse(&completions.bytes()).unwrap().count(), 1);
        assert_eq!(find(&completions, "/s.md", "T-1").unwrap().by, "SwiftRaven");
    }

    fn evidence() -> TaskEvidence {
        let at = "2026-11-15T05:59:00Z".parse().unwrap();
        let test = Some(SeenTest { command: "cargo test".into(), has_passed: true, at });
        TaskEvidence {
            text: Some("see \"CI\"".into()),
            verified: Some(VerifyRun { command: "make\ntest".into(), exit_code: 0, tail: "ok\n".into() }),
            commit: Some("0a1b".into()),
            at,
            seen: SeenWork { test, edited_at: Some(at) },
        }
    }

    #[test]
    fn evidence_is_read_as_it_was_written_and_what_is_none_costs_nobody_a_completion() {
        let mut completions = Completions::default();
        let proven = Completion { evidence: Some(evidence()), ..completion("/s.md", "T-1") };
        completions.add(&proven);
        let again = Completions::parse(&completions.bytes()).unwrap();
        assert_eq!(find(&again, "/s.md", "T-1"), Some(proven));
        let document: Value = serde_json::from_slice(&again.bytes()).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&again.bytes()).trim_end(),
            serde_json::to_string_pretty(&document).unwrap()
        );
        for odd in
            ["null", "1e999", "[]", "{}", r#"{"at": 3}"#, r#"{"at": "2026-11-15T06:00:00Z", "test": 1}"#]
        {
            let text =
                format!(r#"{{"s": {{"T": {{"completedBy": "A", "completedAt": "x", "evidence": {odd}}}}}}}"#);
            let completions = Completions::parse(text.as_bytes()).unwrap();
            assert_eq!(find(&completions, "s", "T").unwrap().evidence, None, "{odd}");
            assert!(String::from_utf8(completions.bytes()).unwrap().contains(odd), "it stays as it was");
        }
    }

    #[test]
    fn a_completion_that_is_taken_back_leaves_the_others() {
        let mut completions = Completions::parse(PI.as_bytes()).unwrap();
        let count = completions.count();
        let new = ["T-1", "T-2", "T-3"].map(|task| completion("/s.md", task));
        new.iter().for_each(|completion| completions.add(completion));
        completions.remove(&new[1]);
        assert_eq!(completions.count(), count + 2);
        assert_eq!(find(&completions, "/s.md", "T-2"), None);
        assert_eq!(find(&completions, "/s.md", "T-3"), Some(new[2].clone()));
        completions.add(&new[1]);
        assert_eq!(
            find(&Completions::parse(&completions.bytes()).unwrap(), "/s.md", "T-2"),
            Some(new[1].clone())
        );
    }
}
