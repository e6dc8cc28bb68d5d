//! `msg man`: shows and writes the man pages.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::suggestions;
use crate::faces::cli::man_pages;
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui};
use crate::ops::setup::man_pages::write_man_pages;
use crate::ops::{CommandError, CommandErrorKind};
use crate::sys::pager::{self, PagerEnd};

/// Show the man page of msg, or of one command
///
/// On a terminal it opens in `man`, else in your pager; in a pipe it is the text of `--help`. `--dir` writes all pages,
/// for packages and for `man msg-join`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg man
  msg man knowledge publish
  msg man join --roff > msg-join.1
  msg man --dir ~/.local/share/man/man1    then `man msg-join`")]
pub(in crate::faces::cli) struct ManArgs {
    /// The command, and its subcommand if it has any
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Print the source of the page
    #[arg(long)]
    roff: bool,
    /// Write all pages to this directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["command", "roff"])]
    dir: Option<PathBuf>,
}

pub(super) fn run(args: ManArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    if let Some(dir) = args.dir {
        let whole = std::path::absolute(&dir).map_err(|error| {
            let text = format!("`{}` can't be used: {error}", dir.display());
            CommandError::new(CommandErrorKind::InvalidValue, text)
                .hint("for example `msg man --dir ~/.local/share/man/man1`")
        })?;
        let files = write_man_pages(&whole, &man_pages::all())?;
        return Ok(Written { dir, files }.into());
    }
    let program = man_pages::program();
    let mut command = find(&program, &args.command)?.clone();
    let page = man_pages::page(&command);
    let roff = String::from_utf8_lossy(&page.roff).into_owned();
    if args.roff {
        return Ok(Source { file: page.file, roff }.into());
    }
    // As `--help` does.
    let is_long = command.get_long_about().is_some()
        || command.get_arguments().any(|arg| arg.get_long_help().is_some());
    let text = if is_long { command.render_long_help() } else { command.render_help() };
    let shows = ui.is_terminal() && !ui.is_json();
    if shows
        && (pager::show_man_page(roff.as_bytes()) == PagerEnd::Shown
            || pager::show_text(&text.to_string()) == PagerEnd::Shown)
    {
        return Ok(CommandOutput::said(None));
    }
    Ok(Text { file: page.file, text: text.to_string() }.into())
}

/// The command that the words name, by its name or an alias.
fn find<'c>(program: &'c clap::Command, words: &[String]) -> Result<&'c clap::Command, CommandError> {
    let (mut found, mut name) = (program, "msg".to_string());
    for word in words {
        found = found.find_subcommand(word).ok_or_else(|| unknown(found, &name, word))?;
        name.push_str(&format!(" {}", found.get_name()));
    }
    Ok(found)
}

fn unknown(command: &clap::Command, name: &str, word: &str) -> CommandError {
    let known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    let error = CommandError::new(
        CommandErrorKind::Usage,
        match (command.has_subcommands(), name) {
            (true, "msg") => format!("there is no command `{word}`"),
            (true, _) => format!("`{name}` has no command `{word}`"),
            (false, _) => format!("`{name}` has no commands, so there is no page for `{word}`"),
        },
    );
    let meant = suggestions(word, known.iter().copied());
    let error = meant.into_iter().fold(error, |error, meant| error.hint(format!("did you mean `{meant}`?")));
    error.hint("run `msg help` for the list of commands")
}

/// A page as text.
struct Text {
    file: String,
    text: String,
}

impl Report for Text {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("page".to_string(), json!(self.file)), ("text".to_string(), json!(self.text))])
    }

    fn text(&self, page: &mut Page) {
        page.line(self.text.trim_end());
    }
}

/// A page as `man` reads it.
struct Source {
    file: String,
    roff: String,
}

impl Report for Source {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("page".to_string(), json!(self.file)), ("roff".to_string(), json!(self.roff))])
    }

    fn text(&self, page: &mut Page) {
        page.line(self.roff.trim_end());
    }
}

struct Written {
    dir: PathBuf,
    files: Vec<PathBuf>,
}

impl Report for Written {
    fn json(&self) -> Map<String, Value> {
        let files: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        Map::from_iter([("files".to_string(), json!(files))])
    }

    fn text(&self, page: &mut Page) {
        page.line(format!("Wrote {} pages to `{}`.", self.files.len(), self.dir.display()));
    }

    fn is_answer(&self) -> bool {
        false
    }
}
