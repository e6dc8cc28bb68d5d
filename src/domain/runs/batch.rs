//! The tasks of a batch or a chain: what each needs, and which of them can be started.

use std::collections::BTreeMap;

/// A task as a file has it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct BatchLine {
    /// The line of the file, from 1.
    pub line: usize,
    /// The name by which other tasks need it.
    pub id: Option<String>,
    pub task: String,
    pub profile: Option<String>,
    /// Whether it is to have a worktree of its own; `None`: as its profile says.
    pub has_worktree: Option<bool>,
    /// Patterns to reserve for it.
    pub reserve: Vec<String>,
    /// Ids of the tasks that have to be done first.
    pub needs: Vec<String>,
    /// What replaces `$INPUT`.
    pub input: Option<String>,
}

/// Whether the tasks are steps that follow each other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BatchKind {
    Batch,
    /// Each step needs the one before.
    Chain,
}

/// What is wrong with a line.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct TaskLineProblem {
    pub line: usize,
    pub message: String,
    pub hint: Option<String>,
}

impl TaskLineProblem {
    pub fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into(), hint: None }
    }
}

/// The tasks in the order of the file, with what each needs.
#[derive(Clone, Debug)]
pub struct BatchPlan {
    pub kind: BatchKind,
    pub lines: Vec<BatchLine>,
    /// The places of the tasks that each task needs.
    needs: Vec<Vec<usize>>,
}

impl BatchPlan {
    /// The plan, or everything that is wrong with the order of the tasks.
    pub fn new(kind: BatchKind, lines: Vec<BatchLine>) -> Result<Self, Vec<TaskLineProblem>> {
        let mut problems = Vec::new();
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (place, line) in lines.iter().enumerate() {
            let Some(id) = line.id.as_deref() else { continue };
            if let Some(first) = places.get(id) {
                let text = format!("the id `{}` is that of line {} already", shown(id), lines[*first].line);
                problems.push(TaskLineProblem::new(line.line, text));
            } else {
                places.insert(id, place);
            }
        }
        let mut needs = Vec::new();
        for (place, line) in lines.iter().enumerate() {
            let mut own = Vec::new();
            for id in &line.needs {
                match places.get(id.as_str()) {
                    _ if kind == BatchKind::Chain => {}
                    Some(needed) if *needed == place => {
                        problems.push(TaskLineProblem::new(line.line, "it needs itself"));
                    }
                    Some(needed) => own.push(*needed),
                    None => {
                        let text = format!("it needs `{}`, and no line has that id", shown(id));
                        problems.push(TaskLineProblem::new(line.line, text));
                    }
                }
            }
            if kind == BatchKind::Chain {
                if !line.needs.is_empty() {
                    problems.push(TaskLineProblem::new(
                        line.line,
                        "`needs` has no meaning in a chain, where each step needs the one before",
                    ));
                }
                if place > 0 && line.input.is_some() {
                    problems.push(TaskLineProblem::new(line.line, "only the first step of a chain has an `input`: the others get the result of the one before"));
                }
                own = place.checked_sub(1).into_iter().collect();
            }
            own.sort_unstable();
            own.dedup();
            needs.push(own);
        }
        let plan = Self { kind, lines, needs };
        if problems.is_empty() {
            problems.extend(plan.circle());
        }
        problems.sort();
        if problems.is_empty() { Ok(plan) } else { Err(problems) }
    }

    /// The tasks that the task at this place needs.
    pub fn needs(&self, place: usize) -> &[usize] {
        &self.needs[place]
    }

    /// The first task that waits for itself by way of others.
    fn circle(&self) -> Option<TaskLineProblem> {
        let mut is_done = vec![false; self.lines.len()];
        // Whoever needs nothing that is left is taken out, until nobody is.
        loop {
            let free =
                |place: &usize| !is_done[*place] && self.needs[*place].iter().all(|need| is_done[*need]);
            let Some(place) = (0..self.lines.len()).find(free) else { break };
            is_done[place] = true;
        }
        let mut place = is_done.iter().position(|is_done| !is_done)?;
        // What is left may only need the circle, so it is followed until a task comes again.
        let mut path = Vec::new();
        while !path.contains(&place) {
            path.push(place);
            place = self.needs[place].iter().copied().find(|need| !is_done[*need])?;
        }
        let from = path.iter().position(|known| *known == place).unwrap_or(0);
        let names = path[from..].iter().chain([&place]).map(|place| self.name(*place));
        let names = names.collect::<Vec<_>>().join(" → ");
        Some(TaskLineProblem::new(self.lines[place].line, format!("it waits for itself: {names}")))
    }

    /// How a task is called in a sentence: its id, or its line.
    pub fn name(&self, place: usize) -> String {
        let line = &self.lines[place];
        line.id.as_deref().map_or_else(|| format!("line {}", line.line), |id| format!("`{}`", shown(id)))
    }

    /// How many tasks before this one are the same. The same task twice is done twice.
    pub fn repetition(&self, place: usize) -> usize {
        let own = &self.lines[place];
        let is_same = |other: &usize| {
            let line = &self.lines[*other];
            let same_text = line.task == own.task && line.input == own.input;
            same_text && line.profile == own.profile && self.needs[*other] == self.needs[place]
        };
        (0..place).filter(is_same).count()
    }

