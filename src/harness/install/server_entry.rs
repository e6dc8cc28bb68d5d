//! The entry that registers `msg mcp` in a harness's list of MCP servers.
//!
//! It is recognised by its command, like our hooks.

use crate::domain::text_edit::EditError;
use crate::domain::text_edit::json::{Document, Json, JsonNode};
use crate::harness::MsgProgram;

/// The server's name in the settings.
pub const NAME: &str = "ravenry";
/// Its only argument.
pub const WORD: &str = "mcp";

/// The server as it should be in a file.
#[derive(Clone, Debug)]
pub struct ServerEntry {
    pub program: MsgProgram,
    /// `false`: the user does not want it, so ours is removed if it is there.
    pub is_wanted: bool,
    /// The member of the settings that lists the servers.
    pub list: &'static str,
    /// The members of the server. `command` is among them.
    pub members: Vec<(&'static str, Json)>,
}

impl ServerEntry {
    /// The path of the server in a settings file.
    pub fn path(&self) -> Vec<String> {
        [self.list, NAME].map(str::to_string).to_vec()
    }

    /// Adds the server, updates its command, or removes it if it is not wanted. A user's own server of that name stays.
    pub fn put(&self, document: &mut Document, stays: &dyn Fn(&[String]) -> bool) -> Result<(), EditError> {
        let path = self.path();
        match (document.get(&path)?.map(program_of), self.is_wanted) {
            (None, true) => document.set(&path, &Json::object(self.members.clone())),
            // Change only the command: other members may be the user's own, for example another mesh.
            (Some(Some(program)), true) if program != self.program => {
                let command = self.members.iter().find(|(name, _)| *name == "command");
                let place = [path.as_slice(), &["command".to_string()]].concat();
                command.map_or(Ok(()), |(_, command)| document.set(&place, command))
            }
            (Some(Some(_)), false) => document.unset(&path, stays),
            _ => Ok(()),
        }
    }

    pub fn take(&self, document: &mut Document, stays: &dyn Fn(&[String]) -> bool) -> Result<(), EditError> {
        let path = self.path();
        let is_ours = document.get(&path)?.is_some_and(|node| program_of(node).is_some());
        if is_ours && !stays(&path) { document.unset(&path, stays) } else { Ok(()) }
    }

    /// The program that our server calls, if it is there.
    pub fn found(&self, document: &Document) -> Result<Option<MsgProgram>, EditError> {
        Ok(document.get(&self.path())?.and_then(program_of))
    }
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

/// The program that this command calls.
pub fn program(command: &str) -> MsgProgram {
    match command {
        "msg" => MsgProgram::OnPath,
        path => MsgProgram::At(path.to_string()),
    }
}
