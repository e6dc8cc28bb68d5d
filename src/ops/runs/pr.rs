//! `msg runs pr`: the commands that push the branch of a run and open a pull request, or their result.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::domain::runs::Run;
use crate::domain::shell_word;
use crate::sys::program;

use super::ended_work::ended_work;
use super::merge::find_nothing;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::person_required;
use crate::ops::tasks::GivenAwayTask;

/// Whether the commands are run, or only told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PullRequestMode {
    Print,
    Push,
}

/// A pull request with the work of a run.
#[derive(Debug)]
pub struct PullRequestReport {
    pub run: Run,
    /// The commands, as a shell would read them.
    pub commands: Vec<String>,
    /// What the last command printed, if they were run: the address of the pull request.
    pub answer: Option<String>,
}

/// The program that opens pull requests.
const GH: &str = "gh";

/// The commands for the run that `id` names.
pub fn pull_request(
    op: &Op,
    id: &str,
    mode: PullRequestMode,
    given_away: GivenAwayTask,
) -> Result<PullRequestReport, CommandError> {
    let mesh = op.mesh()?.ok_or_else(|| find_nothing(id))?;
    if given_away == GivenAwayTask::Accept {
        let push = if mode == PullRequestMode::Push { " --push" } else { "" };
        let line = format!("msg runs pr {} --given-away{push}", shell_word(id));
        person_required::required(|| person_required::with_mesh(op, &line))?;
    }
    let ended = ended_work(op, &mesh, id, "pr")?;
    given_away.check(&mesh, &ended.run, "pr")?;
    let run = ended.run;
    let record = &ended.work.record;
    let Some(branch) = record.branch.clone() else {
        let why = match (&record.branch_note, record.changed_count) {
            (Some(note), _) => note.clone(),
            (None, _) => "it changed nothing".to_string(),
        };
        let text = format!("run {} has no branch: {why}", run.id);
        let hint = format!("`msg runs merge {}` brings its work into your tree", run.id);
        return Err(CommandError::new(CommandErrorKind::NoWork, text).hint(hint));
    };
    let repository = ended.work.tree.repository();
    let remotes = repository.remotes()?;
    let remote = remotes.iter().find(|name| *name == "origin").or(remotes.first()).ok_or_else(|| {
        let text = "this repository has no remote to push to";
        CommandError::new(CommandErrorKind::NoRepository, text).hint("`git remote add origin URL` adds one")
    })?;
    let title = run.title(72);
    let body = format!("The work of run {} ({}).", run.id, run.profile);
    let push = ["git", "push", "-u", remote, &branch];
    let create = [GH, "pr", "create", "--head", &branch, "--title", &title, "--body", &body];
    let line = |words: &[&str]| words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
    let commands = vec![line(&push), line(&create)];
    let answer = match mode {
        PullRequestMode::Print => None,
        PullRequestMode::Push => {
            if program::on_path(GH).is_none() {
                let text = "`gh` is not installed, so no pull request can be opened from here";
                let error = CommandError::new(CommandErrorKind::InvalidValue, text);
                return Err(error.hint(format!("install it, or push by hand: {}", commands[0])));
            }
            perform(repository.root(), &push)?;
            Some(perform(repository.root(), &create)?)
        }
    };
    Ok(PullRequestReport { run, commands, answer })
}

/// Runs a command with the terminal of the person, who may be asked for a password. Returns what it printed.
fn perform(dir: &Path, words: &[&str]) -> Result<String, CommandError> {
    let io =
        |why: String| CommandError::new(CommandErrorKind::Io, format!("`{} {}`: {why}", words[0], words[1]));
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(dir).stderr(Stdio::inherit()).env("GH_PROMPT_DISABLED", "1");
    let output = command.output().map_err(|error| io(error.to_string()))?;
    if !output.status.success() {
        return Err(io(format!("it failed ({})", output.status)).hint("its own message is above"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
}
