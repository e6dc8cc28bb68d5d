//! Finite automata over the bytes of paths.
//!
//! A machine is the Thompson automaton of a regular expression. Whether two of them have a path in common is searched
//! in [`super::product`].

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::OnceLock;

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{Config, NFA, State, WhichCaptures};
use regex_automata::util::primitives::StateID;
use regex_automata::util::{start, syntax};
use regex_automata::{Anchored, MatchKind, hybrid};

use super::product::Graph;

/// More states than any pattern of a sane length needs.
const MAX_BYTES: usize = 1 << 20;

/// After so many texts it is worth while to make a faster one, which learns as it goes.
const MANY: usize = 32;

#[derive(Clone, Debug)]
pub(super) struct Machine {
    nfa: NFA,
    reader: RefCell<Reader>,
    graph: OnceLock<Option<Graph>>,
}

/// How texts are read.
#[derive(Clone, Debug)]
enum Reader {
    /// State by state; so many so far.
    Slow(usize),
    Fast(Box<(DFA, Cache)>),
}

impl Machine {
    /// `None`: the expression is too large or has assertions in it, which no glob leads to.
    pub(super) fn new(regex: &str) -> Option<Self> {
        let config = Config::new()
            .utf8(false)
            .which_captures(WhichCaptures::None)
            .nfa_size_limit(Some(MAX_BYTES))
            .shrink(false);
        let syntax = syntax::Config::new().unicode(false).utf8(false).dot_matches_new_line(true);
        let nfa = NFA::compiler().configure(config).syntax(syntax).build(regex).ok()?;
        let has_assertion = nfa.states().iter().any(|state| matches!(state, State::Look { .. }));
        (!has_assertion).then_some(Self {
            nfa,
            reader: RefCell::new(Reader::Slow(0)),
            graph: OnceLock::new(),
        })
    }

    /// Does the whole text belong to it?
    pub(super) fn accepts(&self, text: &[u8]) -> bool {
        let mut reader = self.reader.borrow_mut();
        match &mut *reader {
            Reader::Fast(fast) => {
                let (dfa, cache) = &mut **fast;
                return read_fast(dfa, cache, text).unwrap_or_else(|| self.read_slowly(text));
            }
            Reader::Slow(MANY) => {
                if let Ok(dfa) = DFA::builder().configure(fast_config()).build_from_nfa(self.nfa.clone()) {
                    let cache = dfa.create_cache();
                    *reader = Reader::Fast(Box::new((dfa, cache)));
                }
            }
            Reader::Slow(read) => *read += 1,
        }
        self.read_slowly(text)
    }

    fn read_slowly(&self, text: &[u8]) -> bool {
        let mut now = self.closure([self.nfa.start_anchored()]);
        for byte in text {
            let next = now.iter().flat_map(|state| self.steps(*state));
            let next: Vec<StateID> = next.filter(|step| step.has(*byte)).map(|step| step.to).collect();
            now = self.closure(next);
            if now.is_empty() {
                return false;
            }
        }
        now.iter().any(|state| self.is_match(*state))
    }

    /// The same automaton without empty transitions. `None`: it is too large to search.
    pub(super) fn graph(&self) -> Option<&Graph> {
        self.graph.get_or_init(|| Graph::new(&self.nfa)).as_ref()
    }

    fn is_match(&self, state: StateID) -> bool {
        matches!(self.nfa.state(state), State::Match { .. })
    }

    /// The states that can be reached without reading anything.
    fn closure(&self, states: impl IntoIterator<Item = StateID>) -> Vec<StateID> {
        let mut open: Vec<StateID> = states.into_iter().collect();
        let mut seen: HashSet<StateID> = HashSet::new();
        let mut all = Vec::new();
        while let Some(state) = open.pop() {
            if seen.insert(state) {
                all.push(state);
                open.extend(self.silent(state));
            }
        }
        all
    }

    fn silent(&self, state: StateID) -> Vec<StateID> {
        match self.nfa.state(state) {
            State::Union { alternates } => alternates.to_vec(),
            State::BinaryUnion { alt1, alt2 } => vec![*alt1, *alt2],
            State::Capture { next, .. } => vec![*next],
            _ => Vec::new(),
        }
    }

    fn steps(&self, state: StateID) -> Vec<Step> {
        match self.nfa.state(state) {
            State::ByteRange { trans } => vec![Step { first: trans.start, last: trans.end, to: trans.next }],
            State::Sparse(sparse) => sparse
                .transitions
                .iter()
                .map(|trans| Step { first: trans.start, last: trans.end, to: trans.next })
                .collect(),
            State::Dense(dense) => (0..=u8::MAX)
                .zip(dense.transitions.iter())
                .filter(|(_, to)| **to != StateID::ZERO)
                .map(|(byte, to)| Step { first: byte, last: byte, to: *to })
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// All matches count, not the first alone: the whole text is to be one.
fn fast_config() -> hybrid::dfa::Config {
    DFA::config().match_kind(MatchKind::All)
}

/// `None`: it can't tell, because it has no more room to learn.
fn read_fast(dfa: &DFA, cache: &mut Cache, text: &[u8]) -> Option<bool> {
    let start = start::Config::new().anchored(Anchored::Yes);
    let mut state = dfa.start_state(cache, &start).ok()?;
    for byte in text {
        state = dfa.next_state(cache, state, *byte).ok()?;
        if state.is_dead() {
            return Some(false);
        }
    }
    Some(dfa.next_eoi_state(cache, state).ok()?.is_match())
}

/// Reading a byte of this range leads there.
struct Step {
    first: u8,
    last: u8,
    to: StateID,
}

impl Step {
    fn has(&self, byte: u8) -> bool {
        (self.first..=self.last).contains(&byte)
    }
}
