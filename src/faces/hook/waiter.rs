//! `msg waiter HARNESS`: a process that a harness keeps running while its agent is idle, and that wakes the agent when
//! mail arrives.
//!
//! It gets the payload of the hook at the end of a turn. Without mail it prints nothing. When mail arrives, it ends in
//! the way that the harness understands (`WaiterCall`).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use crate::harness::{self, HarnessSupport, WaiterCall, hook_codec};
use crate::ops::hook::log_hook_failure;
use crate::ops::wake::{self, WaiterEnd};
use crate::ops::{self, Context, Op};
use crate::sys::signals::{self, StopRequest};
use crate::sys::{panics, stdin};

use super::{Arguments, HookFailure, INPUT_LIMIT, MAX_INPUT, complain};

/// The exit code that makes a harness continue.
const GO_ON: u8 = 2;

pub(super) fn run(arguments: Arguments) -> ExitCode {
    let harness = arguments.words.get(1).cloned().unwrap_or_default();
    drop(signals::survive_file_size_limit());
    let globals = arguments.globals.clone();
    let waited = std::panic::catch_unwind(AssertUnwindSafe(|| wait(arguments)));
    let failure = match waited {
        Ok(Ok(code)) => return code,
        Ok(Err(error)) => error,
        Err(panic) => HookFailure::Panic(panics::text(&*panic)),
    };
    let failure = failure.to_string();
    complain("waiter", &failure);
    drop(std::panic::catch_unwind(AssertUnwindSafe(|| {
        log_hook_failure(&globals, &harness, "waiter", &failure);
    })));
    ExitCode::SUCCESS
}

fn wait(arguments: Arguments) -> Result<ExitCode, HookFailure> {
    let Arguments { mut globals, words, .. } = arguments;
    let [_, harness] = words.as_slice() else {
        return Err(HookFailure::Usage("waiter HARNESS"));
    };
    let harness = harness::parse(harness).ok_or_else(|| HookFailure::UnknownHarness(harness.clone()))?;
    let none = || HookFailure::NoWaiter(harness);
    let waiter = harness::support(harness).and_then(HarnessSupport::waiter).ok_or_else(none)?;
    let stop = StopRequest::listen()?;
    let input = stdin::read_all(MAX_INPUT, INPUT_LIMIT)?;
    let event = hook_codec::decode(harness, waiter.event, &input)?;
    let session = event.session.filter(|_| !event.in_subagent);
    let Some(session) = session else { return Ok(ExitCode::SUCCESS) };
    globals.cwd = event.cwd.map(Into::into).filter(|cwd: &std::path::PathBuf| cwd.is_absolute());
    // Each once, because it may come up again and again.
    let said = RefCell::new(BTreeSet::new());
    let warn = |text: &str| {
        if said.borrow_mut().insert(text.to_string()) {
            log_hook_failure(&globals, harness.name(), "waiter", text);
        }
    };
    let (ctx, _) = Context::tolerant(globals.clone())?;
    let work = |op: &Op| wake::wait(op, &globals, &session, &stop, &warn);
    let (ended, warnings) = ops::run(ctx, work).into_parts();
    warnings.iter().for_each(|text| warn(text));
    let ended = ended?;
    let WaiterEnd::Wake(text) = ended else { return Ok(ExitCode::SUCCESS) };
    match waiter.call {
        WaiterCall::ExitCode => {
            writeln!(io::stderr(), "{text}")?;
            Ok(ExitCode::from(GO_ON))
        }
        WaiterCall::Json => {
            let answer = serde_json::json!({ "goOn": text });
            writeln!(io::stdout(), "{answer}")?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
