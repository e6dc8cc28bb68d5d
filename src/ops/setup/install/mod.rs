//! In and out of harnesses: their hooks, plugins and permissions.
//!
//! `harnesses` says what goes where, `part` how it is put into the content of a file and taken out again, `plan` what
//! follows for the files that are there, and this is the use case. Nothing of a harness is written before all of it is
//! known to fit; each record is written before the file that it is about.

mod harnesses;
mod health;
mod leave;
mod login;
mod outline;
mod part;
mod plan;
mod program;
mod server;
mod tmux;
mod trust;

use std::path::PathBuf;

use crate::domain::Harness;
use crate::store::Installs;
use crate::sys::environment::Home;
use crate::sys::files;
use crate::sys::git::WorkTree;
use crate::sys::program::on_path;

use crate::ops::context::surroundings;
use crate::ops::error::{CommandError, Kind};
use crate::ops::person;
use harnesses::{Place, Scope};
use part::Target;
use plan::{Plan, Way};

pub use harnesses::HARNESSES;
pub(in crate::ops) use harnesses::config_dir;
pub(in crate::ops) use health::checks;
pub use health::{installed, overview};
pub use plan::Change;

/// What something of ours is put into.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Recipient {
    Harness(Harness),
    /// Its status bar.
    Tmux,
}

impl From<Harness> for Recipient {
    fn from(harness: Harness) -> Self {
        Self::Harness(harness)
    }
}

impl Recipient {
    pub fn name(self) -> &'static str {
        match self {
            Self::Harness(harness) => harness.name(),
            Self::Tmux => "tmux",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        if name == "tmux" { Some(Self::Tmux) } else { Harness::parse(name).map(Self::Harness) }
    }
}

impl std::fmt::Display for Recipient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// `None`: all harnesses that there are.
    pub recipient: Option<Recipient>,
    /// Claude Code's status line too.
    pub statusline: bool,
    /// In the project's own files that stay out of its repository, instead of the user's.
    pub project: bool,
    /// Only say what would be done.
    pub dry_run: bool,
    /// With the MCP server.
    pub mcp: bool,
    /// Sessions shall join by themselves. `install` leaves that to its caller, and only names it to a person.
    pub join: bool,
}

