//! One operation of an agent: runs the real `msg` in a process of its own, disturbs that process, and reads the
//! answer.
//!
//! The output goes into a file, so that it is known even if the agent that started the command is killed.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ravenry::domain::{MessageId, MessageStamp};
use ravenry::sys::test_switches;
use serde_json::{Deserializer, Value};

use crate::history::{Accepted, Answer, Event, Fate, Handed, Intent};
use crate::place::Place;

/// No command takes longer than this, even if its process is stopped for a while and waits for a lock in vain.
const LONGEST: Duration = Duration::from_secs(90);

/// The text of a message of the storm, before its token.
pub const WORDS: &str = "in the storm ";

fn arguments(intent: &Intent, session: &str) -> Vec<String> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_string()).collect::<Vec<String>>();
    let mut args = match intent {
        Intent::Join { name } => {
            let pid = std::process::id().to_string();
            words(&["join", name, "--pid", &pid, "--session", session, "--spec", "plan.md"])
        }
        Intent::Leave => words(&["leave"]),
        Intent::WhoAmI => words(&["whoami"]),
        Intent::Rename { to } => words(&["rename", to]),
        Intent::Send { to, token, wants_ack } => {
            let mut args = words(&["send", to, &format!("{WORDS}{token}")]);
            args.extend(wants_ack.then(|| "--want-ack".to_string()));
            args
        }
        Intent::Broadcast { token } => words(&["broadcast", &format!("{WORDS}{token}")]),
        Intent::Read => words(&["read", "--limit", "200"]),
        Intent::Ack { id } => words(&["ack", id]),
        Intent::Claim { task } => words(&["claim", task]),
        Intent::Complete { task } => words(&["complete", task]),
        Intent::Unclaim { task } => words(&["unclaim", task]),
        Intent::Reopen { task } => words(&["reopen", task, "--reason", "again"]),
        Intent::Reserve { path } => words(&["reserve", "--repo", path]),
        Intent::Release { path } => words(&["release", path]),
        Intent::Look { command } => words(&[command]),
    };
    args.push("--json".to_string());
    args
}

/// A running command.
pub struct Running {
    child: Child,
    op: u64,
    intent: Intent,
    fate: Fate,
    out: PathBuf,
}

/// Whose command it is.
pub struct Caller<'a> {
    pub place: &'a Place,
    pub slot: u64,
    pub who: String,
    pub session: &'a str,
}

impl Running {
    pub fn start(caller: &Caller<'_>, op: u64, intent: Intent, fate: Fate) -> Self {
        let machine = caller.place.machine_of(caller.slot);
        let mut command = machine.msg(nix::unistd::getppid().as_raw().unsigned_abs());
        if let Fate::Step(step) = fate {
            command.env(test_switches::CRASH_AT, step.to_string());
        }
        command.args(arguments(&intent, caller.session));
        let out = caller.place.out(&caller.who, op);
        command.stdout(File::create(&out).unwrap());
        command.stderr(File::create(out.with_extension("err")).unwrap());
        Self { child: command.spawn().unwrap(), op, intent, fate, out }
    }

    /// Kills or stops the process as its fate says. Blocks until that is done.
    pub fn suffer(&self) {
        match self.fate {
            Fate::After(micros) => {
                std::thread::sleep(Duration::from_micros(micros));
                self.signal(Signal::SIGKILL);
            }
            Fate::Stopped(after, micros) => {
                std::thread::sleep(Duration::from_micros(after));
                // If the agent is killed meanwhile, the storm continues the process named here.
                let note = self.out.with_extension("stopped");
                fs::write(&note, self.child.id().to_string()).unwrap();
                self.signal(Signal::SIGSTOP);
                std::thread::sleep(Duration::from_micros(micros));
                self.signal(Signal::SIGCONT);
                fs::remove_file(note).unwrap();
            }
            Fate::Lives | Fate::Step(_) => {}
        }
    }

