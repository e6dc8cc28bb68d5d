//! `msg demo`: shows the main job on a temporary mesh, with real processes. Every command that is shown was run; if one
//! does not do what the text says, the demo fails.

mod clearing;
mod crew;
mod git;
mod kept_project;
pub(super) mod machines;
mod pace;
mod telling;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::ops::{CommandError, CommandErrorKind};
use crate::sys::children::{CapturedOutput, Child, ChildExit, ChildInput};
use crate::sys::program;
use crate::sys::signals::StopRequest;
use kept_project::{KeptProject, ProjectDir};
use pace::Pace;
use telling::{DemoStep, DemoTold, Line, command_text, shown, title_text};

/// Longer than any command takes on any machine.
const LIMIT: Duration = Duration::from_secs(60);

/// See it work, on a mesh that is thrown away
///
/// Starts real processes, lets agents come and go among them, and cleans up behind itself. Your own mesh and
/// configuration are not touched. At a terminal it waits after each step: Enter goes on, q and Enter or Ctrl-C end it.
///
/// With `--keep DIR` it also leaves a small project in DIR to try things on: a spec, some files, a mesh of its own and
/// two agents, and does not wait. A process stands in for each agent; it ends when DIR is removed, at the latest after
/// 8 hours.
///
/// With `--crew` it shows `msg crew work` instead: five tasks in a repository that is thrown away, and what becomes of
/// work that is cut off, not done, sent back, in conflict, or wrong together with other work. Shell scripts stand in for
/// the models; everything else is real. It needs git 2.40 or newer, and takes less than a minute, besides your reading.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg demo
  msg demo --fast                   all steps at once, as it does without a terminal
  msg demo --crew                   let three workers build a branch
  msg demo --keep ~/ravenry-tour    leave a project there, for the tour in docs/tour.md
  msg demo --json                   the same, for a program to look at")]
pub(in crate::faces::cli) struct DemoArgs {
    /// Leave a project with a spec and two agents in this directory, which must be new or empty
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Show how a crew of workers turns a plan into a branch
    #[arg(long, conflicts_with = "keep")]
    crew: bool,
    /// Do not wait after each step
    #[arg(long)]
    fast: bool,
    /// Be the process of an agent of a kept project, for as long as this mesh is there
    #[arg(long, hide = true, value_name = "MESH")]
    stand_in: Option<PathBuf>,
}

pub(super) fn run(args: DemoArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    if let Some(mesh) = args.stand_in {
        kept_project::stand_in(&mesh);
        return Ok(CommandOutput::said(None));
    }
    let stop = StopRequest::listen_with_hangup().map_err(|error| failed(&error))?;
    let pace = match args.fast || args.keep.is_some() {
        true => Pace::fast(ui, &stop),
        false => Pace::of_reader(ui, &stop),
    };
    let shown = match args.crew {
        true => crew::show(&stop, ui, &pace),
        false => show(args.keep.as_deref(), &stop, &pace),
    };
    pace.ended(shown, "msg demo --fast")
}

fn show(keep: Option<&Path>, stop: &StopRequest, pace: &Pace) -> Result<CommandOutput, CommandError> {
    let place = keep.map(ProjectDir::find).transpose()?;
    let steps = play(&Stage::set(stop)?, pace)?;
    let kept = place.map(|place| kept_project::make(place, stop)).transpose()?;
    Ok(DemoReport { steps, is_shown: pace.waits(), kept }.into())
}

