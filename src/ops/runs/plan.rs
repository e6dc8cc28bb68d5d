//! From what was asked for to a run that can be started: which profile, which program, with which limits.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::runs::RunId;
use crate::domain::screens::acting_character;
use crate::domain::workers::{
    Budget, DialogAnswer, Isolation, Profile, ProfileKey, ProfileOrigin, Triage, WorkerProgram, WorktreeSetup,
};
use crate::domain::{AgentName, Harness, SessionId, shell_word, suggestions};
use crate::harness::worker::{WorkerAdapter, WorkerHooks};
use crate::harness::{self, HarnessSupport};
use crate::store::worker_files::{self, FileTrust, LoadedWorkers, RunPlace, UntrustedFile};
use crate::store::{
    OrderedAnswer, OrderedProgram, PaneOrder, ProbeCache, ReviewOrder, RunOrder, TaskOrder, WorktreeOrder,
};
use crate::sys::git::run_tree::WantedFiles;
use crate::sys::program;
use crate::sys::tmux::TmuxServer;

use super::gate::Gate;
use super::reserved_gate;
use super::start::{AskedFromElsewhere, NewRun, check_first};
use super::terminal_wish::TerminalWish;
use super::work;
use super::worker_call;
use crate::ops::agents::identity;
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::person_required;
use crate::ops::setup::install;
use crate::ops::tasks::{RunTask, look_for_run};
use crate::ops::workers::{first_installed, harness_program, problems_error};

/// What somebody asked for.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    /// A profile, or a harness.
    pub profile: String,
    pub task: String,
    pub name: Option<AgentName>,
    pub timeout: Option<Duration>,
    pub budget: Budget,
    /// Where it works; `None`: here.
    pub root: Option<PathBuf>,
    /// The harness that has the session to be continued, and that session.
    pub resumes: Option<(Harness, SessionId)>,
    /// Where it works; `None`: where the profile says.
    pub isolation: Option<Isolation>,
    /// The run whose worktree is continued.
    pub continues: Option<RunId>,
    /// The crew whose branch its worktree starts from; `None`: from the work tree as it is.
    pub crew: Option<String>,
    /// Patterns to reserve for its worker.
    pub reserve: Vec<String>,
    /// Where the patterns start from; `None`: here.
    pub reserve_from: Option<PathBuf>,
    /// Whether it waits until these are free.
    pub is_to_wait: bool,
    /// Whether its worker gets a window in tmux; `None`: it has no terminal.
    pub terminal: Option<TerminalWish>,
    /// The task of a spec that is to be claimed for it, and the spec; `None`: that of whoever asks.
    pub claims: Option<(String, Option<String>)>,
    /// Who reviews its work.
    pub review: ReviewWish,
    /// Whether it is to review what another run did. It only reads, where that worked, and is not reviewed itself.
    pub is_review: bool,
    /// What another machine asked for with it; `None`: it was asked for here.
    pub asked: Option<AskedFromElsewhere>,
}

/// Who is to review the work of a run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum ReviewWish {
    /// Whoever its profile names.
    #[default]
    OfProfile,
    /// A worker with this profile.
    By(String),
    Nobody,
}

/// The longest task that a harness takes as an argument. The system's own limit is 128 KiB.
const MOST_ARGUMENT: usize = 100_000;

/// How long a reviewer may take whose profile does not say so.
pub(in crate::ops) const REVIEW_SECONDS: u64 = 30 * 60;

