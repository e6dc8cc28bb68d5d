use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Map, Value, json};

use crate::domain::{Harness, visible};
use crate::faces::cli::diff;
use crate::faces::cli::output::{Outcome, Page, Report, style};
use crate::ops::install::{self, Change, Done, HARNESSES, Recipient, Wish};
use crate::ops::{CommandError, Kind};

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
  msg install claude --project  for this project alone, in files that stay out of its repository
  msg install claude --statusline
                                with `msg statusline` in its status line, unless you have one of your own
  msg install tmux              `msg statusline` in tmux's status bar, about the agent of the pane")]
pub(in crate::faces::cli) struct InstallArgs {
    #[command(flatten)]
    wish: WishArgs,
    /// Claude Code's status line too
    #[arg(long)]
    statusline: bool,
    /// Without the MCP server: an agent that has a shell can do without
    #[arg(long)]
    no_mcp: bool,
}

/// What `install` and `uninstall` are told.
#[derive(Args, Debug)]
pub(in crate::faces::cli) struct WishArgs {
    /// Which harness, or all that are there; or tmux
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
    One(Recipient),
}

fn which() -> impl TypedValueParser<Value = Which> {
    let names = HARNESSES.iter().map(|harness| harness.name()).chain(["tmux", "all"]);
    // What is none of them is all of them.
    PossibleValuesParser::new(names).map(|name| Recipient::parse(&name).map_or(Which::All, Which::One))
}

impl WishArgs {
    pub(super) fn wish(&self) -> Wish {
        let recipient = match self.harness {
            Which::All => None,
            Which::One(recipient) => Some(recipient),
        };
        Wish { recipient, statusline: false, project: self.project, dry_run: self.dry_run, mcp: true }
    }
}

pub(super) fn run(args: &InstallArgs) -> Result<Outcome, CommandError> {
    let wish = Wish { statusline: args.statusline, mcp: !args.no_mcp, ..args.wish.wish() };
    let has_none = |recipient: Recipient| recipient != Recipient::Harness(Harness::Claude);
    if let Some(recipient) = wish.recipient.filter(|recipient| wish.statusline && has_none(*recipient)) {
        let text = format!("{recipient} has no status line that could be told what to show");
        return Err(CommandError::new(Kind::InvalidValue, text)
            .hint("`msg install tmux` shows it beneath whatever runs in a pane"));
    }
    Ok(outcome(install::install(wish)?, wish, &WORDS))
}

const WORDS: Words = Words {
    unchanged: "is installed already.",
    last: "Start sessions anew that run already.",
    last_of_tmux: "`tmux source-file`, with that path, loads it into a tmux that runs already.",
};

/// How the two ways differ in what they say.
pub(super) struct Words {
    pub(super) unchanged: &'static str,
    /// Said at the end, when something changed.
    pub(super) last: &'static str,
    pub(super) last_of_tmux: &'static str,
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
            |(harness, reason): &(Recipient, String)| json!({ "harness": harness.name(), "reason": reason });
        object.insert("skipped".to_string(), self.done.skipped.iter().map(skipped).collect());
        let failed = |(harness, error): &(Recipient, CommandError)| json!({ "harness": harness.name(), "kind": error.kind.name(), "message": error.message, "hints": error.hints });
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
        for recipient in &self.done.recipients {
            let name = style::bold(recipient.name());
            let mut changes =
                self.done.changes.iter().filter(|change| change.recipient == *recipient).peekable();
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
            let is_tmux = self.wish.recipient == Some(Recipient::Tmux);
            page.line(style::dim(if is_tmux { self.words.last_of_tmux } else { self.words.last }));
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
