//! Linking the mesh with other machines: what commands ask of the link process, and the link process itself.
//!
//! The link process is one for each mesh and machine. It alone talks to the server. Commands ask it over a socket, for
//! a bounded time; hooks never ask, they read the mirror (`store::link`). What must be unique over all machines counts
//! here only after the server has decided for it.

pub(in crate::ops) mod ask;
mod clock_difference;
mod configure;
pub(in crate::ops) mod doctor_checks;
pub(in crate::ops) mod elsewhere;
#[cfg(feature = "link")]
mod forget;
#[cfg(feature = "link")]
mod process;

pub use ask::{is_linked, not_built_in};
pub use clock_difference::{SET_CLOCKS, clock_difference};
pub use configure::{
    LinkSettings, LinkStatus, PushTarget, RunPermissionChange, StopOutcome, UnlinkOutcome, link_status,
    set_link, stop_link, unlink, write_config_files,
};
pub use elsewhere::time_of_day;
#[cfg(feature = "link")]
pub use forget::{forget_machine, remains_of_machine};
#[cfg(feature = "link")]
pub use process::{LinkEnd, LinkLife, MachineRemains, run};
