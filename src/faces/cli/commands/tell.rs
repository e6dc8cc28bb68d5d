//! `msg tell`: types into the terminal of an agent, or answers its question.

use std::io::{self, IsTerminal};

use clap::Args;
use serde_json::{Map, Value};

use crate::domain::screens::Dialog;
use crate::domain::{escape_invisible, quote_sentence};
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::faces::cli::text_arg::TextArgs;
use crate::faces::json;
use crate::ops::runs::tell::AnswerChoice;
use crate::ops::screens::tell::{self, TellAnswer, Told};
use crate::ops::{CommandError, CommandErrorKind, Op};

/// Type a prompt for an agent, answer its dialog or question, or end its turn
///
/// For the parent of a worker, and for people. TEXT is typed into the agent's terminal in tmux as its next prompt; it is
/// refused while a turn runs, a dialog is open, or somebody's draft is in the prompt line. `--answer` answers the
/// permission question of a worker (`allow` or `deny`; with `deny`, TEXT is told to the worker) or the dialog on the
/// screen: by the number of a choice, by the beginning of its words, or by `allow` and `deny`. To write to an agent in
/// any state, use `msg send`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg tell SwiftRaven 'Now run the tests'
  msg tell SwiftRaven --file next.md
  msg tell SwiftRaven --interrupt
  msg tell SwiftRaven --answer 1 --question 5f0c2a91
  msg tell k3f9xa --answer allow
  msg tell k3f9xa --answer deny --question 1 'Use the copy in build/ instead'")]
pub(in crate::faces::cli) struct TellArgs {
    /// An agent, or a run
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    text: TextArgs,
    /// The answer: `allow`, `deny`, the number of a choice, or the beginning of its words
    #[arg(long, value_name = "CHOICE")]
    answer: Option<String>,
    /// Answer only the question with this number, or the dialog with this id (agents have to give it)
    #[arg(long, value_name = "ID", requires = "answer")]
    question: Option<String>,
    /// End the turn that is running
    #[arg(long, conflicts_with_all = ["answer", "text", "file"])]
    interrupt: bool,
}

pub(super) fn run(op: &Op, args: TellArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    let told = match (args.answer, args.interrupt) {
        (Some(choice), _) => {
            let (name, text) = (args.name, args.text.read()?);
            let question = match args.question {
                None if is_asked_here(ui) => confirm_dialog(op, ui, &name, &choice)?,
                question => question,
            };
            tell::answer(op, &TellAnswer { name, choice, question, text })?
        }
        (None, true) => tell::interrupt(op, &args.name)?,
        (None, false) => {
            let text = args.text.read()?.ok_or_else(|| {
                CommandError::new(CommandErrorKind::Usage, "there is nothing to tell")
                    .hint("give TEXT, `--answer CHOICE` or `--interrupt`")
            })?;
            tell::prompt(op, &args.name, &text)?
        }
    };
    Ok(TellReport(told).into())
}

/// Whether a person at a terminal can be shown something and asked.
fn is_asked_here(ui: &Ui) -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal() && !ui.is_json()
}

/// Shows the dialog to the person who is about to answer it. Returns its id.
fn confirm_dialog(op: &Op, ui: &Ui, name: &str, choice: &str) -> Result<Option<String>, CommandError> {
    let Some(dialog) = tell::open_dialog(op, name)? else { return Ok(None) };
    let Some(chosen) = dialog.choice_named(choice).and_then(|at| dialog.choices.get(at)) else {
        // It is refused with the choices that there are.
        return Ok(Some(dialog.id()));
    };
    ui.note_text(&format!("{name} asks:"), &shown(&dialog));
    if ui.is_confirmed(&format!("Answer {}? Type y or n.", quote_sentence(&chosen.label))) {
        return Ok(Some(dialog.id()));
    }
    Err(CommandError::new(CommandErrorKind::NotConfirmed, "the dialog was not answered"))
}

/// The dialog as text.
fn shown(dialog: &Dialog) -> String {
    let choices = dialog.choices.iter().map(|choice| match choice.key.as_str() {
        "" => format!("- {}", choice.label),
        key => format!("{key}. {}", choice.label),
    });
    dialog.about.iter().cloned().chain(choices).collect::<Vec<_>>().join("\n")
}

struct TellReport(Told);

impl Report for TellReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("told".to_string(), json::sight::told(&self.0))])
    }

    fn text(&self, page: &mut Page) {
        match &self.0 {
            Told::Question { run, question, choice } => {
                let did = match choice {
                    AnswerChoice::Allow => "may use",
                    AnswerChoice::Deny => "must not use",
                };
                let run = style::bold(run.id.as_str());
                page.line(format!("Run {run} {did} {}", escape_invisible(&question.line())));
            }
            Told::Prompt { agent, .. } => {
                page.line(format!("{} has the prompt.", style::bold(agent.as_str())));
            }
            Told::Dialog(told) => {
                let label = told.dialog.choices.get(told.choice).map_or("", |choice| choice.label.as_str());
                let (agent, question) = (style::bold(told.agent.as_str()), &told.dialog.question);
                let (label, question) = (quote_sentence(label), quote_sentence(question));
                page.line(format!("{agent} was answered {label}: {question}"));
                if let Some(next) = &told.next {
                    page.line(format!("Another dialog is open: {}", quote_sentence(&next.question)));
                }
            }
            Told::Interrupt { agent, .. } => {
                page.line(format!("The turn of {} has ended.", style::bold(agent.as_str())));
            }
        }
    }

    fn is_answer(&self) -> bool {
        false
    }
}
