//! Hooks: `msg hook HARNESS EVENT`, which harnesses call, and `msg waiter HARNESS`, which waits for mail beside an idle
//! session.
//!
//! The one rule is never to be in the way. Whatever happens, including bad usage and a bug in msg, a hook exits with
//! 0: some harnesses take any other code for a refusal. A refusal is given in JSON, and only for a reason.
//!
//! Time is limited everywhere: standard input is waited for with a limit, a lock for 300 ms, and a thread ends the
//! process successfully after `LIMIT`. A hook before a tool waits for nothing, so it has no such thread unless a
//! timeout must become a refusal; `alarm` is the last resort. Only a permission question of a worker waits without these
//! limits: for its answer, which has a limit of its own.

mod waiter;
mod wake_process;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::domain::hook::{HookAnswer, HookMoment};
use crate::domain::{AgentName, Harness};
use crate::faces::json;
use crate::harness::hook_codec::DecodeError;
use crate::harness::{self, hook_codec};
use crate::ops::hook::{
    HookCall, hook, hook_context, is_about_to_change, log_hook_failure, report_broken_config,
    waits_for_answer,
};
use crate::ops::{self, CommandError, CommandErrorKind, Context, GlobalOptions, HandoverOutcome, Op};
use crate::sys::stdin::StdinError;
use crate::sys::watchdog::Watchdog;
use crate::sys::{files, panics, shell_pipe, signals, stdin, test_switches};

/// Maximum size of a payload in bytes.
const MAX_INPUT: usize = 16 * 1024 * 1024;
/// Deadline of a hook, after which it gives up and the tool call is allowed. Harnesses give the end of a session 1 s.
const LIMIT: Duration = Duration::from_millis(900);
/// Last resort: if the deadline itself hangs, the process exits after this many seconds.
const LAST_LIMIT: u32 = 5;
/// How long to wait for the payload on standard input.
const INPUT_LIMIT: Duration = Duration::from_secs(3);

/// The arguments, if this is a hook call. Unknown flags are ignored.
pub fn recognise(args: &[OsString]) -> Option<Arguments> {
    let mut arguments = Arguments::default();
    let mut rest = args.iter().skip(1).map(|arg| arg.to_string_lossy().into_owned());
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--mesh" => arguments.globals.mesh = rest.next(),
            // An invalid name means no speaker.
            "--as" => arguments.globals.acting_as = rest.next().and_then(|name| AgentName::new(name).ok()),
            "--color" => drop(rest.next()),
            "--json" => arguments.json = true,
            // A person asks for help. Once a harness is named, the caller is a harness, and no flag makes the call
            // fail.
            "-h" | "--help" if arguments.words.len() < 2 => return None,
            "-V" | "--version" if arguments.words.is_empty() => return None,
            flag if flag.starts_with("--mesh=") => {
                arguments.globals.mesh = Some(flag["--mesh=".len()..].to_string());
            }
            flag if flag.starts_with("--as=") => {
                arguments.globals.acting_as = AgentName::new(&flag["--as=".len()..]).ok();
            }
            flag if flag.starts_with('-') => {}
            word if arguments.words.is_empty() && !matches!(word, "hook" | "waiter") => return None,
            _ => arguments.words.push(arg),
        }
    }
    (!arguments.words.is_empty()).then_some(arguments)
}

/// The arguments of a hook call.
#[derive(Debug, Default)]
pub struct Arguments {
    globals: GlobalOptions,
    /// `hook`, the harness and the event; or `waiter` and the harness.
    words: Vec<String>,
    json: bool,
}

/// Answers one hook call. The exit code is always 0, except for a waiter that wakes its session.
pub fn run(arguments: Arguments) -> ExitCode {
    if let Some(error) = misuse(&arguments) {
        drop(writeln!(io::stdout(), "{}", serde_json::json!({ "ok": false, "error": json::error(&error) })));
    }
    if arguments.words.first().is_some_and(|word| word == "waiter") {
        return waiter::run(arguments);
    }
    let word = |place: usize| arguments.words.get(place).cloned().unwrap_or_default();
    let (harness, event) = (word(1), word(2));
    if harness == wake_process::WORD {
        return wake_process::run(arguments);
    }
    // Otherwise exceeding the file size limit would kill the process.
    drop(signals::survive_file_size_limit());
    if has_limit() {
        drop(signals::end_with_success_after(LAST_LIMIT));
    }
    let globals = arguments.globals.clone();
    let failure = std::panic::catch_unwind(AssertUnwindSafe(|| answer(arguments)));
    let failure = match failure {
        Ok(Ok(())) => None,
        Ok(Err(failure)) => Some(failure),
        Err(panic) => Some(HookFailure::Panic(panics::text(&*panic))),
    };
    if let Some(failure) = failure {
        let error = failure.to_string();
        complain("hook", &error);
        // This must not fail loudly either.
        drop(std::panic::catch_unwind(AssertUnwindSafe(|| {
            log_hook_failure(&globals, &harness, &event, &error);
        })));
    }
    ExitCode::SUCCESS
}

