//! What each harness gets, and in which files. No other file of `install` knows a harness.

use std::path::{Path, PathBuf};

use crate::domain::Harness;
use crate::domain::text_edit::json::{Dialect, Json, quoted};
use crate::harness::{self, HookLine, HookPurpose, MsgProgram};
use crate::ops::error::CommandError;
use crate::sys::environment::{Home, variable};
use crate::sys::files;
use crate::sys::program::{on_path, own};

use crate::ops::setup::install::codex_trust::{Trust, Trusted};
use crate::ops::setup::install::installed_part::{Hook, InstallTarget, InstalledPart, SettingsFileEntry};
use crate::ops::setup::install::mcp_entry::ServerEntry;
use crate::ops::setup::install::plan::InstallDirection;
use crate::ops::setup::install::tmux_status;

/// The harnesses that can be installed into.
pub const HARNESSES: [Harness; 6] =
    [harness::CLAUDE, harness::CODEX, harness::GEMINI, harness::OPENCODE, harness::PI, harness::COPILOT];

/// Timeout of a hook, in seconds. A hook answers in milliseconds and gives up after five seconds; only a stalled
/// machine takes longer.
const SECONDS: u64 = 10;
/// Timeout at the end of a session, in seconds: Codex allows three at most.
const LAST_SECONDS: u64 = 3;
/// Timeout of a waiter, in seconds: how long an agent may be idle and still be woken.
const WEEK: u64 = 7 * 24 * 3600;
/// Excludes Claude Code's read-only tools. A tool we don't know may write.
const CLAUDE_CHANGES: &str = "^(?!(?:Read|Glob|Grep|LS|WebFetch|WebSearch|ToolSearch|TodoWrite)$)";
const GEMINI_CHANGES: &str = "^(?:replace|write_file|run_shell_command)$";

/// The placeholder for the program in our plugins, as a JavaScript string.
const PLACE_OF_PROGRAM: &str = "\"@MSG@\"";
const OPENCODE_PLUGIN: &str = concat!(
    include_str!("../../../../shims/opencode/ravenry.js"),
    "\n",
    include_str!("../../../../shims/run.js")
);
const PI_EXTENSION: &str =
    concat!(include_str!("../../../../shims/pi/ravenry.ts"), "\n", include_str!("../../../../shims/run.js"));
/// Codex compares base names, so the rule without `host_executable` would let any program called `msg` out of the
/// sandbox.
const CODEX_RULES: &str = "\
# Lets the agent run `msg` without asking. Put here by `msg install codex`, taken away by `msg uninstall codex`.

host_executable(
    name = \"msg\",
    paths = @PATHS@,
)

prefix_rule(
    pattern = [\"msg\"],
    decision = \"allow\",
    justification = \"msg is how agents on this machine coordinate\",
)
";
const GEMINI_POLICY: &str = "\
# Lets the agent run `msg` without asking. Put here by `msg install gemini`, taken away by `msg uninstall gemini`.

[[rule]]
toolName = \"run_shell_command\"
commandPrefix = \"msg\"
decision = \"allow\"
priority = 100
";

/// Which settings files are changed.
#[derive(Clone, Debug)]
pub(super) enum InstallScope<'a> {
    /// The user's.
    User,
    /// Those of the project in this directory that stay out of its repository.
    Project(&'a Path),
}

/// Where and how something is installed. `program` is how hooks call `msg`.
#[derive(Clone, Debug)]
pub(super) struct InstallContext<'a> {
    pub(super) home: &'a Home,
    pub(super) scope: InstallScope<'a>,
    pub(super) program: MsgProgram,
    /// Also install Claude Code's status line.
    pub(super) statusline: bool,
    /// Also install the MCP server.
    pub(super) mcp: bool,
}

