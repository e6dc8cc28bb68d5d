//! `claims.json`: which agent works on which task. `locked_claims` has the right to change it.

use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::completions::Completions;
use super::swarm_lock;
use crate::domain::link::{MachineName, on_machine};
use crate::domain::{Agent, RecordedProcess, TaskRef};
use crate::store::error::{ParseError, StoreError};
use crate::store::handles::TaskRecords;
use crate::store::layout::Layout;
use crate::store::retrying_read::{self, RetryBudget};
use crate::store::wire::process::{ProcessKey, recorded};
use crate::store::wire::surrogates::{SurrogateEscapes, readable};
use crate::store::wire::time;
use crate::sys::{files, test_switches};

/// The content of `claims.json`, fully parsed.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    document: Map<String, Value>,
    /// Half characters in what others wrote.
    escapes: SurrogateEscapes,
}

/// A task with the agent that works on it.
#[derive(Clone, Debug)]
pub struct Claim {
    pub spec: String,
    pub task: String,
    pub agent: String,
    pub session: String,
    pub process: RecordedProcess,
    pub claimed_at: Timestamp,
    pub reason: Option<String>,
    /// Its fencing number; `None`: pi-messenger made it.
    pub number: Option<u64>,
    /// The run that it was made for.
    pub run: Option<String>,
    /// The machine of its agent, if that is not this one: it is in no file of claims.
    pub machine: Option<MachineName>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimKeys {
    agent: String,
    session_id: String,
    pid: i64,
    #[serde(with = "time")]
    claimed_at: Timestamp,
    reason: Option<String>,
    process: Option<ProcessKey>,
    number: Option<u64>,
    run: Option<String>,
}

impl Claims {
    pub(in crate::store) fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let (document, escapes): (Map<String, Value>, SurrogateEscapes) =
            SurrogateEscapes::read(bytes).map_err(ParseError::new)?;
        for (spec, tasks) in &document {
            let tasks = tasks.as_object().ok_or_else(|| {
                ParseError::new(format!("the value of `{}` is not an object", spec.escape_debug()))
            })?;
            for (task, entry) in tasks {
                claim(spec, task, entry).map_err(|error| {
                    let task = task.escape_debug();
                    ParseError::new(format!("the claim of `{task}` can't be understood: {error}"))
                })?;
            }
        }
        Ok(Self { document, escapes })
    }

    /// The valid entries of a damaged file, and the number of invalid ones.
    pub(in crate::store) fn salvage(bytes: &[u8]) -> (Self, usize) {
        let (mut document, escapes): (Map<String, Value>, SurrogateEscapes) =
            SurrogateEscapes::read(bytes).unwrap_or_default();
        let mut dropped = 0;
        document.retain(|spec, tasks| {
            let Some(tasks) = tasks.as_object_mut() else {
                dropped += 1;
                return false;
            };
            tasks.retain(|task, entry| {
                let whole = claim(spec, task, entry).is_ok();
                dropped += usize::from(!whole);
                whole
            });
            true
        });
        (Self { document, escapes }, dropped)
    }

    pub(in crate::store) fn bytes(&self) -> Vec<u8> {
        self.escapes.written(crate::store::wire::pretty(&self.document))
    }

    pub fn iter(&self) -> impl Iterator<Item = Claim> {
        self.document.iter().flat_map(|(spec, tasks)| {
            let tasks = tasks.as_object().into_iter().flatten();
            tasks.filter_map(move |(task, entry)| claim(spec, task, entry).ok())
        })
    }

    /// The claims of an agent, under any of its names.
    pub fn of(&self, agent: &Agent) -> Vec<Claim> {
        self.iter().filter(|claim| claim.is_of(agent)).collect()
    }

    /// Whether the agent works on that task.
    pub fn has(&self, agent: &Agent, task: &TaskRef) -> bool {
        let entry = self.document.get(&task.spec).and_then(|tasks| tasks.get(&task.id));
        entry.is_some_and(|entry| claim(&task.spec, &task.id, entry).is_ok_and(|claim| claim.is_of(agent)))
    }

