//! Tools instead of a shell: the client's own MCP tool, and messages from another client's tool.

use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::clients::Leave;
use crate::inspector;
use crate::model::Step;
use crate::report::{self, Report};
use crate::scene::Scene;

use super::run::{Checked, Run, ensure};
use super::{Peer, Trial};

/// The lane of the other client's model.
const PEER: &str = "peer";

impl Trial<'_> {
    /// It sends with its tool, as the agent that its hooks know; its hook hands over what another client's tool sends.
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
            let (peer, url) = (self.peer.clone(), self.server.url(PEER));
            move |_: &crate::model::Request| {
                *names.lock().unwrap() = scene.names();
                *sent.lock().unwrap() = peer.map_or(Ok(()), |peer| peer.send(&scene, &url, answer));
            }
        };
        self.let_peer_in(answer);
        let steps = vec![
            Step::call(call),
            Step::call(self.client.shell("echo hello")).meanwhile(meanwhile),
            Step::say("I am done."),
        ];
        let leave = if self.client.asks_for_tools() { Leave::All } else { Leave::Settings };
        let run = self.run(leave, steps);
        let names = names.lock().unwrap().clone();
        let sent = sent.lock().unwrap().clone();
        let result = self.sent_by_tool(&run, &letter, &names).and_then(|()| match self.peer {
            Some(_) => sent.and_then(|()| reached(&run, answer)),
            None => Ok(()),
        });
        report.check(name, report::TOOLS, result, &|| run.to_string());
    }

    /// Sets up the other client, and the script of its model.
    fn let_peer_in(&self, text: &str) {
        let Some(Peer::Client { client, .. }) = &self.peer else { return };
        client.set_up(&self.scene, &self.server.url(PEER));
        let installed = self.scene.run(self.scene.command("msg").args(["install", client.name()]));
        assert_eq!(installed.code, Some(0), "{installed:?}");
        let call = client.tool("message", json!({ "action": "broadcast", "text": text }));
        self.server
            .play(PEER, vec![Step::call(call.expect("one that has MCP")), Step::say("I have told them.")]);
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

impl Peer {
    /// Sends a broadcast with its tool.
    fn send(&self, scene: &Scene, url: &str, text: &str) -> Checked {
        match self {
            Self::Inspector(program) => {
                let arguments = ["action=broadcast", &format!("text={text}")];
                inspector::call(program, scene, "message", &arguments).map(drop)
            }
            Self::Client { client, program } => {
                let mut command = scene.command(program);
                client.start(&mut command, url, "please tell them", Leave::All);
                let ended = scene.run(&mut command);
                ensure(ended.code == Some(0), || format!("{}: {ended:?}", client.name()))
            }
        }
    }
}

/// The text reached the model once, as a peer's words.
fn reached(run: &Run, text: &str) -> Checked {
    let turn = run.turns.last().ok_or("there was no turn")?;
    let found = turn.body.to_string().matches(text).count();
    // Qwen Code escapes it as in HTML.
    let quoted = turn.conversation().join("\n").replace("&gt;", ">").contains(&format!("> {text}"));
    ensure(found == 1 && quoted, || format!("the answer stands there {found} times, quoted: {quoted}"))
}
