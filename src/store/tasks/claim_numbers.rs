//! `claim-numbers.json`: how often each task was claimed, for which run it was claimed last, and why it came back: why a
//! run gave it back, and who reopened it.
//!
//! The number grows with each claim and never goes back, so whoever has an older one has lost the task since, whatever
//! name, session or process it has now.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::TaskRef;
use crate::store::error::StoreError;
use crate::store::handles::TaskRecords;
use crate::store::mesh::Mesh;
use crate::store::tasks::completions::Completion;
use crate::store::wire::evidence::EvidenceKeys;
use crate::store::wire::{pretty, time};
use crate::sys::{clock, files};

/// How many reopenings of one task are kept: the newest.
const MOST_REOPENINGS: usize = 10;

/// The numbers of all tasks that were ever claimed.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct ClaimNumbers {
    /// Every new number is larger than this.
    floor: u64,
    /// By spec, then by task.
    tasks: BTreeMap<String, BTreeMap<String, ClaimNumber>>,
}

/// What is known of the claims of one task.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimNumber {
    /// The fencing number of its last claim.
    pub number: u64,
    /// The run that it was last claimed for, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The run that it was claimed for before that, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    former: Option<String>,
    /// Why the last run that had it ended without completing it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<TaskNote>,
    /// Oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reopened: Vec<ReopeningKeys>,
}

/// A completion that was taken back: by whom, when and why.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reopening {
    pub by: String,
    pub at: Timestamp,
    pub reason: String,
    /// What was taken back.
    pub completion: Completion,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReopeningKeys {
    by: String,
    #[serde(with = "time")]
    at: Timestamp,
    reason: String,
    /// The key of the spec in the completions, which may be another spelling.
    spec: String,
    completed_by: String,
    #[serde(with = "time")]
    completed_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    notes: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    evidence: Option<EvidenceKeys>,
}

impl ReopeningKeys {
    fn of(reopening: &Reopening) -> Self {
        let Reopening { by, at, reason, completion } = reopening.clone();
        Self {
            by,
            at,
            reason,
            spec: completion.spec,
            completed_by: completion.by,
            completed_at: completion.at,
            notes: completion.notes,
            evidence: completion.evidence.as_ref().map(EvidenceKeys::from),
        }
    }

    fn reopening(&self, task: &str) -> Reopening {
        let Self { by, at, reason, spec, completed_by, completed_at, notes, evidence } = self.clone();
        let completion = Completion {
            spec,
            task: task.to_string(),
            by: completed_by,
            at: completed_at,
            notes,
            evidence: evidence.map(Into::into),
            machine: None,
        };
        Reopening { by, at, reason, completion }
    }

    /// Whether both took back the same completion.
    fn is_same(&self, other: &Self) -> bool {
        (&self.completed_by, self.completed_at) == (&other.completed_by, other.completed_at)
    }
}

/// Why a task came back.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct TaskNote {
    pub run: String,
    pub text: String,
    #[serde(with = "time")]
    pub at: Timestamp,
}

impl ClaimNumbers {
    pub(in crate::store) fn bytes(&self) -> Vec<u8> {
        pretty(self)
    }

    /// What is known of the claims of a task; `None` if it was never claimed.
    pub fn get(&self, task: &TaskRef) -> Option<&ClaimNumber> {
        self.tasks.get(&task.spec)?.get(&task.id)
    }

    /// The number for a new claim of the task.
    pub fn next(&mut self, task: &TaskRef, run: Option<String>) -> u64 {
        let floor = self.floor;
        let last = self.entry(task);
        last.number = last.number.max(floor) + 1;
        // One that claims it again has not lost it meanwhile.
        if last.run != run {
            last.former = std::mem::replace(&mut last.run, run);
        }
        last.number
    }

    /// Takes back that the task was last claimed for this run, because that did not become one: whoever had it before
    /// counts again. The number stays, so that none is given twice.
    pub fn withdraw(&mut self, task: &TaskRef, run: &str) {
        if self.is_last_of(task, run) {
            let last = self.entry(task);
            last.run = last.former.take();
        }
    }

    /// Whether the task was last claimed for this run.
    pub fn is_last_of(&self, task: &TaskRef, run: &str) -> bool {
        self.get(task).is_some_and(|last| last.run.as_deref() == Some(run))
    }

    /// Notes why the task came back.
    pub fn note(&mut self, task: &TaskRef, note: TaskNote) {
        self.entry(task).note = Some(note);
    }

    /// Notes that a completion of the task is taken back. One that was noted before, by a process that was killed before it
    /// took the completion back, is replaced.
    pub fn reopen(&mut self, task: &TaskRef, reopening: &Reopening) {
        let keys = ReopeningKeys::of(reopening);
        let reopened = &mut self.entry(task).reopened;
        reopened.retain(|known| !known.is_same(&keys));
        reopened.push(keys);
        reopened.drain(..reopened.len().saturating_sub(MOST_REOPENINGS));
    }

