//! Merges two versions of a text over the version that both came from, to find the lines on which they disagree.
//!
//! As in git, two changes disagree if no unchanged line is between them, unless both sides have the same lines there.
//! Line endings do not count: a checkout may have changed them.

use std::collections::HashMap;
use std::ops::Range;

use similar::{DiffOp, DiffTag};

/// Lines of one version, counted from 1.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LineRange {
    pub first: usize,
    /// 0: that version has no line there, and the other has some before its line `first`.
    pub count: usize,
}

impl From<Range<usize>> for LineRange {
    fn from(range: Range<usize>) -> Self {
        Self { first: range.start + 1, count: range.len() }
    }
}

/// Lines that both sides changed, differently.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ConflictingLines {
    pub ours: LineRange,
    pub theirs: LineRange,
}

/// The conflicts of a merge, in the order of their lines. `compare` finds what has to be changed in the first list of
/// lines, which are numbers here, to get the second.
pub fn conflicting_lines(
    base: &[u8],
    ours: &[u8],
    theirs: &[u8],
    compare: impl Fn(&[u32], &[u32]) -> Vec<DiffOp>,
) -> Vec<ConflictingLines> {
    let mut numbers = LineNumbers::default();
    let [base, ours, theirs] = [base, ours, theirs].map(|text| numbers.of(text));
    let (our_changes, their_changes) = (changes(&compare(&base, &ours)), changes(&compare(&base, &theirs)));
    let (mut our_rest, mut their_rest) = (our_changes.as_slice(), their_changes.as_slice());
    let mut conflicts = Vec::new();
    while let (Some(our_first), Some(their_first)) = (our_rest.first(), their_rest.first()) {
        let start = our_first.base.start.min(their_first.base.start);
        let (mut end, mut our_count, mut their_count) = (start, 0, 0);
        // Collects the changes that touch each other.
        loop {
            let touches = |change: Option<&Change>| {
                let base = &change?.base;
                (base.start <= end).then_some(base.end)
            };
            let (our_next, their_next) =
                (touches(our_rest.get(our_count)), touches(their_rest.get(their_count)));
            let Some(next) = our_next.or(their_next) else { break };
            end = end.max(next);
            if our_next.is_some() { our_count += 1 } else { their_count += 1 }
        }
        let (our_part, their_part);
        (our_part, our_rest) = our_rest.split_at(our_count);
        (their_part, their_rest) = their_rest.split_at(their_count);
        let here = start..end;
        if let (Some(of_ours), Some(of_theirs)) = (Part::of(our_part, &here), Part::of(their_part, &here))
            && ours[of_ours.all] != theirs[of_theirs.all]
        {
            conflicts
                .push(ConflictingLines { ours: of_ours.changed.into(), theirs: of_theirs.changed.into() });
        }
    }
    conflicts
}

/// Equal lines have equal numbers, because numbers are compared faster.
#[derive(Default)]
struct LineNumbers<'t>(HashMap<&'t [u8], u32>);

impl<'t> LineNumbers<'t> {
    fn of(&mut self, text: &'t [u8]) -> Vec<u32> {
        let line = |line: &'t [u8]| {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            line.strip_suffix(b"\r").unwrap_or(line)
        };
        let lines = text.split_inclusive(|byte| *byte == b'\n').map(line);
        lines
            .map(|line| {
                let next = self.0.len() as u32;
                *self.0.entry(line).or_insert(next)
            })
            .collect()
    }
}

/// Lines of the base, and what one side has instead.
struct Change {
    base: Range<usize>,
    side: Range<usize>,
}

/// The changes of one side, in order. There is an unchanged line between two of them.
fn changes(ops: &[DiffOp]) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for op in ops.iter().filter(|op| op.tag() != DiffTag::Equal) {
        let (base, side) = (op.old_range(), op.new_range());
        match changes.last_mut() {
            Some(last) if last.base.end == base.start && last.side.end == side.start => {
                (last.base.end, last.side.end) = (base.end, side.end);
            }
            _ => changes.push(Change { base, side }),
        }
    }
    changes
}

/// What one side has for a part of the base.
struct Part {
    all: Range<usize>,
    /// From its first changed line to its last one.
    changed: Range<usize>,
}

impl Part {
    fn of(changes: &[Change], base: &Range<usize>) -> Option<Self> {
        let (first, last) = (changes.first()?, changes.last()?);
        let all =
            first.side.start - (first.base.start - base.start)..last.side.end + base.end - last.base.end;
        Some(Self { all, changed: first.side.start..last.side.end })
    }
}

#[cfg(test)]
mod tests {
    use similar::{Algorithm, capture_diff_slices};

    use super::*;

    fn found(base: &str, ours: &str, theirs: &str) -> Vec<((usize, usize), (usize, usize))> {
        let compare = |old: &[u32], new: &[u32]| capture_diff_slices(Algorithm::Myers, old, new);
        let conflicts =
            conflicting_lines(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), compare).into_iter();
        let range = |range: LineRange| (range.first, range.count);
        conflicts.map(|lines| (range(lines.ours), range(lines.theirs))).collect()
    }

    /// One line per letter.
    fn lines(letters: &str) -> String {
        letters.chars().map(|letter| format!("{letter}\n")).collect()
    }

    #[test]
    fn only_changes_without_a_line_between_them_disagree() {
        for (base, ours, theirs, expected) in [
            ("abcdefg", "aBcdefg", "abcdeFg", vec![]),
            ("abcdefg", "aBcdefg", "aXcdefg", vec![((2, 1), (2, 1))]),
            ("abcdefg", "aBcdefg", "aBcdefg", vec![]),
            ("abcdefg", "abXYcdefg", "abcdEfg", vec![]),
            ("abcdefg", "aBcdefg", "abCdefg", vec![((2, 1), (3, 1))]),
            ("abcdefg", "abcdefg", "", vec![]),
            ("abcdefg", "acdefg", "aBBcdefg", vec![((2, 0), (2, 2))]),
            ("abcdefg", "BCDbcdefg1", "XbcdeYfg2", vec![((1, 3), (1, 1)), ((10, 1), (9, 1))]),
            ("abcdefg", "aBCDEfg", "aXcdYfg", vec![((2, 4), (2, 4))]),
            ("", "ab", "c", vec![((1, 2), (1, 1))]),
            ("", "ab", "ab", vec![]),
            ("abc", "", "abX", vec![((1, 0), (3, 1))]),
        ] {
            let [base, ours, theirs] = [base, ours, theirs].map(lines);
            assert_eq!(found(&base, &ours, &theirs), expected, "{base:?} {ours:?} {theirs:?}");
        }
    }

    #[test]
    fn line_endings_do_not_count() {
        let (base, ours) = (lines("abcde"), lines("aBcde").replace('\n', "\r\n"));
        assert_eq!(found(&base, &ours, &lines("abcdE")), []);
        assert_eq!(found(&base, &ours, &lines("aXcde")), [((2, 1), (2, 1))]);
        assert_eq!(found("a\nb", "a\nb\n", "a\nb\r\n"), []);
    }
}
