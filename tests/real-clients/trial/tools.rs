//! Tools instead of a shell: the client's own MCP tool, and what another client's sends.

use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::clients::Leave;
use crate::inspector;
use crate::model::Step;
use crate::report::{self, Report};

use super::Trial;
use super::run::{Checked, Run, ensure};

impl Trial<'_> {
    /// It sends by its tool, as the agent that its hooks know; what another client's tool sends reaches it by its hook.
    pub(super) fn tools(&self, report: &mut Report) {
        let name = self.client.name();
        let letter = format!("by the tool of {name}");
        let input = json!({ "to": ["Alice"], "text": letter });
        let Some(call) = self.client.tool("message", input) else {
            report.skip(report::TOOLS, "it has no MCP");
            return;
        };
        let answer = "answer-by-another-tool";
        let sent = Arc::new(Mutex::new(Err("it was not there".to_string())));
        let names = Arc::new(Mutex::new(Vec::new()));
        let meanwhile = {
            let (scene, sent, names) = (Arc::clone(&self.scene), Arc::clone(&sent), Arc::clone(&names));
            let inspector = self.inspector.clone();
            move |_: &crate::model::Request| {
                let there = scene.names();
                if let (Some(to), Some(inspector)) = (there.first(), inspector) {
                    let (to, text) = (format!("to=[\"{to}\"]"), format!("text={answer}"));
                    let called = inspector::call(&inspector, &scene, "message", &[&to, &text]);
                    *sent.lock().unwrap() = called.map(drop);
                }
                *names.lock().unwrap() = there;
            }
        };
        let steps = vec![
            Step::call(call),
            Step::call(self.client.shell("echo hello")).meanwhile(meanwhile),
            Step::say("I am done."),
        ];
        let leave = if self.client.asks_for_tools() { Leave::All } else { Leave::Settings };
        let run = self.run(leave, steps);
        let names = names.lock().unwrap().clone();
        let sent = sent.lock().unwrap().clone();
        let result = self.sent_by_tool(&run, &letter, &names).and_then(|()| match self.inspector {
            Some(_) => sent.and_then(|()| reached(&run, answer)),
            None => Ok(()),
        });
        report.check(name, report::TOOLS, result, &|| run.to_string());
    }

    fn sent_by_tool(&self, run: &Run, letter: &str, names: &[String]) -> Checked {
        let read = self.scene.msg(&["read", "--as", "Alice"]);
        let messages = read["messages"].as_array().cloned().unwrap_or_default();
        let message = messages.iter().find(|message| message["text"] == *letter);
        let from = message.ok_or_else(|| format!("Alice got {read}"))?["from"].clone();
        ensure(names.len() == 1 && from == *names[0], || format!("{from} wrote, and there were {names:?}"))?;
        let told = run.turns.get(1).is_some_and(|turn| turn.body.to_string().contains("sent to Alice as "));
        ensure(told, || "the model was not told that it was sent".to_string())
    }
}

/// As a peer's words, once.
fn reached(run: &Run, text: &str) -> Checked {
    let turn = run.turns.last().ok_or("there was no turn")?;
    let found = turn.body.to_string().matches(text).count();
    let quoted = turn.conversation().join("\n").contains(&format!("> {text}"));
    ensure(found == 1 && quoted, || format!("the answer stands there {found} times, quoted: {quoted}"))
}