impl Wish {
    /// The command as a person types it.
    fn line(self, way: Way) -> String {
        let verb = if way == Way::In { "install" } else { "uninstall" };
        let mut line = format!("msg {verb} {}", self.recipient.map_or("all", Recipient::name));
        for (is_wanted, flag) in [
            (self.join, " --join"),
            (self.statusline, " --statusline"),
            (!self.mcp, " --no-mcp"),
            (self.project, " --project"),
            (self.dry_run, " --dry-run"),
        ] {
            line.push_str(if is_wanted { flag } else { "" });
        }
        line
    }
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Done {
    /// Those that were seen to.
    pub recipients: Vec<Recipient>,
    pub changes: Vec<Change>,
    /// Which were passed by, and why.
    pub skipped: Vec<(Recipient, String)>,
    /// What was left as it is, and why.
    pub notes: Vec<(Recipient, String)>,
    pub failed: Vec<(Recipient, CommandError)>,
}

/// Puts our hooks into a harness, or into all that are there.
pub fn install(wish: Wish) -> Result<Done, CommandError> {
    run(wish, Way::In)
}

/// Takes them out again.
pub fn uninstall(wish: Wish) -> Result<Done, CommandError> {
    run(wish, Way::Out)
}

fn run(wish: Wish, way: Way) -> Result<Done, CommandError> {
    person::required(|| wish.line(way))?;
    let (home, cwd) = surroundings()?;
    let tree = WorkTree::containing(&cwd);
    let root = tree.as_ref().map_or(cwd, |tree| tree.root.clone());
    let scope = if wish.project { Scope::Project(&root) } else { Scope::User };
    if wish.project && root == home.home {
        return Err(CommandError::new(Kind::NoProjectSettings, "your home directory is no project")
            .hint("leave out `--project` to do it for yourself"));
    }
    let place =
        Place { home: &home, scope, program: program::find()?, statusline: wish.statusline, mcp: wish.mcp };
    let installs = Installs::of(&home);
    let mut done = Done::default();
    let one = wish.recipient;
    for recipient in one.map_or(HARNESSES.map(Recipient::from).to_vec(), |recipient| vec![recipient]) {
        if one.is_none()
            && way == Way::In
            && let Some(reason) = absence(recipient, &home)
        {
            done.skipped.push((recipient, reason));
            continue;
        }
        let targets = match targets(&place, recipient, way)? {
            Err(instead) if one.is_none() => {
                done.skipped.push((recipient, instead));
                continue;
            }
            targets => targets.map_err(|instead| no_project_settings(recipient, &instead)),
        };
        let notes =
            if way == Way::In { denials(recipient, targets.as_deref().unwrap_or_default()) } else { vec![] };
        let tree = tree.as_ref().filter(|_| wish.project);
        let plan = targets.map(|targets| Plan { recipient, targets, tree, way });
        let carried_out = plan.and_then(|plan| {
            let mut changes = plan.carry_out(&installs, wish.dry_run)?;
            // A server that was put in before, and is not wanted now.
            if let Recipient::Harness(harness) = recipient
                && !wish.mcp
                && way == Way::In
            {
                let targets = place.server_targets(harness);
                let unwanted = Plan { recipient, targets, tree: None, way: Way::Out };
                changes.extend(unwanted.carry_out(&installs, wish.dry_run)?);
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

/// The files; `Err` says what there is instead of those of a project.
fn targets(
    place: &Place<'_>,
    recipient: Recipient,
    way: Way,
) -> Result<Result<Vec<Target>, String>, CommandError> {
    match (recipient, &place.scope) {
        (Recipient::Harness(harness), _) => Ok(place.targets(harness)),
        (Recipient::Tmux, Scope::User) => place.tmux(way).map(Ok),
        (Recipient::Tmux, Scope::Project(_)) => Ok(Err("there is one status bar for all".to_string())),
    }
}

/// The error that `install all` ends in when not all went well.
pub fn verdict(done: &Done) -> Option<CommandError> {
    let names: Vec<String> = done.failed.iter().map(|(recipient, _)| recipient.to_string()).collect();
    if names.is_empty() {
        return None;
    }
    let text = format!("it failed for {}", names.join(", "));
    let error = CommandError::new(Kind::NotAllInstalled, text).facts("harnesses", names);
    let reason = |(recipient, error): &(Recipient, CommandError)| format!("{recipient}: {}", error.message);
    Some(done.failed.iter().map(reason).fold(error, CommandError::hint))
}

/// Rules of the user's that keep a harness from running msg. They stay.
fn denials(recipient: Recipient, targets: &[Target]) -> Vec<(Recipient, String)> {
    let denial = |target: &Target| {
        let rule = target.part.denied(&files::read_large(&target.path).ok()??)?;
        let text = format!("`{rule}` in `{}` denies msg and stays as it is", shown(&target.path));
        Some((recipient, text))
    };
    targets.iter().filter_map(denial).collect()
}

/// Why a harness counts as not there.
fn absence(recipient: impl Into<Recipient>, home: &Home) -> Option<String> {
    let Recipient::Harness(harness) = recipient.into() else { return None };
    let dir = config_dir(harness, home);
    if dir.is_dir() || on_path(harness.name()).is_some() {
        return None;
    }
    let shown = home.shorten(&dir.to_string_lossy());
    Some(format!("there is neither `{shown}` nor a program `{harness}`"))
}

fn no_project_settings(recipient: Recipient, instead: &str) -> CommandError {
    let text = format!("{recipient} has no settings of a project that stay out of its repository: {instead}");
    CommandError::new(Kind::NoProjectSettings, text)
        .hint(format!("`msg install {recipient}` installs it for yourself, in every project"))
}

/// A path as people read it.
fn shown(path: &std::path::Path) -> String {
    path.display().to_string()
}

/// Where a project's file is kept out of its repository: which file says so, and what it says.
fn exclusion(tree: &WorkTree, path: &std::path::Path) -> Option<(PathBuf, String)> {
    let inside = path.strip_prefix(&tree.root).ok()?.to_str()?;
    Some((tree.repository()?.join("info/exclude"), format!("/{inside}")))
}
