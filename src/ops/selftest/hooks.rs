//! Promise 7: a hook never breaks its host.

use std::time::Duration;

use crate::harness;
use crate::sys::children::{CapturedOutput, ChildInput};

use super::check_environment::{CheckEnvironment, PromiseBroken, PromiseKept, demand};
use super::single_owner::hold;

/// No hook may take longer, even on the slowest machine.
const SLOW: Duration = Duration::from_secs(5);

/// Broken inputs that a hook may get on its standard input.
fn payloads() -> [Vec<u8>; 6] {
    [
        Vec::new(),
        b"not json {".to_vec(),
        b"\xff\xfe\x00\x01".to_vec(),
        b"{\"session_id\": 5, \"cwd\": [], \"tool_name\": {}, \"tool_input\": \"x\"}".to_vec(),
        "[".repeat(100_000).into_bytes(),
        b"{\"session_id\": \"x\", \"tool_input\": {\"command\": \"".to_vec(),
    ]
}

pub(super) fn run(stage: &CheckEnvironment<'_>) -> Result<PromiseKept, PromiseBroken> {
    let _host = stage.join("Ada")?;
    let (mut calls, mut slowest) = (0, Duration::ZERO);
    let mut call = |args: &[&str], payload: Vec<u8>| -> Result<(), PromiseBroken> {
        let answer = stage.speak(args, ChildInput::Bytes(payload), CapturedOutput::Stdout)?.expect(0)?;
        demand(answer.said.is_empty(), || {
            format!("`{}` says something that its host would obey", answer.line)
        })?;
        demand(answer.took < SLOW, || format!("`{}` took {} ms", answer.line, answer.took.as_millis()))?;
        calls += 1;
        slowest = slowest.max(answer.took);
        Ok(())
    };
    for harness in harness::all() {
        for payload in payloads() {
            call(&["hook", harness.name(), "PreToolUse"], payload)?;
        }
    }
    call(&["hook"], b"{}".to_vec())?;
    call(&["hook", "nobody", "Nothing", "--no-such-flag"], b"{}".to_vec())?;
    // A damaged mesh and a lock held by a stopped process must not break a hook either.
    stage.put(&stage.mesh().join("claims.json"), b"damaged")?;
    let holder = hold(stage, &stage.mesh().join("mesh.lock"))?;
    holder.stop()?;
    let edit = b"{\"session_id\":\"session of Ada\",\"cwd\":\"/\",\"hook_event_name\":\"PreToolUse\",\
                 \"tool_name\":\"Write\",\"tool_input\":{\"file_path\":\"/x\"}}";
    call(&["hook", "claude", "PreToolUse"], edit.to_vec())?;
    call(&["hook", "claude", "Stop"], b"{\"session_id\":\"session of Ada\"}".to_vec())?;
    Ok(PromiseKept::with(format!(
        "{calls} calls with garbage: exit code 0 and silence, the slowest in {} ms",
        slowest.as_millis()
    )))
}
