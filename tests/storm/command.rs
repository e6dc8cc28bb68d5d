//! One operation of an agent: runs the real `msg` in a process of its own, disturbs that process, and reads the
//! answer.
//!
//! The output goes into a file, so that it is known even if the agent that started the command is killed.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ravenry::domain::{MessageId, MessageStamp};
use ravenry::sys::test_switches;
use serde_json::{Value, json};

use crate::history::{Accepted, Answer, Event, Fate, Handed, Intent};
use crate::place::Place;

/// No command takes longer than this, even if its process is stopped for a while and waits for a lock in vain.
const LONGEST: Duration = Duration::from_secs(60);

/// The text of a message of the storm, before its token.
pub const WORDS: &str = "in the storm ";

/// The arguments of a command, and its standard input.
pub fn arguments(intent: &Intent, session: &str, place: &Place) -> (Vec<String>, Option<String>) {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_string()).collect::<Vec<String>>();
    let mut args = match intent {
        Intent::Join { name } => {
            let (pid, spec) = (std::process::id().to_string(), place.spec().display().to_string());
            let mut args = words(&["join", "--pid", &pid, "--session", session, "--spec", &spec]);
            args.extend(name.clone());
            args
        }
        Intent::Leave => words(&["leave"]),
        Intent::WhoAmI => words(&["whoami"]),
        Intent::Rename { to } => words(&["rename", to]),
        Intent::Evict { name, force } => {
            if *force {
                words(&["evict", name, "--force"])
            } else {
                words(&["evict", name])
            }
        }
        Intent::Send { to, token, ttl } => {
            let mut args = words(&["send", to, &format!("{WORDS}{token}")]);
            if let Some(seconds) = ttl {
                args.extend(words(&["--ttl", &format!("{seconds}s")]));
            }
            args
        }
        Intent::Broadcast { token } => words(&["broadcast", &format!("{WORDS}{token}")]),
        Intent::Read { limit: Some(limit) } => words(&["read", "--limit", &limit.to_string()]),
        Intent::Read { limit: None } => words(&["read"]),
        Intent::Watch => words(&["watch"]),
        Intent::Reserve { paths } => [words(&["reserve"]), paths.clone()].concat(),
        Intent::Release { paths } => [words(&["release"]), paths.clone()].concat(),
        Intent::Contest { path } => words(&["contest", path]),
        Intent::TakeOver { path, from } => words(&["release", path, "--from", from]),
        Intent::Check { path } => words(&["check", path]),
        Intent::Claim { task, paths } => {
            let mut args = match task {
                Some(task) => words(&["claim", task, "--adhoc"]),
                None => words(&["claim", "--next"]),
            };
            paths.iter().for_each(|path| args.extend(words(&["--reserve", path])));
            args
        }
        Intent::Complete { task } => words(&["complete", task]),
        Intent::Unclaim => words(&["unclaim"]),
        Intent::Handoff { task, to } => words(&["handoff", task, to]),
        Intent::Hook { event, path } => {
            let input = hook_input(event, path.as_deref(), session, place);
            return (words(&["hook", "claude", event]), Some(input));
        }
        Intent::Look { command } => command.split(' ').map(str::to_string).collect(),
    };
    args.push("--json".to_string());
    (args, None)
}

/// A payload as Claude Code gives it to its hooks.
fn hook_input(event: &str, path: Option<&str>, session: &str, place: &Place) -> String {
    let (tool, input) = match path {
        Some(path) => {
            let file = place.work().join(path);
            ("Edit", json!({ "file_path": file, "old_string": "a", "new_string": "b", "replace_all": false }))
        }
        None => ("Bash", json!({ "command": "true", "description": "nothing" })),
    };
    json!({
        "session_id": session,
        "cwd": place.work(),
        "hook_event_name": event,
        "permission_mode": "default",
        "tool_name": tool,
        "tool_input": input,
        "tool_response": { "stdout": "", "stderr": "", "interrupted": false },
        "tool_use_id": "toolu_storm",
    })
    .to_string()
}

/// A running command.
pub struct Running {
    child: Child,
    op: u64,
    intent: Intent,
    fate: Fate,
    out: std::path::PathBuf,
}