impl InstallContext<'_> {
    /// The arguments by which `install` installs this harness here.
    pub(super) fn name(&self, harness: Harness) -> String {
        match self.scope {
            InstallScope::User => harness.to_string(),
            InstallScope::Project(_) => format!("{harness} --project"),
        }
    }

    /// tmux's configuration files, or `Err` if our line can't be written in them.
    pub(super) fn tmux(&self, way: InstallDirection) -> Result<Vec<InstallTarget>, CommandError> {
        let line = tmux_status::line(&self.program)?;
        let target = |path| InstallTarget::new(path, InstalledPart::Tmux(line.clone()));
        Ok(tmux_status::files(self.home, way).into_iter().map(target).collect())
    }

    /// The files of a harness, in the order in which they are written; `Err` says why there are none for a project.
    pub(super) fn targets(&self, harness: Harness) -> Result<Vec<InstallTarget>, String> {
        let InstallScope::Project(root) = &self.scope else { return Ok(self.user_targets(harness)) };
        match harness {
            harness::CLAUDE => Ok(vec![self.claude(root.join(".claude/settings.local.json"))]),
            harness::OPENCODE => {
                Ok(vec![self.plugin(OPENCODE_PLUGIN, root.join(".opencode/plugins/ravenry.js"))])
            }
            harness::PI => Ok(vec![self.plugin(PI_EXTENSION, root.join(".pi/extensions/ravenry.ts"))]),
            harness::COPILOT => Ok(vec![self.copilot(root.join(".github/hooks/ravenry.json"))]),
            harness::CODEX => {
                Err("`.codex/hooks.json` is one file for all who work on the project".to_string())
            }
            harness::GEMINI => {
                Err("`.gemini/settings.json` is one file for all who work on the project".to_string())
            }
            _ => Err("it has no settings".to_string()),
        }
    }

    fn user_targets(&self, harness: Harness) -> Vec<InstallTarget> {
        let mut targets = self.hook_targets(harness);
        if self.mcp {
            targets.extend(self.server_targets(harness));
        }
        targets
    }

    /// Files that hold servers and nothing else of ours.
    pub(super) fn server_targets(&self, harness: Harness) -> Vec<InstallTarget> {
        let dir = config_dir(harness, self.home);
        let target = |path: PathBuf, dialect: Dialect| {
            InstallTarget::new(
                path,
                settings(harness, dialect, vec![SettingsFileEntry::Server(self.server())]),
            )
        };
        match (&self.scope, harness) {
            (InstallScope::Project(_), _) => Vec::new(),
            (InstallScope::User, harness::CLAUDE) => {
                vec![target(claude_state(&dir, self.home), Dialect::Strict)]
            }
            (InstallScope::User, harness::COPILOT) => {
                vec![target(dir.join("mcp-config.json"), Dialect::Strict)]
            }
            (InstallScope::User, harness::OPENCODE) => {
                let path = opencode_configs(&dir).into_iter().rfind(|path| path.is_file());
                match path {
                    // The server is written together with our other entries in that file.
                    Some(_) => Vec::new(),
                    None => vec![target(dir.join("opencode.json"), Dialect::CommentsAndTrailingCommas)],
                }
            }
            (InstallScope::User, _) => Vec::new(),
        }
    }

    /// Every absolute path by which the program may be called.
    fn program_paths(&self) -> Vec<String> {
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

    fn server(&self) -> ServerEntry {
        ServerEntry { program: self.program.clone(), is_wanted: self.mcp }
    }

    fn hook_targets(&self, harness: Harness) -> Vec<InstallTarget> {
        let dir = config_dir(harness, self.home);
        match harness {
            harness::CLAUDE => vec![self.claude(dir.join("settings.json"))],
            harness::CODEX => self.codex(&dir),
            harness::GEMINI => vec![
                self.gemini(dir.join("settings.json")),
                InstallTarget::new(
                    dir.join("policies/ravenry.toml"),
                    InstalledPart::Own(GEMINI_POLICY.to_string()),
                ),
            ],
            harness::OPENCODE => {
                let plugin = dir.join("plugins/ravenry.js");
                let mut targets = vec![self.plugin(OPENCODE_PLUGIN, plugin.clone())];
                // Without such a file OpenCode never asks, so no rule is needed.
                let configs: Vec<PathBuf> =
                    opencode_configs(&dir).into_iter().filter(|path| path.is_file()).collect();
                let last = configs.last().cloned();
                targets.extend(configs.into_iter().map(|path| {
                    let mut entries =
                        vec![SettingsFileEntry::Leave { command: "msg", plugin: plugin.clone() }];
                    // OpenCode reads this file last, so it wins.
                    if last.as_ref() == Some(&path) {
                        entries.push(SettingsFileEntry::Server(self.server()));
                    }
                    InstallTarget::new(path, settings(harness, Dialect::CommentsAndTrailingCommas, entries))
                }));
                targets
            }
            harness::PI => vec![self.plugin(PI_EXTENSION, dir.join("extensions/ravenry.ts"))],
            harness::COPILOT => vec![self.copilot(dir.join("settings.json"))],
            _ => Vec::new(),
        }
    }

    fn claude(&self, path: PathBuf) -> InstallTarget {
        let harness = harness::CLAUDE;
        let mut entries: Vec<SettingsFileEntry> = [
            ("SessionStart", None),
            ("UserPromptSubmit", None),
            ("PreToolUse", Some(CLAUDE_CHANGES)),
            ("PostToolUse", None),
            ("PostToolUseFailure", None),
            ("Stop", None),
            ("SessionEnd", None),
        ]
        .into_iter()
        .map(|(event, matcher)| SettingsFileEntry::Hook(self.group(harness, event, matcher, SECONDS)))
        .collect();
        entries.extend(["SessionStart", "Stop"].map(|event| SettingsFileEntry::Hook(self.waiter(event))));
        let list = ["permissions", "allow"].map(str::to_string).to_vec();
        entries.push(SettingsFileEntry::Item { list: list.clone(), text: "Bash(msg:*)".to_string() });
        if self.mcp && matches!(self.scope, InstallScope::User) {
            entries.push(SettingsFileEntry::Item { list, text: "mcp__ravenry".to_string() });
        }
        let shown = HookLine::new(&self.program, harness, HookPurpose::StatusLine).render();
        let value = Json::object([("type", "command".into()), ("command", shown.as_str().into())]);
        entries.push(SettingsFileEntry::StatusLine { value, wanted: self.statusline });
        // Claude Code silently ignores the whole file if it contains a comment.
        InstallTarget::new(path, settings(harness, Dialect::Strict, entries))
    }

    fn codex(&self, dir: &Path) -> Vec<InstallTarget> {
        let harness = harness::CODEX;
        let events = [
            ("SessionStart", "session_start", SECONDS),
            ("UserPromptSubmit", "user_prompt_submit", SECONDS),
            ("PreToolUse", "pre_tool_use", SECONDS),
            ("PostToolUse", "post_tool_use", SECONDS),
            ("Stop", "stop", SECONDS),
            ("SessionEnd", "session_end", LAST_SECONDS),
        ];
        let trusted = events.map(|(name, event, timeout)| Trusted {
            hook: self.group(harness, name, None, timeout),
            event,
            line: self.line(harness, name),
            timeout,
        });
        let entries = trusted.iter().map(|trusted| SettingsFileEntry::Hook(trusted.hook.clone())).collect();
        let path = dir.join("hooks.json");
        let trust = Trust {
            hooks: path.clone(),
            source: codex_name(dir).join("hooks.json").to_string_lossy().into_owned(),
            events: trusted.to_vec(),
            server: self.server(),
        };
        vec![
            InstallTarget::new(path, settings(harness, Dialect::Strict, entries)),
            InstallTarget::new(dir.join("config.toml"), InstalledPart::Trust(trust)),
            InstallTarget::new(dir.join("rules/ravenry.rules"), InstalledPart::Own(self.codex_rules())),
        ]
    }

    fn codex_rules(&self) -> String {
        let paths: Vec<String> = self.program_paths().iter().map(|path| quoted(path)).collect();
        CODEX_RULES.replacen("@PATHS@", &format!("[{}]", paths.join(", ")), 1)
    }

    fn gemini(&self, path: PathBuf) -> InstallTarget {
        let harness = harness::GEMINI;
        let entries = [
            ("SessionStart", None),
            ("BeforeAgent", None),
            ("BeforeTool", Some(GEMINI_CHANGES)),
            ("AfterTool", None),
            ("AfterAgent", None),
            ("SessionEnd", None),
        ]
        .into_iter()
        // Gemini's timeouts are in milliseconds.
        .map(|(event, matcher)| SettingsFileEntry::Hook(self.group(harness, event, matcher, SECONDS * 1000)))
        .chain([SettingsFileEntry::Server(self.server())])
        .collect();
        InstallTarget::new(path, settings(harness, Dialect::Comments, entries))
    }

    fn copilot(&self, path: PathBuf) -> InstallTarget {
        let harness = harness::COPILOT;
        let is_own = path.ends_with("hooks/ravenry.json");
        let entries = [
            "sessionStart",
            "userPromptSubmitted",
            "permissionRequest",
            "preToolUse",
            "postToolUse",
            "postToolUseFailure",
            "agentStop",
            "sessionEnd",
        ];
        let hook = |event: &str| {
            Json::object([
                ("type", "command".into()),
                ("bash", self.line(harness, event).as_str().into()),
                ("timeoutSec", Json::Number(SECONDS)),
            ])
        };
        let mut list: Vec<SettingsFileEntry> = entries
            .into_iter()
            .map(|event| {
                let (list, value) = (hook_list(event), hook(event));
                SettingsFileEntry::Hook(Hook { list, within: None, field: "bash", waits: false, value })
            })
            .collect();
        if is_own {
            list.insert(
                0,
                SettingsFileEntry::Member { path: vec!["version".to_string()], value: Json::Number(1) },
            );
        }
        InstallTarget::new(path, settings(harness, Dialect::CommentsAndTrailingCommas, list))
    }

    fn plugin(&self, template: &str, path: PathBuf) -> InstallTarget {
        let program = match &self.program {
            MsgProgram::OnPath => "msg",
            MsgProgram::At(path) => path,
        };
        InstallTarget::new(path, InstalledPart::Own(template.replacen(PLACE_OF_PROGRAM, &quoted(program), 1)))
    }

    /// A hook in a group of its own: the format of Claude Code and of the harnesses that adopted it.
    fn group(&self, harness: Harness, event: &str, matcher: Option<&str>, timeout: u64) -> Hook {
        let mut handler = vec![("type", Json::from("command"))];
        if harness == harness::GEMINI {
            handler.push(("name", "ravenry".into()));
        }
        handler.push(("command", self.line(harness, event).as_str().into()));
        handler.push(("timeout", Json::Number(timeout)));
        let mut group = Vec::new();
        group.extend(matcher.map(|matcher| ("matcher", Json::from(matcher))));
        group.push(("hooks", Json::List(vec![Json::object(handler)])));
        let value = Json::object(group);
        Hook { list: hook_list(event), within: Some("hooks"), field: "command", waits: false, value }
    }

    /// The process that Claude Code keeps running beside an idle session. A version that doesn't know `asyncRewake`
    /// still knows `async`; its sessions are just not woken.
    fn waiter(&self, event: &str) -> Hook {
        let line = HookLine::new(&self.program, harness::CLAUDE, HookPurpose::WaitForMail).render();
        let handler = Json::object([
            ("type", Json::from("command")),
            ("command", line.as_str().into()),
            ("async", Json::Bool(true)),
            ("asyncRewake", Json::Bool(true)),
            ("timeout", Json::Number(WEEK)),
        ]);
        let value = Json::object([("hooks", Json::List(vec![handler]))]);
        Hook { list: hook_list(event), within: Some("hooks"), field: "command", waits: true, value }
    }

    fn line(&self, harness: Harness, event: &str) -> String {
        HookLine::telling(&self.program, harness, event).render()
    }
}

