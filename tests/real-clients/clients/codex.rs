use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{Client, Leave};
use crate::model::Call;
use crate::scene::Scene;

pub struct Codex;

impl Client for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn set_up(&self, scene: &Scene, url: &str) {
        // A model from its catalogue; with others it offers no `apply_patch`.
        let config = format!(
            "# set up by hand\nmodel = \"gpt-5.5\"\nmodel_provider = \"fake\"\ncheck_for_update_on_startup = false\n\n\
             [analytics]\nenabled = false\n\n[features]\napps = false\n\n\
             [model_providers.fake]\nname = \"fake\" # none\nbase_url = \"{url}/v1\"\nwire_api = \"responses\"\n\
             env_key = \"FAKE_KEY\"\n"
        );
        scene.write(".codex/config.toml", &config);
    }

    fn start(&self, command: &mut Command, _url: &str, prompt: &str, leave: Leave) {
        command.env("FAKE_KEY", "dummy").args(["exec", "--json"]);
        if leave == Leave::All {
            command.arg("--dangerously-bypass-approvals-and-sandbox");
        }
        command.arg(prompt);
    }

    fn set_up_worker(&self, scene: &Scene, _url: &str) {
        let file = ".codex/config.toml";
        let config = std::fs::read_to_string(scene.home().join(file)).expect("it was set up");
        // The last table is that of the provider.
        scene.write(file, &format!("{config}request_max_retries = 0\nstream_max_retries = 0\n"));
    }

    fn resume(&self, command: &mut Command, url: &str, prompt: &str, leave: Leave) {
        self.start(command, url, "resume", leave);
        command.args(["--last", prompt]);
    }

    fn edit(&self, path: &Path, old: &str, new: &str) -> Call {
        let lines = |sign: char, text: &str| -> String {
            text.lines().map(|line| format!("{sign}{line}\n")).collect()
        };
        let patch = format!(
            "*** Begin Patch\n*** Update File: {}\n@@\n{}{}*** End Patch\n",
            path.display(),
            lines('-', old),
            lines('+', new)
        );
        Call::new("apply_patch", json!(patch))
    }

    fn tool(&self, name: &str, input: serde_json::Value) -> Option<Call> {
        Some(Call::new(&format!("mcp__ravenry/{name}"), input))
    }

    fn shell(&self, command: &str) -> Call {
        Call::new("exec_command", json!({ "cmd": command }))
    }

    fn tells_failures(&self) -> bool {
        false
    }
}
