//! What `setup` did on this machine, as it is recorded.

use std::path::PathBuf;

use super::shell_files::text_of;
use crate::domain::Harness;
use crate::ops::context::Context;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::health_check::HealthCheck;
use crate::ops::setup::install;
use crate::store::{InstallRecords, SetupPlace, SetupRecord, StoreError};

/// A check for `msg doctor`, if the record is damaged.
pub(in crate::ops) fn check(ctx: &Context) -> Option<HealthCheck> {
    recorded(ctx).err().map(|error| HealthCheck::failed("install records", error))
}

pub(super) fn recorded(ctx: &Context) -> Result<SetupRecord, CommandError> {
    InstallRecords::of(&ctx.home).setup().map_err(damaged)
}

/// Changes the record, under its lock.
pub(super) fn note(ctx: &Context, change: impl FnOnce(&mut SetupRecord)) -> Result<(), CommandError> {
    InstallRecords::of(&ctx.home).lock()?.note_setup(change).map_err(damaged)
}

/// `--repair` leaves a damaged record alone: only a person can tell what is still to be taken back.
pub(super) fn damaged(error: StoreError) -> CommandError {
    let StoreError::Corrupt { path, .. } = &error else { return error.into() };
    CommandError::new(CommandErrorKind::Corrupt, error.to_string())
        .hint("it says what `msg setup` did: look at it, then move it away; `msg setup` works without it")
        .hint("what it did is then taken back by `msg uninstall all`, `msg config unset autoRegister`, `msg guard uninstall` in each repository, and by removing the completions and man pages")
        .fact("file", text_of(path))
}

/// Whether `setup` installed into this harness, where that is now.
pub(super) fn is_own(ctx: &Context, record: &SetupRecord, harness: Harness) -> bool {
    let here = place(ctx, harness).ok();
    let is_here = |known: &SetupPlace| here.as_ref().is_some_and(|here| here.is_same_as(known));
    let mut known = places(record, harness.name()).peekable();
    // Records of older versions have no places.
    let is_anywhere = known.peek().is_none();
    record.harnesses.iter().any(|name| name == harness.name()) && (is_anywhere || known.any(is_here))
}

/// Where `setup` installed into it.
pub(super) fn places<'a>(record: &'a SetupRecord, name: &'a str) -> impl Iterator<Item = &'a SetupPlace> {
    record.places.iter().filter(move |place| place.harness == name)
}

/// Where it would install into it now.
pub(super) fn place(ctx: &Context, harness: Harness) -> Result<SetupPlace, CommandError> {
    let files = install::user_files(&ctx.home, harness)?;
    Ok(SetupPlace {
        harness: harness.name().to_string(),
        files: files.iter().map(|file| text_of(file)).collect(),
    })
}

/// Adds the place to the record.
pub(super) fn note_place(record: &mut SetupRecord, place: SetupPlace) {
    match record.places.iter_mut().find(|known| known.is_same_as(&place)) {
        Some(known) => {
            let new = place.files.into_iter().filter(|file| !known.files.contains(file)).collect::<Vec<_>>();
            known.files.extend(new);
        }
        None => record.places.push(place),
    }
}

/// The files of a place in which something of ours is recorded, whether they are still there or not.
pub(super) fn recorded_files(ctx: &Context, place: &SetupPlace) -> Result<Vec<PathBuf>, CommandError> {
    let all = InstallRecords::of(&ctx.home).all()?;
    let files = all.into_iter().map(|record| PathBuf::from(record.path));
    Ok(files.filter(|file| place.files.contains(&text_of(file))).collect())
}
