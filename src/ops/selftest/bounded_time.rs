//! Promise 5: every command answers in bounded time. A dead lock holder delays nobody, a stopped one delays
//! others only until their timeout, and `watch` reports a message as soon as it arrives.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::sys::children::{CapturedOutput, Child, ChildInput};

use super::check_environment::{CheckEnvironment, LIMIT, PromiseBroken, PromiseKept, demand};
use super::single_owner::hold;

/// The lock timeout that commands get here.
const LOCK_TIMEOUT: Duration = Duration::from_millis(300);
/// Added to a limit because starting a process takes time too, and the machine may be busy.
const SLACK: Duration = Duration::from_secs(5);
/// A message reported later than this was found by the slow tick (5 s), not by a file system event.
const AT_ONCE: Duration = Duration::from_secs(3);
/// A message not reported within this time counts as never reported.
const REPORT_LIMIT: Duration = Duration::from_secs(12);
const LETTERS: usize = 5;

pub(super) fn run(stage: &CheckEnvironment<'_>) -> Result<PromiseKept, PromiseBroken> {
    let _host = stage.join("Ada")?;
    let holder = hold(stage, &stage.mesh().join("mesh.lock"))?;
    holder.stop()?;
    let args = ["set-status", "busy", "--as", "Ada"];
    let mut command = stage.command(&args);
    command.env("MSG_LOCK_TIMEOUT", LOCK_TIMEOUT.as_secs_f64().to_string());
    let answer = stage.run(&mut command, &args, LIMIT)?.expect_kind(5, "lock_timeout")?;
    demand(answer.took < LOCK_TIMEOUT + SLACK, || {
        format!("a limit of 0.3 s took {} ms", answer.took.as_millis())
    })?;
    let told = answer.json["error"]["holder"].clone();
    if cfg!(target_os = "linux") {
        demand(told == json!(holder.pid().get()), || format!("the error names {told} as the holder"))?;
    }
    // Commands that only read, and `check`, must not wait for the lock.
    stage.msg(&["agents"])?.expect(0)?;
    stage.msg(&["check", "x", "--as", "Ada"])?.expect(0)?;
    drop(holder);
    let after = stage.msg(&args)?.expect(0)?;

    let mut dead = stage.host()?;
    dead.kill()?;
    stage.put(&stage.mesh().join("swarm.lock"), format!("{}\n", dead.pid()).as_bytes())?;
    let claimed = stage.msg(&["claim", "T-1", "--adhoc", "--as", "Ada"])?.expect(0)?;
    let slowest = after.took.max(claimed.took);
    demand(slowest < SLACK, || {
        format!("a dead holder of a lock delayed a command by {} ms", slowest.as_millis())
    })?;
    Ok(PromiseKept::with(format!(
        "a stopped lock holder is named after {} ms (limit {}); a dead one delays nobody ({} ms)",
        answer.took.as_millis(),
        LOCK_TIMEOUT.as_millis(),
        slowest.as_millis()
    )))
}

pub(super) fn watching(stage: &CheckEnvironment<'_>) -> Result<PromiseKept, PromiseBroken> {
    let (_ada, _ben) = (stage.join("Ada")?, stage.join("Ben")?);
    let mut command = stage.command(&["watch", "--as", "Ben", "--json"]);
    let mut watcher = Child::start(&mut command, ChildInput::Nothing, CapturedOutput::Stdout)?;
    let mut send = |text: &str| -> Result<Duration, PromiseBroken> {
        let sent = Instant::now();
        stage.msg(&["send", "Ben", text, "--as", "Ada"])?.expect(0)?;
        let has_it = |said: &[u8]| String::from_utf8_lossy(said).contains(text);
        let heard = watcher.hear(has_it, REPORT_LIMIT, stage.stop);
        let heard = heard.ok_or_else(|| {
            PromiseBroken(format!(
                "whoever follows its inbox was not told within {} s",
                REPORT_LIMIT.as_secs()
            ))
        })?;
        Ok(heard.duration_since(sent))
    };
    // Only the first message proves that the watch is running: it may have been sent before the watch was armed.
    send("before anything else")?;
    let mut slowest = Duration::ZERO;
    for number in 1..=LETTERS {
        slowest = slowest.max(send(&format!("letter {number}"))?);
    }
    let slowest_ms = slowest.as_millis();
    if slowest < AT_ONCE {
        let text =
            format!("{LETTERS} messages told as they came, at most {slowest_ms} ms after `msg send` began");
        return Ok(PromiseKept::with(text));
    }
    Ok(PromiseKept {
        message: format!(
            "told only when the slow tick looked ({slowest_ms} ms): this disk tells of no changes"
        ),
        doubt: Some("messages arrive, but up to 5 s late; a local disk tells at once".to_string()),
    })
}
