//! Does a background job, in the process that was started for it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::ops::awareness::{count, worktree_conflicts};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::knowledge::offers;
use crate::ops::workers;

use super::job::JobKind;

/// Does the job for the directory of the context.
pub fn run(op: &Op, kind: JobKind) -> Result<(), CommandError> {
    match kind {
        JobKind::Counts => count::count(op),
        JobKind::KnowledgeIndex => offers::renew_index(op),
        JobKind::WorktreeConflicts => worktree_conflicts::find(op),
        JobKind::Workers => workers::refresh(op),
        JobKind::Probe => show_to_test(&op.cwd).map_err(|error| {
            CommandError::new(CommandErrorKind::Io, format!("the test can't be reached: {error}"))
        }),
    }
}

/// Opening a pipe waits for its other end.
fn show_to_test(dir: &Path) -> io::Result<()> {
    let mut said = File::options().write(true).open(dir.join("said"))?;
    writeln!(said, "{}", std::process::id())?;
    drop(said);
    File::open(dir.join("go"))?.read_to_end(&mut Vec::new()).map(drop)
}
