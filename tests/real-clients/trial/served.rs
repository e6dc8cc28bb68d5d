//! A client in server mode does not end with its session, so it continues in another way.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::http;
use crate::model::{Request, Step};
use crate::report::{self, Report};

use super::run::{Run, arrived, ensure};
use super::{MAIL_TURNS, Trial};

/// How long nothing must happen.
const QUIET: Duration = Duration::from_secs(2);

impl Trial<'_> {
    pub(super) fn served(&self, report: &mut Report) {
        let mut command = self.scene.command(&self.program);
        if !self.client.serve(&mut command) {
            return;
        }
        let lane = self.client.name();
        let earlier = self.server.requests(lane).len();
        let letters: Vec<String> = (0..=MAIL_TURNS).map(|n| format!("letter-{n}-to-the-server")).collect();
        let steps: Vec<Step> = letters.iter().map(|text| self.done_and_sent(text.clone())).collect();
        self.server.play(lane, steps);
        let turns = || -> Vec<Request> { self.turns_since(earlier) };
        let mut session = None;
        let mut quiet_since = None;
        let ended = self.scene.run_while(&mut command, |said| {
            let Some(address) = address(said) else { return true };
            let id = session.get_or_insert_with(|| {
                let id = begin(address);
                let prompt = r#"{"parts":[{"type":"text","text":"please start"}]}"#;
                http::post(address, &format!("/session/{id}/prompt_async"), prompt);
                id
            });
            // It has stopped for good if it stays idle although a message waits.
            let is_busy = http::get(address, "/session/status").contains(id.as_str());
            match turns().len() > MAIL_TURNS && !is_busy {
                false => quiet_since = None,
                true => quiet_since = quiet_since.or(Some(Instant::now())),
            }
            quiet_since.is_none_or(|since| since.elapsed() < QUIET)
        });
        let run = Run { ended, turns: turns() };
        let is_ours = |turn: &Request| turn.conversation().iter().any(|said| said.starts_with("[msg] "));
        let result = arrived(&run, 1, &letters[0])
            .and_then(|()| arrived(&run, MAIL_TURNS, &letters[MAIL_TURNS - 1]))
            .and_then(|()| {
                ensure(run.turns.len() == 1 + MAIL_TURNS, || format!("it took {} turns", run.turns.len()))
            })
            .and_then(|()| {
                ensure(is_ours(&run.turns[1]), || "it was not our sentence that made it go on".to_string())
            })
            .and_then(|()| {
                ensure(self.scene.names().is_empty(), || format!("still there: {:?}", self.scene.names()))
            });
        report.check(lane, report::IN_SERVER, result, &|| run.to_string());
    }

    /// The model is done, and a message arrives meanwhile.
    fn done_and_sent(&self, text: String) -> Step {
        let scene = Arc::clone(&self.scene);
        Step::say("I am done.").meanwhile(move |_| {
            if let Some(name) = scene.names().first() {
                scene.msg(&["send", name, &text, "--as", "Alice"]);
            }
        })
    }
}

/// The address that it prints when it listens.
pub fn address(said: &str) -> Option<&str> {
    said.split("http://").nth(1)?.split_whitespace().next()
}

/// Starts a session; returns its id.
pub fn begin(address: &str) -> String {
    let made = http::post(address, "/session", "{}");
    made.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default().to_string()
}
