//! A plan: a spec in one strict form, so that its tasks can be replaced one by one.
//!
//! An introduction comes first, then nothing but tasks: each begins with a line `- [ ] ID: TITLE` at the left margin, and
//! everything else of it is indented.

use super::plan_fault::PlanFault;
use crate::domain::escape_invisible_line;
use crate::domain::spec::{self, Problem, Spec, Task, task_body, verify_commands};

/// Maximum length of a plan, in bytes. A planner is told the whole of it when it is to plan again.
pub const MOST_PLAN: usize = 20_000;
/// Maximum number of tasks.
const MOST_TASKS: usize = 100;
/// How the first line of a plan begins that `msg` wrote.
const MARK: &str = "<!-- msg crew plan";
const FIRST_LINE: &str =
    "<!-- msg crew plan: planning again replaces the tasks that nobody has begun, and keeps the others -->";
/// How a task begins.
const BOXES: [&str; 3] = ["- [ ] ", "- [x] ", "- [X] "];

/// A plan as it was written.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CrewPlan {
    /// What comes before the first task.
    pub intro: String,
    /// In the order of the text, each id once.
    pub tasks: Vec<PlannedTask>,
    /// What the spec itself finds wrong: dependencies that are not tasks, and cycles.
    pub(super) problems: Vec<Problem>,
}

/// A task of a plan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PlannedTask {
    pub id: String,
    pub title: String,
    /// The tasks that have to be done before.
    pub needs: Vec<String>,
    /// The patterns of what it will change.
    pub paths: Vec<String>,
    /// The commands that prove it.
    pub verify: Vec<String>,
    pub is_ticked: bool,
    /// What else is said of it.
    pub body: String,
    /// Its lines as they are.
    pub(super) lines: String,
}

impl CrewPlan {
    /// Reads a plan. What is wrong with its form is told all at once.
    pub fn read(text: &str) -> Result<Self, Vec<PlanFault>> {
        let text = text.replace("\r\n", "\n");
        if text.len() > MOST_PLAN {
            return Err(vec![PlanFault::TooLong { bytes: text.len(), most: MOST_PLAN }]);
        }
        let is_odd = |(_, line): &(usize, &str)| escape_invisible_line(line) != *line;
        let odd = text.lines().enumerate().filter(is_odd);
        let mut faults: Vec<PlanFault> = odd.map(|(at, _)| PlanFault::Invisible { line: at + 1 }).collect();
        let spec = spec::read(&text);
        faults.extend(form_faults(&text, &spec));
        if !faults.is_empty() {
            return Err(PlanFault::bounded(faults));
        }
        let starts: Vec<usize> = spec.tasks.iter().map(|task| task.line - 1).collect();
        let lines: Vec<&str> = text.lines().collect();
        let ends = starts.iter().skip(1).copied().chain([lines.len()]);
        let blocks = starts.iter().zip(ends).map(|(start, end)| lines[*start..end].join("\n"));
        let tasks = spec.tasks.iter().zip(blocks);
        let tasks = tasks.map(|(task, lines)| PlannedTask::of(&text, &spec, task, &lines)).collect();
        let is_ours = is_marked(&text);
        let intro = lines[usize::from(is_ours)..starts[0].max(usize::from(is_ours))].join("\n");
        Ok(Self { intro: intro.trim().to_string(), tasks, problems: spec.problems })
    }

    /// Whether `msg` wrote this text.
    pub fn is_ours(text: &str) -> bool {
        is_marked(text)
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let intro = if self.intro.is_empty() { String::new() } else { format!("{}\n\n", self.intro) };
        let tasks: Vec<&str> = self.tasks.iter().map(|task| task.lines.as_str()).collect();
        format!("{FIRST_LINE}\n\n{intro}{}\n", tasks.join("\n"))
    }

    pub fn find(&self, id: &str) -> Option<&PlannedTask> {
        self.tasks.iter().find(|task| task.id == id)
    }
}

impl PlannedTask {
    fn of(text: &str, spec: &Spec, task: &Task, lines: &str) -> Self {
        let body = task_body(text, task);
        let is_said = |line: &&str| !line.trim_start().starts_with("verify:");
        let said: Vec<&str> = body.text.lines().filter(is_said).collect();
        Self {
            id: task.id.clone(),
            title: task.title.clone(),
            needs: task.depends_on.clone(),
            verify: verify_commands(text, spec, task),
            paths: body.paths,
            is_ticked: task.is_done,
            body: said.join("\n").trim().to_string(),
            lines: lines.trim_end().to_string(),
        }
    }
}

fn is_marked(text: &str) -> bool {
    text.starts_with(MARK)
}

