//! `msg install` and `msg uninstall`: put our hooks, plugins and permissions into harnesses, and take them out.
//!
//! `harness/<name>/` says what goes where, `harness/install/` puts it into a file's content and takes it out again,
//! `plan` decides what to do with the files that exist, and this file is the use case. Nothing of a harness is written
//! before all of it is known to fit; each record is written before the file that it describes.

mod doctor_checks;
mod guide;
mod msg_program;
mod original_file;
mod plan;
mod tmux_status;

use std::path::PathBuf;

use crate::domain::Harness;
use crate::harness;
use crate::harness::install::{InstallContext, InstallScope, InstallTarget, NoProjectSettings};
use crate::store::InstallRecords;
use crate::sys::environment::Home;
use crate::sys::files;
use crate::sys::git::WorkTree;
use crate::sys::program::on_path;

use crate::ops::context::home_and_cwd;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::person_required;
use crate::ops::setup::Execution;
use guide::GuideWish;
use plan::{InstallDirection, InstallPlan};

pub(in crate::ops) use doctor_checks::checks;
pub use doctor_checks::{InstallState, installed, overview};
pub use plan::FileChange;

/// What `install` can install into.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum InstallDestination {
    Harness(Harness),
    /// tmux's status bar.
    Tmux,
}

impl From<Harness> for InstallDestination {
    fn from(harness: Harness) -> Self {
        Self::Harness(harness)
    }
}

impl InstallDestination {
    pub fn name(self) -> &'static str {
        match self {
            Self::Harness(harness) => harness.name(),
            Self::Tmux => "tmux",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        if name == "tmux" { Some(Self::Tmux) } else { harness::parse(name).map(Self::Harness) }
    }
}

impl std::fmt::Display for InstallDestination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Options of `install` and `uninstall`.
#[derive(Clone, Copy, Debug)]
pub struct InstallOptions {
    /// `None`: every harness on this machine.
    pub recipient: Option<InstallDestination>,
    /// Also install the status line, where the harness has one.
    pub wants_statusline: bool,
    /// Use the project's files that stay out of its repository, instead of the user's.
    pub is_for_project: bool,
    /// Only show what would be done.
    pub execution: Execution,
    /// Also install the MCP server.
    pub wants_mcp: bool,
    /// Also install the guide for watching other agents, as a skill.
    pub wants_guide: bool,
    /// Let sessions join automatically. The caller does that; here it only appears in the command line shown to a
    /// person.
    pub wants_join: bool,
}

impl InstallOptions {
    /// The command line as a person would type it.
    fn line(self, way: InstallDirection) -> String {
        let verb = if way == InstallDirection::Install { "install" } else { "uninstall" };
        let mut line = format!("msg {verb} {}", self.recipient.map_or("all", InstallDestination::name));
        for (is_wanted, flag) in [
            (self.wants_join, " --join"),
            (self.wants_statusline, " --statusline"),
            (self.wants_guide, " --guide"),
            (!self.wants_mcp, " --no-mcp"),
            (self.is_for_project, " --project"),
            (self.execution == Execution::DryRun, " --dry-run"),
        ] {
            line.push_str(if is_wanted { flag } else { "" });
        }
        line
    }
}

/// The result.
#[derive(Debug, Default)]
pub struct InstallOutcome {
    /// The recipients that were processed.
    pub recipients: Vec<InstallDestination>,
    pub changes: Vec<FileChange>,
    /// Recipients that were skipped, and why.
    pub skipped: Vec<(InstallDestination, String)>,
    /// What was left as it is, and why.
    pub notes: Vec<(InstallDestination, String)>,
    pub failed: Vec<(InstallDestination, CommandError)>,
}

/// Puts our hooks into one harness, or into every one on this machine.
pub fn install(options: InstallOptions) -> Result<InstallOutcome, CommandError> {
    run(options, InstallDirection::Install)
}

/// Takes them out again.
pub fn uninstall(options: InstallOptions) -> Result<InstallOutcome, CommandError> {
    run(options, InstallDirection::Uninstall)
}

fn run(options: InstallOptions, way: InstallDirection) -> Result<InstallOutcome, CommandError> {
    person_required::required(|| options.line(way))?;
    let (home, cwd) = home_and_cwd()?;
    let tree = WorkTree::containing(&cwd);
    let root = tree.as_ref().map_or(cwd, |tree| tree.root.clone());
    let scope = if options.is_for_project { InstallScope::Project(&root) } else { InstallScope::User };
    if options.is_for_project && root == home.home {
        return Err(CommandError::new(
            CommandErrorKind::NoProjectSettings,
            "your home directory is not a project",
        )
        .hint("leave out `--project` to do it for yourself"));
    }
    let place = InstallContext {
        home: &home,
        scope,
        program: msg_program::find()?,
        wants_statusline: options.wants_statusline,
        wants_mcp: options.wants_mcp,
    };
    let wish = match way {
        InstallDirection::Install if !options.wants_guide => GuideWish::WhereItIs,
        _ => GuideWish::Wanted,
    };
    let installs = InstallRecords::of(&home);
    let mut done = InstallOutcome::default();
    let one = options.recipient;
    for recipient in
        one.map_or(harness::supported().map(InstallDestination::from).collect(), |recipient| vec![recipient])
    {
        if one.is_none()
            && way == InstallDirection::Install
            && let Some(reason) = absence(recipient, &home)
        {
            done.skipped.push((recipient, reason));
            continue;
        }
        let list = || -> Result<Vec<InstallTarget>, TargetsError> {
            let mut targets = targets(&place, recipient, way)?;
            targets.extend(guide::target(&place, recipient, wish, &installs));
            Ok(targets)
        };
        let targets = match list() {
            Err(TargetsError::Command(error)) => return Err(error),
            Err(reason) if one.is_none() => {
                done.skipped.push((recipient, reason.to_string()));
                continue;
            }
            targets => targets.map_err(|error| error.of(recipient)),
        };
        let notes = if way == InstallDirection::Install {
            denials(recipient, targets.as_deref().unwrap_or_default())
        } else {
            vec![]
        };
        let tree = tree.as_ref().filter(|_| options.is_for_project);
        let plan = targets.map(|targets| InstallPlan { recipient, targets, tree, way });
        let carried_out = plan.and_then(|plan| {
            let list_again = || list().map_err(|error| error.of(recipient));
            let mut changes = plan.carry_out(&installs, options.execution, list_again)?;
            // Remove a server that was installed before and is not wanted now.
            if let InstallDestination::Harness(harness) = recipient
                && !options.wants_mcp
                && way == InstallDirection::Install
            {
                let list =
                    || harness::support(harness).map(|it| place.server_targets(it)).unwrap_or_default();
                let unwanted =
                    InstallPlan { recipient, targets: list(), tree: None, way: InstallDirection::Uninstall };
                changes.extend(unwanted.carry_out(&installs, options.execution, || Ok(list()))?);
            }
            Ok(changes)
        });
        match carried_out {
            Ok(changes) => {
                done.notes.extend(notes);
                done.recipients.push(recipient);
                done.changes.extend(changes);
            }
            Err(error) if one.is_some() => return Err(error),
            Err(error) => done.failed.push((recipient, error)),
        }
    }
    Ok(done)
}

