//! What is installed into Gemini CLI: hooks, a policy and the MCP server.

use std::path::PathBuf;

use crate::domain::text_edit::json::{Dialect, Json, quoted};
use crate::domain::{ASKED_COMMANDS, ASKED_FLAG, ASKED_TOOL, UNASKED_COMMANDS};
use crate::harness::install::{
    HOOK_SECONDS, HookGroup, InstallContext, InstallTarget, InstalledPart, SettingsFileEntry, directory_from,
    settings,
};
use crate::sys::environment::Home;

use super::ID;

const CHANGES: &str = "^(?:replace|write_file|run_shell_command)$";
/// A server that is trusted allows its tools with a priority of 200, so what is asked about needs a higher one.
const POLICY: &str = "\
# Lets the agent run `msg` without asking. Put here by `msg install gemini`, taken away by `msg uninstall gemini`.

[[rule]]
toolName = \"run_shell_command\"
commandPrefix = @UNASKED@
decision = \"allow\"
priority = 100

[[rule]]
toolName = \"run_shell_command\"
commandPrefix = @ASKED@
decision = \"ask_user\"
priority = 900

[[rule]]
toolName = \"run_shell_command\"
commandRegex = \"@FLAG@\"
decision = \"ask_user\"
priority = 900

[[rule]]
mcpName = \"ravenry\"
toolName = \"@TOOL@\"
decision = \"ask_user\"
priority = 900
";

pub(super) fn config_dir(home: &Home) -> PathBuf {
    directory_from("GEMINI_CLI_HOME").unwrap_or_else(|| home.home.clone()).join(".gemini")
}

pub(super) fn user_targets(place: &InstallContext<'_>) -> Vec<InstallTarget> {
    let dir = config_dir(place.home);
    vec![
        InstallTarget::new(dir.join("settings.json"), settings(ID, Dialect::Comments, entries(place))),
        InstallTarget::new(dir.join("policies/ravenry.toml"), InstalledPart::Own(policy())),
    ]
}

fn policy() -> String {
    let list = |commands: &[&str]| {
        let lines: Vec<String> =
            commands.iter().map(|command| format!("    {},\n", quoted(&format!("msg {command}")))).collect();
        format!("[\n{}]", lines.concat())
    };
    let (command, flag) = ASKED_FLAG;
    POLICY
        .replacen("@UNASKED@", &list(UNASKED_COMMANDS), 1)
        .replacen("@ASKED@", &list(ASKED_COMMANDS), 1)
        .replacen("@FLAG@", &format!("msg {command} .*{flag}"), 1)
        .replacen("@TOOL@", ASKED_TOOL, 1)
}

fn entries(place: &InstallContext<'_>) -> Vec<SettingsFileEntry> {
    // Timeouts are in milliseconds.
    let group = |matcher| HookGroup { matcher, name: Some("ravenry"), timeout: HOOK_SECONDS * 1000 };
    // The server's tools may run without asking, like the command.
    let members = place.server_call().into_iter().chain([("trust", Json::Bool(true))]).collect();
    [
        ("SessionStart", None),
        ("BeforeAgent", None),
        ("BeforeTool", Some(CHANGES)),
        ("AfterTool", None),
        ("AfterAgent", None),
        ("SessionEnd", None),
    ]
    .into_iter()
    .map(|(event, matcher)| SettingsFileEntry::Hook(place.group(ID, event, group(matcher))))
    .chain([SettingsFileEntry::Server(place.server("mcpServers", members))])
    .collect()
}
