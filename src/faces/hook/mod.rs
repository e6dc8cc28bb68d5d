//! `msg hook HARNESS EVENT`: what a harness calls at its hooks; and `msg waiter HARNESS`, which waits at its side.
//!
//! The one rule here is never to be in the way. Whatever happens, bad usage and a bug of ours too, the exit code is 0:
//! some harnesses take any other for a refusal. A refusal is said in JSON, and only where there is a reason for it.

pub mod codec;
mod rouse;
mod waiter;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::domain::hook::{Answer, Moment};
use crate::domain::{AgentName, Harness};
use crate::faces::json;
use crate::ops::hook::{
    HookCall, hook, is_about_to_change, leave_trouble, report_broken_config, surroundings,
};
use crate::ops::{CommandError, Context, Globals, Kind, Reached};
use crate::sys::deadline::Deadline;
use crate::sys::{files, listener, seams, signals, stdin};

/// What a harness sends is never longer; more is not read.
const MAX_INPUT: usize = 16 * 1024 * 1024;
/// After this long the tool call is let through. Harnesses give the end of a session a second.
const LIMIT: Duration = Duration::from_millis(900);
/// If even the deadline hangs, the process ends after so many seconds.
const LAST_LIMIT: u32 = 5;
/// So long a harness may take to say what it wants.
const INPUT_LIMIT: Duration = Duration::from_secs(3);

/// Is this a call of a hook? Then how it was called. Flags that mean nothing here are no reason to fail.
pub fn recognise(args: &[OsString]) -> Option<Arguments> {
    let mut arguments = Arguments::default();
    let mut rest = args.iter().skip(1).map(|arg| arg.to_string_lossy().into_owned());
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--mesh" => arguments.globals.mesh = rest.next(),
            // What can't be a name is nobody.
            "--as" => arguments.globals.speaker = rest.next().and_then(|name| AgentName::new(name).ok()),
            "--color" => drop(rest.next()),
            "--json" => arguments.json = true,
            // A person wants to know more. Once a harness is named, a harness calls, and no flag is a reason to fail.
            "-h" | "--help" if arguments.words.len() < 2 => return None,
            "-V" | "--version" if arguments.words.is_empty() => return None,
            flag if flag.starts_with("--mesh=") => {
                arguments.globals.mesh = Some(flag["--mesh=".len()..].to_string());
            }
            flag if flag.starts_with("--as=") => {
                arguments.globals.speaker = AgentName::new(&flag["--as=".len()..]).ok();
            }
            flag if flag.starts_with('-') => {}
            word if arguments.words.is_empty() && !matches!(word, "hook" | "waiter") => return None,
            _ => arguments.words.push(arg),
        }
    }
    (!arguments.words.is_empty()).then_some(arguments)
}

/// How a hook was called.
#[derive(Debug, Default)]
pub struct Arguments {
    globals: Globals,
    /// `hook`, the harness and the event; or `waiter` and the harness.
    words: Vec<String>,
    json: bool,
}

/// Answers one call of a hook. Always a success, but for a waiter that has something to say.
pub fn run(arguments: Arguments) -> ExitCode {
    if let Some(error) = misuse(&arguments) {
        drop(writeln!(io::stdout(), "{}", serde_json::json!({ "ok": false, "error": json::error(&error) })));
    }
    if arguments.words.first().is_some_and(|word| word == "waiter") {
        return waiter::run(arguments);
    }
    let word = |place: usize| arguments.words.get(place).cloned().unwrap_or_default();
    let (harness, event) = (word(1), word(2));
    if harness == rouse::WORD {
        return rouse::run(arguments);
    }
    // Without it a limit on the size of files is a sudden death.
    drop(signals::survive_file_size_limit());
    if seams::value(seams::NO_HOOK_LIMIT).is_none() {
        drop(signals::end_with_success_after(LAST_LIMIT));
    }
    let globals = arguments.globals.clone();
    let failure = std::panic::catch_unwind(AssertUnwindSafe(|| answer(arguments)));
    let failure = match failure {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error),
        Err(panic) => Some(format!("a bug of ours: {}", panic_text(&*panic))),
    };
    if let Some(error) = failure {
        complain("hook", &error);
        // Also this must not fail loudly.
        drop(std::panic::catch_unwind(AssertUnwindSafe(|| {
            leave_trouble(&globals, &harness, &event, &error);
        })));
    }
    ExitCode::SUCCESS
}

/// A call without the arguments that every harness gives, by somebody who wants JSON: the error is one object.
fn misuse(arguments: &Arguments) -> Option<CommandError> {
    let usage = match arguments.words.as_slice() {
        [command] | [command, _] if command == "hook" => "msg hook HARNESS EVENT",
        [command] if command == "waiter" => "msg waiter HARNESS",
        _ => return None,
    };
    let error = || {
        CommandError::new(Kind::Usage, format!("arguments are missing: `{usage}`"))
            .hint("pass the hook's JSON on standard input")
    };
    arguments.json.then(error)
}

