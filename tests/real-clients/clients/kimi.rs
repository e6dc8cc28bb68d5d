use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{Client, Leave};
use crate::model::Call;
use crate::scene::Scene;

pub struct Kimi;

impl Client for Kimi {
    fn name(&self) -> &'static str {
        "kimi"
    }

    fn wants_node(&self) -> bool {
        true
    }

    fn set_up(&self, scene: &Scene, url: &str) {
        let config = format!(
            "# set up by hand\ndefault_model = \"fake/fake-model\"\ntelemetry = false\n\n\
             [providers.fake]\ntype = \"openai\" # none\nbase_url = \"{url}/v1\"\napi_key = \"dummy\"\n\n\
             [models.\"fake/fake-model\"]\nprovider = \"fake\"\nmodel = \"fake-model\"\n\
             max_context_size = 262144\n\n[[hooks]]\nevent = \"Stop\"\ncommand = \"true\"\n"
        );
        scene.write(".kimi-code/config.toml", &config);
        scene.write(".kimi-code/tui.toml", "[upgrade]\nauto_install = false\n");
    }

    fn start(&self, command: &mut Command, _url: &str, prompt: &str, _leave: Leave) {
        command.env("KIMI_DISABLE_TELEMETRY", "1").env("KIMI_CODE_NO_AUTO_UPDATE", "1");
        command.args(["-p", prompt, "--output-format", "stream-json"]);
    }

    fn look(&self, path: &Path) -> Call {
        Call::new("Read", json!({ "path": path }))
    }

    fn edit(&self, path: &Path, old: &str, new: &str) -> Call {
        Call::new("Edit", json!({ "path": path, "old_string": old, "new_string": new }))
    }

    fn shell(&self, command: &str) -> Call {
        Call::new("Bash", json!({ "command": command }))
    }

    fn tool(&self, name: &str, input: serde_json::Value) -> Option<Call> {
        Some(Call::new(&format!("mcp__ravenry__{name}"), input))
    }

    fn tells_session(&self) -> bool {
        false
    }

    fn tells_its_end(&self) -> bool {
        false
    }

    fn hears_after_tools(&self) -> bool {
        false
    }

    fn goes_on(&self) -> usize {
        1
    }

    fn untried_permission(&self) -> Option<&'static str> {
        Some("without a terminal it never asks; in a terminal it has no rule or hook that could allow `msg`")
    }
}