    /// Sends a signal. The child has not been waited for, so its pid is still its own.
    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).ok();
    }

    /// Waits for its end, at most [`LONGEST`].
    pub fn end(mut self) -> Event {
        let pid = Pid::from_raw(self.child.id().cast_signed());
        let (done, waits) = mpsc::channel::<()>();
        let watchdog = std::thread::spawn(move || {
            let is_late = waits.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout);
            if is_late {
                kill(pid, Signal::SIGKILL).ok();
            }
            is_late
        });
        let status = self.child.wait().unwrap();
        drop(done);
        let hung = watchdog.join().unwrap();
        let [said, complained] = [self.out.clone(), self.out.with_extension("err")].map(|path| text(&path));
        for path in [self.out.clone(), self.out.with_extension("err")] {
            fs::remove_file(path).ok();
        }
        if hung {
            let text = format!("no answer after {} s: {complained}", LONGEST.as_secs());
            return Event::Odd { op: self.op, text };
        }
        understand(self.op, &self.intent, self.fate, status, &said, &complained)
    }
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

fn understand(
    op: u64,
    intent: &Intent,
    fate: Fate,
    status: ExitStatus,
    said: &str,
    complained: &str,
) -> Event {
    let odd =
        |what: &str| Event::Odd { op, text: format!("{what}: {status}, said {said:?}, {complained:?}") };
    let answer = answer(intent, said);
    let is_death = matches!(fate, Fate::Step(_) | Fate::After(_));
    match (status.code(), status.signal()) {
        (None, Some(9)) if is_death => Event::Killed { op, answer: answer.unwrap_or_default() },
        (None, _) => odd("it died by itself"),
        (Some(70), _) => odd("a bug"),
        (Some(0), _) => match answer {
            Some(answer) => Event::Ok { op, answer },
            None => odd("an answer that can't be read"),
        },
        (Some(code), _) => {
            // Output before the failure counts; the error is the last line.
            let last = said.trim_end().rsplit('\n').next().unwrap_or_default();
            let value: Value = serde_json::from_str(last).unwrap_or_default();
            match value["error"]["kind"].as_str() {
                Some(kind) => {
                    Event::No { op, code, kind: kind.to_string(), answer: answer.unwrap_or_default() }
                }
                None => odd("an error without a kind"),
            }
        }
    }
}

/// Parses a command's output. `None`: it is not the output of such a command.
pub fn answer(intent: &Intent, said: &str) -> Option<Answer> {
    // A command that failed to record something after its answer prints two objects.
    let value: Value = Deserializer::from_str(said).into_iter().next()?.ok()?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let string = |value: &Value| value.as_str().map(str::to_string);
    let mut answer = Answer { name: string(&value["agent"]["name"]), ..Answer::default() };
    // Only `read` hands messages over; other commands just list them.
    if *intent == Intent::Read {
        let messages = list(&value["messages"]);
        answer.handed = messages.iter().filter_map(handed).collect();
        answer.questions = messages.iter().filter_map(|message| string(&message["id"])).take(1).collect();
    }
    answer.accepted = list(&value["sent"]).iter().filter_map(accepted).collect();
    let claim = &value["claim"];
    answer.task = string(&claim["task"]).zip(string(&claim["sessionId"]));
    answer.paths = list(&value["reservations"]).iter().filter_map(|held| string(&held["pattern"])).collect();
    answer.already = value["already"] == true;
    Some(answer)
}

fn accepted(sent: &Value) -> Option<Accepted> {
    let stamp = MessageStamp::of_id(&MessageId::new(sent["id"].as_str()?).ok()?)?;
    Some(Accepted { to: sent["to"].as_str()?.to_string(), stem: stamp.to_string() })
}

/// A message of the storm; `None` for notices of `msg` itself.
fn handed(message: &Value) -> Option<Handed> {
    let token = message["text"].as_str()?.strip_prefix(WORDS)?;
    let stamp = MessageStamp::of_id(&MessageId::new(message["id"].as_str()?).ok()?)?;
    Some(Handed::of(token, &stamp.to_string()))
}
