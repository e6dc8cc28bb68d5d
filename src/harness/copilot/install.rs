//! What is installed into Copilot CLI: hooks and the MCP server.

use std::path::{Path, PathBuf};

use crate::domain::text_edit::json::{Dialect, Json};
use crate::harness::install::{
    HOOK_SECONDS, Hook, HookRole, InstallContext, InstallTarget, SettingsFileEntry, directory_from,
    hook_list, settings,
};
use crate::sys::environment::Home;

use super::ID;

const EVENTS: [&str; 8] = [
    "sessionStart",
    "userPromptSubmitted",
    "permissionRequest",
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "agentStop",
    "sessionEnd",
];

pub(super) fn config_dir(home: &Home) -> PathBuf {
    directory_from("COPILOT_HOME").unwrap_or_else(|| home.home.join(".copilot"))
}

pub(super) fn user_targets(place: &InstallContext<'_>) -> Vec<InstallTarget> {
    let path = config_dir(place.home).join("settings.json");
    vec![InstallTarget::new(path, settings(ID, Dialect::CommentsAndTrailingCommas, hooks(place)))]
}

/// The file is ours alone, and needs the version of its format.
pub(super) fn project_targets(place: &InstallContext<'_>, root: &Path) -> Vec<InstallTarget> {
    let version = SettingsFileEntry::Member { path: vec!["version".to_string()], value: Json::Number(1) };
    let entries = [version].into_iter().chain(hooks(place)).collect();
    let part = settings(ID, Dialect::CommentsAndTrailingCommas, entries);
    vec![InstallTarget::new(root.join(".github/hooks/ravenry.json"), part)]
}

pub(super) fn server_targets(place: &InstallContext<'_>) -> Vec<InstallTarget> {
    let tools = ("tools", Json::List(vec!["*".into()]));
    let members =
        [("type", Json::from("local"))].into_iter().chain(place.server_call()).chain([tools]).collect();
    let entry = SettingsFileEntry::Server(place.server("mcpServers", members));
    let path = config_dir(place.home).join("mcp-config.json");
    vec![InstallTarget::new(path, settings(ID, Dialect::Strict, vec![entry]))]
}

fn hooks(place: &InstallContext<'_>) -> Vec<SettingsFileEntry> {
    let value = |event: &str| {
        Json::object([
            ("type", "command".into()),
            ("bash", place.line(ID, event).as_str().into()),
            ("timeoutSec", Json::Number(HOOK_SECONDS)),
        ])
    };
    let hook = |event| Hook {
        list: hook_list(event),
        within: None,
        field: "bash",
        role: HookRole::Reporter,
        value: value(event),
    };
    EVENTS.into_iter().map(|event| SettingsFileEntry::Hook(hook(event))).collect()
}
