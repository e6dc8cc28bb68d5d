//! Errors in a spec: duplicate ids, unknown dependencies, cycles, too deep nesting.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;

use super::Task;

/// Maximum number of character pairs compared to find suggestions for unknown ids.
const GUESSES: usize = 20_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A second task with the id of the one on line `first`.
    Duplicate { id: String, line: usize, first: usize },
    /// A dependency that is not a task. `suggestions` are similar known ids.
    UnknownDependency { id: String, line: usize, dependency: String, nearest: Vec<String> },
    /// Tasks that each depend on the next, the last on the first. Of cycles that share tasks, only one is reported.
    Cycle { ids: Vec<String>, line: usize },
    /// A line that might be a task, nested more deeply than is read.
    TooDeep { line: usize },
}

impl Problem {
    pub fn line(&self) -> usize {
        match self {
            Problem::Duplicate { line, .. }
            | Problem::UnknownDependency { line, .. }
            | Problem::Cycle { line, .. }
            | Problem::TooDeep { line } => *line,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Duplicate { id, line, first } => {
                write!(f, "line {line}: `{id}` is already a task in line {first}")
            }
            Problem::UnknownDependency { id, line, dependency, nearest } => {
                write!(f, "line {line}: `{id}` depends on `{dependency}`, which is not a task here")?;
                let nearest: Vec<String> = nearest.iter().map(|id| format!("`{id}`")).collect();
                if nearest.is_empty() {
                    Ok(())
                } else {
                    write!(f, "; did you mean {}?", nearest.join(" or "))
                }
            }
            Problem::Cycle { ids, line } => write_cycle(f, ids, *line),
            Problem::TooDeep { line } => write!(f, "line {line} is nested too deeply to be read"),
        }
    }
}

fn write_cycle(f: &mut fmt::Formatter<'_>, ids: &[String], line: usize) -> fmt::Result {
    const SHOWN: usize = 8;
    let Some(first) = ids.first() else { return Ok(()) };
    if ids.len() == 1 {
        return write!(f, "line {line}: `{first}` depends on itself");
    }
    write!(f, "line {line}: tasks wait for each other: ")?;
    ids.iter().take(SHOWN).try_for_each(|id| write!(f, "`{id}` → "))?;
    if ids.len() > SHOWN {
        write!(f, "{} more → ", ids.len() - SHOWN)?;
    }
    write!(f, "`{first}`")
}

pub fn find(tasks: &[Task]) -> Vec<Problem> {
    let places: HashMap<&str, usize> =
        tasks.iter().enumerate().map(|(at, task)| (task.id.as_str(), at)).collect();
    let mut problems = unknown(tasks, &places);
    let needs: Vec<Vec<usize>> = tasks
        .iter()
        .map(|task| task.depends_on.iter().filter_map(|id| places.get(id.as_str()).copied()).collect())
        .collect();
    for component in cyclic_components(&needs) {
        let ids: Vec<String> =
            shortest_cycle(&component, &needs).into_iter().map(|at| tasks[at].id.clone()).collect();
        problems.extend(component.first().map(|at| Problem::Cycle { ids, line: tasks[*at].line }));
    }
    problems
}

fn unknown(tasks: &[Task], places: &HashMap<&str, usize>) -> Vec<Problem> {
    let length: usize = tasks.iter().map(|task| task.id.len()).sum();
    let mut guesses = GUESSES;
    let mut problems = Vec::new();
    for task in tasks {
        for dependency in task.depends_on.iter().filter(|id| !places.contains_key(id.as_str())) {
            let left = guesses.checked_sub(dependency.len() * length);
            let nearest = match left {
                Some(_) => crate::domain::suggestions(dependency, tasks.iter().map(|task| task.id.as_str())),
                None => Vec::new(),
            };
            guesses = left.unwrap_or(guesses);
            problems.push(Problem::UnknownDependency {
                id: task.id.clone(),
                line: task.line,
                dependency: dependency.clone(),
                nearest: nearest.into_iter().map(String::from).collect(),
            });
        }
    }
    problems
}

/// The strongly connected components that contain a cycle, each sorted: Tarjan's algorithm with an explicit stack.
fn cyclic_components(needs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let (mut order, mut low) = (vec![UNSEEN; needs.len()], vec![UNSEEN; needs.len()]);
    let mut is_open = vec![false; needs.len()];
    let (mut open, mut path, mut seen, mut components) = (Vec::new(), Vec::new(), 0, Vec::new());
    for root in 0..needs.len() {
        if order[root] == UNSEEN {
            path.push((root, 0));
        }
        while let Some((task, next)) = path.pop() {
            if next == 0 {
                (order[task], low[task], is_open[task]) = (seen, seen, true);
                seen += 1;
                open.push(task);
            } else {
                // Returned from the previous dependency.
                low[task] = low[task].min(low[needs[task][next - 1]]);
            }
            let fresh = needs[task][next..].iter().position(|need| {
                if is_open[*need] {
                    low[task] = low[task].min(order[*need]);
                }
                order[*need] == UNSEEN
            });
            if let Some(fresh) = fresh {
                path.push((task, next + fresh + 1));
                path.push((needs[task][next + fresh], 0));
            } else if low[task] == order[task] {
                let start = open.iter().rposition(|other| *other == task).unwrap_or_default();
                let mut component = open.split_off(start);
                component.iter().for_each(|task| is_open[*task] = false);
                component.sort_unstable();
                if component.len() > 1 || needs[task].contains(&task) {
                    components.push(component);
                }
            }
        }
    }
    components
}

/// The shortest cycle through the first task of a component.
fn shortest_cycle(component: &[usize], needs: &[Vec<usize>]) -> Vec<usize> {
    let Some(&first) = component.first() else { return Vec::new() };
    let members: HashSet<usize> = component.iter().copied().collect();
    let mut came_from: HashMap<usize, usize> = HashMap::new();
    let mut queue = VecDeque::from([first]);
    while let Some(task) = queue.pop_front() {
        for &need in &needs[task] {
            if need == first {
                let back = std::iter::successors(Some(task), |at| came_from.get(at).copied());
                let mut way: Vec<usize> = back.collect();
                way.reverse();
                return way;
            }
            if members.contains(&need) && !came_from.contains_key(&need) {
                came_from.insert(need, task);
                queue.push_back(need);
            }
        }
    }
    component.to_vec()
}
