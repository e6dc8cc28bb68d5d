//! The main job on a mesh that is thrown away, with real processes: everything that is shown was run, and did what is
//! said of it, or the demo fails.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use serde_json::{Map, Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::faces::cli::output::{Outcome, Page, Report, style};
use crate::ops::{CommandError, Kind};

/// See it work, on a mesh that is thrown away
///
/// Starts real processes, lets agents come and go among them, and cleans up behind itself. Your own mesh and
/// configuration are not touched.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg demo
  msg demo --json        the same, for a program to look at")]
pub(in crate::faces::cli) struct DemoArgs {}

pub(super) fn run(_: DemoArgs) -> Result<Outcome, CommandError> {
    let stage = Stage::set()?;
    let steps = play(&stage)?;
    Ok(DemoReport(steps).into())
}

/// The processes that stand in for harnesses; ended when the demo is over, however it ends.
struct Actor(Child);

impl Actor {
    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Asks it to end, and waits until it has.
    fn stop(&mut self) -> Result<(), CommandError> {
        let pid = i32::try_from(self.0.id()).unwrap_or(i32::MAX);
        let asked =
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM);
        asked
            .map_err(std::io::Error::from)
            .and_then(|()| self.0.wait().map(drop))
            .map_err(|error| failed(&error))
    }

    /// `kill -9`.
    fn kill(&mut self) -> Result<(), CommandError> {
        self.0.kill().and_then(|()| self.0.wait().map(drop)).map_err(|error| failed(&error))
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        // One that has ended already is fine.
        drop(self.kill());
    }
}

struct Stage {
    dir: tempfile::TempDir,
    msg: PathBuf,
    interrupted: Arc<AtomicBool>,
}

impl Stage {
    fn set() -> Result<Self, CommandError> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted)).map_err(|error| failed(&error))?;
        }
        let dir = tempfile::Builder::new().prefix("msg-demo-").tempdir().map_err(|error| failed(&error))?;
        let msg = std::env::current_exe().map_err(|error| failed(&error))?;
        Ok(Self { dir, msg, interrupted })
    }

    fn actor(&self) -> Result<Actor, CommandError> {
        let child = Command::new("sleep").arg("600").stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        child.map(Actor).map_err(|error| failed(&error))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.msg);
        command.args(args).arg("--mesh").arg(self.dir.path().join("mesh"));
        command.env_clear().env("HOME", self.dir.path()).current_dir(self.dir.path()).stdin(Stdio::null());
        command
    }

    /// Runs `msg` with these arguments. `hidden` are those that only the demo needs.
    fn msg(&self, args: &[&str], hidden: &[&str]) -> Result<Line, CommandError> {
        self.expect(0, args, hidden)
    }

    /// The same for what is to be answered with no.
    fn no(&self, args: &[&str]) -> Result<Line, CommandError> {
        self.expect(1, args, &[])
    }

    fn check_interrupt(&self) -> Result<(), CommandError> {
        match self.interrupted.load(Ordering::SeqCst) {
            true => Err(CommandError::new(Kind::Interrupted, "interrupted; nothing is left behind")),
            false => Ok(()),
        }
    }

    fn expect(&self, code: i32, args: &[&str], hidden: &[&str]) -> Result<Line, CommandError> {
        self.check_interrupt()?;
        let all: Vec<&str> = args.iter().chain(hidden).copied().collect();
        let output = self.command(&all).output().map_err(|error| failed(&error))?;
        let text = [output.stdout, output.stderr].concat();
        let line = Line {
            command: shown(args),
            exit: output.status.code(),
            output: String::from_utf8_lossy(&text).trim_end().to_string(),
        };
        if output.status.code() != Some(code) {
            // Ctrl-C reaches what the demo has started as well.
            self.check_interrupt()?;
            let text = format!("`{}` ended with {}: {}", line.command, output.status, line.output);
            return Err(CommandError::new(Kind::Bug, text));
        }
        Ok(line)
    }
}

fn shown(args: &[&str]) -> String {
    let quoted =
        args.iter().map(|arg| if arg.contains(' ') { format!("\"{arg}\"") } else { (*arg).to_string() });
    std::iter::once("msg".to_string()).chain(quoted).collect::<Vec<_>>().join(" ")
}

fn failed(error: &std::io::Error) -> CommandError {
    CommandError::new(Kind::Io, format!("the demo could not go on: {error}"))
}

struct Step {
    title: &'static str,
    lines: Vec<Line>,
}

struct Line {
    command: String,
    exit: Option<i32>,
    output: String,
}

