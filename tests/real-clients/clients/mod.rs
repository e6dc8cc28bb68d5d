//! The real clients: how each is run without a network, and the names of its tools.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod kimi;
mod opencode;
mod pi;
mod qwen;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::model::Call;
use crate::scene::Scene;

/// The cheapest first.
pub const ALL: [&dyn Client; 8] = [
    &codex::Codex,
    &pi::Pi,
    &kimi::Kimi,
    &qwen::Qwen,
    &gemini::Gemini,
    &copilot::Copilot,
    &claude::Claude,
    &opencode::Opencode,
];

/// What the client may do without asking.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Leave {
    /// Everything.
    All,
    /// What its settings allow. Nobody is there to answer questions.
    Settings,
}

/// How a client takes prompts from its standard input.
pub struct Conversation {
    /// The line with which it is given a prompt.
    pub line: fn(&str) -> Value,
    /// What it prints when it has ended a turn.
    pub end: &'static str,
}

pub trait Client: Sync {
    fn name(&self) -> &'static str;

    /// The file to run, in the folder in which the client is installed.
    fn program(&self, folder: &Path) -> PathBuf {
        folder.join("node_modules/.bin").join(self.name())
    }

    /// Whether it needs a newer Node.js than machines usually have.
    fn wants_node(&self) -> bool {
        false
    }

    /// Writes the settings that its user has before `msg` is installed. `url` is the model's.
    fn set_up(&self, scene: &Scene, url: &str);

    /// Adds the arguments with which it handles the prompt and ends.
    fn start(&self, command: &mut Command, url: &str, prompt: &str, leave: Leave);

    /// The same for one more prompt in the last session of the directory, which has ended.
    fn resume(&self, command: &mut Command, url: &str, prompt: &str, leave: Leave) {
        self.start(command, url, prompt, leave);
        command.arg("--continue");
    }

    /// Changes its settings so that it asks its model only once, and knows what that costs.
    fn set_up_worker(&self, _scene: &Scene, _url: &str) {}

    /// Its user wants to be asked before it runs a command, which is not so by default.
    fn ask_before_commands(&self, _scene: &Scene) {}

    /// Variables with which it asks its model only once.
    fn worker_variables(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The model that a worker has to be told.
    fn worker_model(&self) -> Option<&'static str> {
        None
    }

    /// Whether a worker reports what it cost.
    fn tells_cost(&self) -> bool {
        false
    }

    /// Whether it waits without an end when its model's server says that it is at its limit.
    fn waits_at_limits(&self) -> bool {
        false
    }

    /// Whether a resumed session still has what hooks told its model.
    fn keeps_hook_text(&self) -> bool {
        true
    }

    /// Adds the arguments with which it takes prompts from its standard input, one after the other. `None`: it has no
    /// such mode.
    fn converse(&self, _command: &mut Command, _url: &str) -> Option<Conversation> {
        None
    }

    /// A call that reads a file, for clients that require it before an edit.
    fn read(&self, _path: &Path) -> Option<Call> {
        None
    }

    /// A call that shows a file, with its own tool if it has one.
    fn look(&self, path: &Path) -> Call {
        self.read(path).unwrap_or_else(|| self.shell(&format!("cat {}", path.display())))
    }

    /// A call with which its model asks its user something. Adds the arguments with which he answers without a
    /// terminal. `None`: hooks are not told of answers.
    fn decision(&self, _command: &mut Command) -> Option<Call> {
        None
    }

    fn edit(&self, path: &Path, old: &str, new: &str) -> Call;

    fn shell(&self, command: &str) -> Call;

    /// The command, written so that the client does not lose its output.
    fn patient(&self, command: &str) -> String {
        command.to_string()
    }

    /// A call of a tool of our MCP server, with the name that the client's model uses.
    fn tool(&self, _name: &str, _input: Value) -> Option<Call> {
        None
    }

    /// Whether it refuses or asks about what the check of MCP tools does, whatever its settings say.
    fn asks_for_tools(&self) -> bool {
        false
    }

    /// A file in the home that both we and the client write to.
    fn state(&self) -> Option<&'static str> {
        None
    }

    /// Adds the arguments with which it is a server for others. `false`: it has no such mode.
    fn serve(&self, _command: &mut Command) -> bool {
        false
    }

    /// Whether its shell has the session id, by itself or through our plugin. Otherwise the caller is found by its
    /// process.
    fn tells_session(&self) -> bool {
        true
    }

    /// Whether a hook reports the end of a run without a terminal. Otherwise only its process shows it.
    fn tells_its_end(&self) -> bool {
        true
    }

    /// Whether a hook can tell its model something after a tool.
    fn hears_after_tools(&self) -> bool {
        true
    }

    /// Whether a hook is told of a command that failed.
    fn tells_failures(&self) -> bool {
        true
    }

    /// How often a hook can make it go on in one turn.
    fn goes_on(&self) -> usize {
        usize::MAX
    }

    /// Why permission to run `msg` cannot be tried without a terminal, if so.
    fn untried_permission(&self) -> Option<&'static str> {
        None
    }
}
