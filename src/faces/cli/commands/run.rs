//! `msg run`: starts a worker and follows it.

use std::time::Duration;

use clap::{ArgGroup, Args};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::domain::runs::{Run, RunElsewhere, RunState};
use crate::domain::workers::{Budget, Isolation};
use crate::domain::{AgentName, escape_invisible, shell_word};
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::faces::cli::text_arg::TextArgs;
use crate::faces::json;
use crate::ops::runs::elsewhere::asking::take_refusal;
use crate::ops::runs::follow::{FollowEnd, FollowGoal, follow};
use crate::ops::runs::gate::{Gate, GateAnswer};
use crate::ops::runs::plan::{RunRequest, plan};
use crate::ops::runs::start::{DryRun, DryTerminal, dry_run, start};
use crate::ops::runs::stop::stop;
use crate::ops::runs::tell::{AnswerChoice, answer_command};
use crate::ops::runs::terminal_wish::TerminalWish;
use crate::ops::screens::up::pane_command;
use crate::ops::{self, CommandError, CommandErrorKind, Op, is_inside_harness};
use crate::store::StopUrgency;
use crate::sys::clock;
use crate::sys::files::FileError;
use crate::sys::signals::StopRequest;

use super::question_prompt::{PromptState, QuestionPrompt};
use super::run_elsewhere;
use super::run_progress::ProgressLine;

/// Start a worker on a task, and follow it
///
/// A profile says what kind of worker: `msg workers` lists them. The run goes on if this command is killed; Ctrl-C
/// stops it. Inside a harness this command returns after 90 seconds (`followSeconds`), and the end comes as mail.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("held").args(["reserve", "claim"]).multiple(true), after_help = "\
Examples:
  msg run scout 'Where are sessions refreshed?'
  msg run scout 'Which tests cover src/auth?' --timeout 5m --budget 50ktok
  msg run reviewer --file review.md --detach
  msg run builder 'Make the tests of src/auth pass' --worktree
  msg run builder 'Rename the column' --reserve 'db/*.sql' --reserve src/model.rs --wait
  msg run builder --task TASK-03 --spec plan.md
  msg run builder 'Make the tests of src/auth pass' --tmux --name Mason
  msg run builder 'Make the slow tests pass' --on buildbox
  git diff | msg run reviewer -
  msg run scout 'List the TODOs' --json | jq -r .run.result")]
pub(in crate::faces::cli) struct RunArgs {
    /// A profile, or a harness
    #[arg(value_name = "PROFILE")]
    profile: String,
    #[command(flatten)]
    task: TextArgs,
    /// Let it work in a git worktree of its own, which starts as this tree is now; `msg runs merge` brings its work back
    #[arg(long)]
    worktree: bool,
    /// Start it in a window of its own in this project's tmux session, and type the task there; it goes on after its turn
    #[arg(long)]
    tmux: bool,
    /// With --tmux: answer yes if it asks whether this folder is trusted
    #[arg(long, requires = "tmux")]
    accept_trust: bool,
    /// Return at once, with --tmux when it has taken its task or is queued; the end comes as mail, and `msg runs` shows it
    #[arg(long)]
    detach: bool,
    /// End the worker after this long: 90 (seconds), 90s, 10m, 2h
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    timeout: Option<String>,
    /// End the worker when it has used more than this: 2.50usd, 200ktok
    #[arg(long, value_name = "BUDGET")]
    budget: Option<String>,
    /// Reserve this for the worker until the run ends, in every work tree of this repository; may be repeated
    #[arg(long, value_name = "PATTERN")]
    reserve: Vec<String>,
    /// Claim this task of the spec for the worker; without TEXT, what the spec says of it is the worker's task
    #[arg(long = "task", value_name = "ID")]
    claim: Option<String>,
    /// With --task: a spec other than yours
    #[arg(long, value_name = "PATH", requires = "claim")]
    spec: Option<String>,
    /// Wait until nobody else holds the paths of --reserve, and those that the spec has for --task
    #[arg(long, requires = "held")]
    wait: bool,
    /// Only show what would be started: the command line, the permission mode, the environment and the gates
    #[arg(long, conflicts_with = "detach")]
    dry_run: bool,
    /// The name that the worker gets
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Ask this machine of a linked mesh to start it there, in a worktree at the commit that is checked out here
    #[arg(long, value_name = "MACHINE", conflicts_with_all = ["tmux", "accept_trust"])]
    on: Option<String>,
}

