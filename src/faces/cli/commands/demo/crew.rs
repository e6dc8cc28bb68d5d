//! `msg demo --crew`: three workers turn a plan into a branch, in a repository that is thrown away. Shell scripts stand in
//! for the models; supervisors, worktrees, tests, reviews and merges are those of `msg crew work`.
//!
//! What is told of a task is read from the ledger while the crew works. If one of the stories is missing at the end, the
//! demo fails.

mod bakery;
mod stories;

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::clearing::{clear_away, is_over};
use super::pace::Pace;
use super::{DemoStep, Line, Stage, command_text, failed, shown, title_text};
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::ops::{CommandError, CommandErrorKind, require_person};
use crate::sys::children::{CapturedOutput, Child, ChildInput};
use crate::sys::git::run_tree::merging_git;
use crate::sys::signals::StopRequest;
use bakery::{BRANCH, PLAN};
use stories::Story;

/// Longer than the crew takes on any machine.
const LIMIT: Duration = Duration::from_secs(300);
/// How long a crew that is interrupted may take to end.
const END_LIMIT: Duration = Duration::from_secs(30);

/// Shows it, step by step, and leaves nothing behind, however it ends.
pub(super) fn show(stop: &StopRequest, ui: &Ui, pace: &Pace) -> Result<CommandOutput, CommandError> {
    require_person(|| "msg demo --crew".to_string())?;
    require_git()?;
    let stage = bakery::set(stop)?;
    let mut show = Show { stage: &stage, ui, pace, steps: Vec::new(), stories: Vec::new() };
    let played = play(&mut show);
    let report = CrewDemoReport { steps: show.steps, stories: show.stories };
    let cleared = clear_away(stage);
    match played {
        Ok(()) => cleared.map(|()| report.into()),
        // Its text says that nothing is left behind.
        Err(error) if error.kind == CommandErrorKind::Interrupted => Err(cleared.err().unwrap_or(error)),
        Err(error) => Err(error),
    }
}

fn require_git() -> Result<(), CommandError> {
    merging_git().map(drop).map_err(|error| {
        let CommandError { kind, message, .. } = CommandError::from(error);
        CommandError::new(kind, format!("the demo of a crew needs git: {message}"))
            .hint("install git 2.40 or newer; `msg demo` shows the rest without it")
    })
}

fn play(show: &mut Show<'_>) -> Result<(), CommandError> {
    let stage = show.stage;
    show.step("A repository, and a plan: what each task needs, which paths it changes, and what proves it")?;
    show.line(bakery::make(stage)?);
    let before = bakery::contents(&stage.dir)?;

    show.step(
        "Shell scripts stand in for the models, and do wrong on purpose; a person trusts the plan's commands",
    )?;
    show.line(bakery::profiles());
    show.line(stage.msg(&["workers", "trust", "--spec", PLAN, "--yes"], &[])?);

    show.step("Three workers at once, each in a worktree of its own")?;
    work(show)?;

    show.step("What became of each task")?;
    show.line(stage.msg(&["crew", "report"], &[])?);

    show.step("A branch on which each commit is a task that was built, proven, reviewed and merged")?;
    let range = format!("main..{BRANCH}");
    show.line(stage.git(&["log", "--reverse", "--format=%h %s", &range])?);

    show.step("Branch, index and files are byte for byte as before; no worktree and no process is left")?;
    let status = stage.git(&["status", "--short", "--branch"])?;
    let worktrees = stage.git(&["worktree", "list"])?;
    let is_alone = worktrees.output.lines().count() == 1;
    show.line(status);
    show.line(worktrees);
    require(bakery::contents(&stage.dir)? == before, "the crew changed files of the repository")?;
    require(is_alone, "the crew left a worktree behind")?;
    let is_over = is_over(stage.home.path(), &stage.stop);
    stage.check_interrupt()?;
    require(is_over, "the crew left a process behind")?;

    show.step("The one command that takes the work")?;
    show.line(stage.git(&["merge", BRANCH])?);
    Ok(())
}

fn require(is_so: bool, fault: &str) -> Result<(), CommandError> {
    if is_so { Ok(()) } else { Err(CommandError::new(CommandErrorKind::Bug, fault)) }
}

/// Lets the crew work. Its lines are shown as they come, and between them what happens.
fn work(show: &mut Show<'_>) -> Result<(), CommandError> {
    let args = ["crew", "work", PLAN, "--workers", "3", "--yes"];
    let started = Instant::now();
    let mut child = show.stage.start(&args, ChildInput::Nothing, CapturedOutput::StdoutAndStderr)?;
    show.begin_line(shown(&args));
    let followed = follow(show, &mut child).and_then(|()| show.stage.check_interrupt());
    if let Err(error) = followed {
        // It stops its workers. What does not end by itself is ended when everything is cleared away.
        child.interrupt().map_err(|error| failed(&error))?;
        let (never, _trigger) = StopRequest::manual();
        child.end_within(started.elapsed() + END_LIMIT, &never).map_err(|error| failed(&error))?;
        return Err(error);
    }
    let ended = show.stage.end_within(child, LIMIT)?;
    let output = show.end_line(ended.code);
    if ended.code != Some(0) {
        let text = format!("`{}` did not end with success: {output}", shown(&args));
        return Err(CommandError::new(CommandErrorKind::Bug, text));
    }
    tell_stories(show, |_| true)?;
    match stories::missing(&show.stories) {
        None => Ok(()),
        Some(missing) => {
            let text = format!("the demo was to show that {missing}, and it did not happen");
            Err(CommandError::new(CommandErrorKind::Bug, text))
        }
    }
}

