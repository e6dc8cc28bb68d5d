//! `msg complete --verify`: runs the commands that a spec names to prove a task, before the task is completed.
//!
//! No lock is held meanwhile. The claim is checked before, so that nothing is run in vain, and again with the completion.
//! The commands have a keeper: if this process is killed, they and all that they started are ended, and the task stays
//! claimed.

use std::path::PathBuf;
use std::rc::Rc;

use jiff::Timestamp;

use crate::domain::spec::verify_commands;
use crate::domain::{Agent, VerifyRun, quote_code};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::{Mesh, machine_state};
use crate::sys::files::{self, FileError, Scratch};
use crate::sys::git::WorkTree;
use crate::sys::keeper::commands::{CommandsEnd, KeptCommands};
use crate::sys::signals::StopRequest;
use crate::sys::{clock, environment, test_switches};

use super::fencing::FencingToken;
use super::locked_tasks::{LockedTasks, PreloadedSpec, look_up};
use super::task_board::ParsedSpec;
use super::verify_trust;

/// The most lines and bytes of output that are recorded.
const MOST_LINES: usize = 20;
const MOST_BYTES: usize = 2_000;
/// How many of them an error shows to a person.
const SHOWN_LINES: usize = 10;

/// A run of the commands that succeeded.
pub(super) struct PassedVerify {
    pub(super) verify: VerifyRun,
    /// The commit of `HEAD` when they were started.
    pub(super) commit: Option<String>,
    /// When they were started: what is edited later is not proven.
    pub(super) at: Timestamp,
}

/// The task that is meant, as it was typed.
#[derive(Clone, Copy)]
pub(super) struct TypedTask<'a> {
    /// `None`: the one that the caller has.
    pub(super) task: Option<&'a str>,
    pub(super) spec: Option<&'a str>,
}

/// Runs the commands of that task. `None`: the caller has completed it already, and nothing is
/// run. An error if the task has none, if nobody trusted them, or if one fails.
pub(super) fn verify(
    op: &Op,
    mesh: &Mesh,
    caller: &Agent,
    typed: TypedTask<'_>,
    token: &FencingToken,
) -> Result<Option<PassedVerify>, CommandError> {
    let Some((parsed_spec, task)) = claimed_task(op, mesh, caller, typed, token)? else {
        op.warn("nothing was verified: you have completed it before");
        return Ok(None);
    };
    let commands = parsed_spec
        .task(&task)
        .map_or_else(Vec::new, |task| verify_commands(&parsed_spec.text, &parsed_spec.spec, task));
    if commands.is_empty() {
        let text = format!("{} has no `verify:` line in its spec", quote_code(&task));
        return Err(CommandError::new(CommandErrorKind::NotVerified, text).hint(
            "add an indented line `verify: COMMAND` beneath it, or complete it with `--evidence TEXT`",
        ));
    }
    verify_trust::check(op, &parsed_spec)?;
    let tree = WorkTree::containing(&op.cwd);
    let (at, commit) = (clock::now(), tree.as_ref().and_then(WorkTree::head_commit));
    let dir = tree.map_or_else(|| PathBuf::from(&caller.cwd), |tree| tree.root);
    let run = prove(op, &task, &commands, dir)?;
    Ok(Some(PassedVerify { verify: run, commit, at }))
}

/// The task that the caller may complete, and its spec. `None`: it has completed it already. Writes nothing but what any
/// command about tasks drops.
pub(super) fn claimed_task(
    op: &Op,
    mesh: &Mesh,
    caller: &Agent,
    TypedTask { task, spec }: TypedTask<'_>,
    token: &FencingToken,
) -> Result<Option<(Rc<ParsedSpec>, String)>, CommandError> {
    let (early, spellings) = match task {
        Some(task) => PreloadedSpec::read(op, mesh, caller, spec, task),
        None => (None, look_up(mesh)),
    };
    let mut locked = mesh.lock_with_claims()?;
    let tasks = LockedTasks::open(op, mesh, &mut locked, caller, spellings)?;
    let typed = match task {
        Some(task) => task.to_string(),
        None => tasks.only_claim()?.task,
    };
    let parsed_spec = tasks.spec_of(early, spec, &typed)?;
    let board = tasks.board(&parsed_spec);
    let task = board.meant(&typed);
    if tasks.own_completion(&board, &task).is_some() {
        return Ok(None);
    }
    let claim = tasks.own_claim(&board, &task)?;
    token.check(&claim, &tasks.spellings)?;
    drop(tasks);
    Ok(Some((parsed_spec, task)))
}

/// Runs the commands one after the other. An error if one fails, if they take too long, or if we are asked to stop.
fn prove(op: &Op, task: &str, commands: &[String], dir: PathBuf) -> Result<VerifyRun, CommandError> {
    let above = machine_state(&op.home).join("verify");
    files::create_dir(&above)?;
    let scratch = Scratch::make_in(&above)?;
    let of_this_process = [test_switches::CRASH_AT, test_switches::STOP_AT];
    let mut env = environment::all();
    env.retain(|(name, _)| !of_this_process.iter().any(|own| name == own));
    let kept = KeptCommands {
        dir: &dir,
        commands,
        env: &env,
        log: &scratch.path().join("log"),
        limit: op.settings.verify_timeout(),
    };
    let stop = StopRequest::listen_with_hangup().map_err(FileError::from)?;
    let end = kept.run(&|| stop.is_requested());
    let end = match scratch.remove() {
        Ok(()) => end?,
        Err(error) => {
            op.warn(format!("the output of the commands is left over: {error}"));
            end?
        }
    };
    match end {
        CommandsEnd::Done { tail } => {
            Ok(VerifyRun { command: commands.join("\n"), exit_code: 0, tail: last_lines(&tail) })
        }
        CommandsEnd::Stopped => {
            let text = format!("stopped before {} was verified: it is not completed", quote_code(task));
            Err(CommandError::new(CommandErrorKind::Interrupted, text))
        }
        CommandsEnd::Failed { command, how, code, tail } => {
            let text =
                format!("{} ended with {how}: {} is not completed", quote_code(&command), quote_code(task));
            let tail = last_lines(&tail);
            let error = CommandError::new(CommandErrorKind::NotVerified, text).fact("command", command);
            let error = match code.and_then(|code| u64::try_from(code).ok()) {
                Some(code) => error.number("exitCode", code),
                None => error,
            };
            let error = error.fact("tail", tail.clone());
            let shown = tail.lines().skip(tail.lines().count().saturating_sub(SHOWN_LINES));
            Err(shown.fold(error, |error, line| error.hint(line.to_string())))
        }
    }
}

/// The end of the output, in whole lines.
fn last_lines(output: &str) -> String {
    let all: Vec<&str> = output.trim_end().lines().collect();
    let mut kept: Vec<&str> = Vec::new();
    let mut length = 0;
    for line in all.into_iter().rev().take(MOST_LINES) {
        length += line.len() + 1;
        if length > MOST_BYTES {
            break;
        }
        kept.push(line);
    }
    kept.reverse();
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_output_is_bounded() {
        assert_eq!(last_lines("a\nb\n\n"), "a\nb");
        assert_eq!(last_lines(""), "");
        let many: String = (0..100).map(|number| format!("{number}\n")).collect();
        assert!(last_lines(&many).starts_with("80\n") && last_lines(&many).ends_with("99"));
        assert_eq!(last_lines(&format!("{}\nend", "x".repeat(5_000))), "end");
    }
}
