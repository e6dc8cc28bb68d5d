//! Ticks and clears the box of a task in its spec.
//!
//! The new text is written to a private file first, and `mesh.lock` is held only while the spec is compared and replaced.
//! `tasks::ticking` checks that no box is lost.

use std::path::Path;

use crate::domain::quote_code;
use crate::domain::spec::{tick, untick};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::store::Mesh;
use crate::sys::files;

use super::task_board::ParsedSpec;

/// How often a box is tried while others write the spec.
const TRIES: usize = 20;

/// What a box is to show.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum BoxMark {
    Ticked,
    Empty,
}

impl BoxMark {
    fn words(self) -> &'static str {
        match self {
            Self::Ticked => "not ticked",
            Self::Empty => "still ticked",
        }
    }
}

/// Marks the box in the present text of the spec. The task is what it is in any case: an error is only a warning.
pub(super) fn mark_box(op: &Op, mesh: &Mesh, parsed_spec: &ParsedSpec, id: &str, mark: BoxMark) -> bool {
    let (Some(file), Some(_)) = (&parsed_spec.place.file, parsed_spec.task(id)) else { return false };
    for _ in 0..TRIES {
        match try_to_mark(mesh, parsed_spec, file, id, mark) {
            Ok(Marking::Done) => return true,
            Ok(Marking::NoBox) => {
                if mark == BoxMark::Ticked {
                    op.warn(format!("{} has no box to tick", quote_code(id)));
                }
                return false;
            }
            Ok(Marking::Changed) => {}
            Err(error) => {
                op.warn(format!("the box of {} is {}: {error}", quote_code(id), mark.words()));
                return false;
            }
        }
    }
    op.warn(format!("the spec keeps changing: the box of {} is {}", quote_code(id), mark.words()));
    false
}

enum Marking {
    Done,
    NoBox,
    /// Somebody wrote the spec meanwhile.
    Changed,
}

/// The new content is on the disk before the lock is taken; under the lock the spec is compared with what it was, and
/// replaced. So two processes that tick at once do not undo each other's change.
fn try_to_mark(
    mesh: &Mesh,
    parsed_spec: &ParsedSpec,
    file: &Path,
    id: &str,
    mark: BoxMark,
) -> Result<Marking, CommandError> {
    let now = ParsedSpec::read(parsed_spec.place.clone())?;
    let Some(task) = now.task(id) else { return Ok(Marking::NoBox) };
    let (is_right, marked) = match mark {
        BoxMark::Ticked => (task.is_done, tick(&now.text, task)),
        BoxMark::Empty => (task.tick.is_some() && !task.is_done, untick(&now.text, task)),
    };
    if is_right {
        return Ok(Marking::Done);
    }
    let Some(marked) = marked else { return Ok(Marking::NoBox) };
    let mut locked = None;
    let is_same = || match mesh.lock() {
        Ok(held) => {
            locked = Some(Ok(held));
            Ok(now.place.text().ok().as_ref() == Some(&now.text))
        }
        Err(error) => {
            locked = Some(Err(error));
            Ok(false)
        }
    };
    let written = files::write_through_if(file, marked.as_bytes(), is_same)?;
    locked.transpose()?;
    Ok(if written { Marking::Done } else { Marking::Changed })
}