impl Running {
    pub fn start(place: &Place, who: &str, session: &str, op: u64, intent: Intent, fate: Fate) -> Self {
        let (args, input) = arguments(&intent, session, place);
        let mut msg = place.msg(nix::unistd::getppid().as_raw().unsigned_abs());
        if let Fate::Step(step) = fate {
            msg.env(test_switches::CRASH_AT, step.to_string());
        }
        let mut command = match fate {
            Fate::Starved => starved(&msg),
            _ => msg,
        };
        command.args(args);
        let out = place.out(who, op);
        if let Some(input) = input {
            fs::write(out.with_extension("in"), input).unwrap();
            command.stdin(File::open(out.with_extension("in")).unwrap());
        }
        command.stdout(File::create(&out).unwrap());
        command.stderr(File::create(out.with_extension("err")).unwrap());
        Self { child: command.spawn().unwrap(), op, intent, fate, out }
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Asks it to end.
    pub fn interrupt(&self) {
        self.signal(Signal::SIGTERM);
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
            Fate::Lives | Fate::Step(_) | Fate::Starved => {}
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
        for path in [self.out.clone(), self.out.with_extension("err"), self.out.with_extension("in")] {
            fs::remove_file(path).ok();
        }
        if hung {
            let text = format!("no answer after {} s: {complained}", LONGEST.as_secs());
            return Event::Odd { op: self.op, text };
        }
        understand(self.op, &self.intent, self.fate, status, &said, &complained)
    }
}

/// Runs it with a limit of a few hundred bytes for any file that it writes.
fn starved(msg: &Command) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "sh"]).arg(msg.get_program());
    command.env_clear().envs(msg.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(msg.get_current_dir().unwrap()).stdin(Stdio::null());
    command
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
    let mut answer = answer(intent, said);
    // A hook that fails lets everything through and reports it here.
    if let (Intent::Hook { .. }, Some(answer)) = (intent, &mut answer)
        && !complained.is_empty()
    {
        answer.free = None;
    }
    match (status.code(), status.signal()) {
        (None, Some(9)) if fate.is_death() => Event::Killed { op, answer: answer.unwrap_or_default() },
        (None, _) => odd("it died by itself"),
        (Some(70), _) => odd("a bug"),
        (Some(130), _) if *intent == Intent::Watch => Event::Ok { op, answer: answer.unwrap_or_default() },
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
                // Not even the answer could be written.
                None if fate == Fate::Starved && code == 4 => {
                    Event::No { op, code, kind: "io".to_string(), answer: Answer::default() }
                }
                None => odd("an error without a kind"),
            }
        }
    }
}

/// Parses a command's output. `None`: it is not the output of such a command.
pub fn answer(intent: &Intent, said: &str) -> Option<Answer> {
    let mut answer = Answer::default();
    if let Intent::Hook { path, .. } = intent {
        let value: Value = if said.is_empty() { Value::Null } else { serde_json::from_str(said).ok()? };
        let output = &value["hookSpecificOutput"];
        answer.handed = quoted(&output["additionalContext"]);
        answer.free = path.as_ref().map(|_| output["permissionDecision"] != "deny");
        return Some(answer);
    }
    if *intent == Intent::Watch {
        let whole = said.rfind('\n').map_or("", |end| &said[..end]);
        let lines = whole.lines().filter_map(|line| serde_json::from_str(line).ok());
        answer.handed = lines.filter_map(|message: Value| handed(&message)).collect();
        return Some(answer);
    }
    // A command that failed to record something after its answer prints two objects.
    let value: Value = serde_json::Deserializer::from_str(said).into_iter().next()?.ok()?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let string = |value: &Value| value.as_str().map(str::to_string);
    answer.name = string(&value["agent"]["name"]);
    // Only `read` hands messages over; other commands just list them.
    if let Intent::Read { .. } = intent {
        answer.handed = list(&value["messages"]).iter().filter_map(handed).collect();
    }
    answer.accepted = list(&value["sent"]).iter().filter_map(accepted).collect();
    let claim = &value["claim"];
    answer.task = string(&claim["task"]).zip(string(&claim["sessionId"]));
    let held = [list(&value["reservations"]), list(&claim["reservations"])].concat();
    answer.paths = held.iter().filter_map(|reservation| string(&reservation["pattern"])).collect();
    answer.free = value["paths"][0]["free"].as_bool();
    let taken = match intent {
        Intent::TakeOver { .. } => &value["released"][0],
        _ => &value["contested"],
    };
    answer.contested = string(&taken["holder"]).zip(string(&taken["pattern"]));
    answer.fresh = value["repeated"].as_bool().map(|repeated| !repeated);
    // An agent that has left counts as a person, who gets nothing itself.
    if value["person"] == true {
        answer.paths.clear();
        answer.contested = None;
    }
    if let Some(task) = string(&value["error"]["task"]) {
        answer.task = Some((task, String::new()));
    }
    Some(answer)
}

fn accepted(sent: &Value) -> Option<Accepted> {
    let stamp = MessageStamp::of_id(&MessageId::new(sent["id"].as_str()?).ok()?)?;
    Some(Accepted { to: sent["to"].as_str()?.to_string(), stem: stamp.to_string() })
}

/// A message of the storm; `None` for notices about what is free.
fn handed(message: &Value) -> Option<Handed> {
    let token = message["text"].as_str()?.strip_prefix(WORDS)?;
    let id = message["id"].as_str()?;
    // A foreign id ends in the letters of its file.
    let stem = match MessageId::new(id).ok().and_then(|id| MessageStamp::of_id(&id)) {
        Some(stamp) => stamp.to_string(),
        None => id.to_string(),
    };
    Some(Handed::of(token, &stem))
}

/// The same from a text for a model: a header that ends in `msg reply LETTERS TEXT]`, and the text below it.
fn quoted(context: &Value) -> Vec<Handed> {
    let lines: Vec<&str> = context.as_str().unwrap_or_default().lines().collect();
    let pairs = lines.windows(2).filter_map(|pair| {
        let token = pair[1].strip_prefix("> ")?.strip_prefix(WORDS)?;
        let letters = pair[0].strip_suffix(" TEXT]")?.rsplit(' ').next()?;
        Some(Handed::of(token, letters))
    });
    pairs.collect()
}
