//! The finite automaton of a glob: matches paths byte by byte.
//!
//! A [`Automaton`] is the Thompson NFA of a regular expression. [`super::intersection`] searches for a path that two of
//! them accept.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::OnceLock;

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{Config, NFA, State, WhichCaptures};
use regex_automata::util::primitives::StateID;
use regex_automata::util::{start, syntax};
use regex_automata::{Anchored, MatchKind, hybrid};

use super::intersection::Graph;

/// Memory limit for an NFA, in bytes. No pattern of a sane length needs that much.
const MAX_BYTES: usize = 1 << 20;

/// Number of texts after which building a faster, lazy DFA pays off.
const MANY: usize = 32;

#[derive(Clone, Debug)]
pub(super) struct Automaton {
    nfa: NFA,
    reader: RefCell<Reader>,
    graph: OnceLock<Option<Graph>>,
}

/// How texts are matched.
#[derive(Clone, Debug)]
enum Reader {
    /// By NFA simulation; with the number of texts so far.
    Slow(usize),
    Fast(Box<(DFA, Cache)>),
}

impl Automaton {
    /// `None` if the expression is too large or contains assertions, which no glob produces.
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

    /// Whether the whole text matches.
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

    /// The same automaton without empty transitions; `None` if it is too large to search.
    pub(super) fn graph(&self) -> Option<&Graph> {
        self.graph.get_or_init(|| Graph::new(&self.nfa)).as_ref()
    }

    fn is_match(&self, state: StateID) -> bool {
        matches!(self.nfa.state(state), State::Match { .. })
    }

    /// The states reachable without reading a byte.
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

/// Consider all matches, not only the first: the whole text must match.
fn fast_config() -> hybrid::dfa::Config {
    DFA::config().match_kind(MatchKind::All)
}

/// `None` if the DFA cannot decide because its cache is full.
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

/// A transition for any byte in this range.
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
