//! Whether the tmux pane of this process is visible.

use std::time::Duration;

use super::call::{TmuxCall, TmuxSocket};
use crate::sys::environment::variable;

/// How long tmux may take to answer.
const LIMIT: Duration = Duration::from_millis(500);

/// Whether this pane is visible: a terminal is attached to the session, its window is the current one, and no other
/// pane is zoomed. `true` outside of tmux, or if tmux does not answer.
pub fn is_in_sight() -> bool {
    let (Some(socket), Some(pane)) = (TmuxSocket::of_environment(), variable("TMUX_PANE")) else {
        return true;
    };
    let format = "#{session_attached} #{window_active} #{window_zoomed_flag} #{pane_active}";
    let call = TmuxCall::new(&socket).words(["display-message", "-p", "-t", &pane, format]);
    let Ok(told) = call.run_within(LIMIT) else { return true };
    match told.split_whitespace().collect::<Vec<_>>().as_slice() {
        [attached, window, zoomed, active] => {
            *attached != "0" && *window == "1" && (*zoomed == "0" || *active == "1")
        }
        _ => true,
    }
}
