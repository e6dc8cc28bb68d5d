//! tmux: servers, sessions, windows and panes, asked and changed by the `tmux` command. Every call has a time limit.
//!
//! `call` runs the command and knows its errors, `server` is what a whole server is asked, `pane` one pane: what it
//! shows, and what is typed into it. `pane_info` tells where a pane is, and `geometry` in which corner of the screen.
//! `client_line` tells those who
//! look at this process's own session. Whoever looks at a pane and then types into it holds its `pane_lock` meanwhile. `own_servers` knows the servers that `msg` started.

mod call;
mod client_line;
pub mod geometry;
pub mod own_servers;
pub mod pane;
mod pane_id;
pub mod pane_info;
pub mod pane_lock;
pub mod server;
mod sight;

pub use call::{TmuxError, TmuxSocket};
pub use client_line::{is_inside, passes_on, show_to_own_clients};
pub use pane::TmuxPane;
pub use pane_id::{NotAPaneId, PaneId};
pub use pane_info::PaneInfo;
pub use server::TmuxServer;
pub use sight::is_in_sight;
