//! What a builtin function wants to be done. Those that call functions leave that to the evaluator, so that nothing here
//! uses the stack of the thread, however deeply calls are nested.

use std::cmp::Ordering;

use super::fault::Stop;
use super::heap::Heap;
use super::value::{ListView, Value};

pub(super) enum Outcome<'w> {
    Value(Value<'w>),
    Call {
        function: Value<'w>,
        arguments: Vec<Value<'w>>,
    },
    Each(Box<EachCall<'w>>),
    Fold(Box<FoldCall<'w>>),
    /// Keys and what they belong to, to be sorted by the keys.
    Sort {
        order: SortOrder<'w>,
        items: Vec<(Value<'w>, Value<'w>)>,
    },
}

impl<'w> From<Value<'w>> for Outcome<'w> {
    fn from(value: Value<'w>) -> Self {
        Self::Value(value)
    }
}

/// A function of the table.
pub(super) struct Builtin {
    pub(super) name: &'static str,
    pub(super) least: usize,
    /// `None` if any number of arguments will do.
    pub(super) most: Option<usize>,
    pub(super) run: BuiltinRun,
    /// An example; what it gives follows a semicolon.
    pub(super) example: &'static str,
}

type PlainRun = for<'h, 'w> fn(&'h mut Heap<'w>, &'h [Value<'w>]) -> Result<Value<'w>, Stop>;
type CallingRun = for<'h, 'w> fn(&'h mut Heap<'w>, &'h [Value<'w>]) -> Result<Outcome<'w>, Stop>;

#[derive(Clone, Copy)]
pub(super) enum BuiltinRun {
    Plain(PlainRun),
    Calling(CallingRun),
}

impl Builtin {
    pub(super) const fn plain(
        name: &'static str,
        least: usize,
        most: Option<usize>,
        run: PlainRun,
        example: &'static str,
    ) -> Self {
        Self { name, least, most, run: BuiltinRun::Plain(run), example }
    }

    pub(super) const fn calling(
        name: &'static str,
        least: usize,
        most: Option<usize>,
        run: CallingRun,
        example: &'static str,
    ) -> Self {
        Self { name, least, most, run: BuiltinRun::Calling(run), example }
    }
}

/// A function is called with each element; then the results become a value.
pub(super) struct EachCall<'w> {
    pub(super) task: EachTask<'w>,
    pub(super) function: Value<'w>,
    /// The arguments come from here, one of each.
    pub(super) lists: Vec<ListView>,
    pub(super) results: Vec<Value<'w>>,
}

#[derive(Clone, Copy)]
pub(super) enum EachTask<'w> {
    Map,
    /// Appends the results.
    MapAppend,
    /// Leaves out results that are `nil` or false.
    MapKeep,
    Filter,
    Remove,
    /// Both: `[those for which it holds, the others]`.
    Partition,
    Count,
    Any,
    Every,
    NotAny,
    Find,
    Position,
    TakeWhile,
    DropWhile,
    SortBy(SortOrder<'w>),
    GroupBy,
    UniqueBy,
    CountBy,
    /// A map from the result to the element.
    IndexBy,
    MaxBy,
    MinBy,
    SumBy,
    /// Calls each function with the same arguments: `lists` has the functions.
    Several(ListView),
}

/// Which of two keys comes first.
#[derive(Clone, Copy)]
pub(super) enum SortOrder<'w> {
    Ascending,
    Descending,
    /// By a function of two keys: true, or a number below 0, if the first comes first.
    By(Value<'w>),
}

/// A function is called with what came before and each element.
pub(super) struct FoldCall<'w> {
    pub(super) function: Value<'w>,
    pub(super) before: Value<'w>,
    pub(super) list: ListView,
    pub(super) next: usize,
    pub(super) shape: FoldShape,
    /// Filled if all values on the way are wanted.
    pub(super) way: Option<Vec<Value<'w>>>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum FoldShape {
    /// `(f before element)`
    BeforeFirst,
    /// `(f element before)`
    ElementFirst,
    /// `(f element before)`, from the last element to the first
    FromTheEnd,
}

/// A merge sort that asks a function which of two comes first.
pub(super) struct SortCall<'w> {
    pub(super) less: Value<'w>,
    /// Keys and what they belong to.
    pub(super) items: Vec<(Value<'w>, Value<'w>)>,
    merged: Vec<(Value<'w>, Value<'w>)>,
    width: usize,
    /// Where the two runs are that are being merged: the next of each, and their ends.
    left: usize,
    middle: usize,
    right: usize,
    end: usize,
}

impl<'w> SortCall<'w> {
    pub(super) fn new(less: Value<'w>, items: Vec<(Value<'w>, Value<'w>)>) -> Self {
        let mut sort =
            Self { less, items, merged: Vec::new(), width: 1, left: 0, middle: 0, right: 0, end: 0 };
        sort.open_runs(0);
        sort
    }

    fn open_runs(&mut self, start: usize) {
        let length = self.items.len();
        self.left = start;
        self.middle = (start + self.width).min(length);
        self.right = self.middle;
        self.end = (start + 2 * self.width).min(length);
    }

    /// The two keys to compare next; `None` if everything is sorted.
    pub(super) fn question(&mut self) -> Option<(Value<'w>, Value<'w>)> {
        loop {
            if self.left < self.middle && self.right < self.end {
                return Some((self.items[self.right].0, self.items[self.left].0));
            }
            self.merged.extend_from_slice(&self.items[self.left..self.middle]);
            self.merged.extend_from_slice(&self.items[self.right..self.end]);
            if self.end < self.items.len() {
                self.open_runs(self.end);
                continue;
            }
            self.items = std::mem::take(&mut self.merged);
            self.width *= 2;
            if self.width >= self.items.len().max(1) {
                return None;
            }
            self.open_runs(0);
        }
    }

    /// Takes the answer to the question: whether the first of the two comes before the second.
    pub(super) fn answer(&mut self, order: Ordering) {
        let next = if order.is_lt() { &mut self.right } else { &mut self.left };
        self.merged.push(self.items[*next]);
        *next += 1;
    }
}
