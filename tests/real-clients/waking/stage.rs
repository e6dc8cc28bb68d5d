//! A client in a terminal, with its user who types, its scripted model, and a peer that sends.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::model::{Request, Step};
use crate::processes::{self, Process};
use crate::scene::Scene;
use crate::trial::Trial;
pub use crate::wait::until;

use super::seat::Seat;
use super::terminal::Terminal;

/// `Err` says what is wrong.
pub type Checked<T = ()> = Result<T, String>;

/// What has not happened by then does not happen.
const PATIENCE: Duration = Duration::from_secs(30);
/// A client needs longer to start.
const PATIENCE_AT_START: Duration = Duration::from_secs(90);
/// How long nothing must happen: longer than a waiter's tick and than it takes to wake.
const QUIET: Duration = Duration::from_millis(1500);
/// Length of the script, longer than any check needs.
const STEPS: usize = 400;

pub struct Stage<'a> {
    pub trial: &'a Trial<'a>,
    pub seat: Seat,
    terminal: Terminal,
    lane: String,
    turns: Arc<Mutex<Vec<Turn>>>,
    prompts: Cell<usize>,
}

/// A request of the client to the model that is a turn or a part of one.
#[derive(Clone)]
pub struct Turn {
    pub at: Instant,
    pub request: Request,
}

/// Why a client did not become idle.
pub struct Failure {
    pub wrong: String,
    pub evidence: String,
}

impl From<String> for Failure {
    fn from(wrong: String) -> Self {
        Self { wrong, evidence: String::new() }
    }
}

/// A message that was sent.
pub struct Sent {
    pub at: Instant,
    pub text: String,
    pub id: String,
    /// How it arrives, as the sender was told.
    pub wake: String,
}

pub fn ensure(is_so: bool, else_say: impl FnOnce() -> String) -> Checked {
    if is_so { Ok(()) } else { Err(else_say()) }
}

impl<'a> Stage<'a> {
    /// Starts the client. `session` is the one to resume.
    pub fn open(trial: &'a Trial<'a>, seat: Seat, session: Option<&str>) -> Result<Self, Failure> {
        let lane = super::lane(trial.client);
        let prompt = if session.is_some() { "please go on" } else { "please begin" };
        let command = seat.start(trial.client, &trial.program, &trial.server.url(&lane), (prompt, session));
        let name = if session.is_some() { "2" } else { "1" };
        let turns = Arc::default();
        play(trial, &lane, &turns, Vec::new());
        let terminal = Terminal::open(&trial.scene, name, &command);
        let stage = Self { trial, seat, terminal, lane, turns, prompts: Cell::new(0) };
        if let Some(sign) = seat.typed_at() {
            let ready =
                until("its prompt", PATIENCE_AT_START, || stage.screen().contains(sign).then_some(()));
            if let Err(wrong) = ready.and_then(|()| stage.stands_still()).and_then(|()| stage.enter(prompt)) {
                return Err(Failure { wrong, evidence: stage.evidence() });
            }
        }
        let mut looks = 0;
        let began = until("its first turn", PATIENCE_AT_START, || {
            looks += 1;
            // It may take Enter as part of the text if it comes this fast.
            if seat.typed_at().is_some() && looks % 40 == 0 {
                stage.press("Enter");
            }
            let began = stage.find(|turn| turn.request.count(prompt) > 0);
            began.map(|_| Ok(())).or_else(|| stage.is_dead().then(|| Err("it ended".to_string())))
        });
        match began.flatten().and_then(|()| stage.rest()) {
            Ok(()) => Ok(stage),
            Err(wrong) => Err(Failure { wrong, evidence: stage.evidence() }),
        }
    }

    pub fn scene(&self) -> &Arc<Scene> {
        &self.trial.scene
    }

    pub fn home(&self) -> PathBuf {
        self.scene().home()
    }

    pub fn screen(&self) -> String {
        self.terminal.screen()
    }

    fn is_dead(&self) -> bool {
        self.screen().contains("Pane is dead")
    }

    pub fn press(&self, key: &str) {
        self.terminal.press(key);
    }

