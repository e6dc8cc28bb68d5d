//! Searches for the shortest path that two automata both accept.
//!
//! A [`Graph`] is a Thompson NFA without its empty transitions. The search counts every step and stops when its
//! budget is used up, because two patterns of 1 KiB each can have millions of product states.
//!
//! What is found is the shortest path that both accept; texts that cannot be a path (`a//b`, `..`) do not count. Pairs
//! whose literal parts differ (`literals`) need no search. A search takes at most `STEPS_PER_PAIR` steps per pair, and
//! the caller's budget in all; beyond that the patterns count as overlapping, and the refusal says so.
//! `a_pair_takes_no_more_steps_than_it_may` and `reservations::complex` check that.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;

/// Maximum steps for comparing two patterns. A step takes about 10 ns; patterns of ordinary length need a few
/// hundred.
pub const STEPS_PER_PAIR: usize = 50_000;

/// Maximum size of the table of visited product states, in bits.
const MAX_TABLE: usize = 1 << 27;

/// Steps left for all comparisons of one query.
#[derive(Debug)]
pub struct SearchBudget(Cell<usize>);

impl SearchBudget {
    pub const fn new(steps: usize) -> Self {
        Self(Cell::new(steps))
    }

    pub fn for_one_pair() -> Self {
        Self::new(STEPS_PER_PAIR)
    }

    pub fn left(&self) -> usize {
        self.0.get()
    }
}

/// Result of a search.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum SearchResult {
    /// The shortest text that both accept, after the second one's head.
    At(Vec<u8>),
    Apart,
    /// The budget was used up first.
    TooComplex,
}

/// An automaton in which every transition reads a byte.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// The target nodes of all edges.
    targets: Vec<u32>,
    starts: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Node {
    edges: Range<usize>,
    is_match: bool,
}

/// A transition for any byte in this range; `targets` is a range of the graph's `targets`.
#[derive(Clone, Debug)]
struct Edge {
    first: u8,
    last: u8,
    targets: Range<usize>,
}

impl Graph {
    /// `None` if it would be larger than any search could use.
    pub(super) fn new(nfa: &NFA) -> Option<Self> {
        let mut builder = Builder::new(nfa);
        let starts = builder.targets_of(nfa.start_anchored())?;
        let mut graph =
            Self { nodes: Vec::new(), edges: Vec::new(), targets: Vec::new(), starts: Vec::new() };
        for (id, state) in nfa.states().iter().enumerate() {
            if builder.numbers[id].is_none() {
                continue;
            }
            let begin = graph.edges.len();
            match state {
                State::ByteRange { trans } => {
                    let targets = builder.targets_of(trans.next)?;
                    graph.edges.push(Edge { first: trans.start, last: trans.end, targets });
                }
                State::Sparse(sparse) => {
                    for trans in &sparse.transitions {
                        let targets = builder.targets_of(trans.next)?;
                        graph.edges.push(Edge { first: trans.start, last: trans.end, targets });
                    }
                }
                State::Dense(dense) => {
                    for (byte, next) in (0..=u8::MAX).zip(&dense.transitions) {
                        if *next != StateID::ZERO {
                            let targets = builder.targets_of(*next)?;
                            graph.edges.push(Edge { first: byte, last: byte, targets });
                        }
                    }
                }
                _ => {}
            }
            let is_match = matches!(state, State::Match { .. });
            graph.nodes.push(Node { edges: begin..graph.edges.len(), is_match });
        }
        graph.targets = builder.targets;
        graph.starts = graph.targets[starts].to_vec();
        Some(graph)
    }

    fn edges(&self, node: u32) -> &[Edge] {
        &self.edges[self.nodes[node as usize].edges.clone()]
    }

    fn targets(&self, edge: &Edge) -> &[u32] {
        &self.targets[edge.targets.clone()]
    }

    fn is_match(&self, node: u32) -> bool {
        self.nodes[node as usize].is_match
    }

