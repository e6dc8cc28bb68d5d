//! What other machines of a linked mesh do with the tasks of a spec, and which tasks are the same on all of them.
//!
//! A task is the same everywhere if its spec lies in a git repository that is recognised by its first commit: the
//! repository, the path of the spec below the root of a work tree, and the id of the task name it. Any other task is
//! known on this machine alone.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use crate::domain::link::{MachineName, TaskHolding, TaskKey, TaskRecord};
use crate::domain::{PidScope, ProcessIdentity, RecordedProcess, RootCommit, quote_name};
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::is_linked;
use crate::store::{Claim, Completion, Mesh, holds_a_lock};
use crate::sys::git::{RepositoryStart, WorkTree};
use crate::sys::{paths, process, test_switches};

/// How long git may take to say where a repository began: with a lock held, and otherwise.
const QUICK_LIMIT: Duration = Duration::from_millis(400);
const LIMIT: Duration = Duration::from_secs(20);

/// A spec that is the same on every machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::ops) struct SharedSpec {
    repository: RootCommit,
    /// Below the root of a work tree.
    path: String,
}

impl SharedSpec {
    /// The spec with that key (`spec_key::key`). `None`: only this machine knows it, because it is a folder, or is in no
    /// repository that other machines could recognise.
    pub(in crate::ops) fn of(mesh: &Mesh, key: &str) -> Result<Option<Self>, CommandError> {
        let real = paths::resolve(Path::new(key));
        let Some(parent) = Path::new(real.as_str()).parent() else { return Ok(None) };
        let Some(tree) = WorkTree::containing(parent) else { return Ok(None) };
        let root = paths::resolve(&tree.root);
        let path = real.relative_to(&root).filter(|path| !path.is_empty());
        let Some(path) = path.filter(|_| !Path::new(real.as_str()).is_dir()) else { return Ok(None) };
        let limit = if holds_a_lock() { test_switches::or_long(QUICK_LIMIT) } else { LIMIT };
        match mesh.repositories().start(&tree, limit) {
            Ok((RepositoryStart::At(commit), record)) => {
                record.iter().for_each(|record| mesh.repositories().save(record));
                Ok(RootCommit::new(&commit).map(|repository| Self { repository, path: path.to_string() }))
            }
            Ok((RepositoryStart::NoCommit | RepositoryStart::Shallow, _)) => Ok(None),
            Err(error) => {
                let text = format!("git does not say which repository `{key}` is in: {error}");
                Err(CommandError::new(CommandErrorKind::Io, text)
                    .hint("try again; see what `git status` says there"))
            }
        }
    }

    /// Its path below the root of a work tree.
    pub(in crate::ops) fn path(&self) -> &str {
        &self.path
    }

    /// A task of it, as all machines know it.
    pub(in crate::ops) fn task(&self, id: &str) -> TaskKey {
        TaskKey { repository: self.repository.clone(), spec: self.path.clone(), task: id.to_string() }
    }
}

/// What others do with the tasks of one spec.
#[derive(Debug, Default)]
pub(in crate::ops) struct SpecElsewhere {
    /// The error says why it is not known whether others know the spec.
    shared: Option<Result<SharedSpec, CommandError>>,
    claims: HashMap<String, Claim>,
    done: HashMap<String, Completion>,
}

impl SpecElsewhere {
    /// The task as all machines know it. `None`: only this one does.
    pub(super) fn key(&self, id: &str) -> Result<Option<TaskKey>, CommandError> {
        match &self.shared {
            Some(Ok(shared)) => Ok(Some(shared.task(id))),
            Some(Err(error)) => Err(error.clone()),
            None => Ok(None),
        }
    }

    pub(super) fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.claims.values()
    }

    pub(super) fn completions(&self) -> impl Iterator<Item = &Completion> {
        self.done.values()
    }

    pub(in crate::ops) fn claim(&self, id: &str) -> Option<&Claim> {
        self.claims.get(id)
    }

    pub(in crate::ops) fn completion(&self, id: &str) -> Option<&Completion> {
        self.done.get(id)
    }

    fn put(&mut self, key: &str, what: TaskElsewhere) {
        match what {
            TaskElsewhere::Claimed(claim) => {
                let claim = Claim { spec: key.to_string(), ..*claim };
                self.done.remove(&claim.task);
                self.claims.insert(claim.task.clone(), claim);
            }
            TaskElsewhere::Done(done) => {
                let done = Completion { spec: key.to_string(), ..*done };
                self.claims.remove(&done.task);
                self.done.insert(done.task.clone(), done);
            }
        }
    }
}

/// What another machine does with a task.
#[derive(Clone, Debug)]
pub(super) enum TaskElsewhere {
    Claimed(Box<Claim>),
    Done(Box<Completion>),
}

