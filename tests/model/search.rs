//! Breadth-first search through all states of a protocol.
//!
//! Written by hand, because the available frameworks do not reliably answer one question if paths have cycles: can
//! every live process get an answer from every state without anybody dying?

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::Hash;
use std::time::Instant;

/// An atomic step of a process.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Action {
    pub words: &'static str,
    /// The file in `src/` and the function in it that does the step; `None` for steps of other programs and of
    /// deliberately wrong protocols.
    pub code: Option<(&'static str, &'static str)>,
}

impl Action {
    pub const fn ours(words: &'static str, file: &'static str, function: &'static str) -> Self {
        Self { words, code: Some((file, function)) }
    }

    pub const fn other(words: &'static str) -> Self {
        Self { words, code: None }
    }
}

pub const DIES: Action = Action::other("dies");

/// A transition from a state.
pub struct Step<S> {
    pub who: &'static str,
    pub deed: Action,
    pub to: S,
}

pub trait Protocol {
    type State: Clone + Eq + Hash;

    fn start(&self) -> Self::State;

    /// All transitions from a state, including the death of each process.
    fn steps(&self, state: &Self::State) -> Vec<Step<Self::State>>;

    /// The violation in this state, if there is one.
    fn fault(&self, state: &Self::State) -> Option<&'static str>;

    /// Whether every live process is done.
    fn is_over(&self, state: &Self::State) -> bool;
}

/// A violation, with a shortest path to it.
pub struct Fault {
    pub what: &'static str,
    pub steps: Vec<String>,
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:", self.what)?;
        self.steps.iter().try_for_each(|step| writeln!(f, "  {step}"))
    }
}

pub const NO_WAY_ON: &str = "somebody waits for ever";

struct Visited {
    from: usize,
    who: &'static str,
    deed: Action,
}

/// Checks every state. Prints the number of states, and returns the first fault, if there is one.
pub fn explore<P: Protocol>(name: &str, protocol: &P) -> Result<(), Fault> {
    let began = Instant::now();
    let start = protocol.start();
    let mut known = HashMap::from([(start.clone(), 0)]);
    let mut states = vec![start];
    let mut visited = vec![Visited { from: 0, who: "", deed: DIES }];
    // The predecessors of each state, without the deaths.
    let mut before: Vec<Vec<usize>> = vec![Vec::new()];
    let mut count = 0;
    let mut at = 0;
    while at < states.len() {
        if let Some(what) = protocol.fault(&states[at]) {
            return Err(Fault { what, steps: way_to(&visited, at) });
        }
        for Step { who, deed, to } in protocol.steps(&states[at]) {
            count += 1;
            let next = *known.entry(to).or_insert_with_key(|to| {
                states.push(to.clone());
                visited.push(Visited { from: at, who, deed });
                before.push(Vec::new());
                states.len() - 1
            });
            if deed != DIES {
                before[next].push(at);
            }
        }
        at += 1;
    }
    if let Some(stuck) = first_without_end(protocol, &states, &before) {
        return Err(Fault { what: NO_WAY_ON, steps: way_to(&visited, stuck) });
    }
    check_code(visited.iter().skip(1).map(|visited| visited.deed).collect());
    println!("{name}: {} states, {count} steps, {:.2} s", states.len(), began.elapsed().as_secs_f64());
    Ok(())
}

fn way_to(visited: &[Visited], mut at: usize) -> Vec<String> {
    let mut steps = Vec::new();
    while at > 0 {
        steps.push(format!("{} {}", visited[at].who, visited[at].deed.words));
        at = visited[at].from;
    }
    steps.reverse();
    steps
}

/// The first state from which no path without a death leads to an end.
fn first_without_end<P: Protocol>(protocol: &P, states: &[P::State], before: &[Vec<usize>]) -> Option<usize> {
    let mut ends: Vec<bool> = states.iter().map(|state| protocol.is_over(state)).collect();
    let mut open: Vec<usize> = (0..states.len()).filter(|at| ends[*at]).collect();
    while let Some(at) = open.pop() {
        for from in &before[at] {
            if !ends[*from] {
                ends[*from] = true;
                open.push(*from);
            }
        }
    }
    ends.iter().position(|ends| !ends)
}

/// Checks that the functions that the steps name exist, so that the model matches the code.
fn check_code(deeds: BTreeSet<Action>) {
    for (file, function) in deeds.iter().filter_map(|deed| deed.code) {
        let path = format!("{}/src/{file}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{path}`: {error}"));
        let named = |sign| text.contains(&format!("fn {function}{sign}"));
        assert!(named('(') || named('<'), "there is no `fn {function}` in `src/{file}` any more");
    }
}
