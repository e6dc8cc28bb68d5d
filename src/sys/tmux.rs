//! Whether the tmux pane of this process is visible.

use std::process::Command;
use std::time::Duration;

use super::environment::variable;
use super::program;

/// How long tmux may take to answer.
const LIMIT: Duration = Duration::from_millis(500);

/// Whether this pane is visible: a terminal is attached to the session, its window is the current one, and no other
/// pane is zoomed. `true` outside of tmux, or if tmux does not answer.
pub fn is_in_sight() -> bool {
    let (Some(place), Some(pane)) = (variable("TMUX"), variable("TMUX_PANE")) else { return true };
    let Some(socket) = place.split(',').next() else { return true };
    let format = "#{session_attached} #{window_active} #{window_zoomed_flag} #{pane_active}";
    let mut command = Command::new("tmux");
    command.args(["-S", socket, "display-message", "-p", "-t", &pane, format]);
    let Ok(told) = program::run_within(&mut command, LIMIT) else { return true };
    match told.split_whitespace().collect::<Vec<_>>().as_slice() {
        [attached, window, zoomed, active] => {
            *attached != "0" && *window == "1" && (*zoomed == "0" || *active == "1")
        }
        _ => true,
    }
}