fn answer(arguments: Arguments) -> Result<(), String> {
    let Arguments { globals, words, .. } = arguments;
    let [_, harness, event] = words.as_slice() else {
        return Err("usage: msg hook HARNESS EVENT, with the hook's JSON on standard input".to_string());
    };
    let harness = Harness::parse(harness).ok_or_else(|| format!("there is no harness `{harness}`"))?;
    if io::stdin().is_terminal() {
        return Err("the hook's JSON is expected on standard input; `msg hook --help` tells more".to_string());
    }
    let call = read(harness, event)?;
    if call.event.moment == Moment::Other {
        return Ok(());
    }
    let ctx = surroundings(&globals, &call).map_err(|error| error.message)?;
    let may_refuse = ctx.settings.is_on("strict") && may_change(&ctx, &call);
    let voice = Arc::new(Voice {
        harness,
        event: event.clone(),
        may_refuse,
        is_decided: AtomicBool::default(),
        spoken: Mutex::default(),
    });
    let _deadline =
        needs_deadline(&call, may_refuse).then(|| Deadline::start(LIMIT, last_words(&globals, &voice)));
    let mut say = |answer: &Answer| voice.say(answer);
    let done = std::panic::catch_unwind(AssertUnwindSafe(|| {
        if let Some(text) = seams::value(seams::PANIC) {
            panic_as_told(&text);
        }
        hook(&ctx, &call, &mut say)
    }));
    let reported = report_broken_config(&ctx, harness.name(), event).map_err(|error| error.message);
    rouse::hand_on(&ctx);
    let failure = match done {
        Ok(Ok(())) => return voice.unheard().map_or(reported, Err),
        Ok(Err(error)) => error.message,
        Err(panic) => format!("a bug of ours: {}", panic_text(&*panic)),
    };
    voice.fail(&failure);
    Err(failure)
}

/// Who only looks is not refused that, whatever can't be found out. Where even this fails, it may be anything.
fn may_change(ctx: &Context, call: &HookCall) -> bool {
    let is_tool = matches!(call.event.moment, Moment::BeforeTool(_));
    let changes = std::panic::catch_unwind(AssertUnwindSafe(|| is_about_to_change(ctx, call)));
    is_tool && changes.unwrap_or(true)
}

/// Before a tool nothing is waited for that could take long, and this is what everyone waits for all the time: there the
/// last limit will do, unless the end of time is to be a refusal.
fn needs_deadline(call: &HookCall, may_refuse: bool) -> bool {
    let is_before = matches!(call.event.moment, Moment::BeforeTool(_));
    (may_refuse || !is_before) && seams::value(seams::NO_HOOK_LIMIT).is_none()
}

fn read(harness: Harness, event: &str) -> Result<HookCall, String> {
    let input = stdin::read_all(MAX_INPUT, INPUT_LIMIT)?;
    let decoded = codec::decode(harness, event, &input)?;
    let (room, as_user) = (codec::room(harness, event), codec::speaks_as_user(harness));
    let is_kept = codec::keeps(harness, event);
    Ok(HookCall { harness, name: event.to_string(), event: decoded, room, is_kept, as_user })
}

/// When time is over: the tool call is let through, unless that is not wanted.
fn last_words(globals: &Globals, voice: &Arc<Voice>) -> impl FnOnce() + Send + 'static {
    let (globals, voice) = (globals.clone(), Arc::clone(voice));
    move || {
        let failure = format!("it took more than {} s", LIMIT.as_secs_f64());
        voice.fail(&failure);
        leave_trouble(&globals, voice.harness.name(), &voice.event, &failure);
    }
}

/// What is said to the harness, once.
struct Voice {
    harness: Harness,
    event: String,
    /// A failure is answered by a refusal, until the call was decided about.
    may_refuse: bool,
    is_decided: AtomicBool,
    /// Whether anything was said, and what came of it.
    spoken: Mutex<Option<io::Result<()>>>,
}

impl Voice {
    /// Whoever comes second is not heard. What went to a shell that nobody listens to any more did not get through; a
    /// harness that stops listening after that, and before the shell passes it on, goes unnoticed.
    ///
    /// Silence says that the tool call is let through, whatever fails from now on.
    fn say(&self, answer: &Answer) -> Reached {
        if *answer == Answer::Silence {
            self.is_decided.store(true, Ordering::Release);
        }
        let mut spoken = self.spoken.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(text) = codec::encode(self.harness, &self.event, answer) else { return Reached::No };
        if spoken.is_some() {
            return Reached::No;
        }
        seams::step();
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(format!("{text}\n").as_bytes()).and_then(|()| stdout.flush());
        seams::step();
        let is_lost = || files::leads_nowhere(&stdout) || listener::is_shell_unheard(&io::stdin(), &stdout);
        let is_heard = written.is_ok() && !is_lost();
        *spoken = Some(written);
        if is_heard { Reached::Yes } else { Reached::No }
    }

    /// Why what was said did not get through, if it did not.
    fn unheard(&self) -> Option<String> {
        let spoken = self.spoken.lock().unwrap_or_else(PoisonError::into_inner);
        let error = spoken.as_ref()?.as_ref().err()?;
        Some(format!("the answer can't be written to standard output: {error}"))
    }

    /// Where it failed to find out, the settings may want a refusal.
    fn fail(&self, failure: &str) {
        if self.may_refuse && !self.is_decided.load(Ordering::Acquire) {
            let reason = format!(
                "`msg` could not find out whether this is reserved: {failure}. `msg doctor` tells more."
            );
            self.say(&Answer::Deny(reason));
        }
    }
}

/// Where a person may see it; harnesses don't look.
fn complain(what: &str, error: &str) {
    drop(writeln!(io::stderr(), "msg {what}: {error}"));
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no more is known").to_string()
}

#[expect(clippy::panic, reason = "a test wants to see what happens")]
fn panic_as_told(text: &str) {
    panic!("{text}");
}
