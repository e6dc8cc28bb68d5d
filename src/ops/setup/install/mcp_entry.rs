//! The entry that registers `msg mcp` in a harness's list of MCP servers.
//!
//! It is recognised by its command, like our hooks.

use crate::domain::Harness;
use crate::domain::text_edit::EditError;
use crate::domain::text_edit::json::{Document, Json, JsonNode, quoted};
use crate::domain::text_edit::toml::Tables;
use crate::harness::{self, MsgProgram};

/// The server's name in the settings.
pub(super) const NAME: &str = "ravenry";
/// Its only argument.
pub(super) const WORD: &str = "mcp";
/// The table of Codex's servers.
const ABOVE: [&str; 1] = ["mcp_servers"];

/// The server as it should be in a file.
#[derive(Clone, Debug)]
pub(super) struct ServerEntry {
    pub(super) program: MsgProgram,
    /// `false`: the user does not want it, so ours is removed if it is there.
    pub(super) is_wanted: bool,
}

impl ServerEntry {
    fn command(&self) -> &str {
        match &self.program {
            MsgProgram::OnPath => "msg",
            MsgProgram::At(path) => path,
        }
    }

    /// The path and the value of its member in a settings file.
    fn member(&self, harness: Harness) -> (Vec<String>, Json) {
        let path = |list: &str| vec![list.to_string(), NAME.to_string()];
        let command = || ("command", Json::from(self.command()));
        let args = || ("args", Json::List(vec![WORD.into()]));
        match harness {
            harness::OPENCODE => {
                let command = Json::List(vec![self.command().into(), WORD.into()]);
                let value = [("type", "local".into()), ("command", command), ("enabled", Json::Bool(true))];
                (path("mcp"), Json::object(value))
            }
            harness::COPILOT => {
                let tools = ("tools", Json::List(vec!["*".into()]));
                (path("mcpServers"), Json::object([("type", "local".into()), command(), args(), tools]))
            }
            // Its tools may run without asking, like the command.
            harness::GEMINI => {
                (path("mcpServers"), Json::object([command(), args(), ("trust", Json::Bool(true))]))
            }
            _ => (path("mcpServers"), Json::object([("type", "stdio".into()), command(), args()])),
        }
    }

    #[cfg(test)]
    pub(super) fn path(&self, harness: Harness) -> Vec<String> {
        self.member(harness).0
    }

    /// Adds the server, updates its command, or removes it if it is not wanted. A user's own server of that name stays.
    pub(super) fn put(
        &self,
        document: &mut Document,
        harness: Harness,
        stays: &dyn Fn(&[String]) -> bool,
    ) -> Result<(), EditError> {
        let (path, value) = self.member(harness);
        match (document.get(&path)?.map(program_of), self.is_wanted) {
            (None, true) => document.set(&path, &value),
            // Change only the command: other members may be the user's own, for example another mesh.
            (Some(Some(program)), true) if program != self.program => {
                let command = match harness {
                    harness::OPENCODE => Json::List(vec![self.command().into(), WORD.into()]),
                    _ => Json::from(self.command()),
                };
                document.set(&[path.as_slice(), &["command".to_string()]].concat(), &command)
            }
            (Some(Some(_)), false) => document.unset(&path, stays),
            _ => Ok(()),
        }
    }

    pub(super) fn take(
        &self,
        document: &mut Document,
        harness: Harness,
        stays: &dyn Fn(&[String]) -> bool,
    ) -> Result<(), EditError> {
        let (path, _) = self.member(harness);
        let is_ours = document.get(&path)?.is_some_and(|node| program_of(node).is_some());
        if is_ours && !stays(&path) { document.unset(&path, stays) } else { Ok(()) }
    }

    /// The program that our server calls, if it is there.
    pub(super) fn found(
        &self,
        document: &Document,
        harness: Harness,
    ) -> Result<Option<MsgProgram>, EditError> {
        Ok(document.get(&self.member(harness).0)?.and_then(program_of))
    }

    /// Like [`Self::put`], for Codex's `config.toml`.
    pub(super) fn put_table(&self, bytes: &[u8]) -> Result<Vec<u8>, EditError> {
        let mut tables = Tables::parse(bytes, &ABOVE, "command")?;
        let is_there = tables.entries()?.iter().any(|entry| entry.name == NAME);
        match (is_there, table_program(&tables)?, self.is_wanted) {
            (false, _, true) => {
                let body = [
                    ("command", quoted(self.command())),
                    ("args", format!("[{}]", quoted(WORD))),
                    // Its tools may run without asking, like the command.
                    ("default_tools_approval_mode", quoted("approve")),
                ];
                tables.add_whole(NAME, &body)?;
            }
            (true, Some(program), true) if program != self.program => tables.put(NAME, self.command())?,
            (true, Some(_), false) => tables.take_whole(NAME)?,
            _ => {}
        }
        Ok(tables.into_bytes())
    }

    /// Removes our server from Codex's `config.toml`, unless it was there before us.
    pub(super) fn take_table(&self, bytes: &[u8], before: Option<&[u8]>) -> Result<Vec<u8>, EditError> {
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

/// The program that our server in Codex's `config.toml` calls, if it is there.
pub(super) fn found_table(bytes: &[u8]) -> Result<Option<MsgProgram>, EditError> {
    table_program(&Tables::parse(bytes, &ABOVE, "command")?)
}

fn table_program(tables: &Tables<'_>) -> Result<Option<MsgProgram>, EditError> {
    let is_ours = tables.list(NAME, "args")?.is_some_and(|args| args == [WORD]);
    let entry = tables.entries()?.into_iter().find(|entry| entry.name == NAME);
    Ok(entry.and_then(|entry| entry.text).filter(|_| is_ours).map(|command| program(&command)))
}

/// The program, if it is called the way ours is: `command` and `args`, or all in one list.
fn program_of(node: &JsonNode) -> Option<MsgProgram> {
    let command = node.member("command")?;
    let list = node.member("args").unwrap_or(command);
    let is_ours = list.item(list.length().checked_sub(1)?)?.text() == Some(WORD);
    let count = if node.member("args").is_some() { 1 } else { 2 };
    let name = command.text().or_else(|| command.item(0)?.text())?;
    (is_ours && list.length() == count).then(|| program(name))
}

fn program(command: &str) -> MsgProgram {
    match command {
        "msg" => MsgProgram::OnPath,
        path => MsgProgram::At(path.to_string()),
    }
}