    /// Adds a claim. The task must be free.
    pub fn insert(&mut self, claim: &Claim) {
        let mut entry = Map::new();
        entry.insert("agent".to_string(), Value::from(claim.agent.as_str()));
        entry.insert("sessionId".to_string(), Value::from(claim.session.as_str()));
        entry.insert("pid".to_string(), Value::from(claim.process.pid().get()));
        entry.insert("claimedAt".to_string(), Value::from(time::iso(claim.claimed_at)));
        entry
            .extend(claim.reason.as_ref().map(|reason| ("reason".to_string(), Value::from(reason.as_str()))));
        let process = ProcessKey::of(&claim.process).and_then(|key| serde_json::to_value(key).ok());
        entry.extend(process.map(|process| ("process".to_string(), process)));
        entry.extend(claim.number.map(|number| ("number".to_string(), Value::from(number))));
        entry.extend(claim.run.as_ref().map(|run| ("run".to_string(), Value::from(run.as_str()))));
        let tasks = self.document.entry(claim.spec.clone()).or_insert_with(|| Value::Object(Map::new()));
        if let Some(tasks) = tasks.as_object_mut() {
            tasks.insert(claim.task.clone(), Value::Object(entry));
        }
    }

    pub fn remove(&mut self, claim: &Claim) {
        if let Some(tasks) = self.document.get_mut(&claim.spec).and_then(Value::as_object_mut) {
            tasks.shift_remove(&claim.task);
            if tasks.is_empty() {
                self.document.shift_remove(&claim.spec);
            }
        }
    }

    /// Removes the agent's claims. Returns them.
    pub fn give_up(&mut self, agent: &Agent) -> Vec<Claim> {
        let had = self.of(agent);
        had.iter().for_each(|claim| self.remove(claim));
        had
    }

    /// Updates the agent's claims after its name, session or process has changed.
    pub fn carry_over(&mut self, before: &Agent, after: &Agent) {
        let had = self.of(before);
        for claim in &had {
            let entry = self.document.get_mut(&claim.spec).and_then(|tasks| tasks.get_mut(&claim.task));
            if let Some(entry) = entry.and_then(Value::as_object_mut) {
                entry.insert("agent".to_string(), Value::from(after.name.as_str()));
                entry.insert("sessionId".to_string(), Value::from(after.session.as_str()));
                entry.insert("pid".to_string(), Value::from(after.process.pid().get()));
                let process = ProcessKey::of(&after.process).and_then(|key| serde_json::to_value(key).ok());
                entry.extend(process.map(|process| ("process".to_string(), process)));
            }
        }
    }
}

impl Claim {
    /// Its agent, with the machine if that is not this one.
    pub fn who(&self) -> String {
        on_machine(&self.agent, self.machine.as_ref())
    }

    fn is_of(&self, agent: &Agent) -> bool {
        // The session id may change within a process. A bare pid identifies nothing without it.
        let same = match self.process {
            RecordedProcess::Pinned(_) => self.process == agent.process,
            RecordedProcess::Bare { pid, .. } => {
                pid == agent.process.pid() && self.session == agent.session.as_str()
            }
        };
        same && agent.all_names().any(|name| name.as_str().eq_ignore_ascii_case(&self.agent))
    }
}

impl TaskRecords<'_> {
    /// The completions, unless they were certainly written before the claims. Completing a task may have been
    /// interrupted, which leaves a claim on a completed task. Two writes within one tick of the clock have the same
    /// time, so equal times count.
    pub(in crate::store) fn done_since_claims(self) -> Option<crate::store::Completions> {
        let modified = |path: &Path| files::metadata(path).ok().flatten()?.modified().ok();
        let (claims, done) =
            (modified(&self.mesh.layout.claims())?, modified(&self.mesh.layout.completions())?);
        if done >= claims { self.completions().ok() } else { None }
    }

    /// All readable claims.
    pub fn claims(self) -> Result<Claims, StoreError> {
        read_claims(&self.mesh.layout)
    }

    /// All readable completions.
    pub fn completions(self) -> Result<crate::store::Completions, StoreError> {
        read_completions(&self.mesh.layout)
    }

    /// Whether `swarm.lock` is held or stale; `None` if there is no such file.
    pub fn lock_state(self) -> Result<Option<crate::store::SwarmLockState>, StoreError> {
        swarm_lock::examine(&self.mesh.layout.swarm_lock())
    }
}

