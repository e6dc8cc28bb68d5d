//! `msg install`: installs hooks, plugins and the MCP server into harnesses.

use std::io::IsTerminal;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Map, Value, json};

use crate::domain::settings::SettingSource;
use crate::domain::{Harness, escape_invisible};
use crate::faces::cli::diff;
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::harness::{self, HarnessSupport, texts};
use crate::ops::setup::Execution;
use crate::ops::setup::config;
use crate::ops::setup::install::{
    self, FileChange, InstallDestination, InstallOptions, InstallOutcome, InstallState,
};
use crate::ops::{CommandError, CommandErrorKind, Context, HandoverOutcome};
use crate::store::config_files::ConfigScope;

use super::config::from;

/// Make a harness use msg: hooks, plugin, MCP server and permission
///
/// From then on, edits to what others reserved are refused and mail is handed over. With `--join`, sessions join by
/// themselves (setting `autoRegister`). Existing settings stay, including comments and order, and `msg uninstall` puts
/// everything back as it was. `all` means every harness found; without a name, lists them. Restart running sessions
/// afterwards.
#[derive(Args, Debug)]
#[command(after_help = format!("\
Examples:
  msg install                   which harnesses are there, and which have msg
  msg install all --join        into all that are found, and let their sessions join
  msg install {name}
  msg install all --dry-run     the changes as a diff; nothing is written
  msg install {name} --project  for this project alone, in files that stay out of its repository
  msg install {name} --statusline
                                with `msg statusline` in its status line, unless you have one of your own
  msg install {name} --guide    with the text of `msg look --guide` as a skill
  msg install tmux              `msg statusline` in tmux's status bar, about the agent of the pane", name = texts::example()))]
pub(in crate::faces::cli) struct InstallArgs {
    /// The harness, `all` that are found, or tmux
    #[arg(value_name = "HARNESS", value_parser = which())]
    harness: Option<Which>,
    #[command(flatten)]
    options: InstallScopeArgs,
    /// Let sessions join by themselves: sets `autoRegister` for you
    #[arg(long)]
    join: bool,
    #[arg(long, help = format!("Also set {}'s status line", texts::titles_with_status_line()))]
    statusline: bool,
    /// Also install the guide for watching other agents, as a skill
    #[arg(long)]
    guide: bool,
    /// Do not register the MCP server (agents with a shell do not need it)
    #[arg(long)]
    no_mcp: bool,
}

