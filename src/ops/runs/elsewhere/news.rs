//! News of a run that another machine asked this one for: how it stands, as that machine is told.

use crate::domain::link::{BranchPush, MAX_FILES, MAX_LOG, MachineName, RunNews};
use crate::domain::runs::{Run, RunId, RunQuestion, RunState};
use crate::domain::sha256;
use crate::ops::error::CommandError;
use crate::ops::runs::list::as_it_is;
use crate::store::{Mesh, StopOrder, StopUrgency, StopWish};

/// How a run stands, and whether something is left to be done before the last word is told.
pub(in crate::ops) struct RunStanding {
    pub(in crate::ops) news: RunNews,
    /// Its branch is to be pushed, or its work to be saved, by a process of its own.
    pub(in crate::ops) is_to_be_finished: bool,
}

/// How the run stands. Its branch is to be pushed to `remote`, if that is named.
pub(in crate::ops) fn standing(
    mesh: &Mesh,
    (machine, id): (&MachineName, &RunId),
    run: &RunId,
    remote: Option<&str>,
) -> Result<RunStanding, CommandError> {
    let Some(run) = mesh.runs().get(run)? else {
        let reason = Some("its record there is gone".to_string());
        let news =
            RunNews { there: Some(run.clone()), state: RunState::Interrupted, reason, ..RunNews::accepted() };
        return Ok(RunStanding { news, is_to_be_finished: false });
    };
    let run = as_it_is(mesh, run);
    let push = mesh.remote().push(machine, id)?;
    let is_finished = push.is_some() || remote.is_none() && run.state != RunState::Interrupted;
    let push = push.filter(|push| !push.remote.is_empty());
    Ok(RunStanding { is_to_be_finished: run.state.is_final() && !is_finished, news: news(mesh, run, push)? })
}

fn news(mesh: &Mesh, run: Run, push: Option<BranchPush>) -> Result<RunNews, CommandError> {
    let asks = run.question.as_ref().map(RunQuestion::line).or_else(|| Some(run.dialog.as_ref()?.line()));
    let asks = asks.map(|line| format!("it asks, and only somebody on that machine can answer: {line}"));
    let result = match run.state.is_final() {
        true => mesh.runs().whole_result(&run)?,
        false => None,
    };
    Ok(RunNews {
        number: 0,
        there: Some(run.id),
        state: run.state,
        harness: run.harness,
        version: run.version,
        model: run.model,
        agent: run.agent,
        started_at: run.started_at,
        ended_at: run.ended_at,
        doing: asks.or(run.doing),
        result,
        reason: run.reason,
        usage: run.usage,
        cost: run.cost,
        branch: run.branch,
        changed: run.changed.map(|changed| changed.into_iter().take(MAX_FILES).collect()),
        push,
        log: None,
        errors: None,
    })
}

/// The same with the end of what its worker printed.
pub(in crate::ops) fn with_log(mesh: &Mesh, news: RunNews) -> Result<RunNews, CommandError> {
    let Some(run) = news.there.clone() else { return Ok(news) };
    let end = |name: &str| -> Result<Option<String>, CommandError> {
        let content = mesh.runs().read(&run, name)?.unwrap_or_default();
        let from = content.len().saturating_sub(MAX_LOG);
        Ok(Some(String::from_utf8_lossy(&content[from..]).into_owned()))
    };
    let has_terminal = mesh.runs().get(&run)?.is_some_and(|run| run.pane.is_some());
    let log = end(if has_terminal { "screen.txt" } else { "output" })?;
    Ok(RunNews { log, errors: end("errors")?, ..news })
}

/// Tells the same news from others.
pub(in crate::ops) fn hash(news: &RunNews) -> String {
    sha256(format!("{news:?}").as_bytes())[..32].to_string()
}

/// Asks the supervisor of a run to stop, because the other machine wants it.
pub(in crate::ops) fn stop(
    mesh: &Mesh,
    machine: &MachineName,
    run: &RunId,
    wish: &StopWish,
) -> Result<(), CommandError> {
    if mesh.runs().stop_order(run)?.is_some() || mesh.runs().get(run)?.is_none_or(|run| run.state.is_final())
    {
        return Ok(());
    }
    let by = wish
        .by
        .name()
        .map_or_else(|| format!("a person on {machine}"), |name| format!("{name} on {machine}"));
    let urgency = if wish.is_now { StopUrgency::Now } else { StopUrgency::WrapUp };
    Ok(mesh.runs().ask_to_stop(run, &StopOrder { by, urgency })?)
}
