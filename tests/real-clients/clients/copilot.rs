use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::{Client, Leave};
use crate::model::Call;
use crate::scene::Scene;

pub struct Copilot;

impl Client for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn program(&self, folder: &Path) -> PathBuf {
        folder.join("node_modules/.bin/copilot-linux-x64")
    }

    fn set_up(&self, scene: &Scene, _url: &str) {
        scene.write(".copilot/settings.json", "{\n  \"theme\": \"dark\"\n}\n");
    }

    fn start(&self, command: &mut Command, url: &str, prompt: &str, leave: Leave) {
        command.env("COPILOT_OFFLINE", "true").env("COPILOT_AUTO_UPDATE", "false");
        command
            .env("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1"))
            .env("COPILOT_PROVIDER_API_KEY", "dummy");
        command.env("COPILOT_MODEL", "fake-model").args(["-p", prompt, "--no-color"]);
        if leave == Leave::All {
            command.arg("--allow-all-tools");
        }
    }

    fn read(&self, path: &Path) -> Option<Call> {
        Some(Call::new("view", json!({ "path": path })))
    }

    fn edit(&self, path: &Path, old: &str, new: &str) -> Call {
        Call::new("edit", json!({ "path": path, "old_str": old, "new_str": new }))
    }

    fn asks_for_tools(&self) -> bool {
        true
    }

    fn tool(&self, name: &str, input: serde_json::Value) -> Option<Call> {
        Some(Call::new(&format!("ravenry-{name}"), input))
    }

    fn shell(&self, command: &str) -> Call {
        Call::new("bash", json!({ "command": command, "description": "run it" }))
    }
}
