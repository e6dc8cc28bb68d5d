//! Adds the guard to git's pre-commit hook.
//!
//! At any moment git finds either the previous hook or the complete new one: the last step is one rename, and
//! everything the new hook needs is in place before it. The previous hook is edited only if it is a shell script of
//! this repository alone, and is never removed.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::domain::settings::SettingSource;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::person_required;
use crate::ops::setup::Execution;
use crate::store::LocationReason;
use crate::sys::files::{self, Published};
use crate::sys::git::Repository;
use crate::sys::program;

use crate::ops::setup::guard::hook_location::{self, ExistingHook, HookLocation, HookSharing, is_executable};
use crate::ops::setup::guard::script::{self, GuardCommand, GuardShape};

/// Mode of a hook file that only we wrote.
const MODE: u32 = 0o755;

/// Programs that regenerate the hook from time to time: a word in the content or path of their hook, and the program's
/// name.
const GENERATORS: [(&str, &str); 4] = [
    ("pre-commit.com", "pre-commit"),
    ("lefthook", "lefthook"),
    ("husky", "husky"),
    ("overcommit", "overcommit"),
];

/// What to do if the hook would apply outside of this repository, too.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SharedHook {
    #[default]
    Refuse,
    Accept,
}

/// The options of `msg guard install`.
#[derive(Clone, Copy, Debug, Default)]
pub struct GuardInstallOptions {
    pub shared: SharedHook,
    pub execution: Execution,
}

/// The hook file, and the result of the installation.
#[derive(Clone, Debug)]
pub struct GuardInstallOutcome {
    pub hook: PathBuf,
    /// The path as shown to the user.
    pub shown: String,
    /// `false`: it was already installed.
    pub is_changed: bool,
    /// There is another hook, which runs first.
    pub is_chained: bool,
    /// A guard was there before, of this version or another one.
    pub was_there: bool,
}

pub fn install(ctx: &Op, order: GuardInstallOptions) -> Result<GuardInstallOutcome, CommandError> {
    person_required::required(|| {
        let shared = if order.shared == SharedHook::Accept { " --shared" } else { "" };
        let dry_run = if order.execution == Execution::DryRun { " --dry-run" } else { "" };
        person_required::with_mesh(ctx, &format!("msg guard install{shared}{dry_run}"))
    })?;
    let repository = Repository::here(&ctx.cwd)?;
    let place = HookLocation::of(ctx, &repository)?;
    // If `--mesh` was given, the hook uses that mesh, whatever is configured when it runs.
    let is_pinned = matches!(ctx.location.reason, LocationReason::Told(SettingSource::Flag(_)));
    let call = GuardCommand {
        is_on_path: program::is_own_on_path("msg"),
        program: program::own().map_err(no_program)?,
        mesh: is_pinned.then(|| ctx.location.to_string()),
    };
    // A first plan without the lock. It may fail because another installation is half done at this moment.
    let mut plan = GuardPlan::of(&place, &call);
    let is_change = plan.as_ref().map_or(true, GuardPlan::is_change);
    if is_change && order.shared == SharedHook::Refuse {
        refuse_shared(&place, &repository)?;
    }
    if is_change && order.execution == Execution::Apply {
        if !files::exists(place.dir())? {
            files::missing_above(&place.hook)?.iter().try_for_each(|dir| create_dir(dir))?;
        }
        let _alone = place.lock(ctx)?;
        let now = GuardPlan::of(&place, &call)?;
        now.change.make(&place)?;
        plan = Ok(now);
    }
    let plan = plan?;
    let was_there = matches!(plan.occupant, ExistingHook::Ours { .. });
    let shown = place.shown(&place.hook);
    plan.warn(ctx, &shown);
    Ok(GuardInstallOutcome {
        shown,
        hook: place.hook,
        is_changed: plan.is_change(),
        is_chained: plan.is_chained,
        was_there,
    })
}

/// The current state of the hook file, and the change it needs.
struct GuardPlan {
    occupant: ExistingHook,
    change: GuardInstallStep,
    is_chained: bool,
}

impl GuardPlan {
    fn of(place: &HookLocation, call: &GuardCommand) -> Result<Self, CommandError> {
        let occupant = place.occupant()?;
        let change = GuardInstallStep::of(place, &occupant, call)?;
        let is_chained = place.runs_another(&occupant)?;
        Ok(Self { occupant, change, is_chained })
    }

    fn is_change(&self) -> bool {
        !matches!(self.change, GuardInstallStep::None)
    }

    fn warn(&self, ctx: &Op, shown: &str) {
        match &self.occupant {
            ExistingHook::Script { content } => warn_of_generators(ctx, shown, content),
            ExistingHook::Ours { mode, found, .. }
                if found.shape == GuardShape::Inserted && !is_executable(*mode) =>
            {
                ctx.warn(format!("git ignores `{shown}`, which is not executable: `chmod +x` it"));
            }
            _ => {}
        }
    }
}

/// The change to make.
enum GuardInstallStep {
    None,
    /// Create the file: there is none.
    Publish(Vec<u8>),
    /// Write new content into the existing script, ours or another's, and keep its file.
    Rewrite(Vec<u8>),
    /// Replace our file: its content changed, or it is not executable.
    Replace(Vec<u8>),
    /// Keep the existing hook under another name, where ours runs it first, and replace it.
    Displace(Vec<u8>),
}

