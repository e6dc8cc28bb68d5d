//! Everything that touches the operating system: files, locks, processes, the clock, git, the environment.
//!
//! Nothing here knows what a mesh is.

pub mod bounded_run;
pub mod children;
pub mod clock;
pub mod desktop;
pub mod detached;
pub mod directory_trust;
pub mod editor;
pub mod environment;
pub mod files;
pub mod filesystem;
pub mod flock;
pub mod git;
pub mod http;
pub mod keeper;
pub mod line_socket;
pub mod memory;
#[cfg(feature = "link")]
pub mod nats;
pub mod outline;
pub mod pager;
pub mod panics;
pub mod paths;
pub mod process;
pub mod program;
pub mod random;
pub mod shell_pipe;
pub mod signals;
pub mod socket;
pub mod stdin;
pub mod tcp_relay;
pub mod test_switches;
pub mod time_zone;
pub mod tmux;
pub mod watch;
pub mod watchdog;
