//! Tasks, specs, runs and predictions.

use std::path::Path;

use crate::domain::runs::Run;
use crate::ops::agents::identity;
use crate::ops::awareness::WorkPlace;
use crate::ops::context::Context;
use crate::ops::error::CommandError;
use crate::ops::runs::list::as_it_is;
use crate::ops::tasks::{ListedTask, SpecSource, TaskState, known_specs, listed_tasks};
use crate::store::Mesh;

use super::{LiveCandidate, LiveQuestion, LiveValue, MOST_VALUES};

pub(super) fn look(
    ctx: &Context,
    mesh: &Mesh,
    question: LiveQuestion<'_>,
) -> Result<Vec<LiveCandidate>, CommandError> {
    match question.kind {
        LiveValue::Predictions => predictions(ctx, mesh),
        LiveValue::Runs => runs(mesh, |_| true),
        LiveValue::OpenRuns => runs(mesh, |run| !run.state.is_final()),
        LiveValue::Specs => specs(ctx, mesh),
        kind => tasks(ctx, mesh, kind, question.spec),
    }
}

fn predictions(ctx: &Context, mesh: &Mesh) -> Result<Vec<LiveCandidate>, CommandError> {
    let all = mesh.awareness().predictions(&WorkPlace::of(&ctx.cwd).repository)?;
    let open = all.into_iter().filter(|one| one.end.is_none());
    let about = |one: &crate::store::Prediction| format!("{} and {}: {}", one.name, one.with_name, one.file);
    Ok(open.map(|one| LiveCandidate::new(one.id.as_str(), &about(&one))).collect())
}

fn runs(mesh: &Mesh, is_wanted: impl Fn(&Run) -> bool) -> Result<Vec<LiveCandidate>, CommandError> {
    let found = mesh.runs().list()?.runs.into_iter().take(MOST_VALUES);
    // Only of those that go on it has to be seen whether they do.
    let judged = found.map(|run| if run.state.is_final() { run } else { as_it_is(mesh, run) });
    let candidate =
        |run: Run| LiveCandidate::new(run.id.as_str(), &format!("{} · {}", run.state.name(), run.task));
    Ok(judged.filter(is_wanted).map(candidate).collect())
}

fn specs(ctx: &Context, mesh: &Mesh) -> Result<Vec<LiveCandidate>, CommandError> {
    let census = mesh.registry().census()?;
    let from_here = |path: String| match Path::new(&path).strip_prefix(&ctx.cwd) {
        Ok(rest) => rest.display().to_string(),
        Err(_) => path,
    };
    let known = known_specs(mesh, &census)?.into_iter().map(from_here);
    Ok(known.map(|path| LiveCandidate::new(path, "a spec that is worked on")).collect())
}

fn tasks(
    ctx: &Context,
    mesh: &Mesh,
    kind: LiveValue,
    spec: Option<&str>,
) -> Result<Vec<LiveCandidate>, CommandError> {
    let census = mesh.registry().census()?;
    let me = match spec {
        Some(_) => None,
        None => identity::caller_if_certain(ctx, mesh, &census),
    };
    let source = match (spec, me.as_ref()) {
        (Some(spec), _) => SpecSource::Named(spec),
        (None, Some(me)) if me.spec.is_some() => SpecSource::Of(me),
        (None, _) => SpecSource::AllKnown,
    };
    let is_mine = |task: &ListedTask| {
        let holder = task.holder.as_deref();
        holder.is_some_and(|holder| me.as_ref().is_none_or(|me| me.name.as_str() == holder))
    };
    let is_wanted = |task: &ListedTask| match kind {
        LiveValue::OpenTasks => task.state == TaskState::Open,
        LiveValue::ClaimedTasks => is_mine(task),
        LiveValue::UnfinishedTasks => {
            task.state != TaskState::Done && (task.holder.is_none() || is_mine(task))
        }
        LiveValue::DoneTasks => task.state == TaskState::Done,
        _ => true,
    };
    let mut found: Vec<ListedTask> = listed_tasks(ctx, mesh, &census, source)?;
    found.retain(is_wanted);
    // One's own first.
    found.sort_by_key(|task| !is_mine(task));
    let about = |task: &ListedTask| match &task.holder {
        Some(holder) => format!("{} ({}, {holder})", task.title, task.state.name()),
        None => format!("{} ({})", task.title, task.state.name()),
    };
    Ok(found.iter().map(|task| LiveCandidate::new(task.id.as_str(), &about(task))).collect())
}
