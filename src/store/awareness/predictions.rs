//! `awareness/<repository>.predictions`: which collisions were foretold, and what became of them.
//!
//! ```text
//! {"id":"k3f9","at":1794700676113,"agent":"9f86…","name":"Alice","with":"1c2d…","withName":"Robin","p":0.73,"path":"5b1c…","file":"src/a.rs","why":"…"}
//! {"id":"k3f9","end":"occurred","at":1794700990870}
//! ```

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::AgentName;
use crate::domain::awareness::counters::{AgentId, PathId};
use crate::domain::awareness::{PredictionEnd, RepositoryId};
use crate::store::error::StoreError;
use crate::store::handles::AwarenessFiles;
use crate::store::lock_order::{LockOrderGuard, LockRank};
use crate::sys::files::{self, LockedLineFile};

const LOCK_TIMEOUT: Duration = Duration::from_millis(300);
/// Above this size in bytes, the oldest that have ended are dropped, down to so many.
const LONG: u64 = 256 * 1024;
const MOST_KEPT: usize = 500;

/// Whether something was recorded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use = "another process may have been first"]
pub enum Recorded {
    Now,
    /// It had been already, or another process held the file for too long.
    Not,
}

/// A collision that was foretold to `agent`.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    pub id: String,
    /// In milliseconds since 1970.
    pub at: i64,
    pub agent: AgentId,
    pub name: AgentName,
    pub with: AgentId,
    pub with_name: AgentName,
    pub probability: f64,
    pub path: PathId,
    /// For people, relative to the root of the work tree.
    pub file: String,
    pub why: String,
    pub end: Option<(PredictionEnd, i64)>,
}

#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum Line {
    End {
        id: String,
        end: String,
        at: i64,
    },
    #[serde(rename_all = "camelCase")]
    Foretold {
        id: String,
        at: i64,
        agent: String,
        name: String,
        with: String,
        with_name: String,
        p: f64,
        path: String,
        file: String,
        why: String,
    },
}

impl Line {
    fn end(id: &str, end: PredictionEnd, at: i64) -> Self {
        Self::End { id: id.to_string(), end: end.name().to_string(), at }
    }

    fn of(prediction: &Prediction) -> Self {
        Self::Foretold {
            id: prediction.id.clone(),
            at: prediction.at,
            agent: format!("{:016x}", prediction.agent.0),
            name: prediction.name.to_string(),
            with: format!("{:016x}", prediction.with.0),
            with_name: prediction.with_name.to_string(),
            p: prediction.probability,
            path: format!("{:016x}", prediction.path.0),
            file: prediction.file.clone(),
            why: prediction.why.clone(),
        }
    }

    #[expect(clippy::expect_used, reason = "a line holds nothing that JSON can't say")]
    fn text(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("plain data")
    }
}

/// The predictions in the order in which they were made. Lines that can't be parsed are left out.
fn parse(content: &[u8]) -> Vec<Prediction> {
    let mut found: Vec<Prediction> = Vec::new();
    let agent = |text: &str| u64::from_str_radix(text, 16).ok().map(AgentId);
    let lines = content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    for line in lines.filter_map(|line| serde_json::from_slice(line).ok()) {
        match line {
            Line::End { id, end, at } => {
                let ended = found.iter_mut().find(|one| one.id == id && one.end.is_none());
                if let (Some(ended), Some(end)) = (ended, PredictionEnd::named(&end)) {
                    ended.end = Some((end, at));
                }
            }
            Line::Foretold { id, at, agent: who, name, with, with_name, p, path, file, why } => {
                let path = u64::from_str_radix(&path, 16).ok().map(PathId);
                let (Some(agent), Some(with), Some(path)) = (agent(&who), agent(&with), path) else {
                    continue;
                };
                let (Ok(name), Ok(with_name)) = (AgentName::new(name), AgentName::new(with_name)) else {
                    continue;
                };
                let end = None;
                found.push(Prediction {
                    id,
                    at,
                    agent,
                    name,
                    with,
                    with_name,
                    probability: p,
                    path,
                    file,
                    why,
                    end,
                });
            }
        }
    }
    found
}

