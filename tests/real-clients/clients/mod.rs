//! The real clients: what each needs to be run without a network, and what its tools are called.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod opencode;
mod pi;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::model::Call;
use crate::scene::Scene;

/// The cheap ones first.
pub const ALL: [&dyn Client; 6] =
    [&codex::Codex, &pi::Pi, &gemini::Gemini, &copilot::Copilot, &claude::Claude, &opencode::Opencode];

/// What the client may do without asking.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Leave {
    /// Everything.
    All,
    /// What its settings allow. Nobody is there to be asked.
    Settings,
}

pub trait Client: Sync {
    fn name(&self) -> &'static str;

    /// The file that is run, in the folder that the client is installed in.
    fn program(&self, folder: &Path) -> PathBuf {
        folder.join("node_modules/.bin").join(self.name())
    }

    /// Does it want a newer Node.js than machines have?
    fn wants_node(&self) -> bool {
        false
    }

    /// What its user has set up before us. `url` is where the model is.
    fn set_up(&self, scene: &Scene, url: &str);

    /// Adds to the command what makes it do the prompt and end.
    fn start(&self, command: &mut Command, url: &str, prompt: &str, leave: Leave);

    /// Some want to have read a file before they edit it.
    fn read(&self, _path: &Path) -> Option<Call> {
        None
    }

    fn edit(&self, path: &Path, old: &str, new: &str) -> Call;

    fn shell(&self, command: &str) -> Call;

    /// A call of that tool of our MCP server, as the client's model names it.
    fn tool(&self, _name: &str, _input: serde_json::Value) -> Option<Call> {
        None
    }

    /// Does it ask before it calls a tool of any MCP server, whatever its settings say?
    fn asks_for_tools(&self) -> bool {
        false
    }

    /// A file in the home that we write to, and that it writes to by itself.
    fn state(&self) -> Option<&'static str> {
        None
    }

    /// Adds to the command what makes it a server for others, where that is another way of running it.
    fn serve(&self, _command: &mut Command) -> bool {
        false
    }

    /// Does its shell know the session, by itself or by our plugin? Else the process above must tell who is calling.
    fn tells_session(&self) -> bool {
        true
    }

    /// Does it ask before it does things?
    fn asks(&self) -> bool {
        true
    }
}