fn play(stage: &Stage) -> Result<Vec<Step>, CommandError> {
    let mut steps = Vec::new();
    let (mut claude, codex, person) = (stage.actor()?, stage.actor()?, stage.actor()?);
    let pids = [&claude, &codex, &person].map(|actor| actor.pid().to_string());
    let join = |name: &str, harness: &str, session: &str, pid: &str| {
        stage.msg(&["join", name], &["--harness", harness, "--session", session, "--pid", pid])
    };
    steps.push(Step {
        title: "Three agents join, each for as long as its process lives",
        lines: vec![
            join("SwiftRaven", "claude", "one", &pids[0])?,
            join("GoldFalcon", "codex", "two", &pids[1])?,
            join("Robin", "terminal", "three", &pids[2])?,
            stage.msg(&["set-status", "--as", "GoldFalcon", "reviewing the login flow"], &[])?,
            stage.msg(&["agents"], &[])?,
        ],
    });
    steps.push(Step {
        title: "Eight more want one name at the same moment: one gets it",
        lines: vec![race(stage)?],
    });
    steps.push(Step {
        title: "A new name; the old one still leads to it",
        lines: vec![
            stage.msg(&["rename", "SilverHeron", "--as", "GoldFalcon"], &[])?,
            stage.msg(&["whois", "GoldFalcon"], &[])?,
        ],
    });
    steps.push(Step {
        title: "A message, sent to the old name, is handed over at once and confirmed",
        lines: talk(stage)?,
    });
    steps.push(Step {
        title: "SwiftRaven reserves a directory; SilverHeron's edit in it is refused by the hook of its harness",
        lines: vec![
            stage.msg(&["reserve", "src/auth/", "--reason", "new login flow", "--as", "SwiftRaven"], &[])?,
            refused_edit(stage)?,
            refused_command(stage)?,
        ],
    });
    steps.push(Step {
        title: "SwiftRaven lets go of it, and SilverHeron, who was refused, is told",
        lines: vec![
            stage.msg(&["release", "--as", "SwiftRaven"], &[])?,
            stage.msg(&["read", "--as", "SilverHeron"], &[])?,
        ],
    });
    steps.push(Step { title: "A spec becomes tasks, and each is one agent's", lines: work(stage)? });
    claude.kill()?;
    steps.push(Step {
        title: "SwiftRaven's process is killed (SIGKILL): it is gone at the next look",
        lines: vec![stage.msg(&["agents"], &[])?, stage.msg(&["agents", "--gone"], &[])?],
    });
    let again = stage.actor()?;
    steps.push(Step {
        title: "Its session is resumed in a new process, and is SwiftRaven again",
        lines: vec![stage.msg(
            &["join"],
            &["--harness", "claude", "--session", "one", "--pid", &again.pid().to_string()],
        )?],
    });
    Ok(steps)
}

/// One sends, the other follows its inbox.
fn talk(stage: &Stage) -> Result<Vec<Line>, CommandError> {
    let follower = stage.command(&["watch", "--as", "SilverHeron"]).stdout(Stdio::piped()).spawn();
    let mut follower = Actor(follower.map_err(|error| failed(&error))?);
    let mut heard = BufReader::new(follower.0.stdout.take().ok_or_else(silent)?);
    let sent = stage.msg(
        &["send", "GoldFalcon", "the login flow is ready for review", "--as", "Robin", "--want-ack"],
        &[],
    )?;
    let mut letter = String::new();
    for _ in 0..2 {
        heard.read_line(&mut letter).map_err(|error| failed(&error))?;
    }
    let watched = Line {
        command: "msg watch --as SilverHeron".to_string(),
        exit: None,
        output: letter.trim_end().to_string(),
    };
    follower.stop()?;
    let id = sent.output.trim_end_matches('.').rsplit(' ').next().unwrap_or_default().to_string();
    let ack = stage.msg(&["ack", &id, "--as", "SilverHeron"], &[])?;
    let receipt = stage.msg(&["receipt", &id, "--as", "Robin"], &[])?;
    Ok(vec![sent, watched, ack, receipt])
}

/// Two agents work through a spec.
fn work(stage: &Stage) -> Result<Vec<Line>, CommandError> {
    let spec = stage.dir.path().join("spec.md");
    let text = "# Login\n\n- [ ] TASK-01: Keep passwords hashed\n- [ ] TASK-02: Log in (needs TASK-01)\n";
    #[expect(clippy::disallowed_methods, reason = "the demo has a directory of its own")]
    std::fs::write(spec, text).map_err(|error| failed(&error))?;
    Ok(vec![
        stage.msg(&["spec", "spec.md", "--as", "SilverHeron"], &[])?,
        stage.msg(&["spec", "spec.md", "--as", "Robin"], &[])?,
        stage.msg(&["claim", "--next", "--reserve", "src/auth/", "--as", "SilverHeron"], &[])?,
        stage.no(&["claim", "TASK-01", "--as", "Robin"])?,
        stage.msg(&["complete", "TASK-01", "--notes", "bcrypt", "--as", "SilverHeron"], &[])?,
        stage.msg(&["claim", "--next", "--as", "Robin"], &[])?,
        stage.msg(&["tasks", "--as", "Robin"], &[])?,
    ])
}