pub(super) fn run(op: &Op, args: RunArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    let task = args.task.read()?;
    let is_blank = task.as_deref().is_some_and(|task| task.trim().is_empty());
    if is_blank && args.tmux && args.claim.is_none() {
        // A worker in tmux may have no task, but whoever gives one means it.
        let hint = "leave it out, and a worker in tmux waits for what a person types";
        return Err(Gate::Task.refuse("the task is empty").hint(hint));
    }
    let request = RunRequest {
        profile: args.profile,
        task: task.unwrap_or_default(),
        name: args.name.map(AgentName::new).transpose()?,
        timeout: args.timeout.as_deref().map(|text| ops::parse_duration(text, "--timeout")).transpose()?,
        budget: parse_budget(args.budget.as_deref())?,
        isolation: args.worktree.then_some(Isolation::Worktree),
        reserve: args.reserve,
        is_to_wait: args.wait,
        terminal: args.tmux.then_some(match args.accept_trust {
            true => TerminalWish::AcceptTrust,
            false => TerminalWish::Report,
        }),
        claims: args.claim.map(|id| (id, args.spec)),
        ..RunRequest::default()
    };
    if let Some(machine) = args.on {
        let following = if args.detach { Following::ToStart } else { Following::ToItsEnd };
        let planned = run_elsewhere::planned(op, &request, &machine)?;
        if args.dry_run {
            return Ok(run_elsewhere::report(planned).into());
        }
        let follower = RunFollower::new(ui, following)?;
        let run = run_elsewhere::asked(op, planned)?;
        return follower.follow(op, run);
    }
    let new = plan(op, request)?;
    if args.dry_run {
        return Ok(DryRunReport(dry_run(op, &new)?).into());
    }
    let following = match (args.detach, args.tmux) {
        (true, true) => Following::ToPrompt,
        (true, false) => Following::Detached,
        (false, _) => Following::ToItsEnd,
    };
    let follower = RunFollower::new(ui, following)?;
    follower.follow(op, start(op, new)?)
}

/// The budget that was typed; none if there is nothing.
pub(super) fn parse_budget(text: Option<&str>) -> Result<Budget, CommandError> {
    let budget = text.map(Budget::parse).transpose();
    let budget = budget.map_err(|error| CommandError::new(CommandErrorKind::InvalidValue, error.to_string()));
    Ok(budget?.unwrap_or_default())
}

/// Whether whoever starts a run waits for its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Following {
    Detached,
    /// Until it has taken its first prompt.
    ToPrompt,
    /// Until another machine has started it, or refused.
    ToStart,
    ToItsEnd,
}

/// How long whoever does not follow it waits until another machine has started a run, or refused.
const START_LIMIT: Duration = Duration::from_secs(20);

/// Follows a run that was just started. It listens to Ctrl-C from the beginning.
pub(super) struct RunFollower<'a> {
    ui: &'a Ui,
    following: Following,
    interrupt: StopRequest,
}

impl<'a> RunFollower<'a> {
    /// To be made before the run is started.
    pub(super) fn new(ui: &'a Ui, following: Following) -> Result<Self, CommandError> {
        let interrupt = StopRequest::listen_to_interrupt().map_err(FileError::from)?;
        Ok(Self { ui, following, interrupt })
    }

    pub(super) fn follow(self, op: &Op, run: Run) -> Result<CommandOutput, CommandError> {
        if self.following == Following::Detached {
            return Ok(RunReport(run).into());
        }
        Ok(match self.accompany(op, run)? {
            FollowEnd::Ended(run) | FollowEnd::Stopped(run) => {
                // A request that was refused was never a run.
                if let Some(refused) = take_refusal(op, &run)? {
                    return Err(refused);
                }
                let error = error_of(&run);
                CommandOutput { report: Some(Box::new(RunReport(run))), error }
            }
            FollowEnd::GoesOn(run) => RunReport(run).into(),
        })
    }

    /// Follows the run, and stops it at Ctrl-C.
    pub(super) fn accompany(&self, op: &Op, run: Run) -> Result<FollowEnd, CommandError> {
        let goal = match self.following {
            Following::ToPrompt => FollowGoal::PromptTaken,
            Following::ToStart => FollowGoal::Started,
            Following::ToItsEnd | Following::Detached => FollowGoal::FirstTurn,
        };
        let limit = match self.following {
            Following::ToStart => Some(START_LIMIT),
            _ => is_inside_harness().then(|| op.settings.follow_limit()),
        };
        let mut line = ProgressLine::new(self.ui);
        let mut prompt = QuestionPrompt::new(op, self.ui);
        let end = follow(op, &run.id, (goal, limit), &self.interrupt, |run| {
            if prompt.show(run) == PromptState::Silent {
                line.show(run);
            }
        })?;
        let end = match end {
            FollowEnd::Stopped(run) => {
                line.say(&run, "is being stopped");
                match stop(op, run.id.as_str(), StopUrgency::Now) {
                    // It has just ended by itself.
                    Err(error) if error.kind == CommandErrorKind::NotRunning => {}
                    stopped => drop(stopped?),
                }
                let (never, _asker) = StopRequest::manual();
                follow(op, &run.id, (FollowGoal::End, None), &never, |run| line.show(run))?
            }
            end => end,
        };
        line.end();
        Ok(end)
    }