    /// What was taken back, oldest first. One that was only begun, so that its completion still counts, is left out.
    pub fn reopenings(&self, task: &TaskRef, completion: Option<&Completion>) -> Vec<Reopening> {
        let all = self.get(task).into_iter().flat_map(|last| &last.reopened);
        let is_made = |known: &Reopening| {
            let begun = &known.completion;
            completion.is_none_or(|now| (&now.by, now.at) != (&begun.by, begun.at))
        };
        all.map(|keys| keys.reopening(&task.id)).filter(is_made).collect()
    }

    fn entry(&mut self, task: &TaskRef) -> &mut ClaimNumber {
        self.tasks.entry(task.spec.clone()).or_default().entry(task.id.clone()).or_default()
    }
}

impl TaskRecords<'_> {
    /// All numbers. A damaged file counts as none: it is set aside by the next claim.
    pub fn claim_numbers(self) -> Result<ClaimNumbers, StoreError> {
        Ok(read(self.mesh)?.unwrap_or_default())
    }
}

/// The numbers, to be changed with both locks held, and where a damaged file was put. After such a loss, numbers begin
/// with the seconds of the clock, so that they are larger than any that were given before.
pub(in crate::store) fn read_or_restart(mesh: &Mesh) -> Result<(ClaimNumbers, Option<String>), StoreError> {
    if let Ok(numbers) = read(mesh)? {
        return Ok((numbers, None));
    }
    let aside = mesh.put_aside(&mesh.layout.claim_numbers(), "claim-numbers", "it could not be read")?;
    let floor = clock::now().as_second().unsigned_abs();
    Ok((ClaimNumbers { floor, ..ClaimNumbers::default() }, aside))
}

fn read(mesh: &Mesh) -> Result<serde_json::Result<ClaimNumbers>, StoreError> {
    match files::read_large(&mesh.layout.claim_numbers())? {
        Some(content) => Ok(serde_json::from_slice(&content)),
        None => Ok(Ok(ClaimNumbers::default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_only_grow() {
        let task = TaskRef { spec: "/s.md".to_string(), id: "T-1".to_string() };
        let mut numbers = ClaimNumbers::default();
        assert_eq!(numbers.get(&task), None);
        assert_eq!([numbers.next(&task, None), numbers.next(&task, Some("r1".to_string()))], [1, 2]);
        numbers.note(
            &task,
            TaskNote { run: "r1".to_string(), text: "x".to_string(), at: Timestamp::UNIX_EPOCH },
        );
        let mut again: ClaimNumbers = serde_json::from_slice(&numbers.bytes()).unwrap();
        assert_eq!(again.get(&task), numbers.get(&task));
        again.floor = 100;
        assert_eq!(again.next(&task, None), 101);
        let other = TaskRef { id: "T-2".to_string(), ..task };
        assert_eq!(again.next(&other, None), 101);
    }

    #[test]
    fn what_did_not_become_a_run_is_as_if_it_had_claimed_nothing() {
        let task = TaskRef { spec: "/s.md".to_string(), id: "T-1".to_string() };
        let mut numbers = ClaimNumbers::default();
        let run_of = |numbers: &ClaimNumbers| numbers.get(&task).and_then(|last| last.run.clone());
        for (before, number) in [(None, 1), (Some("r1".to_string()), 4)] {
            assert_eq!(numbers.next(&task, before.clone()), number);
            assert!(!numbers.is_last_of(&task, "r2"));
            // It may have claimed it twice.
            numbers.next(&task, Some("r2".to_string()));
            assert_eq!(numbers.next(&task, Some("r2".to_string())), number + 2);
            assert!(numbers.is_last_of(&task, "r2"));
            numbers.withdraw(&task, "r2");
            assert_eq!(run_of(&numbers), before);
        }
        assert_eq!(numbers.next(&task, None), 7);
    }

    #[test]
    fn what_was_reopened_is_kept_and_what_was_only_begun_does_not_count() {
        let task = TaskRef { spec: "/s.md".to_string(), id: "T-1".to_string() };
        let at = |second: i64| Timestamp::from_second(1_794_700_000 + second).unwrap();
        let reopening = |number: i64, reason: &str| Reopening {
            by: "Bob".to_string(),
            at: at(number + 1),
            reason: reason.to_string(),
            completion: Completion {
                spec: "/link/s.md".to_string(),
                task: "T-1".to_string(),
                by: "Ann".to_string(),
                at: at(number),
                notes: Some("done".to_string()),
                evidence: None,
                machine: None,
            },
        };
        let mut numbers = ClaimNumbers::default();
        let first = reopening(1, "killed");
        numbers.reopen(&task, &first);
        assert_eq!(numbers.reopenings(&task, Some(&first.completion)), []);
        numbers.reopen(&task, &reopening(1, "again"));
        let again: ClaimNumbers = serde_json::from_slice(&numbers.bytes()).unwrap();
        assert_eq!(again.reopenings(&task, None), [reopening(1, "again")]);
        for number in 2..40 {
            numbers.reopen(&task, &reopening(number, "more"));
        }
        let kept = numbers.reopenings(&task, None);
        assert_eq!((kept.len(), kept[9].completion.at), (MOST_REOPENINGS, at(39)));
    }
}