/// What `install` and `uninstall` are told.
#[derive(Args, Debug)]
pub(in crate::faces::cli) struct InstallScopeArgs {
    /// Use the project's own settings files that are not committed
    #[arg(long)]
    project: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Which {
    All,
    One(InstallDestination),
}

pub(super) fn which() -> impl TypedValueParser<Value = Which> {
    let names = harness::supported().map(Harness::name).chain(["tmux", "all"]);
    // Any other name is `all`.
    PossibleValuesParser::new(names)
        .map(|name| InstallDestination::parse(&name).map_or(Which::All, Which::One))
}

impl InstallScopeArgs {
    pub(super) fn wish(&self, which: Which) -> InstallOptions {
        let recipient = match which {
            Which::All => None,
            Which::One(recipient) => Some(recipient),
        };
        InstallOptions {
            recipient,
            wants_statusline: false,
            is_for_project: self.project,
            execution: if self.dry_run { Execution::DryRun } else { Execution::Apply },
            wants_mcp: true,
            wants_guide: false,
            wants_join: false,
        }
    }
}

/// `errors` are the settings that cannot be used; they do not prevent installing.
pub(super) fn run(
    ctx: &Context,
    args: &InstallArgs,
    ui: &Ui,
    errors: Vec<CommandError>,
) -> Result<CommandOutput, CommandError> {
    let Some(which) = args.harness else {
        for (is_given, flag) in [(args.join, "--join"), (args.guide, "--guide")] {
            if is_given {
                return Err(CommandError::new(CommandErrorKind::Usage, format!("`{flag}` needs HARNESS"))
                    .hint(format!("`msg install all {flag}` installs into all that are found")));
            }
        }
        return Ok(HarnessStates(install::overview(ctx)).into());
    };
    let options = InstallOptions {
        wants_statusline: args.statusline,
        wants_mcp: !args.no_mcp,
        wants_guide: args.guide,
        wants_join: args.join,
        ..args.options.wish(which)
    };
    if options.wants_join && options.recipient == Some(InstallDestination::Tmux) {
        return Err(CommandError::new(
            CommandErrorKind::Usage,
            "`--join` is about sessions of a harness: tmux has none",
        ));
    }
    if options.wants_guide && options.recipient == Some(InstallDestination::Tmux) {
        let text = "`--guide` is a skill for the model of a harness: tmux has none";
        return Err(CommandError::new(CommandErrorKind::Usage, text));
    }
    if options.wants_guide && options.is_for_project {
        let text = "`--guide` is installed for yourself, in every project";
        return Err(CommandError::new(CommandErrorKind::Usage, text).hint("leave out `--project`"));
    }
    let has_none = |recipient: InstallDestination| match recipient {
        InstallDestination::Harness(harness) => {
            !harness::support(harness).is_some_and(HarnessSupport::has_status_line)
        }
        InstallDestination::Tmux => true,
    };
    if let Some(recipient) =
        options.recipient.filter(|recipient| options.wants_statusline && has_none(*recipient))
    {
        let text = format!("{recipient} has no status line that could be told what to show");
        return Err(CommandError::new(CommandErrorKind::InvalidValue, text)
            .hint("`msg install tmux` shows it beneath whatever runs in a pane"));
    }
    // With `--join`, install nothing if the setting cannot be changed afterwards.
    let is_broken = !errors.is_empty();
    if options.wants_join && options.execution == Execution::Apply {
        errors.into_iter().next().map_or(Ok(()), Err)?;
    }
    let done = install::install(options)?;
    let is_harness = |recipient: &InstallDestination| matches!(recipient, InstallDestination::Harness(_));
    let is_asked = options.execution == Execution::Apply && done.recipients.iter().any(is_harness);
    let (joining, error) = match is_asked.then(|| let_join(ctx, options.wants_join, is_broken, ui)) {
        None => (None, None),
        Some(Ok(joining)) => (Some(joining), None),
        Some(Err(error)) => (Some(Joining::Off), Some(error)),
    };
    let error = install::install_error(&done).or(error);
    let overriding = config::keeps_sessions_out(ctx).filter(|_| joining.is_some());
    let report = InstallReport { done, options, words: &WORDS, joining, overriding };
    Ok(CommandOutput { report: Some(Box::new(report)), error })
}

/// Lets sessions join by themselves if that is wanted. It looks at the user's own settings: a project's settings hold
/// only in that project.
fn let_join(ctx: &Context, is_wanted: bool, is_broken: bool, ui: &Ui) -> Result<Joining, CommandError> {
    if config::lets_sessions_join(ctx) {
        return Ok(Joining::On);
    }
    if is_wanted || (!is_broken && wants_to_join(ui)) {
        config::set(ctx, ConfigScope::User, "autoRegister", "true")?;
        return Ok(Joining::SwitchedOn);
    }
    Ok(Joining::Off)
}

/// Asks whether sessions shall join by themselves, if a person can answer.
fn wants_to_join(ui: &Ui) -> bool {
    if ui.is_json() || !ui.is_terminal() || !std::io::stdin().is_terminal() {
        return false;
    }
    if ui.say("Let sessions join by themselves (setting autoRegister)? [Y/n] ") == HandoverOutcome::ReaderGone
    {
        return false;
    }
    let mut answer = String::new();
    let is_read = std::io::stdin().read_line(&mut answer).is_ok_and(|length| length > 0);
    is_read && matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes")
}

/// Whether sessions join by themselves.
#[derive(Clone, Copy)]
enum Joining {
    On,
    SwitchedOn,
    Off,
}

/// For each harness, whether it is present and whether it uses msg.
struct HarnessStates(Vec<InstallState>);

impl Report for HarnessStates {
    fn json(&self) -> Map<String, Value> {
        let row = |state: &InstallState| json!({ "name": state.harness.name(), "present": state.is_on_machine, "installed": state.is_installed });
        Map::from_iter([("harnesses".to_string(), self.0.iter().map(row).collect())])
    }