fn follow(show: &mut Show<'_>, child: &mut Child) -> Result<(), CommandError> {
    let started = Instant::now();
    while let Some(line) = child.next_line(LIMIT.saturating_sub(started.elapsed()), &show.stage.stop) {
        show.output(line.clone());
        if line.contains("attempt") {
            tell_stories(show, |story| line.starts_with(&story.task))?;
        }
    }
    Ok(())
}

/// Tells which of these things have happened since they were told last.
fn tell_stories(show: &mut Show<'_>, is_wanted: impl Fn(&Story) -> bool) -> Result<(), CommandError> {
    let stage = show.stage;
    let child =
        stage.start(&["crew", "status", PLAN, "--json"], ChildInput::Nothing, CapturedOutput::Stdout)?;
    let ended = stage.end(child)?;
    let status: Value = serde_json::from_slice(&ended.said).map_err(|error| failed(&error.into()))?;
    for story in stories::found(&status).into_iter().filter(is_wanted) {
        if !show.stories.iter().any(|told| told.kind == story.kind && told.task == story.task) {
            show.say(&story);
            show.stories.push(story);
        }
    }
    Ok(())
}

/// What is shown, while it happens.
struct Show<'a> {
    stage: &'a Stage,
    ui: &'a Ui,
    pace: &'a Pace<'a>,
    steps: Vec<DemoStep>,
    stories: Vec<Story>,
}

impl Show<'_> {
    /// Begins the next step.
    fn step(&mut self, title: &'static str) -> Result<(), CommandError> {
        if !self.steps.is_empty() {
            self.pace.wait()?;
        }
        // At a terminal, the Enter of the reader has left an empty line.
        let gap = if self.steps.is_empty() || self.pace.waits() { "" } else { "\n" };
        self.steps.push(DemoStep { title, lines: Vec::new() });
        self.ui.progress_change(&format!("{gap}{}", title_text(self.steps.len(), title)));
        Ok(())
    }

    /// A command that has ended.
    fn line(&mut self, line: Line) {
        self.begin_line(line.command);
        line.output.lines().for_each(|text| self.output(text.to_string()));
        self.end_line(line.exit);
    }

    fn begin_line(&mut self, command: String) {
        self.ui.progress_change(&command_text(&command));
        if let Some(step) = self.steps.last_mut() {
            step.lines.push(Line { machine: None, command, exit: None, output: String::new() });
        }
    }

    /// A line of the output of the command that was begun.
    fn output(&mut self, text: String) {
        let home = self.stage.home.path();
        let real = home.canonicalize().unwrap_or_default();
        // As `msg` shows it. An empty path is that of no directory.
        let homes = [home, &real].map(|home| home.to_string_lossy().into_owned());
        let text =
            homes.iter().filter(|home| !home.is_empty()).fold(text, |text, home| text.replace(home, "~"));
        self.ui.progress_change(&text);
        if let Some(line) = self.steps.last_mut().and_then(|step| step.lines.last_mut()) {
            line.output.push_str(&text);
            line.output.push('\n');
        }
    }

    /// Returns all of its output.
    fn end_line(&mut self, exit: Option<i32>) -> String {
        let Some(line) = self.steps.last_mut().and_then(|step| step.lines.last_mut()) else {
            return String::new();
        };
        line.exit = exit;
        line.output.truncate(line.output.trim_end().len());
        line.output.clone()
    }

    /// What people are told besides.
    fn say(&self, story: &Story) {
        for (number, text) in story.sentences.iter().enumerate() {
            let start = if number == 0 { "  → " } else { "    " };
            self.ui.progress_change(&style::warn(&format!("{start}{text}")));
        }
    }
}

struct CrewDemoReport {
    steps: Vec<DemoStep>,
    stories: Vec<Story>,
}

impl Report for CrewDemoReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([
            ("steps".to_string(), self.steps.iter().map(DemoStep::json).collect()),
            ("stories".to_string(), self.stories.iter().map(Story::json).collect()),
            ("kept".to_string(), json!(null)),
        ])
    }

    /// The rest was shown while it happened.
    fn text(&self, page: &mut Page) {
        page.line("");
        page.line(style::dim(
            "That was a repository and a mesh of their own, and they are gone. In yours, begin with",
        ));
        page.line(style::dim(
            "`msg crew plan 'WHAT YOU WANT'`. With profiles of harnesses, the workers are models.",
        ));
    }
}