impl TaskElsewhere {
    pub(super) fn claimed(
        task: &str,
        (agent, machine): (&str, &MachineName),
        claimed_at: jiff::Timestamp,
        reason: Option<String>,
    ) -> Self {
        Self::Claimed(Box::new(Claim {
            spec: String::new(),
            task: task.to_string(),
            agent: agent.to_string(),
            session: String::new(),
            process: process_on(machine),
            claimed_at,
            reason,
            number: None,
            run: None,
            machine: Some(machine.clone()),
        }))
    }

    pub(super) fn done(
        task: &str,
        (by, machine): (&str, &MachineName),
        at: jiff::Timestamp,
        notes: Option<String>,
    ) -> Self {
        Self::Done(Box::new(Completion {
            spec: String::new(),
            task: task.to_string(),
            by: by.to_string(),
            at,
            notes,
            evidence: None,
            machine: Some(machine.clone()),
        }))
    }

    /// `None`: nobody has it.
    fn of(record: TaskRecord) -> Option<Self> {
        let TaskRecord { key, owner, holding, .. } = record;
        let who = (owner.agent.as_str(), &owner.machine);
        match holding {
            TaskHolding::Claimed { since, reason } => Some(Self::claimed(&key.task, who, since, reason)),
            TaskHolding::Done { at, notes } => Some(Self::done(&key.task, who, at, notes)),
            TaskHolding::Reopened => None,
        }
    }
}

/// A process of which nothing can be said here.
fn process_on(machine: &MachineName) -> RecordedProcess {
    let place = Some(format!("linked:{machine}"));
    let place = PidScope { boot_id: place.clone(), machine_id: place, pid_ns: None };
    RecordedProcess::Pinned(ProcessIdentity { pid: process::own_pid(), start_ticks: 0, place })
}

/// What others do with tasks, as the mirror last said, and as the server said to this command. Each spec is looked up
/// once. Costs one look at the file system if the mesh is not linked.
#[derive(Debug)]
pub(in crate::ops) struct TasksElsewhere<'m> {
    /// `None`: the mesh is not linked, so there are no others.
    mesh: Option<&'m Mesh>,
    specs: RefCell<HashMap<String, Rc<SpecElsewhere>>>,
    learned: RefCell<Vec<(String, TaskElsewhere)>>,
}

impl<'m> TasksElsewhere<'m> {
    pub(in crate::ops) fn of(mesh: Option<&'m Mesh>) -> Self {
        let mesh = mesh.filter(|mesh| is_linked(mesh));
        Self { mesh, specs: RefCell::default(), learned: RefCell::default() }
    }

    pub(super) fn is_linked(&self) -> bool {
        self.mesh.is_some()
    }

    /// What they do with the tasks of the spec with that key.
    pub(in crate::ops) fn spec(&self, key: &str) -> Rc<SpecElsewhere> {
        if let Some(known) = self.specs.borrow().get(key) {
            return Rc::clone(known);
        }
        let mut there = self.mesh.map_or_else(SpecElsewhere::default, |mesh| read(mesh, key));
        for (_, what) in self.learned.borrow().iter().filter(|(spec, _)| spec == key) {
            there.put(key, what.clone());
        }
        let there = Rc::new(there);
        self.specs.borrow_mut().insert(key.to_string(), Rc::clone(&there));
        there
    }

    /// What the server said to a command before it took the locks.
    pub(super) fn learn_all(&self, other: &TasksElsewhere<'_>) {
        for (key, what) in other.learned.borrow().iter() {
            self.learn(key, what.clone());
        }
    }

    /// The server said this, which is newer than the mirror.
    pub(super) fn learn(&self, key: &str, what: TaskElsewhere) {
        self.learned.borrow_mut().push((key.to_string(), what));
        self.specs.borrow_mut().remove(key);
    }
}

/// A mirror that can't be read names nobody: the server decides all the same.
fn read(mesh: &Mesh, key: &str) -> SpecElsewhere {
    let mut there =
        SpecElsewhere { shared: SharedSpec::of(mesh, key).transpose(), ..SpecElsewhere::default() };
    if let Some(Ok(SharedSpec { repository, path })) = there.shared.clone() {
        let known = mesh.remote().tasks(&repository, &path).unwrap_or_default();
        known.records.into_iter().filter_map(TaskElsewhere::of).for_each(|what| there.put(key, what));
    }
    there
}

/// Adds the machine to an error about an agent that is on another one.
pub(super) fn on_machine(error: CommandError, machine: Option<&MachineName>) -> CommandError {
    match machine {
        Some(machine) => error.fact("machine", machine.as_str()),
        None => error,
    }
}

/// Somebody in a sentence, with the machine if that is not this one: `Anna on laptop`.
pub(super) fn named(agent: &str, machine: Option<&MachineName>) -> String {
    machine.map_or_else(|| quote_name(agent), |machine| format!("{} on {machine}", quote_name(agent)))
}
