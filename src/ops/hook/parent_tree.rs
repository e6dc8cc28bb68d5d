//! Whether a command of a worker changed the tree that its run works for: fingerprints of that tree before and after
//! the command.
//!
//! It claims no more than it knows: a file *changed while the command ran*. What another agent's hooks have reported is
//! left out, and who else was at work there is named.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use crate::domain::awareness::counters::AgentId;
use crate::domain::hook::ToolUse;
use crate::domain::runs::RunId;
use crate::domain::{Agent, AgentName, Notice, PeerText, sha256};
use crate::ops::awareness::reported_changes;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::OutsideChange;
use crate::sys::git::run_tree::{ParentChange, RunTreeError, TreeFingerprint};
use crate::sys::{clock, test_switches};

use super::HookRun;
use super::fence::Fence;

/// Most files named in a notice.
const MOST_TOLD: usize = 10;
/// Most characters of a command that are kept.
const MOST_COMMAND: usize = 200;
/// If a fingerprint takes longer, only the end of the run looks at the tree: a hook must not delay its harness.
const MOST_TIME: Duration = Duration::from_millis(400);

/// Keeps the fingerprint from before the command.
pub(super) fn note(
    run: &HookRun<'_>,
    (id, fence): (&RunId, &Fence),
    tool: &ToolUse,
) -> Result<(), CommandError> {
    let ledger = run.mesh.runs();
    if ledger.is_parent_tree_slow(id)? {
        return Ok(());
    }
    let at = clock::from_system(clock::machine_time());
    // Beforehand: if it takes so long that this hook is ended, the next one doesn't try again.
    ledger.note_slow_parent_tree(id)?;
    let print = fingerprint(&fence.project);
    if !matches!(print, Ok(None)) {
        ledger.note_fast_parent_tree(id)?;
    }
    match print? {
        Some(print) => Ok(ledger.put_parent_tree(id, &call_of(run, tool), at, &print.to_bytes())?),
        None => Ok(()),
    }
}

/// What changed in the tree while the command ran: a notice for the worker. The ledger gets it too.
pub(super) fn compare(
    run: &HookRun<'_>,
    (id, fence): (&RunId, &Fence),
    tool: &ToolUse,
) -> Result<Option<Notice>, CommandError> {
    let (ledger, call) = (run.mesh.runs(), call_of(run, tool));
    let Some((since, bytes)) = ledger.parent_tree(id, &call)? else { return Ok(None) };
    let notice = match TreeFingerprint::from_bytes(&bytes) {
        Some(before) => compare_with(run, (id, fence), tool, (since, &before))?,
        None => None,
    };
    // What changed is written down now.
    ledger.forget_parent_tree(id, &call)?;
    Ok(notice)
}

fn compare_with(
    run: &HookRun<'_>,
    (id, fence): (&RunId, &Fence),
    tool: &ToolUse,
    (since, before): (Timestamp, &TreeFingerprint),
) -> Result<Option<Notice>, CommandError> {
    let Some(now) = fingerprint(&fence.project)? else {
        run.mesh.runs().note_slow_parent_tree(id)?;
        return Ok(None);
    };
    let changes = now.changes_since(before);
    if changes.is_empty() {
        return Ok(None);
    }
    let others = others(run)?;
    let ids: Vec<AgentId> = others.iter().map(|other| AgentId::of(&other.session)).collect();
    let known = reported_changes(run.mesh, &fence.project, since, |agent| ids.contains(agent))?;
    let files: Vec<String> = changes
        .into_iter()
        .filter_map(|change| match change {
            ParentChange::Head => Some("HEAD".to_string()),
            ParentChange::File(path) => (!known.contains(&path)).then(|| path.to_string_lossy().into_owned()),
        })
        .collect();
    if files.is_empty() {
        return Ok(None);
    }
    let active = active_in(run, &fence.project, &others, since)?;
    let command: String = tool.command.as_deref().unwrap_or_default().chars().take(MOST_COMMAND).collect();
    let change = OutsideChange {
        at: clock::now(),
        command,
        files: files.clone(),
        others: active.iter().map(ToString::to_string).collect(),
    };
    run.mesh.runs().add_outside_change(id, &change)?;
    Ok(Some(words(&fence.project, &files, &active)))
}

fn words(project: &Path, files: &[String], active: &[AgentName]) -> Notice {
    let shown: Vec<PeerText> = files.iter().take(MOST_TOLD).map(PeerText::new).collect();
    let mut notice = Notice::new()
        .say("Changed in ")
        .code(&PeerText::new(project.to_string_lossy()))
        .say(", which is not the work tree of this run, while your command ran: ")
        .codes(&shown);
    let more = files.len().saturating_sub(MOST_TOLD);
    if more > 0 {
        notice = notice.say(" and ").number(more).say(" more");
    }
    notice = notice.say(". If that was your command, undo it there; it is in the record of this run.");
    match active {
        [] => notice.say(" It may have been a person."),
        active => {
            notice = notice.say(" At work there meanwhile: ");
            for (number, name) in active.iter().enumerate() {
                notice = if number > 0 { notice.say(", ") } else { notice };
                notice = notice.name(name);
            }
            notice.say(".")
        }
    }
}

/// `None`: it takes too long.
fn fingerprint(project: &Path) -> Result<Option<TreeFingerprint>, CommandError> {
    let print = match test_switches::value(test_switches::NO_HOOK_LIMIT) {
        None => TreeFingerprint::within(project, MOST_TIME),
        Some(_) => TreeFingerprint::of(project),
    };
    match print {
        Ok(print) => Ok(Some(print)),
        Err(RunTreeError::TooSlow { .. }) => Ok(None),
        Err(error) => Err(CommandError::new(
            CommandErrorKind::Io,
            format!("the tree that the run works for can't be read: {error}"),
        )),
    }
}

fn others(run: &HookRun<'_>) -> Result<Vec<Agent>, CommandError> {
    let is_other = |agent: &Agent| run.me.as_ref().is_none_or(|me| !me.is_same_agent(agent));
    let live = run.mesh.registry().local_census()?.records.into_iter().filter(|record| record.is_live());
    Ok(live.map(|record| record.agent).filter(is_other).collect())
}

/// The agents in that tree that gave a sign of life since then.
fn active_in(
    run: &HookRun<'_>,
    project: &Path,
    others: &[Agent],
    since: Timestamp,
) -> Result<Vec<AgentName>, CommandError> {
    let mut active = Vec::new();
    for other in others.iter().filter(|other| Path::new(&other.cwd).starts_with(project)) {
        if run.mesh.presence().file_time(&other.name)?.is_some_and(|seen| seen >= since) {
            active.push(other.name.clone());
        }
    }
    Ok(active)
}

/// Identifies the call among those of the run.
fn call_of(run: &HookRun<'_>, tool: &ToolUse) -> String {
    let call = tool.call.as_deref().or(tool.command.as_deref()).unwrap_or_default();
    let session = run.call.event.session.as_ref().map_or("", |session| session.as_str());
    sha256(format!("{session}\0{call}").as_bytes())[..16].to_string()
}