fn settings(harness: Harness, dialect: Dialect, entries: Vec<SettingsFileEntry>) -> InstalledPart {
    InstalledPart::Entries { harness, dialect, entries }
}

fn hook_list(event: &str) -> Vec<String> {
    vec!["hooks".to_string(), event.to_string()]
}

/// The directory of a harness's user settings.
pub(in crate::ops) fn config_dir(harness: Harness, home: &Home) -> PathBuf {
    let absolute = |path: &PathBuf| path.is_absolute();
    let told = |name: &str| variable(name).map(PathBuf::from).filter(absolute);
    let beneath = |name: &str| home.home.join(name);
    match harness {
        harness::CLAUDE => told("CLAUDE_CONFIG_DIR").unwrap_or_else(|| beneath(".claude")),
        harness::CODEX => told("CODEX_HOME").unwrap_or_else(|| beneath(".codex")),
        harness::GEMINI => told("GEMINI_CLI_HOME").unwrap_or_else(|| home.home.clone()).join(".gemini"),
        harness::OPENCODE => told("OPENCODE_CONFIG_DIR").unwrap_or_else(|| home.config.join("opencode")),
        harness::PI => {
            let told = variable("PI_CODING_AGENT_DIR").map(|dir| home.expand(&dir)).filter(absolute);
            told.unwrap_or_else(|| beneath(".pi/agent"))
        }
        harness::COPILOT => told("COPILOT_HOME").unwrap_or_else(|| beneath(".copilot")),
        _ => home.home.clone(),
    }
}

/// Claude Code's state file, which holds the user's MCP servers: in the home directory, or in `CLAUDE_CONFIG_DIR` if
/// that is set.
fn claude_state(dir: &Path, home: &Home) -> PathBuf {
    let parent = if variable("CLAUDE_CONFIG_DIR").is_some() { dir } else { &home.home };
    parent.join(".claude.json")
}

/// OpenCode's own settings files, in the order in which it reads them.
fn opencode_configs(dir: &Path) -> [PathBuf; 3] {
    ["config.json", "opencode.json", "opencode.jsonc"].map(|name| dir.join(name))
}

/// Codex's name for its directory: with links resolved if `CODEX_HOME` is set, otherwise as written.
fn codex_name(dir: &Path) -> PathBuf {
    if variable("CODEX_HOME").is_some() { files::destination(dir) } else { dir.to_path_buf() }
}