/// The user's files that `install` changes for this harness.
pub(in crate::ops) fn user_files(home: &Home, harness: Harness) -> Result<Vec<PathBuf>, CommandError> {
    let place = InstallContext {
        home,
        scope: InstallScope::User,
        program: msg_program::find()?,
        wants_statusline: false,
        wants_mcp: true,
    };
    let targets = harness::support(harness).and_then(|support| place.targets(support).ok());
    Ok(targets.unwrap_or_default().into_iter().map(|target| target.path).collect())
}

/// Why there are no files to change.
#[derive(Debug, thiserror::Error)]
enum TargetsError {
    #[error("it has no settings")]
    NoSettings,
    #[error(transparent)]
    NoProjectSettings(#[from] NoProjectSettings),
    #[error("there is one status bar for all")]
    OneStatusBar,
    #[error("{}", .0.message)]
    Command(#[from] CommandError),
}

impl TargetsError {
    /// The error of `install` for this recipient.
    fn of(self, recipient: InstallDestination) -> CommandError {
        let reason = match self {
            Self::Command(error) => return error,
            reason => reason,
        };
        let text =
            format!("{recipient} has no settings of a project that stay out of its repository: {reason}");
        CommandError::new(CommandErrorKind::NoProjectSettings, text)
            .hint(format!("`msg install {recipient}` installs it for yourself, in every project"))
    }
}

/// The files to change.
fn targets(
    place: &InstallContext<'_>,
    recipient: InstallDestination,
    way: InstallDirection,
) -> Result<Vec<InstallTarget>, TargetsError> {
    match (recipient, &place.scope) {
        (InstallDestination::Harness(harness), _) => {
            let harness = harness::support(harness).ok_or(TargetsError::NoSettings)?;
            Ok(place.targets(harness)?)
        }
        (InstallDestination::Tmux, InstallScope::User) => Ok(tmux_status::targets(place, way)?),
        (InstallDestination::Tmux, InstallScope::Project(_)) => Err(TargetsError::OneStatusBar),
    }
}

/// The error that `install all` ends with if a recipient failed.
pub fn install_error(done: &InstallOutcome) -> Option<CommandError> {
    let names: Vec<String> = done.failed.iter().map(|(recipient, _)| recipient.to_string()).collect();
    if names.is_empty() {
        return None;
    }
    let text = format!("it failed for {}", names.join(", "));
    let error = CommandError::new(CommandErrorKind::NotAllInstalled, text).facts("harnesses", names);
    let reason =
        |(recipient, error): &(InstallDestination, CommandError)| format!("{recipient}: {}", error.message);
    Some(done.failed.iter().map(reason).fold(error, CommandError::hint))
}

/// The user's rules that keep a harness from running `msg`. They stay.
fn denials(recipient: InstallDestination, targets: &[InstallTarget]) -> Vec<(InstallDestination, String)> {
    let denial = |target: &InstallTarget| {
        let rule = target.part.denied(&files::read_large(&target.path).ok()??)?;
        let text = format!("`{rule}` in `{}` denies msg and stays as it is", shown(&target.path));
        Some((recipient, text))
    };
    targets.iter().filter_map(denial).collect()
}

/// Why a harness counts as absent; `None` if it is on this machine.
fn absence(recipient: impl Into<InstallDestination>, home: &Home) -> Option<String> {
    let InstallDestination::Harness(harness) = recipient.into() else { return None };
    let dir = harness::support(harness)?.config_dir(home);
    if dir.is_dir() || on_path(harness.name()).is_some() {
        return None;
    }
    let shown = home.shorten(&dir.to_string_lossy());
    Some(format!("not installed: there is neither `{shown}` nor a program `{harness}`"))
}

/// The path as text for people.
fn shown(path: &std::path::Path) -> String {
    path.display().to_string()
}

/// How to keep a project's file out of its repository: the exclude file and the line to put into it.
fn exclusion(tree: &WorkTree, path: &std::path::Path) -> Option<(PathBuf, String)> {
    let inside = path.strip_prefix(&tree.root).ok()?.to_str()?;
    Some((tree.repository()?.join("info/exclude"), format!("/{inside}")))
}