/// The usage error if required arguments are missing and JSON is wanted.
fn misuse(arguments: &Arguments) -> Option<CommandError> {
    let usage = match arguments.words.as_slice() {
        [command] | [command, _] if command == "hook" => "msg hook HARNESS EVENT",
        [command] if command == "waiter" => "msg waiter HARNESS",
        _ => return None,
    };
    let error = || {
        CommandError::new(CommandErrorKind::Usage, format!("arguments are missing: `{usage}`"))
            .hint("pass the hook's JSON on standard input")
    };
    arguments.json.then(error)
}

/// Why a hook or a waiter failed.
#[derive(Debug, thiserror::Error)]
enum HookFailure {
    #[error("usage: msg {0}, with the hook's JSON on standard input")]
    Usage(&'static str),
    #[error("there is no harness `{0}`")]
    UnknownHarness(String),
    #[error("{0} runs no background process while its agent is idle")]
    NoWaiter(Harness),
    #[error("the hook's JSON is expected on standard input; see `msg hook --help`")]
    Terminal,
    #[error(transparent)]
    Input(#[from] StdinError),
    #[error(transparent)]
    Payload(#[from] DecodeError),
    #[error("{}", .0.message)]
    Command(#[from] CommandError),
    #[error("the answer can't be written to standard output: {0}")]
    Answer(String),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("a bug in msg: {0}")]
    Panic(String),
}

fn answer(arguments: Arguments) -> Result<(), HookFailure> {
    let Arguments { globals, words, .. } = arguments;
    let [_, harness, event] = words.as_slice() else {
        return Err(HookFailure::Usage("hook HARNESS EVENT"));
    };
    let harness = harness::parse(harness).ok_or_else(|| HookFailure::UnknownHarness(harness.clone()))?;
    if io::stdin().is_terminal() {
        return Err(HookFailure::Terminal);
    }
    let call = read(harness, event)?;
    if call.event.moment == HookMoment::Other {
        return Ok(());
    }
    let waits = waits_for_answer(&call);
    if waits {
        signals::end_never();
    }
    let ctx = hook_context(&globals, &call)?;
    let may_refuse = ctx.settings.strict && may_change(&ctx, &call);
    let responder = Arc::new(HookResponder {
        harness,
        event: event.clone(),
        may_refuse,
        is_decided: AtomicBool::default(),
        spoken: Mutex::default(),
    });
    let _deadline = (!waits && needs_deadline(&call, may_refuse))
        .then(|| Watchdog::start(LIMIT, last_words(&globals, &responder)));
    let mut say = |answer: &HookAnswer| responder.say(answer);
    let work = |op: &Op| {
        let decided = std::panic::catch_unwind(AssertUnwindSafe(|| {
            break_for_test();
            hook(op, &call, &mut say)
        }));
        (decided, report_broken_config(op, harness.name(), event))
    };
    let ((decided, reported), warnings) = ops::run_at_hook(ctx, work, wake_process::hand_on).into_parts();
    for untold in warnings {
        log_hook_failure(&globals, harness.name(), event, &untold);
    }
    let failure = match decided {
        Ok(Ok(())) => return responder.unheard().map_or(reported.map_err(HookFailure::Command), Err),
        Ok(Err(error)) => HookFailure::Command(error),
        Err(panic) => HookFailure::Panic(panics::text(&*panic)),
    };
    responder.fail(&failure.to_string());
    Err(failure)
}

/// Whether the call may change a file; only then can a failure lead to a refusal. If that cannot be determined, assume
/// it may.
fn may_change(ctx: &Context, call: &HookCall) -> bool {
    let is_tool = matches!(call.event.moment, HookMoment::BeforeTool(_));
    let changes = std::panic::catch_unwind(AssertUnwindSafe(|| is_about_to_change(ctx, call)));
    is_tool && changes.unwrap_or(true)
}

/// Whether the hook needs the deadline thread. A hook before a tool does not: nothing there waits long, and it runs
/// before every tool call, so [`LAST_LIMIT`] is enough, unless running out of time must become a refusal.
fn needs_deadline(call: &HookCall, may_refuse: bool) -> bool {
    let is_before = matches!(call.event.moment, HookMoment::BeforeTool(_));
    (may_refuse || !is_before) && has_limit()
}

/// `false` in tests of anything but the limits, which must pass on a busy machine, too.
fn has_limit() -> bool {
    test_switches::value(test_switches::NO_HOOK_LIMIT).is_none()
}

fn read(harness: Harness, event: &str) -> Result<HookCall, HookFailure> {
    let limit = if has_limit() { INPUT_LIMIT } else { Duration::from_secs(3600) };
    let input = stdin::read_all(MAX_INPUT, limit)?;
    let decoded = hook_codec::decode(harness, event, &input)?;
    let (max_answer_chars, continues_as_user_prompt) =
        (hook_codec::max_answer_chars(harness, event), hook_codec::continues_as_user_prompt(harness));
    let keeps_text_after_interrupt = hook_codec::keeps_text_after_interrupt(harness, event);
    let (informs_only_at_prompt, hides_end_of_continued_turn) =
        (hook_codec::informs_only_at_prompt(harness), hook_codec::hides_end_of_continued_turn(harness));
    let name = event.to_string();
    Ok(HookCall {
        harness,
        name,
        event: decoded,
        max_answer_chars,
        keeps_text_after_interrupt,
        continues_as_user_prompt,
        informs_only_at_prompt,
        hides_end_of_continued_turn,
    })
}

/// Runs when the deadline passes: the tool call is allowed, unless settings want a refusal on failure.
fn last_words(globals: &GlobalOptions, responder: &Arc<HookResponder>) -> impl FnOnce() + Send + 'static {
    let (globals, responder) = (globals.clone(), Arc::clone(responder));
    move || {
        let failure = format!("it took more than {} s", LIMIT.as_secs_f64());
        responder.fail(&failure);
        log_hook_failure(&globals, responder.harness.name(), &responder.event, &failure);
    }
}

/// Gives the answer to the harness, only once.
struct HookResponder {
    harness: Harness,
    event: String,
    /// A failure is answered with a refusal, until the call has been decided.
    may_refuse: bool,
    is_decided: AtomicBool,
    /// The result of writing the answer, if one was written.
    spoken: Mutex<Option<io::Result<()>>>,
}

impl HookResponder {
    /// Writes the answer, unless one was written before. Returns whether it got through. An answer to a shell that has
    /// no reader any more did not; a harness that stops reading after that check, before the shell passes the answer
    /// on, goes unnoticed.
    ///
    /// `Silence` means that the tool call is allowed, whatever fails from now on.
    fn say(&self, answer: &HookAnswer) -> HandoverOutcome {
        if *answer == HookAnswer::Silence {
            self.is_decided.store(true, Ordering::Release);
        }
        let mut spoken = self.spoken.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(text) = hook_codec::encode(self.harness, &self.event, answer) else {
            return HandoverOutcome::ReaderGone;
        };
        if spoken.is_some() {
            return HandoverOutcome::ReaderGone;
        }
        test_switches::step();
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(format!("{text}\n").as_bytes()).and_then(|()| stdout.flush());
        test_switches::step();
        let is_lost =
            || files::is_dev_null(&stdout) || shell_pipe::is_shell_output_closed(&io::stdin(), &stdout);
        let is_heard = written.is_ok() && !is_lost();
        *spoken = Some(written);
        if is_heard { HandoverOutcome::Delivered } else { HandoverOutcome::ReaderGone }
    }

    /// Why the answer could not be written, if it could not.
    fn unheard(&self) -> Option<HookFailure> {
        let spoken = self.spoken.lock().unwrap_or_else(PoisonError::into_inner);
        let error = spoken.as_ref()?.as_ref().err()?;
        Some(HookFailure::Answer(error.to_string()))
    }

    /// Refuses the call after a failure if settings want that.
    fn fail(&self, failure: &str) {
        if self.may_refuse && !self.is_decided.load(Ordering::Acquire) {
            let reason = format!(
                "`msg` could not find out whether this is reserved: {failure}. run `msg doctor` for details."
            );
            self.say(&HookAnswer::Deny(reason));
        }
    }
}

/// Writes to standard error, where a person may see it; harnesses ignore it.
fn complain(what: &str, error: &str) {
    drop(writeln!(io::stderr(), "msg {what}: {error}"));
}

#[expect(clippy::panic, reason = "a test wants to see what happens")]
fn break_for_test() {
    if let Some(text) = test_switches::value(test_switches::PANIC) {
        panic!("{text}");
    }
    while test_switches::value(test_switches::HANG).is_some() {
        std::thread::park();
    }
}
