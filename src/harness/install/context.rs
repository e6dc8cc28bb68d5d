//! Where and how something is installed, with the parts that several harnesses have in common.

use std::path::{Path, PathBuf};

use crate::domain::Harness;
use crate::domain::text_edit::json::{Json, quoted};
use crate::harness::{HarnessSupport, HookLine, HookPurpose, MsgProgram};
use crate::sys::environment::Home;
use crate::sys::program::{on_path, own};

use super::hook_list;
use super::installed_part::{InstallTarget, InstalledPart};
use super::no_project_settings::NoProjectSettings;
use super::server_entry::{self, ServerEntry};
use super::settings_entry::{Hook, HookRole};

/// Timeout of a hook, in seconds. A hook answers in milliseconds and gives up after five seconds; only a stalled
/// machine takes longer.
pub const HOOK_SECONDS: u64 = 10;
/// The placeholder for the program in our plugins, as a JavaScript string.
pub const PLACE_OF_PROGRAM: &str = "\"@MSG@\"";

/// Which settings files are changed.
#[derive(Clone, Debug)]
pub enum InstallScope<'a> {
    /// The user's.
    User,
    /// Those of the project in this directory that stay out of its repository.
    Project(&'a Path),
}

/// Where and how something is installed. `program` is how hooks call `msg`.
#[derive(Clone, Debug)]
pub struct InstallContext<'a> {
    pub home: &'a Home,
    pub scope: InstallScope<'a>,
    pub program: MsgProgram,
    /// Also install the status line, where the harness has one.
    pub wants_statusline: bool,
    /// Also install the MCP server.
    pub wants_mcp: bool,
}

/// What a hook has besides its event and its command line.
#[derive(Clone, Copy, Debug, Default)]
pub struct HookGroup<'a> {
    /// The tools that it is for; all if there is none.
    pub matcher: Option<&'a str>,
    /// The name that the harness shows for it.
    pub name: Option<&'a str>,
    /// In the unit of the harness.
    pub timeout: u64,
}

impl InstallContext<'_> {
    /// The arguments by which `install` installs this harness here.
    pub fn name(&self, harness: Harness) -> String {
        match self.scope {
            InstallScope::User => harness.to_string(),
            InstallScope::Project(_) => format!("{harness} --project"),
        }
    }

    /// The files of a harness, in the order in which they are written.
    pub fn targets(&self, harness: &dyn HarnessSupport) -> Result<Vec<InstallTarget>, NoProjectSettings> {
        let InstallScope::Project(root) = &self.scope else {
            let mut targets = harness.user_targets(self);
            if self.wants_mcp {
                targets.extend(harness.server_targets(self));
            }
            return Ok(targets);
        };
        harness.project_targets(self, root)
    }

    /// The user's files that hold servers and nothing else of ours.
    pub fn server_targets(&self, harness: &dyn HarnessSupport) -> Vec<InstallTarget> {
        match self.scope {
            InstallScope::User => harness.server_targets(self),
            InstallScope::Project(_) => Vec::new(),
        }
    }

    /// Every absolute path by which the program may be called.
    pub fn program_paths(&self) -> Vec<String> {
        let called = match &self.program {
            MsgProgram::OnPath => on_path("msg"),
            MsgProgram::At(path) => Some(PathBuf::from(path)),
        };
        let mut paths: Vec<String> = Vec::new();
        for path in called.into_iter().chain(own().ok()) {
            let path = path.to_string_lossy().into_owned();
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    /// Our MCP server in the list of this name. The members are what the harness wants of a server.
    pub fn server(&self, list: &'static str, members: Vec<(&'static str, Json)>) -> ServerEntry {
        ServerEntry { program: self.program.clone(), is_wanted: self.wants_mcp, list, members }
    }

    /// The members `command` and `args`, as most harnesses want them.
    pub fn server_call(&self) -> [(&'static str, Json); 2] {
        let args = Json::List(vec![server_entry::WORD.into()]);
        [("command", self.program.command().into()), ("args", args)]
    }

    /// A plugin of ours, in a file of its own.
    pub fn plugin(&self, template: &str, path: PathBuf) -> InstallTarget {
        InstallTarget::new(path, InstalledPart::Own(plugin_text(template, &self.program)))
    }

    /// A hook in a group of its own: the format of Claude Code and of the harnesses that adopted it.
    pub fn group(&self, harness: Harness, event: &str, group: HookGroup<'_>) -> Hook {
        group.hook(&self.program, harness, event)
    }

    /// The command line of the hook at this event.
    pub fn line(&self, harness: Harness, event: &str) -> String {
        HookLine::telling(&self.program, harness, event).render()
    }

    /// The command line of a hook with another purpose.
    pub fn line_for(&self, harness: Harness, purpose: HookPurpose) -> String {
        HookLine::new(&self.program, harness, purpose).render()
    }
}

/// A plugin of ours that calls this program.
fn plugin_text(template: &str, program: &MsgProgram) -> String {
    template.replacen(PLACE_OF_PROGRAM, &quoted(program.command()), 1)
}

/// A plugin of ours for one run. One that is installed too does nothing in that process.
pub fn given_plugin(template: &str, program: &MsgProgram) -> String {
    plugin_text(template, program).replacen("const IS_GIVEN = false", "const IS_GIVEN = true", 1)
}

impl HookGroup<'_> {
    /// A hook that reports the event, in a group of its own.
    pub fn hook(&self, program: &MsgProgram, harness: Harness, event: &str) -> Hook {
        let line = HookLine::telling(program, harness, event).render();
        let mut handler = vec![("type", Json::from("command"))];
        handler.extend(self.name.map(|name| ("name", Json::from(name))));
        handler.push(("command", line.as_str().into()));
        handler.push(("timeout", Json::Number(self.timeout)));
        let mut members = Vec::new();
        members.extend(self.matcher.map(|matcher| ("matcher", Json::from(matcher))));
        members.push(("hooks", Json::List(vec![Json::object(handler)])));
        let value = Json::object(members);
        Hook {
            list: hook_list(event),
            within: Some("hooks"),
            field: "command",
            role: HookRole::Reporter,
            value,
        }
    }
}
