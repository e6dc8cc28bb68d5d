//! A run: one life of one worker on one task, as the ledger has it.

use jiff::Timestamp;

use super::crew_part::CrewPart;
use super::grant::Grant;
use super::id::RunId;
use super::pane::{RunDialog, RunPane};
use super::question::RunQuestion;
use super::review::RunReview;
use super::state::RunState;
use super::usage::{Cost, Usage};
use crate::domain::link::{BranchPush, MachineName, RemoteAsker};
use crate::domain::{AgentName, RecordedProcess, SessionId};

/// What is known of a run.
#[derive(Clone, Debug)]
pub struct Run {
    pub id: RunId,
    pub state: RunState,
    /// The process that owns it: its supervisor, and before that who asked for it.
    pub owner: RecordedProcess,
    pub task: String,
    pub profile: String,
    /// The harness that its worker runs in; `None` if it is a command.
    pub harness: Option<String>,
    pub version: Option<String>,
    pub model: Option<String>,
    /// Its worker, once it has joined.
    pub agent: Option<AgentName>,
    pub parent: RunParent,
    /// How many runs are above it.
    pub depth: usize,
    /// Where its worker works.
    pub root: String,
    /// The tree that it works for, if it works in a work tree of its own.
    pub project: Option<String>,
    /// The branch with its work.
    pub branch: Option<String>,
    /// What it has changed, as paths of the repository, if that is known.
    pub changed: Option<Vec<String>>,
    /// Files of that tree that changed while its commands ran, by them or by somebody else.
    pub outside: Vec<String>,
    /// The question that its worker waits for an answer to.
    pub question: Option<RunQuestion>,
    /// The tmux pane that its worker is in; `None` if it has no terminal.
    pub pane: Option<RunPane>,
    /// The dialog that its worker shows on its screen.
    pub dialog: Option<RunDialog>,
    /// New files that are kept apart from its work, each with the reason: large ones, and such as look like secrets.
    pub saved: Vec<String>,
    pub session: Option<SessionId>,
    /// The run that it repeats or continues.
    pub earlier: Option<EarlierRun>,
    pub queued_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// What it does now, in a few words.
    pub doing: Option<String>,
    /// Its worker's last words, or the beginning of them.
    pub result: Option<String>,
    /// Why it ended as it did, or what it waits for: a sentence.
    pub reason: Option<String>,
    pub usage: Usage,
    pub cost: Cost,
    /// What it may use up, together with all runs that its worker starts.
    pub grant: Grant,
    /// Until when it waits, if it knows.
    pub until: Option<Timestamp>,
    /// The smallest number that no other run on this machine has at the same time.
    pub slot: Option<u32>,
    /// The hash of the profile and the task.
    pub prompt: String,
    /// What is reserved for its worker, as patterns of the repository.
    pub reserve: Vec<String>,
    /// The task of a spec that is claimed for its worker.
    pub claim: Option<RunClaim>,
    /// What a reviewer thinks of its work.
    pub review: Option<RunReview>,
    /// The run whose work it reviews.
    pub reviews: Option<RunId>,
    /// What it is for a crew; `None`: nobody's task of a crew.
    pub crew: Option<CrewPart>,
    /// Who asked for it on another machine, if it was not somebody of this one.
    pub asked_by: Option<RemoteAsker>,
    /// Where it is, if that is another machine; then this is a copy.
    pub elsewhere: Option<RunElsewhere>,
}

/// The place of a run that somebody here asked another machine for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunElsewhere {
    pub machine: MachineName,
    /// Its id there, once it is a run.
    pub there: Option<RunId>,
    /// What became of its branch, if that was to be pushed.
    pub push: Option<BranchPush>,
}

#[cfg(test)]
impl Run {
    /// A run of which nothing but its id is known, for tests that are about some of the rest.
    pub(crate) fn queued(id: RunId) -> Self {
        Self {
            id,
            state: RunState::Queued,
            owner: RecordedProcess::bare(crate::domain::Pid::new(1).unwrap()),
            task: String::new(),
            profile: String::new(),
            harness: None,
            version: None,
            model: None,
            agent: None,
            parent: RunParent::default(),
            depth: 0,
            root: String::new(),
            project: None,
            branch: None,
            changed: None,
            outside: Vec::new(),
            question: None,
            pane: None,
            dialog: None,
            saved: Vec::new(),
            session: None,
            earlier: None,
            queued_at: Timestamp::UNIX_EPOCH,
            started_at: None,
            ended_at: None,
            doing: None,
            result: None,
            reason: None,
            usage: Usage::default(),
            cost: Cost::Unknown,
            grant: Grant::default(),
            until: None,
            slot: None,
            prompt: String::new(),
            reserve: Vec::new(),
            claim: None,
            review: None,
            reviews: None,
            crew: None,
            asked_by: None,
            elsewhere: None,
        }
    }
}

/// The task of a spec that a run was given.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunClaim {
    /// The key of the spec.
    pub spec: String,
    pub task: String,
    /// The fencing number of the claim; `None` before it is claimed.
    pub number: Option<u64>,
}

/// How a run follows another.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum EarlierRun {
    /// It has the same task, and begins anew.
    Retried(RunId),
    /// It goes on in the same session.
    Resumed(RunId),
}

impl EarlierRun {
    pub fn id(&self) -> &RunId {
        match self {
            Self::Retried(id) | Self::Resumed(id) => id,
        }
    }
}

/// Who asked for a run, and is told how it ends.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RunParent {
    /// `None`: a person who has not joined.
    pub agent: Option<AgentName>,
    /// The session of that agent, because a name may go to another.
    pub session: Option<SessionId>,
    /// The run whose worker it is.
    pub run: Option<RunId>,
    /// Whether the supervisor of that run was above the one who asked. Otherwise only a variable named the run: that may
    /// restrict, but gives no right.
    pub is_run_proven: bool,
}

impl RunParent {
    /// The run whose worker it is, if that is proven.
    pub fn proven_run(&self) -> Option<&RunId> {
        self.run.as_ref().filter(|_| self.is_run_proven)
    }
}

impl Run {
    /// How its state is to be called in a sentence: `done`, `over budget`.
    pub fn outcome(&self) -> String {
        self.state.name().replace('_', " ")
    }

    /// The first line of its task, at most `most` characters.
    pub fn title(&self, most: usize) -> String {
        let line = self.task.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let mut title: String = line.chars().take(most).collect();
        if line.chars().count() > most || self.task.trim().lines().count() > 1 {
            title = title.chars().take(most.saturating_sub(1)).collect();
            title.push('…');
        }
        title
    }
}
