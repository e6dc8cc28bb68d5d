//! `msg knowledge pack`: folds the files of the log into one.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::faces::cli::output::{CommandOutput, Page, Report};
use crate::ops::knowledge;
use crate::ops::{CommandError, Op};
use crate::store::PackReport;

/// Fold the files of the log into one
///
/// Every session writes to a file of its own. This folds them into one and leaves out texts that their own author has
/// replaced: after that, `--as-of` and `knowledge log` no longer show these. It can be killed at any time. Damaged files
/// are put aside after all that is whole in them was saved; files of a newer version of msg are left alone.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg knowledge pack
  msg knowledge pack --json")]
pub(super) struct PackArgs {}

pub(super) fn run(op: &Op, _: PackArgs) -> Result<CommandOutput, CommandError> {
    Ok(PackAnswer(knowledge::pack(op)?).into())
}

struct PackAnswer(PackReport);

impl Report for PackAnswer {
    fn json(&self) -> Map<String, Value> {
        let PackReport { folded, overwritten, .. } = &self.0;
        let mut members = Map::from_iter([
            ("folded".to_string(), json!(folded)),
            ("overwritten".to_string(), json!(overwritten)),
        ]);
        members.extend(files_json(&self.0));
        members
    }

    fn text(&self, page: &mut Page) {
        page.line(match self.0.folded {
            0 if self.0.quarantined.is_empty() => "There is nothing to pack.".to_string(),
            files => {
                let (files, entries) = (counted(files, "file", "files"), self.0.overwritten);
                let entries = counted(entries, "replaced entry was", "replaced entries were");
                format!("Packed {files} into one; {entries} left out.")
            }
        });
        file_lines(&self.0).into_iter().for_each(|line| page.line(line));
    }

    fn is_answer(&self) -> bool {
        false
    }
}

pub(super) fn counted(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

/// The files that were not folded as they are.
pub(super) fn files_json(report: &PackReport) -> Map<String, Value> {
    let paths = |paths: &[std::path::PathBuf]| -> Value {
        paths.iter().map(|path| path.display().to_string()).collect()
    };
    Map::from_iter([
        ("quarantined".to_string(), paths(&report.quarantined)),
        ("untouched".to_string(), paths(&report.untouched)),
    ])
}

pub(super) fn file_lines(report: &PackReport) -> Vec<String> {
    let damaged = report.quarantined.iter().map(|path| {
        format!("Damaged, put aside after all that is whole in it was saved: {}", path.display())
    });
    let untouched = report.untouched.iter().map(|path| {
        format!("Left alone, because a newer version of msg wrote it or it is too large: {}", path.display())
    });
    damaged.chain(untouched).collect()
}
