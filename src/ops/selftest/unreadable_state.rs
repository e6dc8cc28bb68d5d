//! Promise 4: a file that can't be read is reported as an error and never treated as empty.

use std::path::PathBuf;

use crate::sys::files;

use super::check_environment::{CheckEnvironment, PromiseBroken, PromiseKept, demand};

/// Files as a crash, a full disk or a mistaken edit leaves them.
const DAMAGED: [(&str, &[u8]); 6] = [
    ("claims.json", b""),
    ("claims.json", b"{\"/spec.md\": {\"T-1\": {\"agent\": \"Ad"),
    ("claims.json", b"\x00\x00\x00\x00\xff\xfe"),
    ("claims.json", b"[]"),
    ("completions.json", b"{\"/spec.md\": "),
    ("completions.json", b"not json at all"),
];

pub(super) fn run(stage: &CheckEnvironment<'_>) -> Result<PromiseKept, PromiseBroken> {
    // A damaged file is read again for a second while it is young, in case it is half written. In parallel, all
    // of that takes one second.
    let stopped: Vec<Result<(), PromiseBroken>> = std::thread::scope(|scope| {
        let check = |(number, (file, content))| scope.spawn(move || stops_at(stage, number, file, content));
        let running: Vec<_> = DAMAGED.into_iter().enumerate().map(check).collect();
        let ended = running.into_iter().map(|thread| thread.join());
        ended.map(|ended| ended.unwrap_or_else(|_| Err(super::race::crashed()))).collect()
    });
    stopped.into_iter().collect::<Result<Vec<()>, PromiseBroken>>()?;
    Ok(PromiseKept::with(format!(
        "{} damaged files each stopped the command, were named, and stay as they are",
        DAMAGED.len()
    )))
}

fn stops_at(
    stage: &CheckEnvironment<'_>,
    number: usize,
    file: &str,
    content: &[u8],
) -> Result<(), PromiseBroken> {
    let mesh = stage.dir().join(format!("mesh-{number}"));
    let dir = mesh.to_string_lossy().into_owned();
    let host = stage.host()?;
    let (pid, session) = (host.pid().to_string(), format!("session {number}"));
    let join = ["join", "Ada", "--pid", &pid, "--session", &session, "--harness", "terminal", "--mesh", &dir];
    stage.msg(&join)?.expect(0)?;
    let path: PathBuf = mesh.join(file);
    stage.put(&path, content)?;
    let answer = stage.msg(&["claim", "T-1", "--adhoc", "--as", "Ada", "--mesh", &dir])?;
    let answer = answer.expect_kind(4, "corrupt")?;
    let names_it = answer.json["error"]["message"].as_str().is_some_and(|message| message.contains(file));
    demand(names_it, || format!("the error does not name `{file}`: {}", answer.outcome()))?;
    let hints = answer.json["error"]["hints"].to_string();
    demand(hints.contains("msg doctor --repair"), || format!("the error names no way out: {hints}"))?;
    let now = files::read(&path)?.unwrap_or_default();
    demand(now == content, || format!("a damaged `{file}` was overwritten"))
}
