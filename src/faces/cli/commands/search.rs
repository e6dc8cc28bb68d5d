//! `msg search`: finds messages, events, tasks and completions by their words.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::text_search::ExcerptWord;
use crate::domain::{AgentName, escape_invisible};
use crate::faces::cli::messages;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::faces::cli::value_parsers::count;
use crate::faces::json::{completion as completion_json, event as event_json, task as task_json};
use crate::ops::export::parse_since;
use crate::ops::find::{self, FoundEntry, FoundThing, SearchFindings, SearchRequest, SearchScope};
use crate::ops::{CommandError, Op, format_age};
use crate::sys::clock;

/// The most characters of a message's text in JSON.
const LONGEST: usize = 2_000;

/// Find messages, events, tasks and completions by their words
///
/// What has all words comes first. A word finds its other forms and what begins with it; upper case and accents do not
/// matter. Put `"` around words that must follow each other. You search the messages that you sent or received; a person
/// can search everybody's with `--all`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg search login form
  msg search '\"login form\"' --from GoldFalcon
  msg search retries --since 2d
  msg search parseConfig --thread auth --json")]
pub(in crate::faces::cli) struct SearchArgs {
    /// What to look for
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,
    /// Only what this agent wrote or did
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Only messages to this agent
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Only what happened since then, such as 90m, 7d or 2026-11-17
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only messages of this thread: its name, or the six letters of a message
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Search everybody's messages; for a person outside of a harness
    #[arg(long)]
    all: bool,
    /// Show at most N results
    #[arg(short = 'n', long, value_name = "N", default_value = "20", value_parser = count, allow_negative_numbers = true)]
    limit: usize,
}

pub(super) fn run(op: &Op, args: SearchArgs) -> Result<CommandOutput, CommandError> {
    let since = args.since.as_deref().map(parse_since).transpose()?;
    let request = SearchRequest {
        words: args.words.join(" "),
        from: args.from.map(AgentName::new).transpose()?,
        to: args.to.map(AgentName::new).transpose()?,
        since,
        thread: args.thread,
        scope: if args.all { SearchScope::Everybody } else { SearchScope::Own },
        limit: args.limit,
    };
    let findings = find::search(op, &request)?;
    Ok(SearchReport { findings, request }.into())
}

struct SearchReport {
    findings: SearchFindings,
    request: SearchRequest,
}

impl Report for SearchReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([
            ("results".to_string(), self.findings.found.iter().map(result_json).collect()),
            ("more".to_string(), json!(self.findings.has_more)),
        ])
    }

    fn text(&self, page: &mut Page) {
        let mut table = Table::default();
        for entry in &self.findings.found {
            if page.is_quiet {
                // An event that is about nothing has no id.
                let id = Some(id_of(&entry.what)).filter(|id| !id.is_empty());
                id.iter().for_each(|id| table.row(vec![TableCell::plain(&escape_invisible(id))]));
                continue;
            }
            let when = entry.what.at().map(|at| format!("{} ago", format_age(at, clock::now())));
            let (plain, marked) = excerpt(entry, page.is_terminal);
            table.row(vec![
                TableCell::styled(name_of(&entry.what), style::dim),
                TableCell::styled(&when.unwrap_or_default(), style::dim),
                TableCell::plain(&id_shown(&entry.what)),
                TableCell::plain(&who(&entry.what)),
                TableCell::marked(&plain, marked),
            ]);
        }
        table.lines().into_iter().for_each(|line| page.line(line));
        if page.is_quiet {
            return;
        }
        if self.findings.found.is_empty() {
            page.line("Nothing found.");
            self.advise(page);
        } else if self.findings.has_more {
            page.line("There is more: use --limit, or narrow it down with --from, --since, or words in quotation marks.");
        }
    }
}

