use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{Client, Conversation, Leave};
use crate::model::Call;
use crate::scene::Scene;

pub struct Qwen;

impl Client for Qwen {
    fn name(&self) -> &'static str {
        "qwen"
    }

    fn wants_node(&self) -> bool {
        true
    }

    fn set_up(&self, scene: &Scene, _url: &str) {
        // Without the version it rewrites the file; side requests for memory and suggestions offer tools.
        let settings = r#"{
  // set up by hand
  "$version": 4,
  "security": { "auth": { "selectedType": "openai" } },
  "memory": { "enableManagedAutoMemory": false, "enableManagedAutoDream": false, "enableAutoSkill": false },
  "ui": { "enableFollowupSuggestions": false },
  "privacy": { "usageStatisticsEnabled": false },
  "telemetry": { "enabled": false },
  "general": { "enableAutoUpdate": false }
}
"#;
        scene.write(".qwen/settings.json", settings);
    }

    fn start(&self, command: &mut Command, url: &str, prompt: &str, leave: Leave) {
        be_alone(command, url);
        let mode = if leave == Leave::All { "yolo" } else { "default" };
        command.args(["-p", prompt, "--approval-mode", mode, "-o", "stream-json"]);
    }

    fn converse(&self, command: &mut Command, url: &str) -> Option<Conversation> {
        be_alone(command, url);
        command.args(["--input-format", "stream-json", "-o", "stream-json", "--approval-mode", "yolo"]);
        let line = |text: &str| json!({ "type": "user", "message": { "role": "user", "content": text } });
        Some(Conversation { line, end: "\"type\":\"result\"" })
    }

    fn read(&self, path: &Path) -> Option<Call> {
        Some(Call::new("read_file", json!({ "file_path": path })))
    }

    fn edit(&self, path: &Path, old: &str, new: &str) -> Call {
        Call::new("edit", json!({ "file_path": path, "old_string": old, "new_string": new }))
    }

    fn shell(&self, command: &str) -> Call {
        let input = json!({ "command": command, "description": "run it", "is_background": false });
        Call::new("run_shell_command", input)
    }

    /// Without a terminal it does not read what a command wrote right before its end.
    fn patient(&self, command: &str) -> String {
        format!("{command}; timeout 0.3 tail -f /dev/null; true")
    }

    fn tool(&self, name: &str, input: serde_json::Value) -> Option<Call> {
        Some(Call::new(&format!("mcp__ravenry__{name}"), input))
    }

    /// Without a terminal it refuses its whole shell tool, unless a rule allows it.
    fn asks_for_tools(&self) -> bool {
        true
    }

    fn tells_its_end(&self) -> bool {
        false
    }

    fn untried_permission(&self) -> Option<&'static str> {
        Some("without a terminal it calls no hook that could allow `msg`; in a terminal this is tried below")
    }
}

fn be_alone(command: &mut Command, url: &str) {
    command.env("OPENAI_API_KEY", "dummy").env("OPENAI_BASE_URL", format!("{url}/v1"));
    command.env("OPENAI_MODEL", "fake-model");
}
