use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::{Client, Conversation, Leave};
use crate::model::Call;
use crate::scene::Scene;

pub struct Claude;

impl Client for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    /// npm may not run the script with which the package would install the program elsewhere.
    fn program(&self, folder: &Path) -> PathBuf {
        folder.join("node_modules/@anthropic-ai/claude-code-linux-x64/claude")
    }

    fn set_up(&self, scene: &Scene, _url: &str) {
        scene.write(
            ".claude/settings.json",
            "{\n  \"theme\": \"dark\",\n  \"permissions\": {\"deny\": [\"WebFetch\"]}\n}\n",
        );
    }

    fn start(&self, command: &mut Command, url: &str, prompt: &str, leave: Leave) {
        be_alone(command, url);
        command.args(["-p", prompt, "--output-format", "stream-json", "--verbose"]);
        let mode = if leave == Leave::All { "bypassPermissions" } else { "default" };
        command.args(["--permission-mode", mode]);
    }

    fn worker_variables(&self) -> &'static [(&'static str, &'static str)] {
        &[("CLAUDE_CODE_MAX_RETRIES", "0")]
    }

    fn tells_cost(&self) -> bool {
        true
    }

    fn converse(&self, command: &mut Command, url: &str) -> Option<Conversation> {
        be_alone(command, url);
        command.args(["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]);
        command.args(["--permission-mode", "bypassPermissions"]);
        let line = |text: &str| json!({ "type": "user", "message": { "role": "user", "content": text } });
        Some(Conversation { line, end: "\"type\":\"result\"" })
    }

    fn read(&self, path: &Path) -> Option<Call> {
        Some(Call::new("Read", json!({ "file_path": path })))
    }

    /// Without a terminal it has this tool only if somebody is asked for permissions. A hook of its user answers first.
    fn decision(&self, command: &mut Command) -> Option<Call> {
        let option = |label: &str| json!({ "label": label, "description": "that many" });
        let question = json!({
            "question": "How many locks?", "header": "Locks", "multiSelect": false,
            "options": [option("One"), option("Two")],
        });
        let answered = json!({ "questions": [question], "answers": { "How many locks?": "One" } });
        let output = json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": answered,
        } });
        let answers = json!({ "type": "command", "command": format!("cat > /dev/null; echo '{output}'") });
        let hooks = json!({ "PreToolUse": [{ "matcher": "AskUserQuestion", "hooks": [answers] }] });
        command.args(["--permission-prompt-tool", "stdio"]);
        command.args(["--settings", &json!({ "hooks": hooks }).to_string()]);
        Some(Call::new("AskUserQuestion", json!({ "questions": [question] })))
    }

    fn edit(&self, path: &Path, old: &str, new: &str) -> Call {
        Call::new("Edit", json!({ "file_path": path, "old_string": old, "new_string": new }))
    }

    fn tool(&self, name: &str, input: serde_json::Value) -> Option<Call> {
        Some(Call::new(&format!("mcp__ravenry__{name}"), input))
    }

    fn state(&self) -> Option<&'static str> {
        Some(".claude.json")
    }

    fn shell(&self, command: &str) -> Call {
        Call::new("Bash", json!({ "command": command, "description": "run it" }))
    }
}

fn be_alone(command: &mut Command, url: &str) {
    command.env("ANTHROPIC_BASE_URL", url).env("ANTHROPIC_API_KEY", "sk-ant-dummy");
    for name in [
        "DISABLE_AUTOUPDATER",
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        // Without it, root cannot skip permissions.
        "IS_SANDBOX",
    ] {
        command.env(name, "1");
    }
}
