use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Map, Value, json};

use crate::domain::{Harness, visible};
use crate::faces::cli::diff;
use crate::faces::cli::output::{Outcome, Page, Report, style};
use crate::ops::CommandError;
use crate::ops::install::{self, Change, Done, HARNESSES, Wish};

/// Make a harness use msg: hooks, plugin, MCP server and permission
///
/// From then on edits of what others have reserved are refused and mail is handed over; with `autoRegister` sessions join
/// by themselves. What is in its settings stays, comments and order too, and `msg uninstall` puts everything back as it
/// was. With `all`, every harness that is there. A session that runs already has to be started anew.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg install claude
  msg install all --dry-run     the changes as a diff; nothing is written
  msg install claude --project  for this project alone, in files that stay out of its repository")]
pub(in crate::faces::cli) struct InstallArgs {
    #[command(flatten)]
    wish: WishArgs,
    /// Without the MCP server: an agent that has a shell can do without
    #[arg(long)]
    no_mcp: bool,
}

/// What `install` and `uninstall` are told.
#[derive(Args, Debug)]
pub(in crate::faces::cli) struct WishArgs {
    /// Which harness, or all that are there
    #[arg(value_name = "HARNESS", value_parser = which())]
    harness: Which,
    /// In the project's own files that stay out of its repository
    #[arg(long)]
    project: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug)]
enum Which {
    All,
    One(Harness),
}

fn which() -> impl TypedValueParser<Value = Which> {
    let names = HARNESSES.iter().map(|harness| harness.name()).chain(["all"]);
    // What is none of the harnesses is all of them.
    PossibleValuesParser::new(names).map(|name| Harness::parse(&name).map_or(Which::All, Which::One))
}

impl WishArgs {
    pub(super) fn wish(&self) -> Wish {
        let harness = match self.harness {
            Which::All => None,
            Which::One(harness) => Some(harness),
        };
        Wish { harness, project: self.project, dry_run: self.dry_run, mcp: true }
    }
}

pub(super) fn run(args: &InstallArgs) -> Result<Outcome, CommandError> {
    let wish = Wish { mcp: !args.no_mcp, ..args.wish.wish() };
    Ok(outcome(install::install(wish)?, wish, &WORDS))
}

const WORDS: Words =
    Words { unchanged: "is installed already.", last: "Start sessions anew that run already." };

/// How the two ways differ in what they say.
pub(super) struct Words {
    pub(super) unchanged: &'static str,
    /// Said at the end, when something changed.
    pub(super) last: &'static str,
}

pub(super) fn outcome(done: Done, wish: Wish, words: &'static Words) -> Outcome {
    let error = install::verdict(&done);
    Outcome { report: Some(Box::new(InstallReport { done, wish, words })), error }
}

struct InstallReport {
    done: Done,
    wish: Wish,
    words: &'static Words,
}

impl Report for InstallReport {
    fn json(&self) -> Map<String, Value> {
        let path = |change: &Change| change.path.display().to_string();
        let mut object = Map::new();
        object.insert("changed".to_string(), self.done.changes.iter().map(path).collect());
        let skipped =
            |(harness, reason): &(Harness, String)| json!({ "harness": harness.name(), "reason": reason });
        object.insert("skipped".to_string(), self.done.skipped.iter().map(skipped).collect());
        let failed = |(harness, error): &(Harness, CommandError)| json!({ "harness": harness.name(), "kind": error.kind.name(), "message": error.message, "hints": error.hints });
        object.insert("failed".to_string(), self.done.failed.iter().map(failed).collect());
        if self.wish.dry_run {
            let diff = |change: &Change| json!({ "path": path(change), "diff": diff::unified(change) });
            object.insert("diffs".to_string(), self.done.changes.iter().map(diff).collect());
        }
        object
    }

    fn text(&self, page: &mut Page) {
        if self.wish.dry_run {
            self.done
                .changes
                .iter()
                .for_each(|change| diff::lines(change).iter().for_each(|line| page.line(line)));
        }
        for harness in &self.done.harnesses {
            let name = style::bold(harness.name());
            let mut changes = self.done.changes.iter().filter(|change| change.harness == *harness).peekable();
            if changes.peek().is_none() {
                page.line(format!("{name} {}", self.words.unchanged));
            }
            for change in changes.filter(|_| !self.wish.dry_run) {
                page.line(format!("{name}: {}", told(change)));
            }
        }
        for (harness, reason) in &self.done.skipped {
            page.line(style::dim(&format!("{harness} is left out: {}", visible(reason))));
        }
        if !self.wish.dry_run && !self.done.changes.is_empty() {
            page.line(style::dim(self.words.last));
        }
    }

    fn is_answer(&self) -> bool {
        self.wish.dry_run
    }
}

fn told(change: &Change) -> String {
    let path = change.path.display().to_string();
    let path = visible(&path);
    match (&change.before, &change.after) {
        (None, _) => format!("`{path}` is new."),
        (_, None) => format!("`{path}` is removed."),
        _ => format!("`{path}` is changed."),
    }
}
