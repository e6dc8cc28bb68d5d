use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{Client, Leave};
use crate::model::Call;
use crate::scene::Scene;

pub struct Gemini;

impl Client for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn set_up(&self, scene: &Scene, _url: &str) {
        let settings = r#"{
  // set up by hand
  "security": { "auth": { "selectedType": "gemini-api-key" } },
  "privacy": { "usageStatisticsEnabled": false },
  "telemetry": { "enabled": false },
  "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false }
}
"#;
        scene.write(".gemini/settings.json", settings);
    }

    fn start(&self, command: &mut Command, url: &str, prompt: &str, leave: Leave) {
        command.env("GEMINI_API_KEY", "dummy").env("GOOGLE_GEMINI_BASE_URL", url);
        let mode = if leave == Leave::All { "yolo" } else { "default" };
        command.args([
            "-p",
            prompt,
            "-m",
            "gemini-2.5-pro",
            "--skip-trust",
            "-o",
            "stream-json",
            "--approval-mode",
            mode,
        ]);
    }

    fn set_up_worker(&self, scene: &Scene, _url: &str) {
        let file = ".gemini/settings.json";
        let settings = std::fs::read_to_string(scene.home().join(file)).expect("it was set up");
        scene.write(
            file,
            &settings.replace("\"enableAutoUpdate\"", "\"maxAttempts\": 1, \"enableAutoUpdate\""),
        );
    }

    fn worker_model(&self) -> Option<&'static str> {
        Some("gemini-2.5-pro")
    }

    fn resume(&self, command: &mut Command, url: &str, prompt: &str, leave: Leave) {
        self.start(command, url, prompt, leave);
        command.args(["--resume", "latest"]);
    }

    fn keeps_hook_text(&self) -> bool {
        false
    }

    fn tells_session(&self) -> bool {
        false
    }

    fn look(&self, path: &Path) -> Call {
        Call::new("read_file", json!({ "file_path": path }))
    }

    fn edit(&self, path: &Path, old: &str, new: &str) -> Call {
        let input = json!({
            "file_path": path, "old_string": old, "new_string": new, "instruction": "rename it", "allow_multiple": false,
        });
        Call::new("replace", input)
    }

    fn tool(&self, name: &str, input: serde_json::Value) -> Option<Call> {
        Some(Call::new(&format!("mcp_ravenry_{name}"), input))
    }

    fn shell(&self, command: &str) -> Call {
        Call::new("run_shell_command", json!({ "command": command, "description": "run it" }))
    }
}
