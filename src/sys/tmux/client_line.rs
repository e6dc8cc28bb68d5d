//! What the terminal shows that this process is in, beside its panes: a line of tmux for its clients, and sequences that
//! tmux passes on.

use std::ffi::OsStr;
use std::time::Duration;

use super::call::{TmuxCall, TmuxError, TmuxSocket, plain_format};
use crate::sys::environment::variable;

/// How long tmux may take to answer.
const LIMIT: Duration = Duration::from_secs(2);

/// Whether this process is in a pane of tmux.
pub fn is_inside() -> bool {
    own_pane().is_some()
}

/// Whether tmux passes wrapped sequences of this pane on to the terminal. `true` if it does not say: before 3.3, it always
/// did.
pub fn passes_on() -> bool {
    let Some((socket, pane)) = own_pane() else { return true };
    let call =
        TmuxCall::new(&socket).words(["show-options", "-A", "-v", "-p", "-t", &pane, "allow-passthrough"]);
    call.run_within(LIMIT).map_or(true, |told| told.trim() != "off")
}

/// Shows a line to everybody who looks at the session of this pane. If nobody does, nobody is told.
pub fn show_to_own_clients(line: &str) -> Result<(), TmuxError> {
    let Some((socket, pane)) = own_pane() else {
        return Err(TmuxError::Failed("this terminal is not in tmux".to_string()));
    };
    let call = TmuxCall::new(&socket).words(["display-message", "-p", "-t", &pane, "#{session_id}"]);
    let session = call.run_within(LIMIT)?;
    let clients = TmuxCall::new(&socket)
        .words(["list-clients", "-t", session.trim(), "-F", "#{client_name}"])
        .run_within(LIMIT)?;
    let text = literal(line);
    let show = |client: &str| {
        TmuxCall::new(&socket)
            .words([OsStr::new("display-message"), OsStr::new("-c"), OsStr::new(client), &text])
            .run_within(LIMIT)
            .map(drop)
    };
    // A client that goes in this moment keeps nobody else from being told.
    let shown: Vec<Result<(), TmuxError>> = clients.lines().map(show).collect();
    if shown.iter().any(Result::is_ok) { Ok(()) } else { shown.into_iter().collect() }
}

fn own_pane() -> Option<(TmuxSocket, String)> {
    TmuxSocket::of_environment().zip(variable("TMUX_PANE"))
}

/// The text where tmux expects a format with times in it. `#[` would begin a style even when written as `##[`.
fn literal(text: &str) -> std::ffi::OsString {
    plain_format(OsStr::new(&text.replace("#[", "# [").replace('%', "%%")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_not_a_format() {
        for (text, format) in [("50%", "50%%"), ("#(touch x)", "##(touch x)"), ("#[fg=red]", "## [fg=red]")] {
            assert_eq!(literal(text), format);
        }
    }
}