fn claim(spec: &str, task: &str, entry: &Value) -> Result<Claim, ParseError> {
    let keys = ClaimKeys::deserialize(entry).map_err(ParseError::new)?;
    Ok(Claim {
        spec: spec.to_string(),
        task: task.to_string(),
        agent: keys.agent,
        session: keys.session_id,
        process: recorded(keys.pid, keys.process, None).map_err(ParseError::new)?,
        claimed_at: keys.claimed_at,
        reason: keys.reason.as_deref().map(readable),
        number: keys.number,
        run: keys.run,
        machine: None,
    })
}

/// Reads the claims. No file means no claims, but a file that cannot be parsed is an error: unreadable state is never
/// treated as empty.
pub(in crate::store) fn read_claims(layout: &Layout) -> Result<Claims, StoreError> {
    let path = layout.claims();
    test_switches::count("claims");
    let claims = retrying_read::read(&path, RetryBudget::Own, Claims::parse)?.or_corrupt(path)?;
    Ok(claims.unwrap_or_default())
}

/// Like `read_claims`, for completions.
pub(in crate::store) fn read_completions(layout: &Layout) -> Result<Completions, StoreError> {
    let path = layout.completions();
    let completions = retrying_read::read(&path, RetryBudget::Own, Completions::parse)?.or_corrupt(path)?;
    Ok(completions.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PI: &str = include_str!("../../../fixtures/pi-messenger/claims.json");

    #[test]
    fn what_pi_messenger_writes_is_read() {
        let claims = Claims::parse(PI.as_bytes()).unwrap();
        let claim = claims.iter().next().unwrap();
        assert_eq!((claim.task.as_str(), claim.agent.as_str()), ("TASK-01", "RedIce"));
        assert_eq!(claim.reason.as_deref(), Some("Implementing login flow"));
    }

    #[test]
    fn half_a_character_costs_nobody_a_claim_and_is_written_as_it_was() {
        let claimed = r#""sessionId": "s", "pid": 7, "claimedAt": "2026-11-15T22:00:00.000Z""#;
        let text =
            format!(r#"{{"/s.md": {{"T-1": {{"agent": "Pia", {claimed}, "reason": "done \ud83d"}}}}}}"#);
        let claims = Claims::parse(text.as_bytes()).unwrap();
        assert_eq!(claims.iter().next().unwrap().reason.as_deref(), Some("done \u{fffd}"));
        assert!(String::from_utf8(claims.bytes()).unwrap().contains(r#""reason": "done \ud83d""#));
    }

    #[test]
    fn what_is_whole_is_salvaged() {
        let mut document: Value = serde_json::from_str(PI).unwrap();
        document["/home/dev/proj/spec.md"]["TASK-02"] = Value::Null;
        document["/other.md"] = Value::Array(Vec::new());
        let (claims, dropped) = Claims::salvage(document.to_string().as_bytes());
        assert_eq!((claims.iter().count(), dropped), (1, 2));
        assert_eq!(Claims::salvage(b"{\"a\"").0.iter().count(), 0);
    }

    #[test]
    fn what_is_no_claims_file() {
        for bad in [
            "",
            "[]",
            "null",
            "{\"spec\": []}",
            "{\"spec\": {\"T\": null}}",
            "{\"spec\": {\"T\": {}}}",
            "{\"a\"",
        ] {
            assert!(Claims::parse(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }
}
