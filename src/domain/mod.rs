//! Values and rules. Nothing here does I/O, reads a clock or knows how we keep things on disk.

pub mod activity;
mod agent;
pub mod edit;
mod event;
mod harness;
pub mod hook;
mod hook_line;
mod message;
mod name;
pub mod patch;
pub mod pattern;
mod presence;
pub mod process;
mod reservation;
mod session;
pub mod settings;
pub mod shell;
pub mod spec;
mod suggest;
mod tally;
mod visible;
pub mod words;

pub use agent::{Agent, FormerName};
pub use event::{Event, EventKind, What};
pub use harness::{Harness, ProcessLook};
pub use hook_line::{Errand, HookLine, Program};
pub use message::{Importance, MAX_TEXT, Message, MessageId, MessageIdError, Stamp};
pub use name::{AgentName, MAX_NAME, NameError};
pub use presence::{Presence, Signs, spelled};
pub use process::{Identity, Liveness, Pid, Place, Recorded};
pub use reservation::{Reservation, Target, TaskRef, TaskWait, Wait};
pub use session::{SessionId, SessionIdError};
pub use suggest::nearest;
pub use tally::{Deed, Now, Tally};
pub use visible::{called, quoted, said, visible, visible_json};