/// What Codex sends before it applies a patch, and what it is answered.
fn refused_edit(stage: &Stage) -> Result<Line, CommandError> {
    let patch = "*** Begin Patch\n*** Update File: src/auth/login.rs\n@@\n-old\n+new\n*** End Patch";
    refusal(stage, "apply_patch", patch, "apply_patch to src/auth/login.rs")
}

/// The same by way of the shell.
fn refused_command(stage: &Stage) -> Result<Line, CommandError> {
    let command = "cd src && sed -i s/old/new/ auth/*.rs";
    refusal(stage, "Bash", command, command)
}

/// Asks `msg hook codex PreToolUse`, as Codex does, and expects a no.
fn refusal(stage: &Stage, tool: &str, input: &str, shown: &str) -> Result<Line, CommandError> {
    let payload = json!({
        "session_id": "two",
        "cwd": stage.dir.path(),
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": { "command": input },
    });
    let hook =
        stage.command(&["hook", "codex", "PreToolUse"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut hook = hook.map_err(|error| failed(&error))?;
    if let Some(mut stdin) = hook.stdin.take() {
        stdin.write_all(payload.to_string().as_bytes()).map_err(|error| failed(&error))?;
    }
    let output = hook.wait_with_output().map_err(|error| failed(&error))?;
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let decision = &answer["hookSpecificOutput"];
    match (decision["permissionDecision"].as_str(), decision["permissionDecisionReason"].as_str()) {
        (Some("deny"), Some(reason)) => Ok(Line {
            command: format!("msg hook codex PreToolUse    # {shown}"),
            exit: output.status.code(),
            output: format!("deny: {reason}"),
        }),
        _ => Err(CommandError::new(Kind::Bug, format!("the hook let it through: {answer}"))),
    }
}

fn silent() -> CommandError {
    CommandError::new(Kind::Bug, "the watcher has nothing to say")
}

/// Eight processes join under one name at once.
fn race(stage: &Stage) -> Result<Line, CommandError> {
    let actors = (0..8).map(|_| stage.actor()).collect::<Result<Vec<_>, _>>()?;
    let mut runners = Vec::new();
    for actor in &actors {
        let args = ["join", "KeenOtter", "--pid", &actor.pid().to_string()];
        let child = stage.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        runners.push(child.map_err(|error| failed(&error))?);
    }
    let mut winners = 0;
    for mut runner in runners {
        match runner.wait().map_err(|error| failed(&error))?.code() {
            Some(0) => winners += 1,
            Some(1) => {}
            code => return Err(CommandError::new(Kind::Bug, format!("a `join` ended with {code:?}"))),
        }
    }
    if winners != 1 {
        return Err(CommandError::new(Kind::Bug, format!("{winners} agents got one name")));
    }
    let output = format!("joined: {winners}, refused because the name is taken: {}", actors.len() - winners);
    Ok(Line { command: "msg join KeenOtter".to_string(), exit: Some(0), output })
}

struct DemoReport(Vec<Step>);

impl Report for DemoReport {
    fn json(&self) -> Map<String, Value> {
        let line = |line: &Line| json!({ "command": line.command, "exit": line.exit, "output": line.output });
        let step = |step: &Step| json!({ "title": step.title, "commands": step.lines.iter().map(line).collect::<Vec<_>>() });
        Map::from_iter([("steps".to_string(), self.0.iter().map(step).collect())])
    }

    fn text(&self, page: &mut Page) {
        for (number, step) in self.0.iter().enumerate() {
            if number > 0 {
                page.line("");
            }
            page.line(style::bold(&format!("{}. {}", number + 1, step.title)));
            for line in &step.lines {
                page.line(format!("{} {}", style::dim("$"), style::good(&line.command)));
                line.output.lines().for_each(|text| page.line(text));
            }
        }
        page.line("");
        page.line(style::dim("That was a mesh of its own, and it is gone. Yours starts with `msg join`."));
        page.line(style::dim(
            "`msg selftest` shows what holds on your disk when processes race and are killed.",
        ));
    }
}
