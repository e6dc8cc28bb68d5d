use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::{Client, Leave};
use crate::model::Call;
use crate::scene::Scene;

pub struct Opencode;

impl Client for Opencode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn program(&self, folder: &Path) -> PathBuf {
        folder.join("node_modules/opencode-linux-x64/bin/opencode")
    }

    fn set_up(&self, scene: &Scene, url: &str) {
        let models = json!({
            "fake-model": { "name": "Fake", "tool_call": true, "limit": { "context": 200_000, "output": 8_000 } },
            "fake-small": { "name": "Small" },
        });
        let provider = json!({
            "npm": "@ai-sdk/openai-compatible", "name": "Fake", "models": models,
            "options": { "baseURL": format!("{url}/v1"), "apiKey": "dummy" },
        });
        let config = json!({
            "model": "fake/fake-model", "small_model": "fake/fake-small", "autoupdate": false, "share": "disabled",
            "provider": { "fake": provider },
        });
        scene.write(".config/opencode/opencode.json", &format!("{config:#}\n"));
    }

    fn start(&self, command: &mut Command, _url: &str, prompt: &str, leave: Leave) {
        be_alone(command);
        command.args(["run", "--format", "json"]);
        if leave == Leave::All {
            command.arg("--auto");
        }
        command.arg(prompt);
    }

    fn set_up_worker(&self, scene: &Scene, _url: &str) {
        change(scene, |config| {
            config["provider"]["fake"]["models"]["fake-model"]["cost"] = json!({ "input": 3, "output": 15 });
        });
    }

    fn ask_before_commands(&self, scene: &Scene) {
        change(scene, |config| config["permission"] = json!({ "bash": "ask" }));
    }

    fn tells_cost(&self) -> bool {
        true
    }

    fn waits_at_limits(&self) -> bool {
        true
    }

    fn serve(&self, command: &mut Command) -> bool {
        be_alone(command);
        command.args(["serve", "--hostname", "127.0.0.1", "--port", "0"]);
        true
    }

    fn read(&self, path: &Path) -> Option<Call> {
        Some(Call::new("read", json!({ "filePath": path })))
    }

    fn edit(&self, path: &Path, old: &str, new: &str) -> Call {
        Call::new("edit", json!({ "filePath": path, "oldString": old, "newString": new }))
    }

    fn tool(&self, name: &str, input: serde_json::Value) -> Option<Call> {
        Some(Call::new(&format!("ravenry_{name}"), input))
    }

    fn shell(&self, command: &str) -> Call {
        Call::new("bash", json!({ "command": command, "description": "run it" }))
    }
}

fn change(scene: &Scene, change: impl FnOnce(&mut serde_json::Value)) {
    let file = ".config/opencode/opencode.json";
    let config = std::fs::read_to_string(scene.home().join(file)).expect("it was set up");
    let mut config = serde_json::from_str(&config).expect("JSON");
    change(&mut config);
    scene.write(file, &format!("{config:#}\n"));
}

fn be_alone(command: &mut Command) {
    for name in ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE"] {
        command.env(format!("OPENCODE_DISABLE_{name}"), "1");
    }
    // It tries to install something for plugins at each start, and works without it after the attempt.
    command.env("npm_config_registry", "http://127.0.0.1:9").env("npm_config_fetch_retries", "0");
}
