//! Removes the guard from git's hook and restores the previous hook, byte for byte.

use std::path::{Path, PathBuf};

use crate::ops::effects::Op;
use crate::ops::error::{CommandError, Kind};
use crate::ops::person;
use crate::sys::files;
use crate::sys::git::Repository;

use crate::ops::setup::guard::place::{Kept, Occupant, Place};
use crate::ops::setup::guard::script::{self, SHEBANG, Shape};

#[derive(Clone, Debug)]
pub struct Uninstalled {
    pub hook: PathBuf,
    /// The path as shown to the user.
    pub shown: String,
    pub taken_out: Vec<TakenOut>,
}

/// A file that contained the guard.
#[derive(Clone, Debug)]
pub struct TakenOut {
    pub file: PathBuf,
    /// The path as shown to the user.
    pub shown: String,
    /// Whether a hook is still there: the previous one, or what was added.
    pub is_left: bool,
}

pub fn uninstall(ctx: &Op, dry_run: bool) -> Result<Uninstalled, CommandError> {
    person::required(|| {
        person::with_mesh(ctx, &format!("msg guard uninstall{}", if dry_run { " --dry-run" } else { "" }))
    })?;
    let repository = Repository::here(&ctx.cwd)?;
    let place = Place::of(ctx, &repository)?;
    let mut taken_out = Vec::new();
    if files::exists(place.dir())? {
        let _alone = if dry_run { None } else { place.lock(ctx)? };
        taken_out.extend(take_out(&place, dry_run)?);
        for aside in place.moved_aside()? {
            if matches!(aside.occupant(), Ok(Occupant::Ours { .. })) {
                taken_out.extend(take_out(&aside, dry_run)?);
            }
        }
        // Another hook has replaced ours, which had replaced the kept one.
        if let (Some(kept), false) = (place.place_of_kept()?, dry_run) {
            let kept = place.shown(&kept);
            ctx.warn(format!("`{kept}` was the hook when the guard was installed; it is left there for you"));
        }
    }
    Ok(Uninstalled { shown: place.shown(&place.hook), hook: place.hook, taken_out })
}

/// Removes the guard from one file. `None`: it was not there.
fn take_out(place: &Place, dry_run: bool) -> Result<Option<TakenOut>, CommandError> {
    let change = Change::of(place)?;
    if !dry_run {
        files::sweep_in(place.dir())?;
        change.make(place)?;
    }
    let is_left = match change {
        Change::None | Change::Forget => return Ok(None),
        Change::Remove => false,
        Change::Restore | Change::Rewrite(_) => true,
    };
    Ok(Some(TakenOut { file: place.hook.clone(), shown: place.shown(&place.hook), is_left }))
}

/// The change to make.
enum Change {
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

impl Change {
    fn of(place: &Place) -> Result<Self, CommandError> {
        let Occupant::Ours { content, found, .. } = place.occupant()? else {
            return Ok(if place.is_kept()? { Self::Forget } else { Self::None });
        };
        let rest = script::without(&content, &found);
        let is_all_ours = found.shape == Shape::Whole && rest == SHEBANG.as_bytes();
        match (found.shape, place.place_of_kept()?) {
            (Shape::Whole, Some(_)) if is_all_ours => Ok(Self::Restore),
            (Shape::Whole, Some(kept)) => Err(edited(place, &kept)),
            (Shape::Whole, None) if is_all_ours => Ok(Self::Remove),
            (Shape::Whole, None) | (Shape::Inserted, _) => Ok(Self::Rewrite(rest)),
        }
    }

    fn make(&self, place: &Place) -> Result<(), CommandError> {
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

fn restore(place: &Place) -> Result<(), CommandError> {
    match place.what_is_kept()? {
        Kept::Nothing => {}
        Kept::Link(text) => {
            files::replace_with_link(&place.hook, &text)?;
            files::remove(&place.kept)?;
        }
        Kept::File(file) => files::put_back(&file, &place.hook)?,
    }
    Ok(())
}

/// Both the edited hook and the kept one may be wanted, so a person has to merge them.
fn edited(place: &Place, kept: &Path) -> CommandError {
    let (hook, kept) = (place.shown(&place.hook), place.shown(kept));
    let text =
        format!("`{hook}` was changed since the guard was installed, and `{kept}` is the hook from before");
    CommandError::new(Kind::HookInTheWay, text)
        .hint(format!("make one of the two, put it at `{hook}`, and remove the other"))
        .fact("file", place.hook.display().to_string())
}