    /// The request to stop by Ctrl-C.
    pub(super) fn interrupt(&self) -> &StopRequest {
        &self.interrupt
    }
}

/// The error of a run that did not get done.
pub(super) fn error_of(run: &Run) -> Option<CommandError> {
    if run.state == RunState::Done || !run.state.is_final() {
        return None;
    }
    let reason =
        run.reason.as_deref().map_or_else(String::new, |reason| format!(": {}", escape_invisible(reason)));
    let error = CommandError::new(
        CommandErrorKind::RunFailed,
        format!("run {} is {}{reason}", run.id, run.outcome()),
    );
    Some(error.hint(format!("`msg runs log {}` shows what the worker printed", run.id)))
}

/// How long it has taken: `12 s`, `3 min`.
pub(super) fn took(run: &Run, now: Timestamp) -> String {
    run.took(now)
}

/// What it used, as far as that is known: `12.3k tokens`, `$0.02`.
pub(super) fn used(run: &Run) -> Vec<String> {
    run.used()
}

/// What would be started.
pub(super) struct DryRunReport(pub(super) DryRun);

impl DryRunReport {
    /// The program with its arguments, as a shell would read them.
    fn command_line(&self) -> String {
        let words = self.0.command.iter().map(|word| shell_word(&word.to_string_lossy()).into_owned());
        words.collect::<Vec<_>>().join(" ")
    }

    /// The page, with what the worker would be told: it was made here, and nobody has typed it.
    pub(super) fn text_with_task(&self, page: &mut Page, worker: &str, task: &str) {
        self.text(page);
        if !page.is_quiet {
            page.line("");
            page.line(style::dim(&format!("What the {worker} would be told:")));
            page.foreign_text(task);
        }
    }
}

impl Report for DryRunReport {
    fn json(&self) -> Map<String, Value> {
        let DryRun { run, command, env, permission_mode, dialogs, gates, terminal } = &self.0;
        let gate = |answer: &GateAnswer| json!({"gate": answer.gate.name(), "waits": answer.has_to_wait, "answer": answer.text});
        let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
        let env: Map<String, Value> = env
            .iter()
            .map(|(name, value)| (name.to_string_lossy().into(), value.to_string_lossy().into()))
            .collect();
        Map::from_iter([
            ("dryRun".to_string(), true.into()),
            ("profile".to_string(), run.profile.clone().into()),
            ("harness".to_string(), run.harness.clone().into()),
            ("version".to_string(), run.version.clone().into()),
            ("root".to_string(), run.root.clone().into()),
            ("project".to_string(), run.project.clone().into()),
            ("command".to_string(), words.into()),
            ("env".to_string(), env.into()),
            ("permissionMode".to_string(), permission_mode.clone().into()),
            ("dialogs".to_string(), dialogs.clone().into()),
            ("gates".to_string(), gates.iter().map(gate).collect()),
            ("tmux".to_string(), terminal.as_ref().map(terminal_json).into()),
        ])
    }

    fn text(&self, page: &mut Page) {
        page.line(escape_invisible(&self.command_line()));
        if page.is_quiet {
            return;
        }
        let DryRun { run, env, permission_mode, dialogs, gates, terminal, .. } = &self.0;
        let line = |page: &mut Page, name: &str, text: &str| {
            page.line(format!("  {name:<12} {}", escape_invisible(text)));
        };
        match &run.project {
            Some(project) => line(page, "in", &format!("a worktree of its own, made from {project}")),
            None => line(page, "in", &run.root),
        }
        if let Some(terminal) = terminal {
            let session = terminal.session.as_deref();
            let place = session.map_or_else(
                || "a tmux session that is made for this project".to_string(),
                |session| format!("the tmux session {session}"),
            );
            line(page, "in tmux", &format!("{place}, at {}", terminal.socket));
            line(page, "types", if terminal.has_prompt { "its task" } else { "nothing" });
        }
        line(
            page,
            "permissions",
            permission_mode.as_deref().unwrap_or("those of this process: it is a command"),
        );
        for (name, value) in env {
            line(page, "sets", &format!("{}={}", name.to_string_lossy(), value.to_string_lossy()));
        }
        dialogs.iter().for_each(|dialog| line(page, "may ask", dialog));
        let (said, waits): (Vec<_>, Vec<_>) = gates.iter().partition(|answer| answer.text == "yes");
        for answer in waits {
            line(page, &format!("gate {}", answer.gate.name()), &answer.text);
        }
        let names: Vec<&str> = said.iter().map(|answer| answer.gate.name()).collect();
        line(page, "gates", &format!("yes from {}", names.join(", ")));
        page.line(style::dim("No gate says no. Nothing was started."));
    }
}

