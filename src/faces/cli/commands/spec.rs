//! `msg spec`: shows or sets the caller's spec.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::escape_invisible;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::tasks::{self, SpecInUse};
use crate::ops::{CommandError, Op};
use crate::sys::environment::Home;

/// Show or set the spec you work on
///
/// A spec is a Markdown file. A task is a list item, a heading or a table row that begins with an id such as TASK-01,
/// or a box with an id before a colon. `(needs TASK-01)` or `Depends on: TASK-01` says what has to be done before it.
/// Boxes without an id are not tasks.
#[derive(Args, Debug)]
#[command(after_help = "\
A spec with two tasks:
  - [ ] TASK-01: Parse the file
  - [ ] TASK-02: Print it (needs TASK-01)

Examples:
  msg spec                  which it is
  msg spec docs/spec.md     work through that one from now on")]
pub(in crate::faces::cli) struct SpecArgs {
    /// A Markdown file with tasks in it
    path: Option<String>,
}

pub(super) fn run(op: &Op, args: SpecArgs) -> Result<CommandOutput, CommandError> {
    let spec = tasks::spec(op, args.path.as_deref())?;
    for problem in &spec.problems {
        op.warn(problem.clone());
    }
    if spec.boxes_without_id > 0 {
        op.warn(boxes_without_id(spec.boxes_without_id));
    }
    Ok(SpecReport { spec, home: op.home.clone() }.into())
}

/// A hint about checkboxes that are not tasks because they have no id.
pub(super) fn boxes_without_id(count: usize) -> String {
    let boxes = match count {
        1 => "1 box has no id and is not a task".to_string(),
        _ => format!("{count} boxes have no id and are not tasks"),
    };
    format!("{boxes}: write `- [ ] TASK-01: …`")
}

struct SpecReport {
    spec: SpecInUse,
    home: Home,
}

impl Report for SpecReport {
    fn json(&self) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("spec".to_string(), json!(self.spec.path));
        object.insert("tasks".to_string(), json!(self.spec.tasks));
        object.insert("boxesWithoutId".to_string(), json!(self.spec.boxes_without_id));
        object
    }

    fn text(&self, page: &mut Page) {
        match &self.spec.path {
            None => page.nothing("You have no spec.", "Set one with `msg spec PATH`."),
            Some(path) if page.is_quiet => page.line(escape_invisible(path)),
            Some(path) => {
                let tasks = match self.spec.tasks {
                    0 => "no tasks in it; a task is `- [ ] TASK-01: …`".to_string(),
                    1 => "one task".to_string(),
                    tasks => format!("{tasks} tasks"),
                };
                page.line(format!("{}: {tasks}", style::bold(&escape_invisible(&self.home.shorten(path)))));
            }
        }
    }
}