/// Where commands are run.
struct Stage {
    /// The home of all processes, which is thrown away.
    home: tempfile::TempDir,
    /// The directory in which they are run.
    dir: PathBuf,
    mesh: PathBuf,
    msg: PathBuf,
    /// The variables that commands get besides `HOME`.
    env: Vec<(&'static str, String)>,
    stop: StopRequest,
    /// The kind of error if a command does not end as expected.
    fault: CommandErrorKind,
    /// The machine that it plays, if there are several.
    machine: Option<&'static str>,
    /// Directories that are shown as `~`: the homes of the machines, if there are several.
    homes: Vec<String>,
}

impl Stage {
    /// A mesh that is thrown away.
    fn set(stop: &StopRequest) -> Result<Self, CommandError> {
        let home = tempfile::Builder::new().prefix("msg-demo-").tempdir().map_err(|error| failed(&error))?;
        let msg = program::own().map_err(|error| failed(&error))?;
        let (dir, mesh) = (home.path().to_path_buf(), home.path().join("mesh"));
        let (env, fault) = (Vec::new(), CommandErrorKind::Bug);
        Ok(Self { home, dir, mesh, msg, env, stop: stop.clone(), fault, machine: None, homes: Vec::new() })
    }

    /// A project that stays. Its disk is the user's choice, so what fails there may have to do with that.
    fn in_project(dir: &Path, mesh: &Path, stop: &StopRequest) -> Result<Self, CommandError> {
        let (dir, mesh) = (dir.to_path_buf(), mesh.to_path_buf());
        Ok(Self { dir, mesh, fault: CommandErrorKind::Io, ..Self::set(stop)? })
    }

    /// A process that stands in for a harness; it ends when the demo is over, however it ends.
    fn actor(&self) -> Result<Child, CommandError> {
        let mut command = self.command(&["selftest", "--role", "host"]);
        Child::start(&mut command, ChildInput::Lifeline, CapturedOutput::Stdout)
            .map_err(|error| failed(&error))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.msg);
        command.args(args).arg("--mesh").arg(&self.mesh);
        self.prepare(&mut command);
        command
    }

    /// Nothing of the caller's environment reaches a command.
    fn prepare(&self, command: &mut Command) {
        command.env_clear().env("HOME", self.home.path()).current_dir(&self.dir);
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
    }

    fn start(&self, args: &[&str], input: ChildInput, hear: CapturedOutput) -> Result<Child, CommandError> {
        Child::start(&mut self.command(args), input, hear).map_err(|error| failed(&error))
    }

    /// Waits for the child's end, but returns early after Ctrl-C.
    fn end(&self, child: Child) -> Result<ChildExit, CommandError> {
        self.end_within(child, LIMIT)
    }

    fn end_within(&self, child: Child, limit: Duration) -> Result<ChildExit, CommandError> {
        let ended = child.end_within(limit, &self.stop).map_err(|error| failed(&error))?;
        self.check_interrupt()?;
        Ok(ended)
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
        match self.stop.is_requested() {
            true => Err(interrupted()),
            false => Ok(()),
        }
    }

    fn expect(&self, code: i32, args: &[&str], hidden: &[&str]) -> Result<Line, CommandError> {
        self.check_interrupt()?;
        let all: Vec<&str> = args.iter().chain(hidden).copied().collect();
        let ended = self.end(self.start(&all, ChildInput::Nothing, CapturedOutput::StdoutAndStderr)?)?;
        self.check_end(code, shown(args), &ended)
    }

    /// The output as a person at home reads it.
    fn shortened(&self, text: &str) -> String {
        self.homes.iter().fold(text.to_string(), |text, home| text.replace(home, "~"))
    }

    /// An error if the command did not end as expected.
    fn check_end(&self, code: i32, command: String, ended: &ChildExit) -> Result<Line, CommandError> {
        let output = self.shortened(String::from_utf8_lossy(&ended.said).trim_end());
        let line = Line { machine: self.machine, command, exit: ended.code, output };
        if ended.code != Some(code) {
            let end = ended.code.map_or("a signal".to_string(), |code| format!("exit code {code}"));
            let text = format!("`{}` ended with {end}: {}", line.command, line.output);
            return Err(CommandError::new(self.fault, text));
        }
        Ok(line)
    }
}

fn failed(error: &std::io::Error) -> CommandError {
    CommandError::new(CommandErrorKind::Io, format!("the demo could not go on: {error}"))
}

fn interrupted() -> CommandError {
    CommandError::new(CommandErrorKind::Interrupted, "interrupted; nothing is left behind")
}

