//! Every task of a spec with its state.

use std::collections::HashMap;

use crate::domain::Agent;
use crate::domain::spec::{Spec, Task};
use crate::ops::context::Context;
use crate::ops::error::CommandError;
use crate::ops::identity;
use crate::store::{Census, Claim, Claims, Completion, Completions, Mesh};

use super::place::Place;
use super::stale::is_stale;

/// What can be done with a task.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TaskState {
    Open,
    /// These have to be done first.
    Blocked(Vec<String>),
    Claimed,
    Done,
}

impl TaskState {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Blocked(_) => "blocked",
            Self::Claimed => "claimed",
            Self::Done => "done",
        }
    }
}

/// A task, as it stands.
#[derive(Clone, Debug)]
pub struct TaskView {
    pub id: String,
    pub title: String,
    pub state: TaskState,
    pub claim: Option<Claim>,
    pub completion: Option<Completion>,
    pub depends_on: Vec<String>,
    /// `None`: it does not stand in the spec.
    pub line: Option<usize>,
}

/// How far a spec is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Progress {
    pub done: usize,
    pub claimed: usize,
    pub open: usize,
    pub blocked: usize,
}

impl Progress {
    pub fn total(&self) -> usize {
        self.done + self.claimed + self.open + self.blocked
    }
}

/// A spec, and everything that is known of its tasks.
pub(super) struct Board {
    pub(super) place: Place,
    pub(super) spec: Spec,
    /// As it was read; for ticking a box.
    pub(super) text: String,
    /// Where each task stands in the spec.
    places: HashMap<String, usize>,
    claims: HashMap<String, Claim>,
    completions: HashMap<String, Completion>,
}

impl Board {
    pub(super) fn new(
        place: Place,
        claims: &Claims,
        completions: &Completions,
        census: &Census,
    ) -> Result<Self, CommandError> {
        let (spec, text) = place.read()?;
        let places = spec.tasks.iter().enumerate().map(|(at, task)| (task.id.clone(), at)).collect();
        let (claims_here, done_here) = (HashMap::new(), HashMap::new());
        let mut board = Self { place, spec, text, places, claims: claims_here, completions: done_here };
        for key in completions.specs().filter(|key| board.place.is_meant_by(key)) {
            let done = completions.of_spec(key).into_iter().map(|done| (done.task.clone(), done));
            board.completions.extend(done);
        }
        for claim in claims.iter().filter(|claim| board.place.is_meant_by(&claim.spec)) {
            // What is done is no longer worked on: completing was cut short.
            if !board.completions.contains_key(&claim.task) && !is_stale(&claim, census) {
                board.claims.insert(claim.task.clone(), claim);
            }
        }
        Ok(board)
    }

    pub(super) fn task(&self, id: &str) -> Option<&Task> {
        self.places.get(id).map(|at| &self.spec.tasks[*at])
    }

    pub(super) fn claim(&self, id: &str) -> Option<&Claim> {
        self.claims.get(id)
    }

    pub(super) fn completion(&self, id: &str) -> Option<&Completion> {
        self.completions.get(id)
    }

    pub(super) fn is_done(&self, id: &str) -> bool {
        self.completions.contains_key(id) || self.task(id).is_some_and(|task| task.done)
    }

    /// Those of its dependencies that are not done. One that stands nowhere never is: it is reported, and there is
    /// `dependencies = advisory`.
    pub(super) fn missing(&self, task: &Task) -> Vec<String> {
        task.depends_on.iter().filter(|id| !self.is_done(id)).cloned().collect()
    }

    fn state(&self, task: &Task) -> TaskState {
        if self.is_done(&task.id) {
            return TaskState::Done;
        }
        if self.claims.contains_key(&task.id) {
            return TaskState::Claimed;
        }
        match self.missing(task) {
            missing if missing.is_empty() => TaskState::Open,
            missing => TaskState::Blocked(missing),
        }
    }

    /// The first task that could be begun now. With `advisory`, one whose dependencies are not done is better than none.
    pub(super) fn next(&self, advisory: bool) -> Option<&Task> {
        let open = |task: &&Task| self.state(task) == TaskState::Open;
        let blocked = |task: &&Task| matches!(self.state(task), TaskState::Blocked(_));
        let first = self.spec.tasks.iter().find(open);
        first.or_else(|| self.spec.tasks.iter().find(|task| advisory && blocked(task)))
    }

    pub(super) fn progress(&self) -> Progress {
        let mut progress = Progress::default();
        for task in &self.spec.tasks {
            *match self.state(task) {
                TaskState::Done => &mut progress.done,
                TaskState::Claimed => &mut progress.claimed,
                TaskState::Open => &mut progress.open,
                TaskState::Blocked(_) => &mut progress.blocked,
            } += 1;
        }
        progress
    }

    /// Those that stand in the spec, in its order, then those that don't, by name.
    pub(super) fn views(&self) -> Vec<TaskView> {
        let mut views: Vec<TaskView> = self.spec.tasks.iter().map(|task| self.view(task)).collect();
        let is_elsewhere = |id: &&String| self.task(id).is_none();
        let mut others: Vec<&String> =
            self.claims.keys().chain(self.completions.keys()).filter(is_elsewhere).collect();
        others.sort_unstable();
        others.dedup();
        views.extend(others.into_iter().map(|id| TaskView {
            id: id.clone(),
            title: String::new(),
            state: if self.is_done(id) { TaskState::Done } else { TaskState::Claimed },
            claim: self.claims.get(id).cloned(),
            completion: self.completions.get(id).cloned(),
            depends_on: Vec::new(),
            line: None,
        }));
        views
    }

    fn view(&self, task: &Task) -> TaskView {
        TaskView {
            id: task.id.clone(),
            title: task.title.clone(),
            state: self.state(task),
            claim: self.claims.get(&task.id).cloned(),
            completion: self.completions.get(&task.id).cloned(),
            depends_on: task.depends_on.clone(),
            line: Some(task.line),
        }
    }
}

/// What `tasks` shows.
#[derive(Clone, Debug)]
pub struct Tasks {
    /// `None`: there is no spec, only tasks that were made up.
    pub spec: Option<String>,
    pub tasks: Vec<TaskView>,
    pub progress: Progress,
    pub problems: Vec<String>,
    /// The caller, if that is known.
    pub me: Option<Agent>,
}

/// Every task of the spec that is named, else of the caller's.
pub fn tasks(ctx: &Context, spec: Option<&str>) -> Result<Tasks, CommandError> {
    let mesh = ctx.mesh()?;
    let (census, me) = match &mesh {
        Some(mesh) => {
            let census = mesh.census()?;
            let me = identity::glance(ctx, mesh, &census);
            (census, me)
        }
        None => (Census::default(), None),
    };
    // Whose spec, if nobody says which?
    let me = match (spec, me) {
        (None, None) => Some(identity::caller(ctx)?.1.agent),
        (_, me) => me,
    };
    let place = Place::find(ctx, spec, me.as_ref())?;
    let (claims, completions) = ledgers(mesh.as_ref())?;
    let board = Board::new(place, &claims, &completions, &census)?;
    Ok(Tasks {
        spec: board.place.file.as_ref().map(|file| file.to_string_lossy().into_owned()),
        tasks: board.views(),
        progress: board.progress(),
        problems: board.spec.problems.iter().map(ToString::to_string).collect(),
        me,
    })
}

fn ledgers(mesh: Option<&Mesh>) -> Result<(Claims, Completions), CommandError> {
    match mesh {
        Some(mesh) => Ok((mesh.claims()?, mesh.completions()?)),
        None => Ok((Claims::default(), Completions::default())),
    }
}
