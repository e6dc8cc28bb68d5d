//! Decides whether hooks call `msg` by name or by its absolute path.

use crate::harness::MsgProgram;
use crate::sys::program;

use crate::ops::error::{CommandError, CommandErrorKind};

/// By name if that leads to this very binary, otherwise by its path.
pub(super) fn find() -> Result<MsgProgram, CommandError> {
    let this = program::own().map_err(|error| {
        let text = format!("the path of this program can't be found: {error}");
        CommandError::new(CommandErrorKind::Io, text)
            .hint("was it removed? put it back and call it by its path")
    })?;
    if program::on_path("msg").is_some_and(|found| program::is_same(&found, &this)) {
        return Ok(MsgProgram::OnPath);
    }
    // Keep a link as it is: it outlives the version it points to.
    let path = program::called_as().filter(|path| program::is_same(path, &this)).unwrap_or(this);
    match path.to_str() {
        Some(path) => Ok(MsgProgram::At(path.to_string())),
        None => {
            let text = format!("the path of this program is not text: `{}`", path.display());
            Err(CommandError::new(CommandErrorKind::InvalidValue, text)
                .hint("put it where the path is plain text"))
        }
    }
}