    fn text(&self, page: &mut Page) {
        let mut table = Table::default();
        for InstallState { harness, is_on_machine, is_installed } in &self.0 {
            let state = match (is_on_machine, is_installed) {
                (_, true) => TableCell::styled("installed", style::good),
                (true, false) => TableCell::styled("there, not installed", style::warn),
                (false, false) => TableCell::styled("not found", style::dim),
            };
            table.row(vec![TableCell::styled(harness.name(), style::bold), state]);
        }
        table.lines().into_iter().for_each(|line| page.line(line));
        page.line(style::dim(
            "`msg install NAME` installs into one, `msg install all` into all that are found.",
        ));
    }
}

const WORDS: InstallTexts = InstallTexts {
    unchanged: "is installed already.",
    last: "Restart running sessions to pick this up.",
    last_of_tmux: "`tmux source-file`, with that path, loads it into a running tmux.",
};

/// The texts in which `install` and `uninstall` differ.
pub(super) struct InstallTexts {
    pub(super) unchanged: &'static str,
    /// Printed at the end if something changed.
    pub(super) last: &'static str,
    pub(super) last_of_tmux: &'static str,
}

pub(super) fn outcome(
    done: InstallOutcome,
    options: InstallOptions,
    words: &'static InstallTexts,
) -> CommandOutput {
    let error = install::install_error(&done);
    CommandOutput {
        report: Some(Box::new(InstallReport { done, options, words, joining: None, overriding: None })),
        error,
    }
}

struct InstallReport {
    done: InstallOutcome,
    options: InstallOptions,
    words: &'static InstallTexts,
    /// `None` if the command does not concern that.
    joining: Option<Joining>,
    /// The setting that keeps sessions from joining here nevertheless.
    overriding: Option<(&'static str, SettingSource)>,
}

impl Report for InstallReport {
    fn json(&self) -> Map<String, Value> {
        let path = |change: &FileChange| change.path.display().to_string();
        let mut object = Map::new();
        object.insert("changed".to_string(), self.done.changes.iter().map(path).collect());
        let skipped = |(harness, reason): &(InstallDestination, String)| json!({ "harness": harness.name(), "reason": reason });
        object.insert("skipped".to_string(), self.done.skipped.iter().map(skipped).collect());
        let note = |(harness, text): &(InstallDestination, String)| json!({ "harness": harness.name(), "text": text });
        object.insert("notes".to_string(), self.done.notes.iter().map(note).collect());
        let failed = |(harness, error): &(InstallDestination, CommandError)| json!({ "harness": harness.name(), "kind": error.kind.name(), "message": error.message, "hints": error.hints });
        object.insert("failed".to_string(), self.done.failed.iter().map(failed).collect());
        if let Some(joining) = self.joining {
            object.insert("autoRegister".to_string(), json!(!matches!(joining, Joining::Off)));
        }
        if let Some((_, source)) = &self.overriding {
            object.insert("overriddenBy".to_string(), json!(from(source)));
        }
        if self.options.execution == Execution::DryRun {
            let diff = |change: &FileChange| json!({ "path": path(change), "diff": diff::unified(change) });
            object.insert("diffs".to_string(), self.done.changes.iter().map(diff).collect());
        }
        object
    }

    fn text(&self, page: &mut Page) {
        if self.options.execution == Execution::DryRun {
            self.done
                .changes
                .iter()
                .for_each(|change| diff::lines(change).iter().for_each(|line| page.line(line)));
        }
        for recipient in &self.done.recipients {
            let name = style::bold(recipient.name());
            let mut changes =
                self.done.changes.iter().filter(|change| change.recipient == *recipient).peekable();
            if changes.peek().is_none() {
                page.line(format!("{name} {}", self.words.unchanged));
            }
            for change in changes.filter(|_| self.options.execution == Execution::Apply) {
                page.line(format!("{name}: {}", told(change)));
            }
        }
        for (harness, text) in &self.done.notes {
            page.line(style::warn(&format!("{harness}: {}", escape_invisible(text))));
        }
        for (harness, reason) in &self.done.skipped {
            page.line(style::dim(&format!("{harness}: skipped ({})", escape_invisible(reason))));
        }
        if self.options.execution == Execution::Apply && !self.done.changes.is_empty() {
            let is_tmux = self.options.recipient == Some(InstallDestination::Tmux);
            page.line(style::dim(if is_tmux { self.words.last_of_tmux } else { self.words.last }));
        }
        match self.joining {
            Some(Joining::SwitchedOn) => page.line("Sessions now join by themselves."),
            Some(Joining::Off) => page.line(
                "Next: `msg config set autoRegister true` lets sessions join by themselves; they do not yet.",
            ),
            Some(Joining::On) | None => {}
        }
        if let Some((key, source)) = &self.overriding {
            let source = from(source);
            page.line(format!(
                "In this folder sessions do not join by themselves: {} sets {key} otherwise.",
                escape_invisible(&source)
            ));
        }
    }

    fn is_answer(&self) -> bool {
        self.options.execution == Execution::DryRun
    }
}

fn told(change: &FileChange) -> String {
    let path = change.path.display().to_string();
    let path = escape_invisible(&path);
    match (&change.before, &change.after) {
        (None, _) => format!("`{path}` is new."),
        (_, None) => format!("`{path}` is removed."),
        _ => format!("`{path}` is changed."),
    }
}
