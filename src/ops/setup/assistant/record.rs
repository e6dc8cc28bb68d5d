//! What `setup` did on this machine, as it is recorded.

use super::shell_files::text_of;
use crate::domain::Harness;
use crate::harness;
use crate::ops::context::Context;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::health_check::HealthCheck;
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
        .hint("`msg uninstall`, `msg guard uninstall` and `msg config unset autoRegister` take back what it did")
        .fact("file", text_of(path))
}

/// Whether `setup` installed into this harness, in the directory that it has now.
pub(super) fn is_own(ctx: &Context, record: &SetupRecord, harness: Harness) -> bool {
    let is_here = |place: &SetupPlace| Some(&place.dir) == directory(ctx, harness.name()).as_ref();
    let mut places = places(record, harness.name()).peekable();
    // Records of older versions have no directories.
    let is_known = places.peek().is_some();
    record.harnesses.iter().any(|name| name == harness.name()) && (!is_known || places.any(is_here))
}

/// Where `setup` installed into it.
pub(super) fn places<'a>(record: &'a SetupRecord, name: &'a str) -> impl Iterator<Item = &'a SetupPlace> {
    record.places.iter().filter(move |place| place.harness == name)
}

/// The directory of a harness, which a variable can name.
pub(super) fn directory(ctx: &Context, name: &str) -> Option<String> {
    let support = harness::support(harness::parse(name)?)?;
    Some(text_of(&support.config_dir(&ctx.home)))
}
