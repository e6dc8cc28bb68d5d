use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::visible;
use crate::faces::cli::output::{Outcome, Page, Report, style};
use crate::ops::swarm::{self, SpecInUse};
use crate::ops::{CommandError, Context};
use crate::sys::environment::Home;

/// Show or set the spec that you work through
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg spec                  which it is
  msg spec docs/spec.md     work through that one from now on")]
pub(in crate::faces::cli) struct SpecArgs {
    /// A Markdown file with tasks in it
    path: Option<String>,
}

pub(super) fn run(ctx: &Context, args: SpecArgs) -> Result<Outcome, CommandError> {
    let spec = swarm::spec(ctx, args.path.as_deref())?;
    for problem in &spec.problems {
        ctx.notice(problem.clone());
    }
    Ok(SpecReport { spec, home: ctx.home.clone() }.into())
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
        object
    }

    fn text(&self, page: &mut Page) {
        match &self.spec.path {
            None => page.line("You have no spec: `msg spec PATH` sets one."),
            Some(path) => {
                let tasks = match self.spec.tasks {
                    0 => "no tasks in it".to_string(),
                    1 => "one task".to_string(),
                    tasks => format!("{tasks} tasks"),
                };
                page.line(format!("{}: {tasks}", style::bold(&visible(&self.home.shorten(path)))));
            }
        }
    }
}