/// Where it would get a window.
fn terminal_json(terminal: &DryTerminal) -> Value {
    json!({"socket": terminal.socket, "session": terminal.session})
}

/// How to get the work of a run on another machine.
fn how_to_get(place: &RunElsewhere, branch: Option<&str>) -> String {
    let Some(branch) = branch else { return "it has no branch".to_string() };
    match &place.push {
        Some(push) if push.problem.is_none() => {
            format!("`git fetch {} {branch}`, then `git merge FETCH_HEAD`", shell_word(&push.remote))
        }
        Some(push) => {
            let problem = push.problem.as_deref().unwrap_or_default();
            format!("it could not be pushed to `{}`: {problem}", push.remote)
        }
        None => format!(
            "on {}, `git push REMOTE {branch}` to a remote that both have, then `git fetch REMOTE {branch}` here",
            place.machine
        ),
    }
}

/// A run as it is now.
pub(super) struct RunReport(pub(super) Run);

impl Report for RunReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("run".to_string(), json::run::run(&self.0))])
    }

    fn text(&self, page: &mut Page) {
        let run = &self.0;
        if page.is_quiet {
            let answer = run.result.as_deref().unwrap_or(run.id.as_str());
            return page.foreign_text(answer);
        }
        if !run.state.is_final() {
            page.line(format!(
                "Run {} is {}: {}",
                style::bold(run.id.as_str()),
                run.state.name(),
                run.title(60)
            ));
            if let Some(reason) = run.reason.as_deref().filter(|_| run.state == RunState::Queued) {
                page.line(format!("Why: {}", escape_invisible(reason)));
            }
            if let Some(question) = &run.question {
                page.line(format!("It asks whether it may use {}", escape_invisible(&question.line())));
                for choice in AnswerChoice::ALL {
                    page.line(format!("  {}", answer_command(run, question, choice)));
                }
            }
            if let Some(dialog) = &run.dialog {
                page.line(format!("It shows a {}", escape_invisible(&dialog.line())));
                dialog.choices.iter().for_each(|choice| page.line(format!("  {}", escape_invisible(choice))));
                page.line(format!("  {}", dialog.answer_command(&run.id)));
            }
            if let Some(pane) = &run.pane {
                page.line(format!("It is in tmux, at {}.", escape_invisible(&pane.place)));
                if !is_inside_harness() {
                    let command = pane_command(pane);
                    let words: Vec<_> = command.iter().map(|word| shell_word(word)).collect();
                    page.line(format!("  {}", escape_invisible(&words.join(" "))));
                }
            }
            if let Some(result) = run.result.as_deref().filter(|_| run.has_ended_turn()) {
                page.foreign_text(result);
            }
            if let Some(place) = &run.elsewhere {
                page.line(format!("It is on {}.", place.machine));
                if let Some(reason) = run.reason.as_deref().filter(|_| run.state != RunState::Queued) {
                    page.line(escape_invisible(reason));
                }
            }
            // Whoever has not joined gets no mail.
            let mail = if run.parent.agent.is_some() { "Its end comes as mail. " } else { "" };
            page.line(format!(
                "{mail}`msg runs show {}` shows it, `msg runs stop {}` stops it.",
                run.id, run.id
            ));
            return;
        }
        if let Some(result) = run.result.as_deref().filter(|result| !result.is_empty()) {
            page.foreign_text(result);
        }
        let mut parts = vec![format!("run {}", run.id), run.outcome(), took(run, clock::now())];
        parts.extend(run.elsewhere.iter().map(|place| format!("on {}", place.machine)));
        parts.extend(used(run));
        if run.state == RunState::Done {
            parts.extend(run.reason.clone());
        }
        page.line(style::dim(&format!("— {}", parts.join(" · "))));
        if let Some(review) = &run.review {
            page.line(format!("  review: {}", escape_invisible(&review.summary())));
            for finding in review.findings() {
                page.line(format!("    {}", escape_invisible(&finding.sentence())));
            }
        }
        if let Some(changed) = run.changed.as_deref().filter(|changed| !changed.is_empty()) {
            let count = changed.len();
            let files = if count == 1 { "1 file".to_string() } else { format!("{count} files") };
            let where_to = run.branch.as_ref().map_or_else(String::new, |branch| format!(" on {branch}"));
            if let Some(place) = &run.elsewhere {
                let text = format!(
                    "  it changed {files}{where_to} there: {}",
                    how_to_get(place, run.branch.as_deref())
                );
                return page.line(style::dim(&escape_invisible(&text)));
            }
            page.line(style::dim(&format!(
                "  it changed {files}{where_to}: `msg runs diff {}` shows them, `msg runs merge {}` merges them",
                run.id, run.id
            )));
        }
    }
}