/// The run that was asked for, if there is such a profile and its program is there.
pub fn plan(op: &Op, mut request: RunRequest) -> Result<NewRun, CommandError> {
    let claimed = claimed_task(op, &mut request)?;
    if let Some(task) = claimed.as_ref().filter(|_| request.task.trim().is_empty()) {
        request.task = task_text(task);
    }
    check_first(op, &request.task, request.terminal)?;
    let root = request.root.unwrap_or_else(|| op.cwd.clone());
    let loaded = worker_files::load(&op.home, &root);
    if let Some(error) = problems_error(&loaded) {
        return Err(error);
    }
    // Whoever is reviewed was told of them.
    loaded.warnings.iter().filter(|_| !request.is_review).for_each(|warning| op.warn(warning));
    let profile = profile(&loaded, &request.profile)?;
    let has_worktree =
        !request.is_review && request.isolation.unwrap_or(profile.isolation) == Isolation::Worktree;
    let place = if has_worktree { RunPlace::OwnWorktree } else { RunPlace::ParentTree };
    if let Some(untrusted) = loaded.untrusted_for(&profile, place) {
        return Err(untrusted_error(untrusted));
    }
    let worktree = match has_worktree {
        true => {
            let order = worktree_order(op, &root, &loaded, (request.continues.as_ref(), request.crew))?;
            let commit = request.asked.as_ref().map(|asked| asked.commit.clone());
            Some(WorktreeOrder { commit, ..order })
        }
        false => None,
    };
    let (program, harness, version) =
        program_of((op, &root), &profile, request.resumes.as_ref().map(|(harness, _)| *harness))?;
    if request.is_review {
        check_reviewer(&loaded, &profile)?;
    }
    if harness.is_some() && request.task.len() > MOST_ARGUMENT {
        let size = request.task.len();
        let text = format!("the task has {size} bytes, and a harness takes at most {MOST_ARGUMENT}");
        return Err(Gate::Task.refuse(text).hint("write it to a file, and let the task name that file"));
    }
    let pane = request.terminal.map(|wish| pane_order(op, &request.task, wish, harness)).transpose()?;
    let pane = pane.map(|pane| PaneOrder { triage: ordered_answers(&profile.triage), ..pane });
    let budget = request.budget;
    let from = request.reserve_from.as_ref().unwrap_or(&op.cwd);
    let mut reserve = reserved_gate::patterns(op, from, &root, &request.reserve)?;
    if let Some(task) = &claimed {
        // They are written from the root of the repository.
        reserve.extend(reserved_gate::patterns(op, &reserved_gate::tree_at(&root), &root, &task.paths)?);
        let mut seen = Vec::new();
        reserve.retain(|pattern| {
            !seen.contains(pattern) && {
                seen.push(pattern.clone());
                true
            }
        });
    }
    let reviewer = match &request.review {
        ReviewWish::OfProfile => profile.review.as_deref().filter(|_| !request.is_review),
        ReviewWish::By(reviewer) => Some(reviewer.as_str()),
        ReviewWish::Nobody => None,
    };
    let review = reviewer.map(|reviewer| review_order(op, &root, reviewer));
    let order = RunOrder {
        crew: None,
        reviewed: None,
        review,
        reserve,
        task: claimed.map(|task| TaskOrder { spec: task.spec, file: task.file, id: task.id }),
        is_to_wait: request.is_to_wait,
        program,
        instructions: loaded.instructions(&op.home, &profile)?,
        model: profile.model.clone(),
        is_to_write: !profile.is_readonly && !request.is_review,
        is_review: request.is_review,
        tools: profile.tools.clone().unwrap_or_default(),
        args: profile.args.clone(),
        env: profile.env.clone().into_iter().collect(),
        timeout_seconds: request.timeout.or(profile.timeout).map(|timeout| timeout.as_secs().max(1)),
        name: request.name.map(|name| name.to_string()),
        resumes: request.resumes.map(|(_, session)| session.to_string()),
        most_micros: budget.usd.or(profile.budget.usd).map(|amount| amount.micros()),
        most_tokens: budget.tokens.or(profile.budget.tokens),
        go_on: None,
        batch_task: request.asked.as_ref().map(|asked| asked.key.clone()),
        left_out: worker_call::variables_of_parent(),
        worktree,
        pane,
    };
    let harness = harness.map(|harness| harness.name().to_string());
    let (task, profile) = (request.task, profile.name);
    let asked = request.asked;
    Ok(NewRun { task, profile, harness, version, root, earlier: None, reviews: None, asked, order })
}

/// Who is to review the work, as that can be told now. It only reads, in the directory of the work.
fn review_order(op: &Op, root: &Path, reviewer: &str) -> ReviewOrder {
    let request = RunRequest {
        profile: reviewer.to_string(),
        // What it is told is known at the end of the work.
        task: "review".to_string(),
        root: Some(root.to_path_buf()),
        is_review: true,
        ..RunRequest::default()
    };
    match plan(op, request) {
        Ok(NewRun { profile, harness, version, order, .. }) => {
            let timeout_seconds = order.timeout_seconds.or(Some(REVIEW_SECONDS));
            let order = Box::new(RunOrder { timeout_seconds, ..order });
            ReviewOrder::Planned { profile, harness, version, order }
        }
        Err(error) => {
            op.warn(format!("`{reviewer}` can't review the work of this run: {}", error.message));
            ReviewOrder::Impossible { profile: reviewer.to_string(), why: error.message }
        }
    }
}

