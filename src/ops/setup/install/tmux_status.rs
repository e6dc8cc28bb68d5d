//! The line in tmux's configuration that shows `msg statusline` in its status bar.

use std::path::PathBuf;
use std::rc::Rc;

use crate::domain::text_edit::{EditError, lines};
use crate::harness::MsgProgram;
use crate::harness::install::{
    CustomPart, FileLookup, InstallContext, InstallTarget, InstalledPart, RecordedOriginal,
};
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::sys::environment::Home;

use crate::ops::setup::install::plan::InstallDirection;

/// The condition adds our part only once, even if the configuration is loaded again.
const HEAD: &str = "if -F \"#{m:*statusline --tmux*,#{status-right}}\" \"\" 'set -ag status-right \" #(";
/// tmux truncates the status at its default length, which its own clock already fills; so this raises it to 100.
const TAIL: &str = " statusline --tmux --pane #{pane_pid} 2>/dev/null)\"'; \
                    if -F \"#{e|<:#{status-right-length},100}\" \"set -g status-right-length 100\"";

/// Our line in tmux's configuration.
#[derive(Debug)]
struct TmuxLine(String);

/// tmux's configuration files, or `Err` if our line can't be written in them.
pub(super) fn targets(
    place: &InstallContext<'_>,
    way: InstallDirection,
) -> Result<Vec<InstallTarget>, CommandError> {
    let part: Rc<dyn CustomPart> = Rc::new(TmuxLine(line(&place.program)?));
    let target = |path| InstallTarget::new(path, InstalledPart::Custom(Rc::clone(&part)));
    Ok(files(place.home, way).into_iter().map(target).collect())
}

/// The line that calls the program.
fn line(program: &MsgProgram) -> Result<String, CommandError> {
    let program = match program {
        MsgProgram::OnPath => "msg",
        // Both tmux and a shell parse this, and nested quotes would not survive both.
        MsgProgram::At(path) if path.chars().all(|c| c.is_ascii_alphanumeric() || "/._+-".contains(c)) => {
            path
        }
        MsgProgram::At(path) => {
            let text = format!("the path of this program can't stand in tmux's configuration: `{path}`");
            return Err(CommandError::new(CommandErrorKind::InvalidValue, text)
                .hint("put `msg` on your PATH, or where the path is plain letters"));
        }
    };
    Ok(format!("{HEAD}{program}{TAIL}"))
}

/// tmux's configuration files: for `In`, the one that exists; for `Out`, both, because ours may be in either.
fn files(home: &Home, way: InstallDirection) -> Vec<PathBuf> {
    let (old, new) = (home.home.join(".tmux.conf"), home.config.join("tmux/tmux.conf"));
    match way {
        InstallDirection::Uninstall => vec![old, new],
        InstallDirection::Install if new.exists() && !old.exists() => vec![new],
        InstallDirection::Install => vec![old],
    }
}

impl CustomPart for TmuxLine {
    /// The content with the line at its end, or where it was. Lines of other versions are removed.
    fn put(&self, bytes: &[u8], _: FileLookup<'_>) -> Result<Vec<u8>, EditError> {
        let line = &self.0;
        lines::put(&lines::take_those(bytes, &|other| is_ours(other) && other != line)?, line)
    }

    fn take(
        &self,
        bytes: &[u8],
        original: RecordedOriginal<'_>,
        _: FileLookup<'_>,
    ) -> Result<Option<Vec<u8>>, EditError> {
        Ok(original.left_lines(lines::take_those(bytes, &is_ours)?))
    }

    fn is_in(&self, bytes: &[u8]) -> Result<bool, EditError> {
        Ok(self.is_mentioned(&String::from_utf8_lossy(bytes)))
    }

    fn is_mentioned(&self, text: &str) -> bool {
        text.lines().any(|line| is_ours(line.trim_end()))
    }
}

/// Only our exact form is ours; a user's own call of `msg` is not.
fn is_ours(line: &str) -> bool {
    line.strip_prefix(HEAD).and_then(|rest| rest.strip_suffix(TAIL)).is_some()
}