    /// The text of a task, given the results of those that it needs, in that order. `$INPUT` is its input, or else these
    /// results; in a chain, `$ORIGINAL` is what the chain began with. Without a value they stay as they are.
    pub fn text(&self, place: usize, results: &[&str]) -> String {
        let line = &self.lines[place];
        let results = (!results.is_empty()).then(|| results.join("\n\n"));
        let input = line.input.clone().or(results);
        let first = self.lines.first().filter(|_| self.kind == BatchKind::Chain);
        let original = first.map(|first| first.input.as_deref().unwrap_or(&first.task));
        let values = [
            ("$INPUT", input.as_deref()),
            ("$ORIGINAL", original.filter(|_| place > 0 || line.input.is_some())),
        ];
        fill(&line.task, &values)
    }
}

/// Replaces names by their values, in one pass: what was put in is not looked at again.
fn fill(text: &str, values: &[(&str, Option<&str>)]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let found = values
            .iter()
            .find_map(|(name, value)| Some((name.len(), (*value)?)).filter(|_| rest.starts_with(name)));
        match found {
            Some((length, value)) => {
                filled.push_str(value);
                rest = &rest[length..];
            }
            None => {
                filled.push('$');
                rest = &rest[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// An id, safe to show.
fn shown(id: &str) -> String {
    id.chars().take(60).collect::<String>().escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, needs: &[&str]) -> BatchLine {
        let needs = needs.iter().map(ToString::to_string).collect();
        BatchLine { id: Some(id.to_string()), task: format!("task {id}"), needs, ..BatchLine::default() }
    }

    fn numbered(mut lines: Vec<BatchLine>) -> Vec<BatchLine> {
        lines.iter_mut().enumerate().for_each(|(place, line)| line.line = place + 1);
        lines
    }

    #[track_caller]
    fn wrong(lines: Vec<BatchLine>, expected: &[(usize, &str)]) {
        let problems = BatchPlan::new(BatchKind::Batch, numbered(lines)).unwrap_err();
        let problems: Vec<(usize, &str)> =
            problems.iter().map(|problem| (problem.line, problem.message.as_str())).collect();
        assert_eq!(problems, expected);
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        wrong(
            vec![line("a", &["x"]), line("b", &["b"]), line("a", &[])],
            &[
                (1, "it needs `x`, and no line has that id"),
                (2, "it needs itself"),
                (3, "the id `a` is that of line 1 already"),
            ],
        );
        wrong(
            vec![line("a", &["c"]), line("b", &["a"]), line("c", &["b"]), line("d", &["a"])],
            &[(1, "it waits for itself: `a` → `c` → `b` → `a`")],
        );
        wrong(
            vec![line("z", &["a"]), line("a", &["b"]), line("b", &["a"])],
            &[(2, "it waits for itself: `a` → `b` → `a`")],
        );
    }

    #[test]
    fn a_step_needs_the_one_before() {
        let lines = numbered(vec![line("a", &[]), line("b", &[]), line("c", &[])]);
        let plan = BatchPlan::new(BatchKind::Chain, lines).unwrap();
        assert_eq!([plan.needs(0), plan.needs(1), plan.needs(2)], [&[][..], &[0], &[1]]);
        let lines =
            numbered(vec![line("a", &[]), BatchLine { input: Some("x".into()), ..line("b", &["a"]) }]);
        assert_eq!(BatchPlan::new(BatchKind::Chain, lines).unwrap_err().len(), 2);
    }

    fn chain(first: &str, second: &str) -> BatchPlan {
        let lines = [first, second].map(|task| BatchLine { task: task.to_string(), ..BatchLine::default() });
        BatchPlan::new(BatchKind::Chain, numbered(lines.to_vec())).unwrap()
    }

    #[test]
    fn values_are_put_in_literally_and_once() {
        let plan = chain("first $ORIGINAL $INPUT", "<$INPUT> <$ORIGINAL> $$ $& $1 $INPUT$ORIGINAL $");
        assert_eq!(plan.text(0, &[]), "first $ORIGINAL $INPUT", "there is nothing before it");
        let million = "y".repeat(1_000_000);
        for result in ["$ORIGINAL", "$INPUT", "$$ $& \\1", "a\nb\r\n", "", "🐦$", &million] {
            let original = "first $ORIGINAL $INPUT";
            let expected = format!("<{result}> <{original}> $$ $& $1 {result}{original} $");
            assert_eq!(plan.text(1, &[result]), expected);
        }
    }

    #[test]
    fn an_input_of_its_own_comes_first() {
        let with = |task: &str, input: &str| BatchLine {
            input: Some(input.to_string()),
            task: task.to_string(),
            ..line("a", &[])
        };
        let lines = numbered(vec![with("$INPUT", "x$INPUT"), line("b", &["a"]), line("c", &["a", "b"])]);
        let mut plan = BatchPlan::new(BatchKind::Batch, lines).unwrap();
        assert_eq!(plan.text(0, &[]), "x$INPUT");
        plan.lines[2].task = "$INPUT, $ORIGINAL".to_string();
        assert_eq!(plan.text(2, &["one", "two"]), "one\n\ntwo, $ORIGINAL");
        let lines =
            numbered(vec![with("do $INPUT", "x"), BatchLine { task: "$ORIGINAL".into(), ..line("b", &[]) }]);
        let plan = BatchPlan::new(BatchKind::Chain, lines).unwrap();
        assert_eq!(plan.text(1, &["y"]), "x");
    }
}
