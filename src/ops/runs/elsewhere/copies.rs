//! Runs on other machines as they are shown here: the last news of each.

use crate::domain::link::{MachineName, REQUEST_LIFE, RunAskRefusal, RunNews};
use crate::domain::runs::{Grant, Run, RunClaim, RunElsewhere, RunId, RunParent, RunState};
use crate::domain::{PidScope, ProcessIdentity, RecordedProcess, format_duration};
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::elsewhere::{LinkHealth, time_of_day};
use crate::store::{Mesh, RunAnswer, RunAskedElsewhere};
use crate::sys::{clock, process};

/// The copy that `id` names, if it names one.
pub(in crate::ops::runs) fn copy_named(mesh: &Mesh, id: &str) -> Result<Option<Run>, CommandError> {
    let start = id.to_ascii_lowercase();
    let mut ids = mesh.remote().run_ids()?;
    ids.retain(|known| !start.is_empty() && known.as_str().starts_with(&start));
    match (ids.pop(), ids.is_empty()) {
        (Some(only), true) => get(mesh, &only),
        _ => Ok(None),
    }
}

/// The copy with that id; `None` if there is none, or if it was never asked for.
pub(in crate::ops) fn get(mesh: &Mesh, id: &RunId) -> Result<Option<Run>, CommandError> {
    let remote = mesh.remote();
    let Some(asked) = remote.run(id)? else { return Ok(None) };
    let answer = remote.answer(id)?;
    if answer.is_none() && remote.asked_since(id)?.is_none() {
        return Ok(None);
    }
    let mut run = copy(&asked, answer.as_ref());
    run.reason = run.reason.take().or_else(|| waits_for(mesh, &asked.machine, &run, answer.is_none()));
    Ok(Some(run))
}

/// What is known of the run, as one.
pub(in crate::ops) fn copy(asked: &RunAskedElsewhere, answer: Option<&RunAnswer>) -> Run {
    let RunAskedElsewhere { machine, ask, root, at } = asked;
    let accepted = RunNews::accepted();
    let (news, refusal): (&RunNews, Option<&RunAskRefusal>) = match answer {
        Some(RunAnswer::News(news)) => (news, None),
        Some(RunAnswer::Refused(refusal)) => (&accepted, Some(refusal)),
        None => (&accepted, None),
    };
    let state = if refusal.is_some() { RunState::Failed } else { news.state };
    Run {
        id: ask.id.clone(),
        state,
        owner: process_elsewhere(machine),
        task: ask.task.clone(),
        profile: ask.profile.clone(),
        harness: news.harness.clone(),
        version: news.version.clone(),
        model: news.model.clone(),
        agent: news.agent.clone(),
        parent: RunParent {
            agent: ask.by.name().cloned(),
            session: match &ask.by {
                crate::domain::link::RunAsker::Agent { session, .. } => Some(session.clone()),
                crate::domain::link::RunAsker::Person => None,
            },
            run: None,
            is_run_proven: false,
        },
        depth: ask.depth,
        root: root.clone(),
        project: None,
        branch: news.branch.clone(),
        changed: news.changed.clone(),
        outside: Vec::new(),
        question: None,
        pane: None,
        dialog: None,
        saved: Vec::new(),
        session: None,
        earlier: None,
        queued_at: *at,
        started_at: news.started_at,
        ended_at: news.ended_at.or_else(|| state.is_final().then_some(*at)),
        doing: news.doing.clone(),
        result: news.result.clone(),
        reason: refusal.map(|refusal| refusal.message.clone()).or_else(|| news.reason.clone()),
        usage: news.usage,
        cost: news.cost,
        grant: Grant::default(),
        until: None,
        slot: None,
        prompt: String::new(),
        reserve: ask.reserve.clone(),
        claim: ask.claim.clone().map(|(task, spec)| RunClaim { spec, task, number: None }),
        review: None,
        reviews: None,
        crew: None,
        asked_by: None,
        elsewhere: Some(RunElsewhere {
            machine: machine.clone(),
            there: news.there.clone(),
            push: news.push.clone(),
        }),
    }
}

/// Why nothing happens, if the other machine is not heard of.
fn waits_for(mesh: &Mesh, machine: &MachineName, run: &Run, is_unanswered: bool) -> Option<String> {
    if run.state.is_final() {
        return None;
    }
    match LinkHealth::of(mesh) {
        LinkHealth::Down { last_contact: Some(at) } => {
            return Some(format!("the link has been down since {}: this is how it was", time_of_day(at)));
        }
        LinkHealth::Down { last_contact: None } => {
            return Some("the link is down: this is how it was".to_string());
        }
        LinkHealth::Linked => {}
    }
    let state = mesh.link().state().ok().flatten()?;
    if !state.machines.iter().any(|there| there == machine.as_str()) {
        return Some(format!("{machine} does not reach the server: this is how it was"));
    }
    let life = jiff::SignedDuration::try_from(REQUEST_LIFE).unwrap_or_default();
    let left = life - clock::now().duration_since(run.queued_at);
    (is_unanswered && left.is_positive())
        .then(|| format!("{machine} was asked, and starts it within {} or not at all", format_duration(left)))
}

/// A process of which nothing can be said here, and which is none of this machine.
fn process_elsewhere(machine: &MachineName) -> RecordedProcess {
    let place = PidScope {
        boot_id: Some(format!("linked:{machine}")),
        machine_id: Some(format!("linked:{machine}")),
        pid_ns: None,
    };
    RecordedProcess::Pinned(ProcessIdentity { pid: process::own_pid(), start_ticks: 0, place })
}

/// The error for what can't be done here with a run on another machine.
pub(in crate::ops::runs) fn refuse(run: &Run) -> Option<CommandError> {
    let RunElsewhere { machine, there, push } = run.elsewhere.as_ref()?;
    let error = CommandError::new(CommandErrorKind::RemoteRun, format!("run {} is on {machine}", run.id))
        .fact("run", run.id.as_str())
        .fact("machine", machine.as_str());
    let id = there.as_ref().unwrap_or(&run.id);
    let Some(branch) = &run.branch else {
        return Some(error.hint(format!("run the same command there, with the id {id}")));
    };
    Some(match push {
        Some(push) if push.problem.is_none() => {
            let remote = crate::domain::shell_word(&push.remote).into_owned();
            error.hint(format!("its work: `git fetch {remote} {branch}`, then `git merge FETCH_HEAD`"))
        }
        _ => error.hint(format!(
            "its work is there, on `{branch}`: push that to a remote that both machines have, then `git fetch` it here"
        )),
    })
}