/// A reviewer only reads. A command can't be held to that, nor a harness with arguments that were written for another
/// purpose: whoever wrote the profile has to promise it. The file of a project can promise it only if a person trusted it.
fn check_reviewer(loaded: &LoadedWorkers, profile: &Profile) -> Result<(), CommandError> {
    let what = match &profile.program {
        WorkerProgram::Command(_) => "is a command",
        WorkerProgram::Harness(_) | WorkerProgram::FirstInstalled if !profile.args.is_empty() => {
            "has `args` of its own"
        }
        WorkerProgram::Harness(_) | WorkerProgram::FirstInstalled => return Ok(()),
    };
    let is_of_project = profile.origins.get(&ProfileKey::Readonly) == Some(&ProfileOrigin::Project);
    let is_trusted = !is_of_project || matches!(loaded.trust, FileTrust::Trusted { .. });
    if profile.is_readonly && is_trusted {
        return Ok(());
    }
    let name = &profile.name;
    let text = format!(
        "`{name}` {what}, which `msg` can't keep from changing files; if it changes none, write `readonly = true` below `[{name}]` in your `{}`",
        loaded.user_file.display()
    );
    Err(Gate::Profile.refuse(text))
}

/// The tmux server for the worker, if it can have a window there.
fn pane_order(
    op: &Op,
    task: &str,
    wish: TerminalWish,
    harness: Option<Harness>,
) -> Result<PaneOrder, CommandError> {
    let can_be_read = harness.and_then(harness::support).is_some_and(|support| support.screen().is_some());
    if !can_be_read {
        let text = "a command has no screen that can be read, so it gets no window in tmux";
        return Err(Gate::Harness.refuse(text).hint("leave out --tmux, or choose a profile with a harness"));
    }
    if let Some(control) = acting_character(task) {
        let text = format!("the task contains `{}`, which can't be typed", control.escape_debug());
        return Err(Gate::Task.refuse(text).hint("write it to a file, and let the task name that file"));
    }
    let server = TmuxServer::find(op.settings.tmux_socket());
    let socket = server.socket().path().to_string_lossy().into_owned();
    let is_trust_accepted = wish == TerminalWish::AcceptTrust;
    if is_trust_accepted {
        // A clone may bring settings and hooks that run as soon as it is trusted.
        let line = || person_required::with_mesh(op, "msg run PROFILE TASK --tmux --accept-trust");
        person_required::required(line)?;
    }
    Ok(PaneOrder { socket, is_trust_accepted, triage: Vec::new() })
}

/// The dialogs that are answered without asking anybody.
fn ordered_answers(triage: &Triage) -> Vec<OrderedAnswer> {
    let ordered = |answer: &DialogAnswer| OrderedAnswer {
        dialog: answer.dialog.clone(),
        choice: answer.choice.clone(),
    };
    match triage {
        Triage::Report => Vec::new(),
        Triage::Answer(answers) => answers.iter().map(ordered).collect(),
    }
}

/// The task that is to be claimed for the worker. A session that is continued goes on without a task that it lost.
fn claimed_task(op: &Op, request: &mut RunRequest) -> Result<Option<RunTask>, CommandError> {
    let Some((id, spec)) = request.claims.take() else { return Ok(None) };
    let asks = match op.mesh()? {
        _ if request.asked.is_some() => None,
        Some(mesh) => identity::caller_if_certain(op, &mesh, &mesh.registry().census()?),
        None => None,
    };
    let found = look_for_run(op, spec.as_deref(), asks.as_ref(), &id);
    let refused = match found {
        Ok(RunTask { refusal: Some(refused), .. }) | Err(refused) => refused,
        Ok(task) => return Ok(Some(task)),
    };
    if request.resumes.is_none() {
        return Err(refused.fact("gate", Gate::Task.name()));
    }
    op.warn(format!("the run goes on without its task, and can't complete it: {}", refused.message));
    Ok(None)
}

/// What a worker is told that gets nothing but the task of a spec.
fn task_text(task: &RunTask) -> String {
    let place = task.file.as_deref().map_or_else(String::new, |file| format!(" of `{file}`"));
    format!(
        "{}\n\nThis is task `{}`{place}. It is claimed for you. When it is done, run: msg complete {}",
        task.text,
        task.id,
        shell_word(&task.id)
    )
}

/// What a worktree here needs, if there can be one.
fn worktree_order(
    op: &Op,
    root: &Path,
    loaded: &LoadedWorkers,
    (continues, crew): (Option<&RunId>, Option<String>),
) -> Result<WorktreeOrder, CommandError> {
    let repository = work::repository(&op.home, root)?;
    let WorktreeSetup { copy, link, setup, teardown } = loaded.worktree.clone();
    WantedFiles { copy: copy.clone(), link: link.clone() }.check()?;
    if setup.is_empty() && crate::sys::files::exists(&repository.root().join(".gitmodules"))? {
        op.warn(
            "the submodules of this repository are empty directories in a worktree; \
             `[worktree] setup = \"git submodule update --init\"` in `workers.toml` fills them",
        );
    }
    let continues = continues.map(ToString::to_string);
    Ok(WorktreeOrder { continues, crew, commit: None, copy, link, setup, teardown })
}

