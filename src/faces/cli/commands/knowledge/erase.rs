//! `msg knowledge erase`: deletes all that was ever said about a record.

use clap::Args;
use serde_json::{Map, Value, json};

use super::pack::{counted, file_lines, files_json};
use crate::domain::knowledge::page::page_path;
use crate::domain::quote_sentence;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::knowledge::{self, EraseReport, PageCommits};
use crate::ops::{CommandError, CommandErrorKind, Op};

/// Delete all that was ever said about a record, for good
///
/// For what must not be kept, such as a secret. All texts of the record go from the log and from the caches; the log is
/// packed, so replaced texts of other records go, too. What git and other clones hold is not changed: you are told in
/// which commits its page is. To only hide a record, use `msg knowledge retire`. Inside a harness it is refused: it
/// needs a person.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg knowledge erase note/database-password --for-good
  msg knowledge retire note/database-password")]
pub(super) struct EraseArgs {
    /// Its name, or kind/name; it may be retired
    #[arg(value_name = "NAME")]
    name: String,
    /// Really delete it
    #[arg(long)]
    for_good: bool,
}

pub(super) fn run(op: &Op, args: EraseArgs) -> Result<CommandOutput, CommandError> {
    if !args.for_good {
        let message = "`erase` deletes all that was ever said about a record: add `--for-good`";
        let hint = "to hide a record and keep what was said, use `msg knowledge retire`";
        return Err(CommandError::new(CommandErrorKind::Usage, message).hint(hint));
    }
    Ok(EraseAnswer(knowledge::erase(op, &args.name)?).into())
}

struct EraseAnswer(EraseReport);

impl Report for EraseAnswer {
    fn json(&self) -> Map<String, Value> {
        let EraseReport { id, packed, quarantined, page, is_shown, commits } = &self.0;
        let mut members = Map::from_iter([
            ("kind".to_string(), json!(id.kind.as_str())),
            ("name".to_string(), json!(id.name.as_str())),
            ("erased".to_string(), json!(packed.erased)),
        ]);
        members.extend(files_json(packed));
        let paths: Value = quarantined.iter().map(|path| path.display().to_string()).collect();
        members.insert("quarantined".to_string(), paths);
        members.insert("page".to_string(), json!(page));
        members.insert("shown".to_string(), json!(is_shown));
        let commits = match commits {
            PageCommits::NoRepository => json!([]),
            PageCommits::Known(commits) => {
                commits.iter().map(|commit| json!({ "id": commit.id, "title": commit.title })).collect()
            }
            PageCommits::Unknown(_) => Value::Null,
        };
        members.insert("commits".to_string(), commits);
        members
    }

    fn text(&self, page: &mut Page) {
        let EraseReport { id, packed, quarantined, page: file, is_shown, commits } = &self.0;
        let name = style::bold(&id.to_string());
        page.line(match packed.erased {
            0 => format!("The log and its caches have nothing about {name} any more."),
            entries => {
                let entries = counted(entries, "entry is", "entries are");
                format!("Erased {name}: {entries} gone from the log and its caches.")
            }
        });
        if packed.quarantined.is_empty() {
            for path in quarantined {
                page.line(format!(
                    "This damaged file may still hold it, look at it and remove it: {}",
                    path.display()
                ));
            }
        }
        file_lines(packed).into_iter().for_each(|line| page.line(line));
        if !packed.untouched.is_empty() || !packed.quarantined.is_empty() {
            page.line("What these files hold was not erased.");
        }
        let is_in_no_commit = match commits {
            PageCommits::NoRepository => true,
            PageCommits::Known(commits) => commits.is_empty(),
            PageCommits::Unknown(_) => false,
        };
        match file {
            _ if *is_shown => {
                let path = page_path(id);
                page.line(format!(
                    "It is still shown, from its committed page: remove {path} and commit that."
                ));
            }
            Some(file) if is_in_no_commit => page.line(format!("Its page is still there: remove {file}.")),
            Some(file) => {
                page.line(format!("Its page is still there: remove {file} and commit that."));
            }
            None => {}
        }
        match commits {
            PageCommits::NoRepository => {}
            PageCommits::Unknown(reason) => {
                page.line(format!("Whether git holds its page is not known: {}", quote_sentence(reason)));
            }
            PageCommits::Known(commits) if commits.is_empty() => {
                page.line("No commit has its page.");
            }
            PageCommits::Known(commits) => {
                page.line(
                    "Git still holds its page, in these commits; only rewriting the history removes it:",
                );
                for commit in commits {
                    let short = commit.id.get(..10).unwrap_or(&commit.id);
                    page.line(format!("  {short} {}", quote_sentence(&commit.title)));
                }
            }
        }
    }
}
