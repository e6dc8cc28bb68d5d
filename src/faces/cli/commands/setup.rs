//! `msg setup`: from a new binary to agents that coordinate, in one step.

use clap::Args;
use clap_complete::Shell;

use super::completions;
use super::setup_page::{SetupPage, SetupStage, SetupUndoPage, label};
use crate::faces::cli::man_pages;
use crate::faces::cli::output::{CommandOutput, Ui};
use crate::harness::{self, HarnessSupport};
use crate::ops::setup::Execution;
use crate::ops::setup::assistant::{self, PartState, PersonShell, SetupPart, SetupTexts};
use crate::ops::setup::install;
use crate::ops::{CommandError, CommandErrorKind, HandoverOutcome, Op, require_person};

/// Set up everything in one step, and take it back
///
/// Finds the harnesses on this machine, shows which files would change, asks, installs hooks into them, and lets their
/// sessions join by themselves. Then it offers the commit guard of this repository, a status line, completions and man
/// pages. What is set up already stays as it is. `--undo` puts back what this command changed,
/// and names what somebody has changed since.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg setup                show what would change, ask, and do it
  msg setup --yes          do not ask: hooks, and sessions that join by themselves
  msg setup --yes --all    and guard, status line, completions and man pages
  msg setup --dry-run      what is set up, and what is not; nothing is written
  msg setup --undo         take back what this command did")]
pub(in crate::faces::cli) struct SetupArgs {
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Also set up what is offered: guard, status line, completions and man pages
    #[arg(long, conflicts_with = "undo")]
    all: bool,
    /// Take back what `msg setup` did
    #[arg(long)]
    undo: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
}

impl SetupArgs {
    /// The command as a person types it.
    fn line(&self) -> String {
        let flags = [
            (self.yes, " --yes"),
            (self.all, " --all"),
            (self.undo, " --undo"),
            (self.dry_run, " --dry-run"),
        ];
        let given = flags.into_iter().filter(|(is_given, _)| *is_given).map(|(_, flag)| flag);
        std::iter::once("msg setup").chain(given).collect()
    }
}

/// `errors` are the settings that cannot be used; they prevent only what changes settings.
pub(super) fn run(
    op: &Op,
    args: &SetupArgs,
    ui: &Ui,
    errors: &[CommandError],
) -> Result<CommandOutput, CommandError> {
    require_person(|| args.line())?;
    if args.undo {
        return take_back(op, args);
    }
    let texts = SetupTexts { completions: script, man_pages: man_pages::all() };
    let survey = assistant::survey(op, &texts, errors)?;
    let is_missing = |part: &SetupPart| {
        survey.parts.iter().any(|view| view.part == *part && matches!(view.state, PartState::Missing))
    };
    let missing: Vec<SetupPart> = survey.parts.iter().map(|view| view.part).filter(is_missing).collect();
    let (mut chosen, offered): (Vec<_>, Vec<_>) =
        missing.into_iter().partition(|part| part.is_needed() || args.all);
    let page = |survey, chosen, stage| SetupPage { home: op.home.clone(), survey, chosen, stage };
    if args.dry_run || chosen.is_empty() {
        let stage = if args.dry_run { SetupStage::DryRun } else { SetupStage::NothingToDo };
        return Ok(answer(page(survey, chosen, stage)));
    }
    if !args.yes {
        let plan = page(survey, chosen.clone(), SetupStage::Plan);
        if !ui.is_with_person() {
            let text = "nobody can be asked whether these files are to be changed";
            let error = CommandError::new(CommandErrorKind::NoTerminal, text)
                .hint(format!("to change them, run `{} --yes`", args.line()));
            return Ok(CommandOutput { report: Some(Box::new(plan)), error: Some(error) });
        }
        let declined = || CommandError::new(CommandErrorKind::NotConfirmed, "nothing was changed");
        if ui.say(&ui.rendered(&plan)) == HandoverOutcome::ReaderGone
            || !ui.is_confirmed("Change these files? Type y or n.")
        {
            return Err(declined());
        }
        chosen.extend(offered.into_iter().filter(|part| ui.is_confirmed(&question(*part))));
    }
    let outcome = assistant::apply(op, &chosen, &texts);
    let survey = assistant::survey(op, &texts, errors)?;
    Ok(answer(page(survey, chosen, SetupStage::Done(outcome))))
}

fn take_back(op: &Op, args: &SetupArgs) -> Result<CommandOutput, CommandError> {
    let execution = if args.dry_run { Execution::DryRun } else { Execution::Apply };
    let outcome = assistant::undo(op, execution)?;
    let reasons: Vec<String> = outcome.failed.iter().flat_map(reasons).collect();
    let error = (!reasons.is_empty()).then(|| {
        let text = "not everything could be taken back";
        let error = CommandError::new(CommandErrorKind::NotAllInstalled, text);
        reasons.into_iter().fold(error, CommandError::hint).hint("then run `msg setup --undo` again")
    });
    let page = SetupUndoPage { home: op.home.clone(), outcome, execution, installed: install::installed(op) };
    Ok(CommandOutput { report: Some(Box::new(page)), error })
}

/// The page, and an error if a part failed.
fn answer(page: SetupPage) -> CommandOutput {
    let seen = page.survey.parts.iter().filter_map(|view| match &view.state {
        PartState::Failed(error) => Some((view.part, error.clone())),
        PartState::Set | PartState::Missing | PartState::Unavailable(_) => None,
    });
    let mut all = match &page.stage {
        SetupStage::Done(outcome) => outcome.failed.clone(),
        SetupStage::Plan | SetupStage::DryRun | SetupStage::NothingToDo => Vec::new(),
    };
    let seen: Vec<_> = seen.filter(|(part, _)| !all.iter().any(|(known, _)| known == part)).collect();
    all.extend(seen);
    let names: Vec<String> = all.iter().map(|(part, _)| label(*part)).collect();
    let error = (!names.is_empty()).then(|| {
        let text = format!("it failed for: {}", names.join(", "));
        let error = CommandError::new(CommandErrorKind::NotAllInstalled, text).facts("parts", names);
        let told = |(part, error): &(SetupPart, CommandError)| {
            let label = label(*part);
            reasons(error).into_iter().map(move |reason| format!("{label}: {reason}")).collect::<Vec<_>>()
        };
        all.iter().flat_map(told).fold(error, CommandError::hint)
    });
    CommandOutput { report: Some(Box::new(page)), error }
}

/// What is wrong, and what to do about it.
fn reasons(error: &CommandError) -> Vec<String> {
    std::iter::once(error.message.clone()).chain(error.hints.iter().cloned()).collect()
}

fn question(part: SetupPart) -> String {
    let asked = match part {
        SetupPart::Hooks(_) | SetupPart::Joining => label(part),
        SetupPart::Guard => "let git refuse commits of files that others have reserved here".to_string(),
        SetupPart::StatusLine(harness) => {
            let title = harness::support(harness).map_or(harness.name(), HarnessSupport::title);
            format!("show name, peers and mail in the status line of {title}")
        }
        SetupPart::Completions(shell) => {
            format!("complete commands and names of msg in {}", shell.name())
        }
        SetupPart::ManPages => "install man pages".to_string(),
    };
    format!("Also {asked}? Type y or n.")
}

fn script(shell: PersonShell) -> String {
    completions::script(match shell {
        PersonShell::Bash => Shell::Bash,
        PersonShell::Fish => Shell::Fish,
        PersonShell::Zsh => Shell::Zsh,
    })
}
