//! Removes the guard from git's hook and restores the previous hook, byte for byte.

use std::path::{Path, PathBuf};

use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::person_required;
use crate::ops::setup::Execution;
use crate::sys::files;
use crate::sys::git::Repository;

use crate::ops::setup::guard::hook_location::{ExistingHook, HookLocation, PreviousHook};
use crate::ops::setup::guard::script::{self, GuardShape, SHEBANG};

#[derive(Clone, Debug)]
pub struct GuardUninstallOutcome {
    pub hook: PathBuf,
    /// The path as shown to the user.
    pub shown: String,
    pub taken_out: Vec<CleanedHookFile>,
}

/// A file that contained the guard.
#[derive(Clone, Debug)]
pub struct CleanedHookFile {
    pub file: PathBuf,
    /// The path as shown to the user.
    pub shown: String,
    /// Whether a hook is still there: the previous one, or what was added.
    pub is_left: bool,
}

pub fn uninstall(ctx: &Op, execution: Execution) -> Result<GuardUninstallOutcome, CommandError> {
    person_required::required(|| {
        person_required::with_mesh(
            ctx,
            &format!("msg guard uninstall{}", if execution == Execution::DryRun { " --dry-run" } else { "" }),
        )
    })?;
    take_out_of(ctx, &Repository::here(&ctx.cwd)?, execution)
}

/// The same for the repository of a work tree that may be another than the present one.
pub(in crate::ops::setup) fn uninstall_at(
    ctx: &Op,
    root: &Path,
    execution: Execution,
) -> Result<GuardUninstallOutcome, CommandError> {
    take_out_of(ctx, &Repository::at(root)?, execution)
}

fn take_out_of(
    ctx: &Op,
    repository: &Repository,
    execution: Execution,
) -> Result<GuardUninstallOutcome, CommandError> {
    let place = HookLocation::of(ctx, repository)?;
    let mut taken_out = Vec::new();
    if files::exists(place.dir())? {
        let _alone = if execution == Execution::DryRun { None } else { place.lock(ctx)? };
        taken_out.extend(take_out(&place, execution)?);
        for aside in place.moved_aside()? {
            if matches!(aside.occupant(), Ok(ExistingHook::Ours { .. })) {
                taken_out.extend(take_out(&aside, execution)?);
            }
        }
        // Another hook has replaced ours, which had replaced the kept one.
        if let (Some(kept), Execution::Apply) = (place.place_of_kept()?, execution) {
            let kept = place.shown(&kept);
            ctx.warn(format!("`{kept}` was the hook when the guard was installed; it is left there for you"));
        }
    }
    Ok(GuardUninstallOutcome { shown: place.shown(&place.hook), hook: place.hook, taken_out })
}

/// Removes the guard from one file. `None`: it was not there.
fn take_out(place: &HookLocation, execution: Execution) -> Result<Option<CleanedHookFile>, CommandError> {
    let change = GuardRemovalStep::of(place)?;
    if execution == Execution::Apply {
        files::sweep_in(place.dir())?;
        change.make(place)?;
    }
    let is_left = match change {
        GuardRemovalStep::None | GuardRemovalStep::Forget => return Ok(None),
        GuardRemovalStep::Remove => false,
        GuardRemovalStep::Restore | GuardRemovalStep::Rewrite(_) => true,
    };
    Ok(Some(CleanedHookFile { file: place.hook.clone(), shown: place.shown(&place.hook), is_left }))
}

/// The change to make.
enum GuardRemovalStep {
    None,
    /// Remove the kept copy: the hook itself is there, because an earlier run was killed in between.
    Forget,
    /// Remove our file: there was no hook before.
    Remove,
    /// Put the kept hook back.
    Restore,
    /// Remove our block and keep the rest of the file.
    Rewrite(Vec<u8>),
}

impl GuardRemovalStep {
    fn of(place: &HookLocation) -> Result<Self, CommandError> {
        let ExistingHook::Ours { content, found, .. } = place.occupant()? else {
            return Ok(if place.is_kept()? { Self::Forget } else { Self::None });
        };
        let rest = script::without(&content, &found);
        let is_all_ours = found.shape == GuardShape::Whole && rest == SHEBANG.as_bytes();
        match (found.shape, place.place_of_kept()?) {
            (GuardShape::Whole, Some(_)) if is_all_ours => Ok(Self::Restore),
            (GuardShape::Whole, Some(kept)) => Err(edited(place, &kept)),
            (GuardShape::Whole, None) if is_all_ours => Ok(Self::Remove),
            (GuardShape::Whole, None) | (GuardShape::Inserted, _) => Ok(Self::Rewrite(rest)),
        }
    }

    fn make(&self, place: &HookLocation) -> Result<(), CommandError> {
        match self {
            Self::None => {}
            Self::Forget => {
                place.place_of_kept()?.map(|kept| files::remove(&kept)).transpose()?;
            }
            Self::Remove => {
                files::remove(&place.hook)?;
            }
            Self::Rewrite(rest) => files::write_through(&place.hook, rest)?,
            Self::Restore => restore(place)?,
        }
        place.tidy()
    }
}

fn restore(place: &HookLocation) -> Result<(), CommandError> {
    match place.what_is_kept()? {
        PreviousHook::Nothing => {}
        PreviousHook::Link(text) => {
            files::replace_with_link(&place.hook, &text)?;
            files::remove(&place.kept)?;
        }
        PreviousHook::File(file) => files::put_back(&file, &place.hook)?,
    }
    Ok(())
}

/// Both the edited hook and the kept one may be wanted, so a person has to merge them.
fn edited(place: &HookLocation, kept: &Path) -> CommandError {
    let (hook, kept) = (place.shown(&place.hook), place.shown(kept));
    let text =
        format!("`{hook}` was changed since the guard was installed, and `{kept}` is the hook from before");
    CommandError::new(CommandErrorKind::HookInTheWay, text)
        .hint(format!("make one of the two, put it at `{hook}`, and remove the other"))
        .fact("file", place.hook.display().to_string())
}
