//! `msg setup`: everything that a machine needs for agents that coordinate, in one step, and back.
//!
//! `survey` finds out what is set up, `apply` sets up what was chosen, `undo` takes it back. What they do is done by
//! `install`, `config`, `guard` and `shell_files`; here it is only put together. Each part is recorded before it is set
//! up, so a process that is killed anywhere can be followed by either.

mod apply;
mod part;
mod record;
mod shell_files;
mod survey;
mod undo;

pub use apply::{SetupChange, SetupOutcome, apply};
pub use part::{PartState, PartView, PersonShell, SetupPart};
pub(in crate::ops) use record::check;
pub use shell_files::SetupTexts;
pub use survey::{SetupSurvey, survey};
pub use undo::{KeptFile, SetupUndoOutcome, undo};
