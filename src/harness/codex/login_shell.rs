//! Checks whether a login shell finds `msg` on its PATH: Codex runs its model's commands in one.
//!
//! Its PATH comes from the profiles, so `msg` may be missing there although the hooks find it.

use std::process::Command;
use std::time::Duration;

use crate::sys::environment::variable;
use crate::sys::program::{is_own_on_path, run_within};

/// Profiles may be slow. A shell that takes longer than this proves nothing.
const LIMIT: Duration = Duration::from_secs(3);

/// The problem with the PATH of a login shell, and what to do about it.
pub(super) fn trouble() -> Option<(String, String)> {
    let shell = variable("SHELL").filter(|shell| !shell.is_empty())?;
    if !is_own_on_path("msg") {
        return None;
    }
    let knows = |name: &str| {
        let script = format!("command -v {name} >/dev/null && echo found || echo missing");
        run_within(Command::new(&shell).args(["-lc", &script]), LIMIT)
    };
    // A profile may print something first.
    let is_missing = knows("msg").is_ok_and(|said| said.lines().last() == Some("missing"));
    is_missing.then(|| {
        let text = "codex runs commands in a login shell, whose PATH has no `msg`: its model can't run it"
            .to_string();
        (
            text,
            "put the directory of `msg` on the PATH in `~/.profile`, or in your login shell's own file"
                .to_string(),
        )
    })
}
