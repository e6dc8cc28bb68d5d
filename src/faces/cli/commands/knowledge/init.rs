//! `msg knowledge init`: finds documents that the project has already.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::{escape_invisible, quote_code};
use crate::faces::cli::output::{CommandOutput, Page, Report};
use crate::ops::knowledge::{self, FoundDocuments};
use crate::ops::{CommandError, Op};

/// Find the documents that this project has already, so that `msg know` searches them too
///
/// Decision records (`docs/adr` and the like), instructions for coding agents, and the memories of other tools. They are
/// searched where they are, and never copied: `msg know` shows their sections with file and line. Run it again when there
/// are new ones; a directory that was found is read anew by every search. It also prints what identifies this project in
/// a batch (`projectId`).
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg knowledge init
  msg knowledge init --json")]
pub(super) struct InitArgs {}

pub(super) fn run(op: &Op, _: InitArgs) -> Result<CommandOutput, CommandError> {
    Ok(InitReport(knowledge::init(op)?).into())
}

struct InitReport(FoundDocuments);

impl Report for InitReport {
    fn json(&self) -> Map<String, Value> {
        let FoundDocuments { identity, places, left_out } = &self.0;
        let places = places
            .iter()
            .map(|place| json!({ "path": place.path, "files": place.files, "sections": place.sections }));
        Map::from_iter([
            ("project".to_string(), json!({ "name": identity.name, "rootCommit": identity.root_commit })),
            ("documents".to_string(), places.collect()),
            ("leftOut".to_string(), json!(left_out)),
        ])
    }

    fn text(&self, page: &mut Page) {
        let FoundDocuments { identity, places, left_out } = &self.0;
        if page.is_quiet {
            return places.iter().for_each(|place| page.line(escape_invisible(&place.path)));
        }
        let commit = identity.root_commit.as_ref().map_or(String::new(), |commit| format!(" or {commit}"));
        page.line(format!(
            "In a batch, `projectId` of this project is {}{commit}.",
            quote_code(&identity.name)
        ));
        match places.len() {
            0 => page.nothing("No other documents were found here.", "`msg know` searches records alone."),
            _ => page.line("`msg know` also searches these, where they are:"),
        }
        for place in places {
            let files = if place.files == 1 { String::new() } else { format!("{} files, ", place.files) };
            let sections = if place.sections == 1 { "section" } else { "sections" };
            page.line(format!("  {} ({files}{} {sections})", quote_code(&place.path), place.sections));
        }
        if !left_out.is_empty() {
            let names: Vec<String> = left_out.iter().take(10).map(|path| quote_code(path)).collect();
            let more = if left_out.len() > 10 { ", …" } else { "" };
            page.line(format!(
                "Not searched, because together they are too large: {}{more}",
                names.join(", ")
            ));
        }
    }
}
