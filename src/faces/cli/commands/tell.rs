//! `msg tell`: answers the permission question of a worker.

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Map, Value, json};

use crate::domain::escape_invisible;
use crate::domain::runs::{Run, RunQuestion};
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::cli::text_arg::TextArgs;
use crate::ops::runs::tell::{AnswerChoice, AnswerRequest, answer};
use crate::ops::{CommandError, Op};

/// Answer the permission question of a worker
///
/// For the parent of its run, and for people. With `deny`, TEXT is told to the worker. To write to a worker, use `msg
/// send` with its name.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg tell k3f9xa --answer allow
  msg tell k3f9xa --answer deny --question 1 'Use the copy in build/ instead'
  msg tell SwiftRaven --answer allow --question 2")]
pub(in crate::faces::cli) struct TellArgs {
    /// A run, or its worker
    #[arg(value_name = "RUN")]
    name: String,
    #[command(flatten)]
    text: TextArgs,
    /// The answer
    #[arg(long, value_name = "CHOICE", required = true, value_parser = PossibleValuesParser::new(AnswerChoice::ALL.map(AnswerChoice::name)))]
    answer: String,
    /// Answer only the question with this number (agents have to give it)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    question: Option<u32>,
}

pub(super) fn run(op: &Op, args: TellArgs) -> Result<CommandOutput, CommandError> {
    let choice = AnswerChoice::of_name(&args.answer).unwrap_or(AnswerChoice::Deny);
    let request = AnswerRequest { name: args.name, choice, number: args.question, text: args.text.read()? };
    let (run, question) = answer(op, &request)?;
    Ok(TellReport { run, question, choice }.into())
}

struct TellReport {
    run: Run,
    question: RunQuestion,
    choice: AnswerChoice,
}

impl Report for TellReport {
    fn json(&self) -> Map<String, Value> {
        let told = json!({
            "run": self.run.id.as_str(),
            "question": self.question.line(),
            "number": self.question.number,
            "answer": self.choice.name(),
        });
        Map::from_iter([("told".to_string(), told)])
    }

    fn text(&self, page: &mut Page) {
        let did = match self.choice {
            AnswerChoice::Allow => "may use",
            AnswerChoice::Deny => "must not use",
        };
        let run = style::bold(self.run.id.as_str());
        page.line(format!("Run {run} {did} {}", escape_invisible(&self.question.line())));
    }

    fn is_answer(&self) -> bool {
        false
    }
}
