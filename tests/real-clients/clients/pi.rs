use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{Client, Conversation, Leave};
use crate::model::Call;
use crate::scene::Scene;

pub struct Pi;

impl Client for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn wants_node(&self) -> bool {
        true
    }

    fn set_up(&self, scene: &Scene, url: &str) {
        let provider = json!({
            "baseUrl": format!("{url}/v1"), "api": "openai-completions", "apiKey": "dummy", "models": [{ "id": "fake-model" }],
        });
        scene.write(".pi/agent/models.json", &json!({ "providers": { "fake": provider } }).to_string());
        scene.write(".pi/agent/extensions/other.ts", "export default function (pi) {}\n");
    }

    fn start(&self, command: &mut Command, _url: &str, prompt: &str, _leave: Leave) {
        be_alone(command);
        command.args(["--mode", "json", "-p", "--model", "fake/fake-model", prompt]);
    }

    fn set_up_worker(&self, scene: &Scene, _url: &str) {
        scene.write(".pi/agent/settings.json", &json!({ "retry": { "enabled": false } }).to_string());
        let file = ".pi/agent/models.json";
        let models = std::fs::read_to_string(scene.home().join(file)).expect("it was set up");
        let mut models: serde_json::Value = serde_json::from_str(&models).expect("JSON");
        models["providers"]["fake"]["models"][0]["cost"] =
            json!({ "input": 3, "output": 15, "cacheRead": 0, "cacheWrite": 0 });
        scene.write(file, &models.to_string());
    }

    fn tells_cost(&self) -> bool {
        true
    }

    fn worker_model(&self) -> Option<&'static str> {
        Some("fake/fake-model")
    }

    fn converse(&self, command: &mut Command, _url: &str) -> Option<Conversation> {
        be_alone(command);
        command.args(["--mode", "rpc", "--model", "fake/fake-model"]);
        let line = |text: &str| json!({ "type": "prompt", "message": text });
        Some(Conversation { line, end: "\"type\":\"agent_settled\"" })
    }

    fn look(&self, path: &Path) -> Call {
        Call::new("read", json!({ "path": path }))
    }

    fn edit(&self, path: &Path, old: &str, new: &str) -> Call {
        Call::new("edit", json!({ "path": path, "edits": [{ "oldText": old, "newText": new }] }))
    }

    fn shell(&self, command: &str) -> Call {
        Call::new("bash", json!({ "command": command }))
    }

    fn untried_permission(&self) -> Option<&'static str> {
        Some("it never asks")
    }
}

fn be_alone(command: &mut Command) {
    command.env("PI_OFFLINE", "1").env("PI_TELEMETRY", "0").env("PI_SKIP_VERSION_CHECK", "1");
}