impl GuardInstallStep {
    fn of(place: &HookLocation, occupant: &ExistingHook, call: &GuardCommand) -> Result<Self, CommandError> {
        match occupant {
            ExistingHook::Ours { content, mode, found } => {
                let renewed = script::renewed(content, found, call);
                Ok(match (found.shape, renewed == *content) {
                    (GuardShape::Whole, true) if !is_executable(*mode) => Self::Replace(renewed),
                    (_, true) => Self::None,
                    (GuardShape::Whole, false) => Self::Replace(renewed),
                    (GuardShape::Inserted, false) => Self::Rewrite(renewed),
                })
            }
            ExistingHook::Script { content } => Ok(Self::Rewrite(script::inserted(content, call))),
            ExistingHook::Nothing | ExistingHook::Other => match (place.place_of_kept()?, occupant) {
                (Some(kept), _) if !place.is_kept()? => Err(left_over(place, &kept)),
                (None, ExistingHook::Nothing) => Ok(Self::Publish(script::whole(call))),
                _ => Ok(Self::Displace(script::whole(call))),
            },
        }
    }

    fn make(&self, place: &HookLocation) -> Result<(), CommandError> {
        files::sweep_in(place.dir())?;
        match self {
            Self::None => Ok(()),
            Self::Publish(content) => match files::publish_beside(&place.hook, content, MODE)? {
                Published::Done => Ok(()),
                Published::Exists => Err(changed_meanwhile(place)),
            },
            Self::Rewrite(content) => Ok(files::write_through(&place.hook, content)?),
            Self::Replace(content) => Ok(files::replace_beside(&place.hook, content, MODE)?),
            Self::Displace(content) => {
                keep(place)?;
                Ok(files::replace_beside(&place.hook, content, MODE)?)
            }
        }
    }
}

/// Gives the existing hook a second name, under which our hook finds it.
fn keep(place: &HookLocation) -> Result<(), CommandError> {
    place.tidy()?;
    create_dir(&place.kept_in)?;
    let text = match files::read_link(&place.hook)? {
        Some(text) => hook_location::from_below(&text),
        None => {
            let _ = files::link(&place.hook, &place.kept_file)?;
            hook_location::to_file()
        }
    };
    let _ = files::publish_link(&place.kept, &text)?;
    // An existing file under that name may be left from a crash, or belong to somebody else.
    match place.is_kept()? {
        true => Ok(()),
        false => Err(changed_meanwhile(place)),
    }
}

/// Creates a directory with the mode of its parent, because other users may commit here too, but without write
/// permission for all.
fn create_dir(dir: &Path) -> Result<(), CommandError> {
    const FOR_ALL: u32 = 0o1002;
    let mode = |dir: &Path| -> Result<u32, CommandError> {
        Ok(files::metadata(dir)?.map_or(files::DIR_MODE, |dir| dir.permissions().mode() & 0o7777))
    };
    if !files::exists(dir)? {
        files::create_dir(dir)?;
    }
    let wanted = mode(dir.parent().unwrap_or(dir))? & !FOR_ALL;
    if mode(dir)? != wanted {
        files::set_mode(dir, wanted)?;
    }
    Ok(())
}

fn refuse_shared(place: &HookLocation, repository: &Repository) -> Result<(), CommandError> {
    let dir = place.shown(place.dir());
    let (text, hint) = match place.audience(repository)? {
        HookSharing::ThisRepository => return Ok(()),
        HookSharing::Committed => (
            format!(
                "git looks for hooks in `{dir}`, and what is there is committed: everyone would get the guard"
            ),
            "let the hook there call `msg guard check`, or write it all the same with `--shared`",
        ),
        HookSharing::OtherRepositories => (
            format!(
                "git looks for hooks in `{dir}`, outside of this repository: others would get the guard too"
            ),
            "if that is what you want: `msg guard install --shared`; else see `git config --show-origin core.hooksPath`",
        ),
    };
    Err(CommandError::new(CommandErrorKind::SharedHooks, text)
        .hint(hint)
        .fact("file", place.hook.display().to_string()))
}

fn warn_of_generators(ctx: &Op, shown: &str, content: &[u8]) {
    let text = format!("{shown}\n{}", String::from_utf8_lossy(content)).to_lowercase();
    if let Some((_, name)) = GENERATORS.iter().find(|(sign, _)| text.contains(sign)) {
        ctx.warn(format!(
            "{name} wrote this hook and may overwrite it without the guard; if so, run `msg guard install` again"
        ));
    }
}

fn left_over(place: &HookLocation, kept: &Path) -> CommandError {
    let text = format!(
        "`{}` is the hook from before an earlier installation, whose place another took",
        place.shown(kept)
    );
    CommandError::new(CommandErrorKind::HookInTheWay, text)
        .hint("move it to where you want it, or remove it")
        .fact("file", kept.display().to_string())
}

fn changed_meanwhile(place: &HookLocation) -> CommandError {
    let text = format!("`{}` was changed while we looked at it", place.shown(&place.hook));
    CommandError::new(CommandErrorKind::HookInTheWay, text).hint("try again")
}

fn no_program(error: std::io::Error) -> CommandError {
    CommandError::new(CommandErrorKind::Io, format!("the path of this program can't be found out: {error}"))
}