    /// Its user looks at another window from now on.
    pub fn look_away(&self) -> Checked {
        self.terminal.look_away();
        ensure(!self.terminal.is_in_front(), || "its terminal is in front still".to_string())
    }

    /// The client's name as an agent.
    pub fn name(&self) -> Checked<String> {
        match self.scene().names().as_slice() {
            [name] => Ok(name.clone()),
            names => Err(format!("there are {names:?}")),
        }
    }

    pub fn session(&self) -> Checked<String> {
        let who = self.scene().msg(&["whois", &self.name()?]);
        who["agent"]["sessionId"].as_str().map(str::to_string).ok_or(format!("no session: {who}"))
    }

    /// The model takes these steps, and afterwards answers every request with one sentence.
    pub fn play(&self, steps: Vec<Step>) {
        play(self.trial, &self.lane, &self.turns, steps);
    }

    fn turns(&self) -> Vec<Turn> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The last turn that matches.
    fn find(&self, is_so: impl Fn(&Turn) -> bool) -> Option<Turn> {
        let turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.last().filter(|turn| is_so(turn)).cloned()
    }

    /// The last turn, if all these messages are in it.
    pub fn last_with(&self, letters: &[Sent]) -> Option<Turn> {
        self.find(|turn| letters.iter().all(|letter| turn.request.count(&letter.text) > 0))
    }

    /// The last turn, if one of these texts is in it.
    pub fn last_that_says(&self, texts: &[String]) -> Option<Turn> {
        self.find(|turn| texts.iter().any(|text| turn.request.count(text) > 0))
    }

