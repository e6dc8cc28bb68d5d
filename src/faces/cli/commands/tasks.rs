//! `msg tasks`: lists the tasks of a spec.

use clap::Args;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::domain::{AgentName, TaskProof, escape_invisible};
use crate::faces::cli::agent_text;
use crate::faces::cli::local_time::LocalTime;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::faces::json::{owner, task as task_json};
use crate::ops::tasks::{self, SpecProgress, TaskList, TaskState};
use crate::ops::{CommandError, Op};
use crate::store::Completion;
use crate::sys::clock;
use crate::sys::environment::Home;

use super::spec;

/// Maximum length of a title on a terminal, in characters; a longer one is cut.
const TITLE: usize = 60;
/// Width of the progress bar, in columns.
const BAR: usize = 20;

/// List the tasks of your spec, and who works on which
///
/// A finished task is `proven` if its `verify:` commands succeeded in `msg complete --verify`, or hooks saw a test run that
/// passed, and no edit was seen since; `stale proof` if one was; otherwise `only said`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg tasks
  msg tasks --ready             what can be started now
  msg tasks --mine              what you work on
  msg tasks --spec docs/spec.md --json | jq '.tasks[] | select(.state == \"open\")'")]
pub(in crate::faces::cli) struct TasksArgs {
    /// A spec other than yours
    #[arg(long, value_name = "PATH")]
    spec: Option<String>,
    /// Only tasks that are ready
    #[arg(long)]
    ready: bool,
    /// Only tasks that you have claimed or completed
    #[arg(long)]
    mine: bool,
}

pub(super) fn run(op: &Op, args: TasksArgs) -> Result<CommandOutput, CommandError> {
    let mut tasks = tasks::tasks(op, args.spec.as_deref())?;
    for problem in &tasks.problems {
        op.warn(problem.clone());
    }
    if args.ready {
        tasks.tasks.retain(|task| task.state == TaskState::Open);
    }
    if args.mine {
        // A completion has the name that the agent had at that time.
        let names: Vec<AgentName> = tasks.me.iter().flat_map(|agent| agent.all_names()).cloned().collect();
        let is_mine = |owner: &str| names.iter().any(|name| owner.eq_ignore_ascii_case(name.as_str()));
        tasks.tasks.retain(|task| owner(task).is_some_and(is_mine));
    }
    if tasks.boxes_without_id > 0 {
        op.warn(spec::boxes_without_id(tasks.boxes_without_id));
    }
    let whole = !args.ready && !args.mine;
    Ok(TasksReport { tasks, whole, home: op.home.clone() }.into())
}

struct TasksReport {
    tasks: TaskList,
    /// No task was left out.
    whole: bool,
    home: Home,
}

impl Report for TasksReport {
    fn json(&self) -> Map<String, Value> {
        let SpecProgress { done, claimed, open, blocked } = self.tasks.progress;
        let mut object = Map::new();
        object.insert("tasks".to_string(), self.tasks.tasks.iter().map(task_json).collect());
        object.insert("spec".to_string(), json!(self.tasks.spec));
        object.insert(
            "progress".to_string(),
            json!({ "done": done, "claimed": claimed, "open": open, "blocked": blocked }),
        );
        object.insert("problems".to_string(), json!(self.tasks.problems));
        object
    }

    fn text(&self, page: &mut Page) {
        if self.whole && !page.is_quiet {
            self.head(page);
        }
        let now = clock::now();
        let mut table = Table::default();
        for task in &self.tasks.tasks {
            if page.is_quiet {
                table.row(vec![TableCell::plain(&escape_invisible(&task.id))]);
                continue;
            }
            let title = match task.title.char_indices().nth(TITLE) {
                Some((at, _)) if page.is_terminal => format!("{}…", &task.title[..at]),
                _ => task.title.clone(),
            };
            let about = match &task.state {
                TaskState::Blocked(by) => format!("waits for {}", by.join(", ")),
                TaskState::Claimed => task.claim.as_ref().map_or(String::new(), |claim| {
                    format!("{} for {}", claim.who(), agent_text::duration(now, claim.claimed_at))
                }),
                TaskState::Done => {
                    let by = task.completion.as_ref().map_or_else(|| "ticked".to_string(), Completion::who);
                    format!(
                        "{by}{}",
                        task.proof.map_or(String::new(), |proof| format!(", {}", words(proof, now)))
                    )
                }
                TaskState::Open => {
                    let reopened = || {
                        task.reopened.last().map(|last| format!("reopened by {}: {}", last.by, last.reason))
                    };
                    task.came_back.clone().or_else(reopened).unwrap_or_default()
                }
            };
            let state = match &task.state {
                TaskState::Open => TableCell::styled("ready", style::bold),
                TaskState::Claimed => TableCell::styled("claimed", style::warn),
                TaskState::Blocked(_) => TableCell::styled("blocked", style::dim),
                TaskState::Done => TableCell::styled("done", style::good),
            };
            table.row(vec![
                TableCell::plain(&escape_invisible(&task.id)),
                state,
                TableCell::plain(&escape_invisible(&about)),
                TableCell::plain(&escape_invisible(&title)),
            ]);
        }
        let lines = table.lines();
        if lines.is_empty() {
            let (what, next) = match (self.whole, &self.tasks.spec) {
                (true, None) => ("You have no spec.", "Set one with `msg spec PATH`."),
                (true, Some(_)) => {
                    ("There are no tasks in the spec.", "A task is a line such as `- [ ] TASK-01: Log in`.")
                }
                (false, _) => ("None.", "`msg tasks` shows all."),
            };
            page.nothing(what, next);
        }
        lines.into_iter().for_each(|line| page.line(line));
    }
}

/// How well a finished task is proven.
fn words(proof: TaskProof, now: Timestamp) -> String {
    match proof {
        TaskProof::Proven => "proven".to_string(),
        TaskProof::Stale { tested, edited } => {
            let [tested, edited] = [tested, edited].map(|at| LocalTime::of_user().moment(at, now));
            format!("stale proof (tests {tested}, last edit {edited})")
        }
        TaskProof::Said => "only said".to_string(),
    }
}

impl TasksReport {
    fn head(&self, page: &mut Page) {
        let progress = self.tasks.progress;
        let Some(spec) = &self.tasks.spec else { return };
        let total = progress.total();
        if total == 0 {
            return;
        }
        let full = progress.done * BAR / total;
        let bar = format!("{}{}", "█".repeat(full), "░".repeat(BAR - full));
        page.line(format!(
            "{}  {bar}  {} of {total} done, {} claimed, {} ready, {} blocked",
            style::bold(&escape_invisible(&self.home.shorten(spec))),
            progress.done,
            progress.claimed,
            progress.open,
            progress.blocked,
        ));
    }
}