/// What is wrong with the form of a plan.
fn form_faults(text: &str, spec: &Spec) -> Vec<PlanFault> {
    let mut faults = Vec::new();
    if spec.tasks.is_empty() {
        faults.push(PlanFault::NoTasks);
    }
    if spec.tasks.len() > MOST_TASKS {
        faults.push(PlanFault::TooMany { tasks: spec.tasks.len(), most: MOST_TASKS });
    }
    let lines: Vec<&str> = text.lines().collect();
    for task in &spec.tasks {
        let line = lines.get(task.line - 1).copied().unwrap_or_default();
        if !BOXES.iter().any(|begin| line.starts_with(begin)) {
            faults.push(PlanFault::NotAtMargin { id: task.id.clone(), line: task.line });
        } else if task.title.is_empty() {
            faults.push(PlanFault::NoTitle { id: task.id.clone() });
        }
    }
    let mut duplicates = Vec::new();
    for problem in &spec.problems {
        match problem {
            Problem::Duplicate { id, line, .. } => {
                duplicates.push(*line);
                faults.push(PlanFault::Duplicate { id: id.clone() });
            }
            Problem::TooDeep { line } => faults.push(PlanFault::TooDeep { line: *line }),
            Problem::UnknownDependency { .. } | Problem::Cycle { .. } => {}
        }
    }
    let first = spec.tasks.first().map_or(usize::MAX, |task| task.line);
    let is_task =
        |number: usize| spec.tasks.iter().any(|task| task.line == number) || duplicates.contains(&number);
    for (number, line) in
        lines.iter().enumerate().map(|(at, line)| (at + 1, line)).skip_while(|(number, _)| *number < first)
    {
        let is_beneath = line.trim().is_empty() || line.starts_with([' ', '\t']);
        if !is_beneath && !is_task(number) {
            faults.push(PlanFault::Stray { line: number });
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "\
# Login

Why.

- [ ] T-1: Parse
  Keep comments.

  ```
  - [ ] x
  ```
  paths: src/a.rs, src/b/**
  verify: cargo test a
- [ ] T-2: Print (needs T-1)
";

    #[test]
    fn a_plan_is_read_and_written_back_as_it_is() {
        let plan = CrewPlan::read(PLAN).unwrap();
        assert_eq!(plan.intro, "# Login\n\nWhy.");
        let [one, two] = plan.tasks.as_slice() else { panic!("{plan:#?}") };
        assert_eq!((one.id.as_str(), one.title.as_str(), one.needs.len()), ("T-1", "Parse", 0));
        assert_eq!((one.paths.len(), one.verify.as_slice()), (2, ["cargo test a".to_string()].as_slice()));
        assert!(one.body.starts_with("Keep comments.") && !one.body.contains("verify"), "{}", one.body);
        assert_eq!((two.needs.as_slice(), two.title.as_str()), (["T-1".to_string()].as_slice(), "Print"));
        let text = plan.text();
        assert!(CrewPlan::is_ours(&text) && !CrewPlan::is_ours(PLAN));
        assert!(text.ends_with(PLAN), "{text}");
        let again = CrewPlan::read(&text).unwrap();
        assert_eq!((again.text(), &again.intro), (text, &plan.intro));
        let bare = CrewPlan::read("- [ ] T-1: Parse\r\n  paths: a\r\n").unwrap();
        assert_eq!(CrewPlan::read(&bare.text()).unwrap().tasks, bare.tasks);
        assert_eq!(bare.tasks[0].paths, ["a"]);
    }

    #[test]
    fn what_is_wrong_with_the_form_is_told_all_at_once() {
        let faults = |text: &str| -> Vec<String> {
            CrewPlan::read(text).unwrap_err().iter().map(ToString::to_string).collect()
        };
        assert!(faults("")[0].contains("no tasks"));
        assert!(faults(&"x".repeat(MOST_PLAN + 1))[0].contains("20001 bytes"));
        let all = faults(
            "- [ ] T-1: One\n  - T-2: Nested\n\n## Phase\n- [ ] T-1: Again\n- [ ] no id\n### T-3: Heading\n- [ ] T-4:\n  \u{202e}x\n",
        );
        for part in [
            "line 9 contains",
            "`T-2`",
            "line 4 ",
            "`T-1` is used for more than one",
            "line 6 ",
            "`T-3`",
            "`T-4` has no title",
        ] {
            assert!(all.iter().any(|fault| fault.contains(part)), "{part}: {all:#?}");
        }
        let many: String = (0..=MOST_TASKS).map(|number| format!("- [ ] T-{number}: x\n")).collect();
        assert!(faults(&many)[0].contains("101 tasks"));
    }
}
