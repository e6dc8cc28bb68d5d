//! A spec as a crew sees it: each task with what it needs, where it works, what proves it, and where it is.

use std::path::PathBuf;

use jiff::Timestamp;

use crate::domain::TaskRef;
use crate::domain::spec::{task_body, verify_commands};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind, ErrorDetail};
use crate::store::{Census, Claim, Completion};

use super::elsewhere::TasksElsewhere;
use super::spec_key::Spellings;
use super::spec_ref::SpecRef;
use super::task_board::{ParsedSpec, TaskBoard};

/// A spec with all that a crew has to know of it.
#[derive(Clone, Debug)]
pub struct CrewSpec {
    /// The key of its claims and completions.
    pub key: String,
    pub file: PathBuf,
    /// In the order of the file.
    pub tasks: Vec<CrewSpecTask>,
}

/// A task of it.
#[derive(Clone, Debug)]
pub struct CrewSpecTask {
    pub id: String,
    pub title: String,
    /// What is written beneath it.
    pub text: String,
    pub paths: Vec<String>,
    /// The commands that prove it.
    pub verify: Vec<String>,
    pub needs: Vec<String>,
    /// Whether somebody completed it or its box is ticked.
    pub is_done: bool,
    pub claim: Option<Claim>,
    pub completion: Option<Completion>,
    /// When a completion of it was taken back last.
    pub reopened_at: Option<Timestamp>,
}

/// Reads the spec. An error if it has no tasks, or if what it says of them can't be.
pub(in crate::ops) fn crew_spec(op: &Op, named: &str) -> Result<CrewSpec, CommandError> {
    let place = SpecRef::named(op, named)?;
    let Some(file) = place.file.clone() else {
        return Err(CommandError::new(CommandErrorKind::InvalidValue, "there is no such spec"));
    };
    let parsed_spec = ParsedSpec::read(place)?;
    let spec = &parsed_spec.spec;
    if spec.tasks.is_empty() {
        let text = format!("there is no task in `{}`", file.display());
        return Err(CommandError::new(CommandErrorKind::InvalidValue, text).hint(
            "write tasks like `- [ ] T-1: Title (needs T-2)`, or let a planner do it: `msg crew plan`",
        ));
    }
    if !spec.problems.is_empty() {
        let text = format!("`{}` has faults, so nothing was started", file.display());
        let mut error = CommandError::new(CommandErrorKind::InvalidValue, text);
        let problems: Vec<String> = spec.problems.iter().map(ToString::to_string).collect();
        error.hints = problems.clone();
        error.facts.push(("problems", ErrorDetail::List(problems)));
        return Err(error);
    }
    let mesh = op.mesh()?;
    let (claims, completions, census) = match &mesh {
        Some(mesh) => (mesh.tasks().claims()?, mesh.tasks().completions()?, mesh.registry().census()?),
        None => (Default::default(), Default::default(), Census::default()),
    };
    let numbers = mesh.as_ref().map(|mesh| mesh.tasks().claim_numbers()).transpose()?;
    let spellings = Spellings::default();
    let elsewhere = TasksElsewhere::of(mesh.as_deref()).spec(&parsed_spec.place.key);
    let board = TaskBoard::new(&parsed_spec, &claims, &completions, &census, &spellings, &elsewhere);
    let tasks = spec.tasks.iter().map(|task| {
        let body = task_body(&parsed_spec.text, task);
        CrewSpecTask {
            id: task.id.clone(),
            title: task.title.clone(),
            text: body.text,
            paths: body.paths,
            verify: verify_commands(&parsed_spec.text, spec, task),
            needs: task.depends_on.clone(),
            is_done: board.is_done(&task.id),
            claim: board.claim(&task.id).cloned(),
            completion: board.completion(&task.id),
            reopened_at: numbers.as_ref().and_then(|numbers| {
                let place = TaskRef { spec: parsed_spec.place.key.clone(), id: task.id.clone() };
                let completion = board.completion(&task.id);
                numbers.reopenings(&place, completion.as_ref()).iter().map(|reopening| reopening.at).max()
            }),
        }
    });
    Ok(CrewSpec { key: parsed_spec.place.key.clone(), file, tasks: tasks.collect() })
}