/// The refusal of a run that needs what nobody trusted.
fn untrusted_error(file: &UntrustedFile) -> CommandError {
    let keys: Vec<String> = file.keys.iter().map(ToString::to_string).collect();
    let what = match file.was_trusted_before {
        true => "has changed since a person trusted it",
        false => "was not trusted by a person",
    };
    let text = format!("`{}` {what}: {}", file.path.display(), keys.join(", "));
    let error = Gate::Trust.refuse(text).hint("a person who has read it can run `msg workers trust`");
    error.fact("file", file.path.display().to_string()).facts("keys", keys).fact("diff", file.diff.clone())
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

/// The program, and for a harness which one and its version, if that is known.
type ChosenProgram = (OrderedProgram, Option<Harness>, Option<String>);

/// The program of the profile. A session that is continued belongs to one harness.
fn program_of(
    (op, root): (&Op, &Path),
    profile: &Profile,
    wanted: Option<Harness>,
) -> Result<ChosenProgram, CommandError> {
    let (harness, path) = match (&profile.program, wanted) {
        (WorkerProgram::FirstInstalled, Some(harness)) => (harness, harness_program(harness)),
        (program, Some(wanted)) if *program != WorkerProgram::Harness(wanted) => {
            let text =
                format!("the session is one of {wanted}, and `{}` is another program now", profile.name);
            return Err(Gate::Profile.refuse(text).hint("`msg runs retry` begins anew"));
        }
        (program, _) => match program {
            WorkerProgram::Command(words) => {
                check_command(root, profile, words)?;
                return Ok((OrderedProgram::Command(words.clone()), None, None));
            }
            WorkerProgram::Harness(harness) => (*harness, harness_program(*harness)),
            WorkerProgram::FirstInstalled => {
                let (harness, path) = first_installed().ok_or_else(|| {
                    Gate::Harness
                        .refuse("no harness that can be a worker is on the PATH")
                        .hint("install one, or give the profile a `command` in `workers.toml`")
                })?;
                (harness, Some(path))
            }
        },
    };
    let unable = || Gate::Harness.refuse(format!("{harness} can't be started as a worker"));
    let support = harness::support(harness).ok_or_else(unable)?;
    let adapter = support.worker().ok_or_else(unable)?;
    let path = path.ok_or_else(|| {
        let text = format!("{} is not installed: there is no `{harness}` on the PATH", support.title());
        Gate::Harness.refuse(text).hint("install it, or choose another profile: `msg workers` lists them")
    })?;
    check_hooks(op, support, adapter)?;
    let version = known_version(op, harness, &path);
    if let Some(version) = version.as_deref().filter(|version| !adapter.is_known(version)) {
        op.warn(format!("{} {version} was not tested as a worker: it is tried", support.title()));
    }
    let program = OrderedProgram::Harness {
        name: harness.name().to_string(),
        path: path.to_string_lossy().into_owned(),
    };
    Ok((program, Some(harness), version))
}

/// A command has to be a program. One in the project may be made only when its worktree is set up.
fn check_command(root: &Path, profile: &Profile, words: &[String]) -> Result<(), CommandError> {
    let name = words.first().map_or("", String::as_str);
    let found = if name.contains('/') { Some(root.join(name)) } else { program::on_path(name) };
    let is_made_later =
        profile.isolation == Isolation::Worktree && name.contains('/') && !name.starts_with('/');
    if is_made_later || found.is_some_and(|path| program::is_program(&path)) {
        return Ok(());
    }
    let text =
        format!("the program `{}` of the profile `{}` was not found", name.escape_debug(), profile.name);
    Err(Gate::Harness.refuse(text).hint("put it on the PATH, or give its absolute path in `workers.toml`"))
}

/// A worker without our hooks would be no agent: it would neither be seen nor kept out of what others have reserved.
fn check_hooks(
    ctx: &Context,
    support: &dyn HarnessSupport,
    adapter: &dyn WorkerAdapter,
) -> Result<(), CommandError> {
    let harness = support.id();
    let is_installed =
        || install::overview(ctx).iter().any(|state| state.harness == harness && state.is_installed);
    if adapter.hooks() == WorkerHooks::Given || is_installed() {
        return Ok(());
    }
    let text = format!("{} needs our hooks to be a worker, and they are not installed", support.title());
    Err(Gate::Harness.refuse(text).hint(format!("`msg install {harness}` installs them")))
}

/// The version that the program had when it was last asked, if it is still the same file.
fn known_version(ctx: &Context, harness: Harness, path: &Path) -> Option<String> {
    let record = ProbeCache::of(&ctx.home).load()?;
    let probed = record.harnesses.into_iter().find(|probed| probed.name == harness.name())?;
    (probed.path == *path && probed.is_unchanged()).then_some(probed.version)?
}