impl AwarenessFiles<'_> {
    pub fn predictions(self, repository: &RepositoryId) -> Result<Vec<Prediction>, StoreError> {
        let content = files::read_note(&self.mesh.layout.predictions(repository))?;
        Ok(parse(&content.unwrap_or_default()))
    }

    /// Records a prediction, unless the pair was told one since `since`, whichever of the two. Of several processes, one
    /// records it.
    pub fn foretell(
        self,
        repository: &RepositoryId,
        new: &Prediction,
        since: i64,
    ) -> Result<Recorded, StoreError> {
        let Some((mut file, _turn)) = self.locked_predictions(repository)? else { return Ok(Recorded::Not) };
        let known = parse(&file.read()?);
        let pair = |one: &Prediction| (one.agent.min(one.with), one.agent.max(one.with));
        // One from the future was told before the clock was set back.
        let is_recent = |one: &Prediction| (since..=new.at).contains(&one.at);
        if known.iter().any(|one| is_recent(one) && pair(one) == pair(new)) {
            return Ok(Recorded::Not);
        }
        if file.add(&Line::of(new).text())? > LONG {
            let first = known.len().saturating_sub(MOST_KEPT);
            let is_kept = |(number, one): &(usize, &Prediction)| *number >= first || one.end.is_none();
            let kept = known.iter().enumerate().filter(is_kept).map(|(_, one)| one);
            let mut content = Vec::new();
            for one in kept.chain([new]) {
                content.extend(Line::of(one).text());
                content.push(b'\n');
                if let Some((end, at)) = one.end {
                    content.extend(Line::end(&one.id, end, at).text());
                    content.push(b'\n');
                }
            }
            file.replace(&self.mesh.files, &content)?;
        }
        Ok(Recorded::Now)
    }

    /// Records how a prediction ended, once.
    pub fn end_prediction(
        self,
        repository: &RepositoryId,
        id: &str,
        end: PredictionEnd,
        at: i64,
    ) -> Result<Recorded, StoreError> {
        let Some((mut file, _turn)) = self.locked_predictions(repository)? else { return Ok(Recorded::Not) };
        let is_open = parse(&file.read()?).iter().any(|one| one.id == id && one.end.is_none());
        if !is_open {
            return Ok(Recorded::Not);
        }
        file.add(&Line::end(id, end, at).text())?;
        Ok(Recorded::Now)
    }

    fn locked_predictions(
        self,
        repository: &RepositoryId,
    ) -> Result<Option<(LockedLineFile, LockOrderGuard)>, StoreError> {
        files::create_dir(&self.mesh.layout.directory("awareness"))?;
        let order = LockOrderGuard::begin(LockRank::Track, LOCK_TIMEOUT);
        let file = LockedLineFile::open(&self.mesh.layout.predictions(repository), order.left())?;
        Ok(file.map(|file| (file, order)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::settings::Durability;
    use crate::store::{Mesh, MeshLocation, MeshOptions};

    #[test]
    fn a_pair_is_told_once_per_window_and_a_prediction_ends_once() {
        let dir = tempfile::tempdir().unwrap();
        let options = MeshOptions { durability: Durability::Process, lock_timeout: Duration::from_secs(60) };
        let mesh = Mesh::create(&MeshLocation::at(&dir.path().join("mesh")), options).unwrap();
        let (store, repository) = (mesh.awareness(), RepositoryId::of(b"/work"));
        let name = |name: &str| AgentName::new(name).unwrap();
        let prediction = |at: i64, agent: u64, with: u64| Prediction {
            id: format!("{at}"),
            at,
            agent: AgentId(agent),
            name: name("Alice"),
            with: AgentId(with),
            with_name: name("Robin"),
            probability: 0.73,
            path: PathId(7),
            file: "src/ä b.rs".to_string(),
            why: "prompts about `login`".to_string(),
            end: None,
        };
        let foretell =
            |new: &Prediction, since| store.foretell(&repository, new, since).unwrap() == Recorded::Now;
        assert!(foretell(&prediction(10, 1, 2), 0));
        assert!(!foretell(&prediction(11, 1, 2), 5));
        assert!(!foretell(&prediction(12, 2, 1), 5), "it is the same pair");
        assert!(foretell(&prediction(13, 1, 3), 5));
        assert!(foretell(&prediction(30, 2, 1), 20), "the window is over");
        let end = |id: &str, end| store.end_prediction(&repository, id, end, 40).unwrap() == Recorded::Now;
        assert!(end("10", PredictionEnd::Occurred));
        assert!(!end("10", PredictionEnd::FalseAlarm));
        assert!(!end("nothing", PredictionEnd::FalseAlarm));
        let mut expected = [prediction(10, 1, 2), prediction(13, 1, 3), prediction(30, 2, 1)];
        expected[0].end = Some((PredictionEnd::Occurred, 40));
        assert_eq!(store.predictions(&repository).unwrap(), expected);
    }
}