    pub fn count(&self) -> usize {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Waits until that many turns have begun, and returns the last of them.
    pub fn turn(&self, number: usize) -> Checked<Turn> {
        until("a request to the model", PATIENCE, || {
            self.turns.lock().unwrap_or_else(PoisonError::into_inner).get(number - 1).cloned()
        })
    }

    /// Waits for the turn that comes next after that one.
    pub fn turn_after(&self, earlier: &Turn) -> Checked<Turn> {
        until("the next request to the model", PATIENCE, || {
            let turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            turns.iter().find(|turn| turn.at > earlier.at).cloned()
        })
    }

    /// The user types a new prompt. Returns when the model gets a request.
    pub fn prompt(&self) -> Checked<Turn> {
        self.prompts.set(self.prompts.get() + 1);
        let text = format!("users-words-{}", self.prompts.get());
        self.enter(&text)?;
        let mut looks = 0;
        until("the user's prompt at the model", PATIENCE, || {
            looks += 1;
            // Some clients take Enter as part of the text if it comes this fast.
            if looks % 40 == 0 {
                self.press("Enter");
            }
            self.find(|turn| turn.request.count(&text) > 0)
        })
    }

    /// Types a line.
    pub fn enter(&self, text: &str) -> Checked {
        self.terminal.enter(text);
        until(&format!("`{text}` on the screen"), PATIENCE, || self.screen().contains(text).then_some(()))?;
        self.press("Enter");
        Ok(())
    }

    /// Waits until the screen stops changing: a client that works shows that it does.
    pub fn stands_still(&self) -> Checked {
        let (mut last, mut since) = (self.screen(), Instant::now());
        until("a screen that stands still", PATIENCE, || {
            let now = self.screen();
            if now != last {
                (last, since) = (now, Instant::now());
            }
            (since.elapsed() > QUIET).then_some(())
        })
    }

    /// The message is in the last request to its model.
    pub fn knows(&self, letter: &Sent) -> Checked {
        let turns = self.turns();
        let times = turns.last().map_or(0, |turn| turn.request.count(&letter.text));
        ensure(times > 0, || {
            format!("{} is not in the request, and is {}", letter.text, self.receipt(&letter.id))
        })
    }

    /// The state of a message that the peer sent.
    pub fn receipt(&self, id: &str) -> String {
        self.scene().msg(&["receipt", id, "--as", "Alice"])["state"].as_str().unwrap_or_default().to_string()
    }

    /// Waits until it is idle and can be woken.
    pub fn rest(&self) -> Checked {
        until("that it rests", PATIENCE, || self.rests().then_some(()))
    }

    fn rests(&self) -> bool {
        let is_there = |kind: &str| !self.hook_files(kind).is_empty();
        if !is_there("resting") || is_there("working") {
            return false;
        }
        let waiters = processes::waiters(&self.home());
        let known: Vec<i64> = self.hook_files("waiter").iter().filter_map(|text| pid_of(text)).collect();
        !self.seat.waits || waiters.iter().any(|waiter| known.contains(&i64::from(waiter.pid)))
    }

    /// The files of that kind in the hooks' directory.
    fn hook_files(&self, kind: &str) -> Vec<String> {
        let hooks =
            fs::read_dir(self.home().join(".local/state/ravenry/hooks")).into_iter().flatten().flatten();
        let paths =
            hooks.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == kind));
        paths.filter_map(|path| fs::read_to_string(path).ok()).collect()
    }

    /// The waiter of ours, of which there must be exactly one.
    pub fn one_waiter(&self) -> Checked<Process> {
        let mut found = Vec::new();
        let one = until("exactly one waiter", PATIENCE, || {
            found = processes::waiters(&self.home());
            (found.len() == 1).then(|| found[0].clone())
        });
        one.map_err(|wrong| format!("{wrong}: {found:?}"))
    }

    /// The peer sends a message to the client.
    pub fn send(&self, text: &str, more: &[&str]) -> Checked<Sent> {
        send(self.scene(), &self.name()?, text, more)
    }

    /// No request is made.
    pub fn quiet(&self, count: usize) -> Checked {
        let since = Instant::now();
        while since.elapsed() < QUIET {
            ensure(self.count() == count, || format!("{} requests, not {count}", self.count()))?;
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Kills the client.
    pub fn kill(&self) {
        Process { pid: self.terminal.pid().cast_signed(), line: String::new() }.end(Signal::SIGKILL);
    }

    /// Closes the terminal, which ends what runs in it.
    pub fn close(&self) {
        self.terminal.close();
    }

    /// For whoever has to find out what failed.
    pub fn evidence(&self) -> String {
        let turns = self.turns();
        let last = turns.iter().rev().take(3).rev().map(|turn| {
            let said = turn.request.conversation();
            let said = said.iter().skip(said.len().saturating_sub(5)).map(|text| shortened(text));
            said.collect::<Vec<_>>().join("\n  ")
        });
        let last: Vec<String> = last.collect();
        let trouble = fs::read_to_string(self.home().join(".local/state/ravenry/trouble.jsonl"));
        format!(
            "{} turns, the last of them:\n  {}\nscreen:\n{}\nprocesses: {:#?}\ntrouble: {}",
            turns.len(),
            last.join("\n--\n  "),
            self.screen(),
            processes::of(&self.home()),
            trouble.unwrap_or_default(),
        )
    }
}

/// The peer sends a message to an agent.
pub fn send(scene: &Scene, to: &str, text: &str, more: &[&str]) -> Checked<Sent> {
    let at = Instant::now();
    let mut args = vec!["send", to, text, "--as", "Alice"];
    args.extend(more);
    let report = scene.msg(&args);
    let wake = report["sent"][0]["wake"].as_str().ok_or(format!("not sent: {report}"))?.to_string();
    let id = report["sent"][0]["id"].as_str().ok_or(format!("no id: {report}"))?.to_string();
    Ok(Sent { at, text: text.to_string(), id, wake })
}

/// Sets the script, with steps that record when they are taken.
fn play(trial: &Trial<'_>, lane: &str, turns: &Arc<Mutex<Vec<Turn>>>, mut steps: Vec<Step>) {
    steps.extend((0..STEPS).map(|_| Step::say("Very well.")));
    let noted = steps.into_iter().map(|step| {
        let turns = Arc::clone(turns);
        step.meanwhile(move |request| {
            let turn = Turn { at: Instant::now(), request: request.clone() };
            turns.lock().unwrap_or_else(PoisonError::into_inner).push(turn);
        })
    });
    trial.server.play(lane, noted);
}

fn pid_of(text: &str) -> Option<i64> {
    serde_json::from_str::<serde_json::Value>(text).ok()?["pid"].as_i64()
}

fn shortened(text: &str) -> String {
    text.chars().take(500).collect()
}