    /// The nodes reached by reading the text; `None` if no steps are left.
    fn after(&self, text: &[u8], steps: &mut Steps) -> Option<Vec<u32>> {
        let mut now = self.starts.clone();
        let mut seen_at = vec![usize::MAX; self.nodes.len()];
        for (at, byte) in text.iter().enumerate() {
            let mut next = Vec::new();
            for node in now {
                for edge in self.edges(node).iter().filter(|edge| (edge.first..=edge.last).contains(byte)) {
                    for target in self.targets(edge) {
                        steps.take()?;
                        if seen_at[*target as usize] != at {
                            seen_at[*target as usize] = at;
                            next.push(*target);
                        }
                    }
                }
            }
            now = next;
        }
        Some(now)
    }
}

/// Numbers the states that read a byte or accept, and finds those that follow a state.
struct Builder<'n> {
    nfa: &'n NFA,
    numbers: Vec<Option<u32>>,
    targets: Vec<u32>,
    known: HashMap<StateID, Range<usize>>,
    seen_by: Vec<usize>,
}

impl<'n> Builder<'n> {
    fn new(nfa: &'n NFA) -> Self {
        let mut count = 0;
        let number = |state: &State| {
            let counts = matches!(
                state,
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) | State::Match { .. }
            );
            counts.then(|| {
                count += 1;
                count - 1
            })
        };
        let numbers = nfa.states().iter().map(number).collect();
        let seen_by = vec![usize::MAX; nfa.states().len()];
        Self { nfa, numbers, targets: Vec::new(), known: HashMap::new(), seen_by }
    }

    fn targets_of(&mut self, start: StateID) -> Option<Range<usize>> {
        if let Some(known) = self.known.get(&start) {
            return Some(known.clone());
        }
        let begin = self.targets.len();
        let round = self.known.len();
        let mut open = vec![start];
        while let Some(state) = open.pop() {
            if std::mem::replace(&mut self.seen_by[state.as_usize()], round) == round {
                continue;
            }
            if let Some(number) = self.numbers[state.as_usize()] {
                self.targets.push(number);
            }
            match self.nfa.state(state) {
                State::Union { alternates } => open.extend(alternates.iter()),
                State::BinaryUnion { alt1, alt2 } => open.extend([*alt1, *alt2]),
                State::Capture { next, .. } => open.push(*next),
                _ => {}
            }
        }
        if self.targets.len() > STEPS_PER_PAIR {
            return None;
        }
        self.known.insert(start, begin..self.targets.len());
        Some(begin..self.targets.len())
    }
}

/// The steps a search has left.
struct Steps(usize);

impl Steps {
    fn take(&mut self) -> Option<()> {
        self.0 = self.0.checked_sub(1)?;
        Some(())
    }
}

/// Searches for the shortest path that both accept, where `near` reads `between` before `far` begins.
pub(super) fn meet(near: &Graph, between: &str, far: &Graph, budget: &SearchBudget) -> SearchResult {
    let allowance = STEPS_PER_PAIR.min(budget.left());
    let mut steps = Steps(allowance);
    let met = search(near, between, far, &mut steps);
    budget.0.set(budget.left() - (allowance - steps.0));
    met.unwrap_or(SearchResult::TooComplex)
}

