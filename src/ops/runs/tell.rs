//! `msg tell`: answers the permission question of a worker. Its parent may, those above that one, and people.

use crate::domain::AgentName;
use crate::domain::runs::{QuestionOutcome, Run, RunId, RunParent, RunQuestion, RunState};
use crate::store::{Mesh, QuestionAnswer};
use crate::sys::clock;
use crate::sys::environment::variable;
use crate::sys::files::Published;

use super::RUN_VARIABLE;
use super::list::{as_it_is, find, run_for};
use super::own_run::worker_run;
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::person_required;

/// An answer to the question of a worker.
#[derive(Clone, Debug)]
pub struct AnswerRequest {
    /// A run, or its worker.
    pub name: String,
    pub choice: AnswerChoice,
    /// The number of the question, if only that one is to be answered.
    pub number: Option<u32>,
    /// What the worker is told.
    pub text: Option<String>,
}

/// What is answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AnswerChoice {
    Allow,
    Deny,
}

impl AnswerChoice {
    pub const ALL: [Self; 2] = [Self::Allow, Self::Deny];

    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }

    /// The choice with that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == name)
    }

    fn outcome(self) -> QuestionOutcome {
        match self {
            Self::Allow => QuestionOutcome::Allowed,
            Self::Deny => QuestionOutcome::Denied,
        }
    }
}

/// The command that answers a question.
pub fn answer_command(run: &Run, question: &RunQuestion, choice: AnswerChoice) -> String {
    // With the number: an answer that comes late must not be taken for one to another question.
    format!("msg tell {} --answer {} --question {}", run.id, choice.name(), question.number)
}

/// Answers the question that is open. Returns the run and the question.
pub fn answer(op: &Op, request: &AnswerRequest) -> Result<(Run, RunQuestion), CommandError> {
    let run = find_worker(op, &request.name)?;
    let mesh = op.mesh()?.ok_or_else(|| no_question(&run, "is not waiting for an answer"))?;
    let (by, is_person) = match answering(op, &mesh, &run, "answer its question")? {
        Answerer::Person(name) => (name, true),
        Answerer::Agent(name) => (name, false),
    };
    if run.state.is_final() {
        let text = format!("run {} has ended: {}", run.id, run.outcome());
        return Err(CommandError::new(CommandErrorKind::NotRunning, text).fact("state", run.state.name()));
    }
    let number = mesh.runs().last_question(&run.id)?;
    let asked = mesh.runs().question(&run.id, number)?;
    let Some(asked) = asked else { return Err(no_question(&run, "is not waiting for an answer")) };
    let is_open = mesh.runs().question_answer(&run.id, number)?.is_none();
    match request.number {
        Some(wanted) if wanted != number || !is_open => {
            return Err(no_question(&run, &format!("no longer asks question {wanted}")));
        }
        None if !is_open => return Err(no_question(&run, "is not waiting for an answer")),
        // It may mean an earlier one, of which it was told.
        None if !is_person => {
            let text = format!("which question of run {}? The open one has the number {number}", run.id);
            let line = answer_command(&run, &asked.question, request.choice);
            return Err(CommandError::new(CommandErrorKind::NoQuestion, text)
                .hint(format!("look at it with `msg runs show {}`, then run `{line}`", run.id)));
        }
        _ => {}
    }
    let given = QuestionAnswer {
        outcome: request.choice.outcome(),
        by,
        at: clock::now(),
        text: request.text.clone().filter(|text| !text.trim().is_empty()),
    };
    match mesh.runs().settle_question(&run.id, number, &given)? {
        (_, Published::Done) => Ok((run, asked.question)),
        (counts, Published::Exists) => {
            let what = format!("was answered already: {} by {}", counts.outcome.name(), counts.by);
            Err(no_question(&run, &what))
        }
    }
}

fn no_question(run: &Run, what: &str) -> CommandError {
    let error = CommandError::new(CommandErrorKind::NoQuestion, format!("run {} {what}", run.id));
    error.hint("`msg runs` lists those that wait for an answer first")
}

