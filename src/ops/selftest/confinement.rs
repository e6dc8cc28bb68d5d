//! Promise 6: no name or link leads out of the mesh, and text from peers reaches a terminal without control sequences.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::sys::children::{CapturedOutput, ChildInput};
use crate::sys::files::{self, Published, Walk};

use super::check_environment::{CheckEnvironment, PromiseBroken, PromiseKept, demand};

/// Names that must be rejected.
const BAD_NAMES: [&str; 8] =
    ["../x", "../../x", "/etc/x", "a/b", ".hidden", "a\nb", "x.json", "\u{1b}[31mRed"];
/// Characters that a terminal would interpret, or that hide text from a reader.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}evil\r\u{8}";

pub(super) fn run(stage: &CheckEnvironment<'_>) -> Result<PromiseKept, PromiseBroken> {
    let (_ada, _ben) = (stage.join("Ada")?, stage.join("Ben")?);
    let precious = stage.dir().join("precious.json");
    stage.put(&precious, b"{}")?;
    let outside = outside(stage);
    let refused = names(stage)?;
    let escapes = escapes(stage)?;
    links(stage, &precious)?;
    open_to_others(stage)?;
    let grown: Vec<String> = self::outside(stage).difference(&outside).cloned().collect();
    demand(grown.is_empty(), || format!("something got out of the mesh: {}", grown.join(", ")))?;
    Ok(PromiseKept::with(format!(
        "{refused} names that lead out refused, {escapes} texts shown harmless; a planted link, an open mesh too"
    )))
}

/// Tries bad names in every command that takes one, and a session id that looks like a path.
fn names(stage: &CheckEnvironment<'_>) -> Result<usize, PromiseBroken> {
    let host = stage.host()?;
    let pid = host.pid().to_string();
    let mut refused = 0;
    for name in BAD_NAMES {
        let acting_as = format!("--as={name}");
        for args in [
            &["join", "--pid", &pid, "--", name][..],
            &["rename", "--as", "Ada", "--", name],
            &["whois", "--", name],
            &[&acting_as, "whoami"],
        ] {
            // `--json` comes first because the arguments end in `--`.
            let args = [&["--json"], args].concat();
            let answer = stage.speak(&args, ChildInput::Nothing, CapturedOutput::Stdout)?;
            answer.expect_kind(2, "invalid_name")?;
            refused += 1;
        }
    }
    // A session id may be any text: it is never used as a file name.
    let host = stage.host()?;
    let args = ["join", "Cleo", "--pid", &host.pid().to_string(), "--session", "../../../x"];
    stage.msg(&args)?.expect(0)?;
    Ok(refused)
}

/// Shows a peer's hostile text with every command that displays it.
fn escapes(stage: &CheckEnvironment<'_>) -> Result<usize, PromiseBroken> {
    stage.msg(&["send", "Ben", HOSTILE, "--as", "Ada"])?.expect(0)?;
    plant_reason(stage)?;
    let mut shown = 0;
    for (shows_text, args) in [
        (true, &["inbox", "--as", "Ben"][..]),
        (true, &["read", "--as", "Ben"]),
        (true, &["reservations"]),
        (true, &["check", "src/x", "--as", "Ben"]),
        (true, &["history", "--as", "Ben"]),
        (false, &["feed"]),
    ] {
        let answer = stage.speak(args, ChildInput::Nothing, CapturedOutput::StdoutAndStderr)?;
        // Without the text on the screen, the test below would prove nothing.
        let is_shown = !shows_text || answer.said.contains("evil");
        demand(is_shown, || format!("`{}` does not show what was said", answer.line))?;
        let obeyed = answer.said.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        demand(obeyed.is_none(), || {
            let char = obeyed.unwrap_or_default().escape_unicode();
            format!("`{}` lets a peer's {char} through to the terminal", answer.line)
        })?;
        shown += 1;
    }
    Ok(shown)
}

/// Puts a reason that no command accepts into a registration, as a hostile peer would.
fn plant_reason(stage: &CheckEnvironment<'_>) -> Result<(), PromiseBroken> {
    stage.msg(&["reserve", "src/", "--reason", "work", "--as", "Ada"])?.expect(0)?;
    let path = stage.mesh().join("registry/Ada.json");
    let content = files::read(&path)?.unwrap_or_default();
    let mut registration: Value = serde_json::from_slice(&content).unwrap_or_default();
    registration["reservations"][0]["reason"] = HOSTILE.into();
    stage.put(&path, registration.to_string().as_bytes())
}

/// Replaces a mesh file by a hard link to a file outside: a write must create a new file and leave that one alone.
fn links(stage: &CheckEnvironment<'_>, precious: &Path) -> Result<(), PromiseBroken> {
    let claims = stage.mesh().join("claims.json");
    files::remove(&claims)?;
    let linked = files::link(precious, &claims)?;
    demand(linked == Published::Done, || "a hard link can't be made".to_string())?;
    stage.msg(&["claim", "T-1", "--adhoc", "--as", "Ada"])?.expect(0)?;
    let content = files::read(precious)?.unwrap_or_default();
    demand(content == b"{}", || "a file outside of the mesh was changed by way of a hard link".to_string())
}

/// A mesh that everybody may write to is refused.
fn open_to_others(stage: &CheckEnvironment<'_>) -> Result<(), PromiseBroken> {
    files::set_mode(&stage.mesh(), 0o777)?;
    stage.msg(&["agents"])?.expect_kind(4, "unsafe_mesh")?;
    files::set_mode(&stage.mesh(), files::DIR_MODE)?;
    stage.msg(&["agents"])?.expect(0).map(drop)
}

/// Every file on the stage that is neither in the mesh nor one of our own props.
fn outside(stage: &CheckEnvironment<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let (mesh, props) = (stage.mesh(), stage.dir().join("props"));
    let above = stage.dir().parent().unwrap_or(stage.dir());
    Walk::new(10_000, Duration::from_secs(5)).files(above, &mut |path, _| {
        if !path.starts_with(&mesh) && !path.starts_with(&props) {
            found.insert(path.display().to_string());
        }
    });
    found
}
