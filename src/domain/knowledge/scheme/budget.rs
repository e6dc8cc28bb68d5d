//! What an expression may use, and what it has used so far.

use std::fmt;

use super::world::QueryFacts;

/// How many steps pass between two looks at the clock.
const STEPS_PER_LOOK: u64 = 1024;

/// What one expression may use. Its time is the asker's to judge: [`QueryFacts::is_out_of_time`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct QueryBudget {
    /// The longest text of an expression, in bytes.
    pub query_bytes: usize,
    pub steps: u64,
    /// How many calls may wait for each other.
    pub depth: usize,
    /// Values in lists, maps and variables.
    pub cells: u64,
    /// Bytes of texts that the expression makes.
    pub text_bytes: u64,
    /// The size of the answer as it is printed.
    pub answer_bytes: usize,
}

impl Default for QueryBudget {
    fn default() -> Self {
        Self {
            query_bytes: 32 * 1024,
            steps: 500_000,
            depth: 10_000,
            cells: 1_000_000,
            text_bytes: 4 * 1024 * 1024,
            answer_bytes: 64 * 1024,
        }
    }
}

/// What an expression went over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum QueryLimit {
    QuerySize,
    Steps,
    Depth,
    Memory,
    AnswerSize,
    Time,
}

impl QueryLimit {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::QuerySize => "query-size",
            Self::Steps => "steps",
            Self::Depth => "depth",
            Self::Memory => "memory",
            Self::AnswerSize => "answer-size",
            Self::Time => "time",
        }
    }

    /// What to try instead.
    pub fn hint(self) -> &'static str {
        match self {
            Self::QuerySize => "send a shorter expression",
            Self::Steps => "does a loop never end? filter with a get- function first",
            Self::Depth => "use map, filter or fold, or make the call the last thing a function does",
            Self::Memory => "take or filter before you build lists and texts",
            Self::AnswerSize => "ask for less: (take 20 …), (count …) or (map :name …)",
            Self::Time => "ask for less, or filter before you search",
        }
    }
}

impl fmt::Display for QueryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Counts what an expression uses.
pub(super) struct QueryMeter<'w> {
    budget: QueryBudget,
    facts: &'w dyn QueryFacts,
    steps: u64,
    next_look: u64,
    cells: u64,
    text_bytes: u64,
}

impl<'w> QueryMeter<'w> {
    pub(super) fn new(budget: QueryBudget, facts: &'w dyn QueryFacts) -> Self {
        Self { budget, facts, steps: 0, next_look: 0, cells: 0, text_bytes: 0 }
    }

    pub(super) fn steps(&mut self, count: usize) -> Result<(), QueryLimit> {
        self.steps = self.steps.saturating_add(count as u64);
        if self.steps > self.budget.steps {
            return Err(QueryLimit::Steps);
        }
        if self.steps >= self.next_look {
            self.next_look = self.steps + STEPS_PER_LOOK;
            return self.look();
        }
        Ok(())
    }

    /// Looks at the clock at once: before and after what may take long.
    pub(super) fn look(&mut self) -> Result<(), QueryLimit> {
        if self.facts.is_out_of_time() { Err(QueryLimit::Time) } else { Ok(()) }
    }

    pub(super) fn cells(&mut self, count: usize) -> Result<(), QueryLimit> {
        self.cells = self.cells.saturating_add(count as u64);
        if self.cells > self.budget.cells { Err(QueryLimit::Memory) } else { Ok(()) }
    }

    pub(super) fn text(&mut self, bytes: usize) -> Result<(), QueryLimit> {
        self.text_bytes = self.text_bytes.saturating_add(bytes as u64);
        if self.text_bytes > self.budget.text_bytes { Err(QueryLimit::Memory) } else { Ok(()) }
    }

    /// Whether so many cells and bytes are left: asked before they are allocated, and counted as they are used.
    pub(super) fn room(&self, cells: usize, bytes: usize) -> Result<(), QueryLimit> {
        let is_enough = |used: u64, more: usize, all: u64| used.saturating_add(more as u64) <= all;
        let has_room = is_enough(self.cells, cells, self.budget.cells)
            && is_enough(self.text_bytes, bytes, self.budget.text_bytes);
        if has_room { Ok(()) } else { Err(QueryLimit::Memory) }
    }

    pub(super) fn depth(&self, depth: usize) -> Result<(), QueryLimit> {
        if depth > self.budget.depth { Err(QueryLimit::Depth) } else { Ok(()) }
    }
}
