//! What a hook needs of a record to offer it to a model, and by which keys it finds it. A record is offered only where
//! something that it is anchored to is touched, never because its words are alike.

use jiff::Timestamp;

use super::anchor::{Anchor, AnchorTarget};
use super::kinds::{DecisionStatus, RecordKind};
use super::record::Record;
use super::record_id::RecordId;
use crate::domain::shell::{self, ProgramRun};

/// The kinds of records that are offered.
const OFFERED: [RecordKind; 3] = [RecordKind::Decision, RecordKind::Tried, RecordKind::Note];
/// The most characters that are kept of a text. What is shown is shorter.
const MAX_TEXT: usize = 600;
/// The most anchors that are kept of a record.
const MAX_ANCHORS: usize = 16;
/// An error text that is shorter matches too much.
const MIN_ERROR: usize = 4;

/// A record, as far as it is needed to offer it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KnowledgeOffer {
    pub id: RecordId,
    /// The sentence that stands for it, perhaps cut.
    pub headline: String,
    pub rationale: String,
    pub author: String,
    pub at: Timestamp,
    pub commit: Option<String>,
    pub branch: Option<String>,
    pub anchors: Vec<Anchor>,
}

/// A record in the overview that a session gets at its start.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OverviewRow {
    pub id: RecordId,
    pub paths: Vec<String>,
    pub branch: Option<String>,
    /// The task that it was recorded with.
    pub task: Option<String>,
    /// When it was last changed, in milliseconds.
    pub changed: i64,
}

/// The tag that names the task that a record was recorded with.
pub const TASK_TAG: &str = "task";

/// A hash of something that records are anchored to. Two things may have the same one, so what is found is compared.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct OfferKey(pub u64);

impl OfferKey {
    /// A path below the root of the project.
    pub fn path(path: &str) -> Self {
        Self::of("path", path)
    }

    pub fn symbol(symbol: &str) -> Self {
        Self::of("symbol", symbol)
    }

    pub fn record(id: &RecordId) -> Self {
        Self::of("record", &id.to_string())
    }

    /// All records that are anchored to an error text.
    pub fn errors() -> Self {
        Self::of("error", "")
    }

    /// A program, and its first argument if there is one.
    fn command(program: &str, argument: Option<&str>) -> Self {
        Self::of("command", &argument.map_or(program.to_string(), |argument| format!("{program} {argument}")))
    }

    /// The keys of the commands that such a run may be an instance of.
    pub fn of_run(run: &ProgramRun) -> Vec<Self> {
        let alone = Self::command(&run.program, None);
        let with = run.argument(0).map(|argument| Self::command(&run.program, Some(argument)));
        std::iter::once(alone).chain(with).collect()
    }

    /// FNV-1a.
    fn of(kind: &str, text: &str) -> Self {
        let bytes = kind.bytes().chain([0]).chain(text.bytes());
        // 0 marks an empty place in the index.
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(hash.max(1))
    }
}

impl KnowledgeOffer {
    /// `None`: it is not of a kind that is offered, it does not hold any more, or it is not anchored to anything.
    pub fn of(record: &Record) -> Option<Self> {
        let holds = record.status().is_none_or(|status| status == DecisionStatus::Active);
        let is_offered = OFFERED.contains(&record.id.kind) && !record.is_superseded() && holds;
        if !is_offered || record.anchors.is_empty() {
            return None;
        }
        let cut = |text: &str| text.chars().take(MAX_TEXT).collect::<String>();
        let said = &record.statement;
        Some(Self {
            id: record.id.clone(),
            headline: cut(said.headline()),
            rationale: if said.rationale == said.headline() { String::new() } else { cut(&said.rationale) },
            author: cut(&said.origin.author),
            at: said.origin.at,
            commit: said.origin.commit.clone(),
            branch: said.origin.branch.clone(),
            anchors: record.anchors.iter().take(MAX_ANCHORS).cloned().collect(),
        })
    }

    /// Everything that it can be found by, each once.
    pub fn keys(&self) -> Vec<OfferKey> {
        let mut keys = vec![OfferKey::record(&self.id)];
        for anchor in &self.anchors {
            keys.extend(anchor.target.path().map(|path| OfferKey::path(path.as_str())));
            match &anchor.target {
                AnchorTarget::Symbol { symbol, .. } => keys.push(OfferKey::symbol(symbol)),
                AnchorTarget::Command { command } => {
                    let words = command_words(command);
                    let second = words.get(1).map(String::as_str);
                    keys.extend(words.first().map(|program| OfferKey::command(program, second)));
                }
                AnchorTarget::Error { .. } => keys.push(OfferKey::errors()),
                AnchorTarget::File { .. } | AnchorTarget::Lines { .. } => {}
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// The first anchor in that file.
    pub fn anchor_in(&self, path: &str) -> Option<&AnchorTarget> {
        let is_in = |target: &&AnchorTarget| target.path().is_some_and(|own| own.as_str() == path);
        self.targets().find(is_in)
    }

    /// The anchor to that symbol.
    pub fn anchor_to_symbol(&self, name: &str) -> Option<&AnchorTarget> {
        self.targets().find(|target| matches!(target, AnchorTarget::Symbol { symbol, .. } if symbol == name))
    }

    /// The anchor to a command that such a run is an instance of: the program and the arguments begin with its words.
    pub fn anchor_to_run(&self, run: &ProgramRun) -> Option<&AnchorTarget> {
        let is_instance = |command: &str| {
            let words = command_words(command);
            let [program, arguments @ ..] = words.as_slice() else { return false };
            let fits = |(place, word): (usize, &String)| run.argument(place) == Some(word);
            *program == run.program && arguments.iter().enumerate().all(fits)
        };
        self.targets()
            .find(|target| matches!(target, AnchorTarget::Command { command } if is_instance(command)))
    }

    /// The anchor to an error text that such an output contains.
    pub fn anchor_to_error(&self, output: &str) -> Option<&AnchorTarget> {
        let is_said = |text: &str| text.len() >= MIN_ERROR && output.contains(text);
        self.targets().find(|target| matches!(target, AnchorTarget::Error { text } if is_said(text)))
    }

    fn targets(&self) -> impl Iterator<Item = &AnchorTarget> {
        self.anchors.iter().map(|anchor| &anchor.target)
    }
}

impl OverviewRow {
    /// `None`: it does not hold any more, or it only links others.
    pub fn of(record: &Record) -> Option<Self> {
        let holds = record.status().is_none_or(|status| status == DecisionStatus::Active);
        if record.is_superseded() || !holds || record.id.kind == RecordKind::Relationship {
            return None;
        }
        let paths = record.anchors.iter().filter_map(|anchor| anchor.target.path());
        Some(Self {
            id: record.id.clone(),
            paths: paths.take(MAX_ANCHORS).map(|path| path.as_str().to_string()).collect(),
            branch: record.statement.origin.branch.clone(),
            task: record.tags.get(TASK_TAG).cloned(),
            changed: record.changed.as_millisecond(),
        })
    }
}

/// The program, without its directory, and its arguments.
fn command_words(command: &str) -> Vec<String> {
    let words = shell::plain_words(command)
        .unwrap_or_else(|| command.split_whitespace().map(str::to_string).collect());
    let program = |word: String| word.rsplit('/').next().unwrap_or_default().to_string();
    let mut words = words.into_iter();
    words.next().map(program).into_iter().chain(words).collect()
}

#[cfg(test)]
pub(super) mod tests;
