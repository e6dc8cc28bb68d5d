//! The table that registers `msg mcp` in Codex's `config.toml`.

use crate::domain::text_edit::EditError;
use crate::domain::text_edit::json::quoted;
use crate::domain::text_edit::toml::Tables;
use crate::harness::MsgProgram;
use crate::harness::install::server_entry::{self, NAME, WORD};

/// The table of the servers.
const ABOVE: [&str; 1] = ["mcp_servers"];

/// The server as it should be in the file.
#[derive(Clone, Debug)]
pub(super) struct ServerTable {
    pub(super) program: MsgProgram,
    /// `false`: the user does not want it, so ours is removed if it is there.
    pub(super) is_wanted: bool,
}

impl ServerTable {
    /// Adds the server, updates its command, or removes it if it is not wanted. A user's own server of that name stays.
    pub(super) fn put(&self, bytes: &[u8]) -> Result<Vec<u8>, EditError> {
        let mut tables = Tables::parse(bytes, &ABOVE, "command")?;
        let is_there = tables.entries()?.iter().any(|entry| entry.name == NAME);
        match (is_there, table_program(&tables)?, self.is_wanted) {
            (false, _, true) => {
                let body = [
                    ("command", quoted(self.program.command())),
                    ("args", format!("[{}]", quoted(WORD))),
                    // Its tools may run without asking, like the command.
                    ("default_tools_approval_mode", quoted("approve")),
                ];
                tables.add_whole(NAME, &body)?;
            }
            (true, Some(program), true) if program != self.program => {
                tables.put(NAME, self.program.command())?;
            }
            (true, Some(_), false) => tables.take_whole(NAME)?,
            _ => {}
        }
        Ok(tables.into_bytes())
    }

    /// Removes our server, unless it was there before us.
    pub(super) fn take(&self, bytes: &[u8], before: Option<&[u8]>) -> Result<Vec<u8>, EditError> {
        let was_there = match before.map(|before| Tables::parse(before, &ABOVE, "command")) {
            Some(Ok(before)) => table_program(&before)?.is_some(),
            _ => false,
        };
        let mut tables = Tables::parse(bytes, &ABOVE, "command")?;
        if !was_there && table_program(&tables)?.is_some() {
            tables.take_whole(NAME)?;
        }
        Ok(tables.into_bytes())
    }
}

/// The program that our server calls, if it is there.
pub(super) fn found(bytes: &[u8]) -> Result<Option<MsgProgram>, EditError> {
    table_program(&Tables::parse(bytes, &ABOVE, "command")?)
}

fn table_program(tables: &Tables<'_>) -> Result<Option<MsgProgram>, EditError> {
    let is_ours = tables.list(NAME, "args")?.is_some_and(|args| args == [WORD]);
    let entry = tables.entries()?.into_iter().find(|entry| entry.name == NAME);
    Ok(entry.and_then(|entry| entry.text).filter(|_| is_ours).map(|command| server_entry::program(&command)))
}

/// What an install record keeps of the file: our server, if it is there.
pub(super) fn outline(text: &str) -> Option<String> {
    let program = found(text.as_bytes()).ok()??;
    let (command, word) = (quoted(program.command()), quoted(WORD));
    Some(format!("[mcp_servers.{NAME}]\ncommand = {command}\nargs = [{word}]\n"))
}