fn play(stage: &Stage, pace: &Pace) -> Result<Vec<DemoStep>, CommandError> {
    let mut told = DemoTold::new(pace);
    let (mut claude, codex, person) = (stage.actor()?, stage.actor()?, stage.actor()?);
    let pids = [&claude, &codex, &person].map(|actor| actor.pid().to_string());
    let join = |name: &str, harness: &str, session: &str, pid: &str| {
        stage.msg(&["join", name], &["--harness", harness, "--session", session, "--pid", pid])
    };
    told.step("Three agents join, each for as long as its process lives")?;
    told.lines([
        join("SwiftRaven", "claude", "one", &pids[0])?,
        join("GoldFalcon", "codex", "two", &pids[1])?,
        join("Robin", "terminal", "three", &pids[2])?,
        stage.msg(&["set-status", "--as", "GoldFalcon", "reviewing the login flow"], &[])?,
        stage.msg(&["agents"], &[])?,
    ]);
    told.step("Eight more want one name at the same moment: one gets it")?;
    told.lines([race(stage)?]);
    told.step("A new name; the old one still leads to it")?;
    told.lines([
        stage.msg(&["rename", "SilverHeron", "--as", "GoldFalcon"], &[])?,
        stage.msg(&["whois", "GoldFalcon"], &[])?,
    ]);
    told.step("A message, sent to the old name, is handed over at once and confirmed")?;
    told.lines(talk(stage)?);
    told.step(
        "SwiftRaven reserves a directory; SilverHeron's edit in it is refused by the hook of its harness",
    )?;
    told.lines([
        stage.msg(&["reserve", "src/auth/", "--reason", "new login flow", "--as", "SwiftRaven"], &[])?,
        refused_edit(stage)?,
        refused_command(stage)?,
    ]);
    told.step("SwiftRaven lets go of it, and SilverHeron, who was refused, is told")?;
    told.lines([
        stage.msg(&["release", "--as", "SwiftRaven"], &[])?,
        stage.msg(&["read", "--as", "SilverHeron"], &[])?,
    ]);
    told.step("A spec becomes tasks, and each is one agent's")?;
    told.lines(work(stage)?);
    told.step("SwiftRaven's process is killed (SIGKILL): it is gone at the next look")?;
    claude.kill().map_err(|error| failed(&error))?;
    told.lines([stage.msg(&["agents"], &[])?, stage.msg(&["agents", "--gone"], &[])?]);
    let again = stage.actor()?;
    told.step("Its session is resumed in a new process, and is SwiftRaven again")?;
    told.lines([stage
        .msg(&["join"], &["--harness", "claude", "--session", "one", "--pid", &again.pid().to_string()])?]);
    Ok(told.steps)
}

/// One sends, the other follows its inbox.
fn talk(stage: &Stage) -> Result<Vec<Line>, CommandError> {
    let mut follower =
        stage.start(&["watch", "--as", "SilverHeron"], ChildInput::Nothing, CapturedOutput::Stdout)?;
    let sent = stage.msg(
        &["send", "GoldFalcon", "the login flow is ready for review", "--as", "Robin", "--want-ack"],
        &[],
    )?;
    let has_two_lines = |said: &[u8]| said.iter().filter(|byte| **byte == b'\n').count() >= 2;
    let heard = follower.hear(has_two_lines, LIMIT, &stage.stop);
    stage.check_interrupt()?;
    heard.ok_or_else(|| CommandError::new(CommandErrorKind::Bug, "the watcher has nothing to say"))?;
    let watched = Line {
        machine: None,
        command: "msg watch --as SilverHeron".to_string(),
        exit: None,
        output: String::from_utf8_lossy(follower.said()).trim_end().to_string(),
    };
    // A message is recorded after it is handed over. A watcher that is asked to end records first.
    follower.ask_to_end().map_err(|error| failed(&error))?;
    stage.end(follower)?;
    let id = sent.output.trim_end_matches('.').rsplit(' ').next().unwrap_or_default().to_string();
    let ack = stage.msg(&["ack", &id, "--as", "SilverHeron"], &[])?;
    let receipt = stage.msg(&["receipt", &id, "--as", "Robin"], &[])?;
    Ok(vec![sent, watched, ack, receipt])
}

