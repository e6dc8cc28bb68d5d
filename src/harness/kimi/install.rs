//! What is installed into Kimi Code: hooks and the MCP server. It has no rule that could allow `msg`.

use std::path::PathBuf;
use std::rc::Rc;

use crate::domain::text_edit::json::Dialect;
use crate::harness::HookLine;
use crate::harness::install::{
    HOOK_SECONDS, InstallContext, InstallTarget, InstalledPart, SettingsFileEntry, directory_from, settings,
};
use crate::sys::environment::Home;

use super::ID;
use super::hook_tables::HookTables;

const EVENTS: [&str; 9] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "SessionEnd",
];

pub(super) fn config_dir(home: &Home) -> PathBuf {
    directory_from("KIMI_CODE_HOME").unwrap_or_else(|| home.home.join(".kimi-code"))
}

pub(super) fn user_targets(place: &InstallContext<'_>) -> Vec<InstallTarget> {
    let lines = EVENTS.map(|event| HookLine::telling(&place.program, ID, event)).to_vec();
    let part = InstalledPart::Custom(Rc::new(HookTables { lines, timeout: HOOK_SECONDS }));
    vec![InstallTarget::new(config_dir(place.home).join("config.toml"), part)]
}

pub(super) fn server_targets(place: &InstallContext<'_>) -> Vec<InstallTarget> {
    let entry = SettingsFileEntry::Server(place.server("mcpServers", place.server_call().to_vec()));
    let path = config_dir(place.home).join("mcp.json");
    vec![InstallTarget::new(path, settings(ID, Dialect::Strict, vec![entry]))]
}
