//! `msg know`: asks what earlier sessions found out.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::knowledge::scheme::QueryAnswer;
use crate::domain::knowledge::{RecordKind, section_row};
use crate::domain::{escape_invisible, quote_code};
use crate::faces::cli::output::{CommandOutput, Page, Report};
use crate::faces::cli::value_parsers::{confidence, count, record_kind};
use crate::faces::json;
use crate::ops::knowledge::{self, FoundSection, KnowledgeAnswer, KnowledgeQuestion, StalenessFilter};
use crate::ops::{self, CommandError, CommandErrorKind, Op};
use crate::sys::clock;

use super::knowledge::{RECORD_SOMETHING, bare_names, full_lines, markdown, moment, nothing_by, row};

/// How many records are shown in full unless one asks for all.
const SHOWN_IN_FULL: usize = 2;
/// How many characters are shown of a section of another document.
const SHORT_SECTION: usize = 200;
const WHOLE_SECTION: usize = 1_000;

/// Ask what earlier sessions found out about this project
///
/// Without words you get the latest records. A record is marked if the code that it is about was changed since (stale),
/// is gone, or if it was recorded on a branch that is not merged here. What starts with `(` is an expression in a small
/// Scheme that also understands Clojure and Common Lisp; `msg know '(help)'` explains it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg know why one lock
  msg know --path src/sys/flock.rs
  msg know deadlock --kind decision --full
  msg know --stale
  msg know --since 7d --json
  msg know --as-of 2026-11-17 --markdown
  msg know '(map :name (filter (lambda (d) (> (@ d :confidence) 0.8)) (get-decisions)))'")]
pub(in crate::faces::cli) struct KnowArgs {
    /// What to look for
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    /// Only records of this kind: note, tried, decision, principle, pattern, file or relationship
    #[arg(long, value_name = "KIND", value_parser = record_kind)]
    kind: Option<RecordKind>,
    /// Only what is about this file or directory
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Only records about code that was changed since
    #[arg(long)]
    stale: bool,
    /// Only what was recorded or changed in this time, such as 7d
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only records of at least this confidence, from 0 to 1
    #[arg(long, value_name = "N", value_parser = confidence)]
    confidence: Option<f64>,
    /// The most records
    #[arg(short = 'n', long, value_name = "N", default_value = "10", value_parser = count)]
    limit: usize,
    /// Show every record in full
    #[arg(long)]
    full: bool,
    /// What was recorded by then, such as 2026-11-17 (the end of that day)
    #[arg(long, value_name = "DATE")]
    as_of: Option<String>,
    /// Print the records as a Markdown document, grouped by kind
    #[arg(long)]
    markdown: bool,
}

pub(super) fn run(op: &Op, args: KnowArgs) -> Result<CommandOutput, CommandError> {
    let words = args.words.join(" ");
    if words.trim_start().starts_with('(') {
        args.require_no_filter()?;
        let as_of = moment(args.as_of.as_deref())?;
        let answer = knowledge::evaluate_as_of(op, &words, as_of)?;
        let error = knowledge::expression_error(&answer);
        return Ok(CommandOutput { report: Some(Box::new(ExpressionReport(answer))), error });
    }
    let since = args.since.as_deref().map(|text| ops::parse_duration(text, "--since")).transpose()?;
    let in_full = match (args.full || args.markdown, words.trim().is_empty()) {
        (true, _) => usize::MAX,
        (false, true) => 0,
        (false, false) => SHOWN_IN_FULL,
    };
    let question = KnowledgeQuestion {
        words,
        kind: args.kind,
        path: args.path,
        staleness: if args.stale { StalenessFilter::Stale } else { StalenessFilter::Any },
        since: since.and_then(|since| clock::now().checked_sub(since).ok()),
        confidence: args.confidence,
        as_of: moment(args.as_of.as_deref())?,
        limit: args.limit,
        in_full,
    };
    let answer = knowledge::know(op, &question)?;
    let form = if args.markdown { AnswerForm::Markdown } else { AnswerForm::Rows { in_full } };
    Ok(KnowReport { answer, form, as_of: args.as_of }.into())
}