/// `None` if no steps are left.
fn search(near: &Graph, between: &str, far: &Graph, steps: &mut Steps) -> Option<SearchResult> {
    let starts = near.after(between.as_bytes(), steps)?;
    let bits = near.nodes.len().checked_mul(far.nodes.len())?.checked_mul(Shape::COUNT)?;
    if bits > MAX_TABLE {
        return None;
    }
    let mut front = Front { seen: vec![0; bits / 64 + 1], far: far.nodes.len(), reached: Vec::new() };
    for a in starts {
        for b in &far.starts {
            steps.take()?;
            front.add((a, *b, Shape::Whole), None);
        }
    }
    let mut at = 0;
    while let Some((place, _)) = front.reached.get(at) {
        let (a, b, shape) = *place;
        if shape == Shape::Whole && near.is_match(a) && far.is_match(b) {
            return Some(SearchResult::At(front.way_to(at)));
        }
        for one in near.edges(a) {
            for two in far.edges(b) {
                steps.take()?;
                let (first, last) = (one.first.max(two.first), one.last.min(two.last));
                if first > last {
                    continue;
                }
                for (class, shape) in shape.after(first, last) {
                    for a in near.targets(one) {
                        for b in far.targets(two) {
                            steps.take()?;
                            front.add((*a, *b, shape), Some(Read { from: at, first, last, class }));
                        }
                    }
                }
            }
        }
        at += 1;
    }
    Some(SearchResult::Apart)
}

/// A product state: a node in each graph, and the shape of the path so far.
type ProductState = (u32, u32, Shape);

/// The byte range that was read, and the index of the product state before it.
#[derive(Clone, Copy)]
struct Read {
    from: usize,
    first: u8,
    last: u8,
    class: Class,
}

/// The product states reached, in breadth-first order.
struct Front {
    seen: Vec<u64>,
    far: usize,
    reached: Vec<(ProductState, Option<Read>)>,
}

impl Front {
    fn add(&mut self, place: ProductState, read: Option<Read>) {
        let (a, b, shape) = place;
        let bit = (a as usize * self.far + b as usize) * Shape::COUNT + shape as usize;
        let word = &mut self.seen[bit / 64];
        if *word & (1 << (bit % 64)) == 0 {
            *word |= 1 << (bit % 64);
            self.reached.push((place, read));
        }
    }

    /// The bytes read on the way to that state.
    fn way_to(&self, end: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut at = end;
        while let (_, Some(read)) = self.reached[at] {
            bytes.push(read.class.pick(read.first, read.last));
            at = read.from;
        }
        bytes.reverse();
        bytes
    }
}

/// The classes of bytes in a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Class {
    Slash,
    Dot,
    Other,
}

impl Class {
    fn is_in(self, first: u8, last: u8) -> bool {
        let has = |byte: u8| usize::from((first..=last).contains(&byte));
        match self {
            Self::Slash => has(b'/') == 1,
            Self::Dot => has(b'.') == 1,
            Self::Other => usize::from(last - first) + 1 > has(0) + has(b'.') + has(b'/'),
        }
    }

    /// A byte of the class in this range; for `Other`, the most readable one.
    fn pick(self, first: u8, last: u8) -> u8 {
        match self {
            Self::Slash => b'/',
            Self::Dot => b'.',
            Self::Other => {
                let fits = |byte: &u8| (first..=last).contains(byte) && !matches!(byte, 0 | b'.' | b'/');
                (b'a'..=b'z').chain(b'!'..=b'~').chain(first..=last).find(fits).unwrap_or(first)
            }
        }
    }
}

/// Whether the bytes read so far form a path: a component is not empty, `.` or `..`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Shape {
    /// At the end of a component or of the head.
    Whole,
    /// After a slash.
    Open,
    Dot,
    DotDot,
}

impl Shape {
    const COUNT: usize = 4;

    /// The possible shapes after reading a byte of this range.
    fn after(self, first: u8, last: u8) -> impl Iterator<Item = (Class, Self)> {
        let after_dot = match self {
            Self::Open => Self::Dot,
            Self::Dot => Self::DotDot,
            Self::Whole | Self::DotDot => Self::Whole,
        };
        let slash = (self == Self::Whole).then_some((Class::Slash, Self::Open));
        [slash, Some((Class::Dot, after_dot)), Some((Class::Other, Self::Whole))]
            .into_iter()
            .flatten()
            .filter(move |(class, _)| class.is_in(first, last))
    }
}
