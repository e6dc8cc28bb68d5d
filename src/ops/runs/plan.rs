//! From what was asked for to a run that can be started: which profile, which program, with which limits.

use std::path::PathBuf;
use std::time::Duration;

use crate::domain::workers::{Budget, Isolation, Profile, WorkerProgram};
use crate::domain::{AgentName, Harness, suggestions};
use crate::harness::{self, HarnessSupport, SUPPORTED};
use crate::store::worker_files::{self, LoadedWorkers, RunPlace};
use crate::store::{OrderedProgram, RunOrder};
use crate::sys::program;

use super::gate::Gate;
use super::start::NewRun;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};

/// What somebody asked for.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    /// A profile, or a harness.
    pub profile: String,
    pub task: String,
    pub name: Option<AgentName>,
    pub timeout: Option<Duration>,
    pub budget: Budget,
}

/// The longest task that a harness takes as an argument. The system's own limit is 128 KiB.
const MOST_ARGUMENT: usize = 100_000;

/// The run that was asked for, if there is such a profile and its program is there.
pub fn plan(op: &Op, request: RunRequest) -> Result<NewRun, CommandError> {
    let loaded = worker_files::load(&op.home, &op.cwd);
    if !loaded.problems.is_empty() {
        let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
        let text = format!("`workers.toml` can't be used:\n{}", problems.join("\n"));
        return Err(CommandError::new(CommandErrorKind::BadConfig, text).facts("problems", problems));
    }
    loaded.warnings.iter().for_each(|warning| op.warn(warning));
    let profile = profile(&loaded, &request.profile)?;
    if let Some(untrusted) = loaded.untrusted_for(&profile, RunPlace::ParentTree) {
        let text = format!(
            "the profile `{}` is changed by `{}`, which nobody has trusted{}",
            profile.name,
            untrusted.path.display(),
            if untrusted.was_trusted_before { " since it changed" } else { "" },
        );
        return Err(Gate::Trust
            .refuse(text)
            .hint("a person can look at it and trust it: `msg workers trust`")
            .fact("diff", untrusted.diff.clone()));
    }
    let (program, harness) = program_of(&profile)?;
    if harness.is_some() && request.task.len() > MOST_ARGUMENT {
        let size = request.task.len();
        let text =
            format!("the task has {size} bytes; a harness takes at most {MOST_ARGUMENT} as an argument");
        return Err(Gate::Task.refuse(text).hint("write it to a file, and let the task name that file"));
    }
    if profile.isolation == Isolation::Worktree {
        let text =
            format!("the profile `{}` works in a worktree of its own, which is not built yet", profile.name);
        return Err(Gate::Profile.refuse(text).hint("set `isolation = \"none\"` in `workers.toml`"));
    }
    let budget = request.budget;
    let order = RunOrder {
        program,
        instructions: loaded.instructions(&op.home, &profile)?,
        model: profile.model.clone(),
        is_to_write: !profile.is_readonly,
        tools: profile.tools.clone().unwrap_or_default(),
        args: profile.args.clone(),
        env: profile.env.clone().into_iter().collect(),
        timeout_seconds: request.timeout.or(profile.timeout).map(|timeout| timeout.as_secs().max(1)),
        name: request.name.map(|name| name.to_string()),
        resumes: None,
        most_micros: budget.usd.or(profile.budget.usd).map(|amount| amount.micros()),
        most_tokens: budget.tokens.or(profile.budget.tokens),
        reserve: Vec::new(),
    };
    Ok(NewRun {
        task: request.task,
        profile: profile.name,
        harness: harness.map(|harness| harness.name().to_string()),
        version: None,
        root: op.cwd.clone(),
        order,
    })
}

/// The profile with that name, or one for the harness with that name.
fn profile(loaded: &LoadedWorkers, name: &str) -> Result<Profile, CommandError> {
    if let Some(profile) = loaded.profile(name) {
        return Ok(profile.clone());
    }
    let can_work = |harness: &Harness| harness::support(*harness).is_some_and(|it| it.worker().is_some());
    if let Some(harness) = harness::parse(name).filter(can_work) {
        let program = WorkerProgram::Harness(harness);
        return Ok(Profile { name: name.to_string(), program, ..Profile::default() });
    }
    let harnesses = harness::supported().filter(can_work).map(|harness| harness.name().to_string());
    let all: Vec<String> =
        loaded.profiles.iter().map(|profile| profile.name.clone()).chain(harnesses).collect();
    let mut error = Gate::Profile.refuse(format!("there is no profile or harness `{}`", name.escape_debug()));
    if let Some(near) = suggestions(name, all.iter().map(String::as_str)).first() {
        error = error.hint(format!("did you mean `{near}`?"));
    }
    Err(error.hint("`msg workers` lists the profiles; yours go into `workers.toml`"))
}

fn program_of(profile: &Profile) -> Result<(OrderedProgram, Option<Harness>), CommandError> {
    let found = |support: &&'static dyn HarnessSupport| -> Option<(Harness, PathBuf)> {
        support.worker()?;
        Some((support.id(), program::on_path(support.id().name())?))
    };
    let (harness, path) = match &profile.program {
        WorkerProgram::Command(words) => return Ok((OrderedProgram::Command(words.clone()), None)),
        WorkerProgram::Harness(harness) => {
            let support = harness::support(*harness).filter(|it| it.worker().is_some());
            let unable = || Gate::Harness.refuse(format!("{harness} can't be started as a worker"));
            let support = support.ok_or_else(unable)?;
            found(&support).ok_or_else(|| {
                let text =
                    format!("{} is not installed: there is no `{harness}` on the PATH", support.title());
                Gate::Harness
                    .refuse(text)
                    .hint("install it, or choose another profile: `msg workers` lists them")
            })?
        }
        WorkerProgram::FirstInstalled => SUPPORTED.iter().find_map(found).ok_or_else(|| {
            Gate::Harness
                .refuse("no harness that can be a worker is on the PATH")
                .hint("`msg workers` lists those that can; or set `command` in `workers.toml`")
        })?,
    };
    let name = harness.name().to_string();
    Ok((OrderedProgram::Harness { name, path: path.to_string_lossy().into_owned() }, Some(harness)))
}