/// Two agents work through a spec.
fn work(stage: &Stage) -> Result<Vec<Line>, CommandError> {
    let spec = stage.dir.join("spec.md");
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
    refused_tool(stage, "apply_patch", patch, "apply_patch to src/auth/login.rs")
}

/// The same by way of the shell.
fn refused_command(stage: &Stage) -> Result<Line, CommandError> {
    let command = "cd src && sed -i s/old/new/ auth/*.rs";
    refused_tool(stage, "Bash", command, command)
}

/// Asks `msg hook codex PreToolUse`, as Codex does, and expects a no.
fn refused_tool(stage: &Stage, tool: &str, input: &str, shown: &str) -> Result<Line, CommandError> {
    let payload = json!({
        "session_id": "two",
        "cwd": &stage.dir,
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": { "command": input },
    });
    let input = ChildInput::Bytes(payload.to_string().into_bytes());
    let ended = stage.end(stage.start(&["hook", "codex", "PreToolUse"], input, CapturedOutput::Stdout)?)?;
    let answer: Value = serde_json::from_slice(&ended.said).unwrap_or_default();
    let decision = &answer["hookSpecificOutput"];
    match (decision["permissionDecision"].as_str(), decision["permissionDecisionReason"].as_str()) {
        (Some("deny"), Some(reason)) => Ok(Line {
            machine: stage.machine,
            command: format!("msg hook codex PreToolUse    # {shown}"),
            exit: ended.code,
            output: format!("deny: {reason}"),
        }),
        _ => Err(CommandError::new(CommandErrorKind::Bug, format!("the hook let it through: {answer}"))),
    }
}

/// Eight processes join under one name at once.
fn race(stage: &Stage) -> Result<Line, CommandError> {
    let actors = (0..8).map(|_| stage.actor()).collect::<Result<Vec<_>, _>>()?;
    let mut runners = Vec::new();
    for actor in &actors {
        let args = ["join", "KeenOtter", "--pid", &actor.pid().to_string()];
        runners.push(stage.start(&args, ChildInput::Nothing, CapturedOutput::Stdout)?);
    }
    let mut winners = 0;
    for runner in runners {
        match stage.end(runner)?.code {
            Some(0) => winners += 1,
            Some(1) => {}
            code => {
                return Err(CommandError::new(
                    CommandErrorKind::Bug,
                    format!("a `join` ended with {code:?}"),
                ));
            }
        }
    }
    if winners != 1 {
        return Err(CommandError::new(CommandErrorKind::Bug, format!("{winners} agents got one name")));
    }
    let output = format!("joined: {winners}, refused because the name is taken: {}", actors.len() - winners);
    Ok(Line { machine: None, command: "msg join KeenOtter".to_string(), exit: Some(0), output })
}

struct DemoReport {
    steps: Vec<DemoStep>,
    /// They were shown while they happened.
    is_shown: bool,
    kept: Option<KeptProject>,
}

impl Report for DemoReport {
    fn json(&self) -> Map<String, Value> {
        let mut members =
            Map::from_iter([("steps".to_string(), self.steps.iter().map(DemoStep::json).collect())]);
        match &self.kept {
            Some(kept) => members.extend(kept.json()),
            None => members.extend([("kept".to_string(), Value::Null)]),
        }
        members
    }

    fn text(&self, page: &mut Page) {
        for (number, step) in self.steps.iter().enumerate().filter(|_| !self.is_shown) {
            if number > 0 {
                page.line("");
            }
            page.line(title_text(number + 1, step.title));
            step.lines.iter().flat_map(Line::texts).for_each(|text| page.line(text));
        }
        page.line("");
        if let Some(kept) = &self.kept {
            return kept.text(page);
        }
        page.line(style::dim("That was a mesh of its own, and it is gone. Yours starts with `msg setup`."));
        page.line(style::dim(
            "`msg demo --keep DIR` leaves a project to try it on; `msg selftest` tests what holds on your disk.",
        ));
    }
}