impl KnowArgs {
    /// An expression says itself what it wants.
    fn require_no_filter(&self) -> Result<(), CommandError> {
        let given = [
            ("--kind", self.kind.is_some()),
            ("--path", self.path.is_some()),
            ("--stale", self.stale),
            ("--since", self.since.is_some()),
            ("--confidence", self.confidence.is_some()),
            ("--full", self.full),
            ("--markdown", self.markdown),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((option, _)) => {
                let message = format!("{option} means nothing to an expression");
                let hint = "say it in the expression; `msg know '(help)'` explains how";
                Err(CommandError::new(CommandErrorKind::Usage, message).hint(hint))
            }
        }
    }
}

struct KnowReport {
    answer: KnowledgeAnswer,
    form: AnswerForm,
    /// As it was typed.
    as_of: Option<String>,
}

impl KnowReport {
    /// Why there is no record, and what to do.
    fn nothing(&self) -> (String, &'static str) {
        let what = match (&self.answer.missing_path, self.answer.total, &self.as_of) {
            (Some(path), ..) => {
                format!("There is no {} here, and no record is about it.", quote_code(path.as_str()))
            }
            (None, 0, Some(moment)) => nothing_by(moment),
            (None, 0, None) => {
                return ("Nothing is recorded in this project yet.".to_string(), RECORD_SOMETHING);
            }
            (None, 1, _) => "The one record of this project does not fit.".to_string(),
            (None, total, _) => format!("None of the {total} records of this project fits."),
        };
        (what, "`msg knowledge list` shows all.")
    }
}

enum AnswerForm {
    /// Lines, and so many records in full.
    Rows {
        in_full: usize,
    },
    Markdown,
}

impl Report for KnowReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([
            ("records".to_string(), self.answer.records.iter().map(json::record::record).collect()),
            ("total".to_string(), json!(self.answer.total)),
            ("documents".to_string(), self.answer.sections.iter().map(section_json).collect()),
        ])
    }

    fn text(&self, page: &mut Page) {
        let KnowledgeAnswer { records, sections, .. } = &self.answer;
        let in_full = match self.form {
            AnswerForm::Rows { in_full } => in_full,
            AnswerForm::Markdown => {
                markdown::document(records).lines().for_each(|line| page.line(line));
                return markdown::sections(sections).for_each(|line| page.line(line));
            }
        };
        if page.is_quiet {
            bare_names(records, page);
            for FoundSection { path, section } in sections {
                page.line(escape_invisible(&format!("{path}:{}", section.line)));
            }
            return;
        }
        if records.is_empty() && sections.is_empty() {
            let (what, next) = self.nothing();
            page.nothing(&what, next);
        }
        for (number, shown) in records.iter().enumerate() {
            if number < in_full {
                full_lines(shown).into_iter().for_each(|line| page.line(line));
            } else {
                page.line(row(shown));
            }
        }
        let most = if in_full == usize::MAX { WHOLE_SECTION } else { SHORT_SECTION };
        for found in sections {
            page.line(section_row(&found.path, &found.section, most));
        }
    }
}

fn section_json(found: &FoundSection) -> Value {
    let text: String = found.section.text.chars().take(WHOLE_SECTION).collect();
    json!({
        "file": found.path.as_str(),
        "line": found.section.line,
        "heading": found.section.heading,
        "text": text,
    })
}

struct ExpressionReport(QueryAnswer);

impl Report for ExpressionReport {
    fn json(&self) -> Map<String, Value> {
        let key = if self.0.is_value() { "value" } else { "problem" };
        Map::from_iter([(key.to_string(), json::query::value(&self.0.to_value()))])
    }

    fn text(&self, page: &mut Page) {
        // What is wrong is told as an error.
        if !self.0.is_value() {
            return;
        }
        self.0.to_string().lines().for_each(|line| page.line(escape_invisible(line)));
    }
}