impl SearchReport {
    /// What to try if nothing was found.
    fn advise(&self, page: &mut Page) {
        let request = &self.request;
        let is_filtered = request.from.is_some()
            || request.to.is_some()
            || request.since.is_some()
            || request.thread.is_some();
        if is_filtered {
            page.line("  Try it without `--from`, `--to`, `--since` and `--thread`.");
        }
        if request.words.split_whitespace().nth(1).is_some() {
            page.line("  Try fewer words, or one of them without quotation marks.");
        }
        match (self.findings.has_mail, request.scope) {
            (false, _) => page.line(
                "  You have not joined, so no messages were searched. A person can search everybody's with `--all`.",
            ),
            (true, SearchScope::Own) => {
                page.line("  Only your own messages were searched. A person can search everybody's with `--all`.");
            }
            (true, SearchScope::Everybody) => {
                page.line("  Messages are kept for 30 days. `msg know WORDS` searches what was recorded.");
            }
        }
    }
}

fn name_of(thing: &FoundThing) -> &'static str {
    match thing {
        FoundThing::Message(_) => "message",
        FoundThing::Event(_) => "event",
        FoundThing::Task { .. } => "task",
        FoundThing::Completion(_) => "completion",
    }
}

/// What another command takes for it.
fn id_of(thing: &FoundThing) -> String {
    match thing {
        FoundThing::Message(filed) => filed.stem.short_id().to_string(),
        FoundThing::Event(event) => event.target.clone().unwrap_or_default(),
        FoundThing::Task { task, .. } => task.id.clone(),
        FoundThing::Completion(done) => done.task.clone(),
    }
}

fn id_shown(thing: &FoundThing) -> String {
    match thing {
        // Its target is in the sentence.
        FoundThing::Event(_) => String::new(),
        thing => escape_invisible(&id_of(thing)).into_owned(),
    }
}

fn who(thing: &FoundThing) -> String {
    match thing {
        FoundThing::Message(filed) => {
            let message = &filed.message;
            let to = if message.is_broadcast { "all" } else { &message.to };
            format!("{} → {}", escape_invisible(&message.from), escape_invisible(to))
        }
        // Its agent is in the sentence.
        FoundThing::Event(_) => String::new(),
        FoundThing::Task { task, .. } => match &task.claim {
            Some(claim) => escape_invisible(&claim.agent).into_owned(),
            None => task.state.name().to_string(),
        },
        FoundThing::Completion(done) => escape_invisible(&done.by).into_owned(),
    }
}

/// The excerpt without and with styles. What somebody wrote is in quotation marks that it cannot close; the sentence of an
/// event has its own.
fn excerpt(entry: &FoundEntry, is_terminal: bool) -> (String, String) {
    let is_sentence = matches!(entry.what, FoundThing::Event(_));
    let safe = |word: &ExcerptWord| match is_sentence {
        // Escaped when it was made.
        true => word.text.clone(),
        false => escape_invisible(&word.text.replace(['“', '”'], "\"")).into_owned(),
    };
    let marked = |word: &ExcerptWord| match word.is_found && is_terminal {
        true => style::bold(&safe(word)),
        false => safe(word),
    };
    let joined = |words: Vec<String>| match words.is_empty() || is_sentence {
        true => words.join(" "),
        false => format!("“{}”", words.join(" ")),
    };
    (joined(entry.excerpt.iter().map(safe).collect()), joined(entry.excerpt.iter().map(marked).collect()))
}

/// The message with the beginning of a long text: a model may read many of them. `msg show` has the rest.
fn shortened(mut message: Value) -> Value {
    let text = message["text"].as_str().unwrap_or_default();
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        message["text"] = json!(text[..end]);
        message["cut"] = json!(true);
    }
    message
}

fn result_json(entry: &FoundEntry) -> Value {
    let words: Vec<&str> = entry.excerpt.iter().map(|word| word.text.as_str()).collect();
    let found: Vec<&str> =
        entry.excerpt.iter().filter(|word| word.is_found).map(|word| word.text.as_str()).collect();
    let name = name_of(&entry.what);
    let what = match &entry.what {
        FoundThing::Message(filed) => shortened(messages::json(&filed.message, filed.stem.short_id())),
        FoundThing::Event(event) => event_json(event),
        FoundThing::Task { task, spec } => {
            let mut value = task_json(task);
            value["spec"] = json!(spec);
            value
        }
        FoundThing::Completion(done) => completion_json(done),
    };
    json!({
        "kind": name,
        "score": entry.score,
        "hasAll": entry.has_all,
        "excerpt": words.join(" "),
        "found": found,
        name: what,
    })
}
