//! What is installed into OpenCode: our plugin, a permission where it would ask, and the MCP server.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::domain::text_edit::json::{Dialect, Json};
use crate::harness::install::server_entry::{NAME, ServerEntry, WORD};
use crate::harness::install::{
    InstallContext, InstallTarget, SettingsFileEntry, directory_from, member, settings,
};
use crate::sys::environment::Home;

use super::ID;
use super::permission::{self, Permission};

pub(super) const PLUGIN: &str = concat!(include_str!("ravenry.js"), "\n", include_str!("../shim/run.js"));

/// Members of the settings that we add to or create.
pub(super) fn members() -> Vec<Vec<String>> {
    permission::places().chain([member(&["mcp", NAME])]).collect()
}

pub(super) fn config_dir(home: &Home) -> PathBuf {
    directory_from("OPENCODE_CONFIG_DIR").unwrap_or_else(|| home.config.join("opencode"))
}

pub(super) fn user_targets(place: &InstallContext<'_>) -> Vec<InstallTarget> {
    let dir = config_dir(place.home);
    let plugin = dir.join("plugins/ravenry.js");
    let mut targets = vec![place.plugin(PLUGIN, plugin.clone())];
    // Without such a file OpenCode never asks, so no rule is needed.
    let configs: Vec<PathBuf> = configs(&dir).into_iter().filter(|path| path.is_file()).collect();
    let last = configs.last().cloned();
    targets.extend(configs.into_iter().map(|path| {
        let rule = Permission { plugin: plugin.clone() };
        let mut entries = vec![SettingsFileEntry::Permission(Rc::new(rule))];
        // OpenCode reads this file last, so it wins.
        if last.as_ref() == Some(&path) {
            entries.push(SettingsFileEntry::Server(server(place)));
        }
        InstallTarget::new(path, settings(ID, Dialect::CommentsAndTrailingCommas, entries))
    }));
    targets
}

pub(super) fn project_targets(place: &InstallContext<'_>, root: &Path) -> Vec<InstallTarget> {
    vec![place.plugin(PLUGIN, root.join(".opencode/plugins/ravenry.js"))]
}

/// If there are settings already, the server is written together with our other entries in that file.
pub(super) fn server_targets(place: &InstallContext<'_>) -> Vec<InstallTarget> {
    let dir = config_dir(place.home);
    if configs(&dir).iter().any(|path| path.is_file()) {
        return Vec::new();
    }
    let entries = vec![SettingsFileEntry::Server(server(place))];
    let part = settings(ID, Dialect::CommentsAndTrailingCommas, entries);
    vec![InstallTarget::new(dir.join("opencode.json"), part)]
}

fn server(place: &InstallContext<'_>) -> ServerEntry {
    let command = Json::List(vec![place.program.command().into(), WORD.into()]);
    let members = vec![("type", "local".into()), ("command", command), ("enabled", Json::Bool(true))];
    place.server("mcp", members)
}

/// OpenCode's own settings files, in the order in which it reads them.
fn configs(dir: &Path) -> [PathBuf; 3] {
    ["config.json", "opencode.json", "opencode.jsonc"].map(|name| dir.join(name))
}
