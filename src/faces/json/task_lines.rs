//! Reads the tasks of a batch: one a line, or an object a line.

use serde_json::{Map, Value};

use crate::domain::runs::{BatchLine, TaskLineProblem};
use crate::domain::suggestions;

const MEMBERS: [&str; 7] = ["id", "task", "profile", "worktree", "reserve", "needs", "input"];

/// The tasks, and what is wrong with lines that can't be read. If the first line that is not blank begins with `{`, every
/// line is an object.
pub(in crate::faces) fn parse(text: &str) -> (Vec<BatchLine>, Vec<TaskLineProblem>) {
    let lines = || {
        text.lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
            .filter(|(_, line)| !line.trim().is_empty())
    };
    let has_objects = lines().next().is_some_and(|(_, line)| line.trim_start().starts_with('{'));
    let (mut tasks, mut problems) = (Vec::new(), Vec::new());
    for (number, line) in lines() {
        if !has_objects {
            tasks.push(BatchLine { line: number, task: line.trim().to_string(), ..BatchLine::default() });
            continue;
        }
        match serde_json::from_str(line) {
            Ok(Value::Object(members)) => tasks.push(task(number, &members, &mut problems)),
            Ok(_) => problems.push(TaskLineProblem::new(number, "it is not an object")),
            Err(error) => problems.push(TaskLineProblem::new(number, format!("it is not JSON: {error}"))),
        }
    }
    (tasks, problems)
}

fn task(line: usize, members: &Map<String, Value>, problems: &mut Vec<TaskLineProblem>) -> BatchLine {
    let mut wrong = |message: String, hint: Option<String>| {
        problems.push(TaskLineProblem { hint, ..TaskLineProblem::new(line, message) });
    };
    for name in members.keys().filter(|name| !MEMBERS.contains(&name.as_str())) {
        let near = suggestions(name, MEMBERS).first().map(|near| format!("did you mean `{near}`?"));
        let hint = near.unwrap_or_else(|| format!("a task has {}", MEMBERS.join(", ")));
        wrong(format!("a task has no `{}`", name.escape_debug()), Some(hint));
    }
    let mut text = |name: &str| match members.get(name) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => {
            wrong(format!("`{name}` is not a text"), None);
            None
        }
    };
    let (id, profile, input) = (text("id"), text("profile"), text("input"));
    let own = text("task");
    if members.get("task").is_none_or(Value::is_null) {
        wrong("it has no `task`".to_string(), None);
    }
    let mut list = |name: &str| match members.get(name) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(all)) if all.iter().all(Value::is_string) => {
            all.iter().filter_map(Value::as_str).map(ToString::to_string).collect()
        }
        Some(_) => {
            wrong(format!("`{name}` is not a list of texts"), None);
            Vec::new()
        }
    };
    let (reserve, needs) = (list("reserve"), list("needs"));
    let has_worktree = match members.get("worktree") {
        None | Some(Value::Null) => None,
        Some(Value::Bool(yes)) => Some(*yes),
        Some(_) => {
            wrong("`worktree` is not true or false".to_string(), None);
            None
        }
    };
    BatchLine { line, id, task: own.unwrap_or_default(), profile, has_worktree, reserve, needs, input }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lines_are_tasks() {
        let (tasks, problems) = parse("\n first \n\n{second\n");
        assert_eq!(problems, []);
        let tasks: Vec<(usize, &str)> = tasks.iter().map(|task| (task.line, task.task.as_str())).collect();
        assert_eq!(tasks, [(2, "first"), (4, "{second")]);
    }

    #[test]
    fn objects_have_more() {
        let text = r#"{"id": "a", "task": "x\ny", "profile": "p", "worktree": true, "reserve": "src/", "input": "i"}
            {"task": "z", "needs": ["a"], "reserve": ["b", "c"]}"#;
        let (tasks, problems) = parse(text);
        assert_eq!(problems, []);
        assert_eq!((tasks[0].task.as_str(), tasks[0].has_worktree), ("x\ny", Some(true)));
        assert_eq!((tasks[1].needs.len(), tasks[1].reserve.len(), tasks[1].line), (1, 2, 2));
    }

    #[test]
    fn everything_that_is_wrong_is_told() {
        let text =
            "{}\n{\"task\": 3}\n[]\n{\"task\": \"x\", \"ned\": 1, \"needs\": 2, \"worktree\": \"no\"}\nx";
        let (_, problems) = parse(text);
        let lines: Vec<usize> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [1, 2, 3, 4, 4, 4, 5], "{problems:?}");
    }
}