/// Whether a question of the run that was sent as mail is open.
pub(in crate::ops) fn has_open_question(mesh: &Mesh, run: &Run) -> Result<bool, CommandError> {
    let number = mesh.runs().last_question(&run.id)?;
    let is_asked = mesh.runs().question(&run.id, number)?.is_some();
    Ok(is_asked && mesh.runs().question_answer(&run.id, number)?.is_none())
}

/// The run with that id, or the one that goes on with a worker of that name or is about to, or the one whose id begins so. The
/// name of an agent is not taken for the beginning of an id.
pub(in crate::ops) fn find_worker(op: &Op, name: &str) -> Result<Run, CommandError> {
    let (Some(mesh), Ok(worker)) = (op.mesh()?, AgentName::new(name)) else { return find(op, name) };
    let is_whole_id = match RunId::new(name) {
        Ok(id) => mesh.runs().get(&id)?.is_some(),
        Err(_) => false,
    };
    if is_whole_id {
        return find(op, name);
    }
    let runs = mesh.runs().list()?.runs.into_iter().map(|run| as_it_is(&mesh, run));
    let mut its = runs.filter(|run| !run.state.is_final() && run.agent.as_ref() == Some(&worker));
    if let Some(run) = its.next() {
        return Ok(run);
    }
    let census = mesh.registry().census()?;
    if census.find(&worker, clock::now()).is_some_and(|record| record.is_live()) {
        let text = format!("{worker} is not the worker of a run");
        return Err(CommandError::new(CommandErrorKind::UnknownRun, text));
    }
    match run_for(&mesh, &worker)? {
        Some(run) => Ok(run),
        None => find(op, name),
    }
}

/// Who answers a question, or types into the terminal of a worker.
#[derive(Clone, Debug)]
pub(in crate::ops) enum Answerer {
    Person(String),
    Agent(String),
}

/// Who answers, if that one may: a person, the parent of the run, or who is above that. An agent is known by the
/// processes that it runs in: a name or a variable is only what it says of itself.
pub(in crate::ops) fn answering(
    op: &Op,
    mesh: &Mesh,
    run: &Run,
    what: &str,
) -> Result<Answerer, CommandError> {
    let own = worker_run(mesh)?.map(|run| run.id);
    let told = variable(RUN_VARIABLE).and_then(|id| RunId::new(&id).ok());
    // The client of a server acts for a model, whatever started it.
    let is_model = op.client.is_some() || person_required::harness().is_some();
    if own.is_none() && told.is_none() && !is_model {
        let name = identity::caller(op).map(|(_, caller)| caller.agent.name.to_string());
        return Ok(Answerer::Person(name.unwrap_or_else(|_| "a person".to_string())));
    }
    let mut parents = vec![run.parent.clone()];
    while let Some(next) = parents.last().map(|parent| above(mesh, parent)).transpose()?.flatten() {
        parents.push(next);
    }
    let is_above = |id: &RunId| parents.iter().any(|parent| parent.run.as_ref() == Some(id));
    let caller = identity::traced_caller(op, mesh)?;
    let is_parent = |parent: &RunParent| match (&parent.session, &caller) {
        (Some(session), Some(caller)) => caller.session == *session,
        (None, Some(caller)) => parent.agent.as_ref() == Some(&caller.name),
        (_, None) => false,
    };
    let may_answer = match (&own, &told) {
        (Some(own), _) => is_above(own),
        (None, Some(told)) => is_above(told) && parents.iter().any(is_parent),
        (None, None) => parents.iter().any(is_parent),
    };
    if may_answer {
        return Ok(Answerer::Agent(
            caller.map_or_else(|| "its parent".to_string(), |caller| caller.name.to_string()),
        ));
    }
    let text = format!("only the parent of run {} and people may {what}", run.id);
    Err(CommandError::new(CommandErrorKind::NotYours, text).hint("ask its parent, or a person"))
}

/// Who is above that parent: the parent of the run whose worker it is.
pub(super) fn above(mesh: &Mesh, parent: &RunParent) -> Result<Option<RunParent>, CommandError> {
    match &parent.run {
        Some(run) => Ok(mesh.runs().get(run)?.map(|run| run.parent)),
        None => Ok(None),
    }
}

/// Whether it waits for an answer.
pub fn is_waiting(run: &Run) -> bool {
    run.state == RunState::Waiting && run.question.is_some()
}
