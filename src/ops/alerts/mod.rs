//! Telling a person what happens, besides the text on their screen: the setting `notify`.
//!
//! `picker` decides what is told, and how: it looks at the settings and at the time, and marks each alert in the mesh
//! before it is told, so that of several watchers one tells it. `teller` tells, in a thread of its own, so that no watcher
//! waits for a command. `ways` knows what each way needs. Agents are not told: [`AlertPicker::open`] returns nothing inside
//! a harness, and no hook has one. What is written to a terminal is written by the faces, which know whether there is one.

pub(in crate::ops) mod doctor_checks;
mod overview;
mod picker;
mod teller;
mod ways;

pub use overview::{NotifyOverview, TriedWay, WayState, notify_overview, try_ways};
pub use picker::{AlertPicker, DueAlert};
pub use teller::{AlertQueue, AlertTeller, TerminalWriter};
pub(in crate::ops) use ways::run_command;
pub use ways::{AlertFailure, AlertOutput, AlertTools, WayProblem};
