//! Verdicts: whether what a record is about is still as it was.
//!
//! What counts is the anchored text. The hash of the whole file only tells `fresh` from `drifted`.

use std::fmt;

use super::anchor::{Anchor, AnchorPath, AnchorTarget, MAX_ANCHOR_LINE, TextHash};
use super::kinds::AnchorVerdict;
use super::outline::Outline;

/// How much of its characters a line shares with the one that it was changed to.
const ALIKE: f64 = 0.6;
/// A line with fewer letters and digits says nothing about where it came from.
const MIN_TELLING: usize = 4;
/// The most lines that are hashed to find one span, and the most bytes that are compared for likeness.
const MAX_HASHED: usize = 200_000;
const MAX_COMPARED: usize = 512 * 1024;

/// What became of an anchor: the verdict, and where the text is now.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AnchorFinding {
    /// The anchored text is unchanged.
    Fresh,
    /// It is unchanged, but elsewhere.
    Moved { to: AnchorTarget },
    /// It is unchanged; the rest of the file is not.
    Drifted,
    /// It was changed.
    Stale,
    /// Nothing of it is left.
    Gone,
}

impl AnchorFinding {
    pub fn verdict(&self) -> AnchorVerdict {
        match self {
            Self::Fresh => AnchorVerdict::Fresh,
            Self::Moved { .. } => AnchorVerdict::Moved,
            Self::Drifted => AnchorVerdict::Drifted,
            Self::Stale => AnchorVerdict::Stale,
            Self::Gone => AnchorVerdict::Gone,
        }
    }

    pub fn word(&self) -> &'static str {
        self.verdict().as_str()
    }

    /// Whether a reader has to be told.
    pub fn is_alarm(&self) -> bool {
        matches!(self, Self::Stale | Self::Gone)
    }
}

impl fmt::Display for AnchorFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// The file of an anchor, as it is now.
#[derive(Clone, Copy, Debug)]
pub struct AnchoredFile<'f> {
    pub path: &'f AnchorPath,
    pub text: &'f str,
    pub hash: &'f TextHash,
    /// `None` if the symbols of this file are not known.
    pub outline: Option<&'f Outline>,
}

/// What one file says about an anchor. `None`: nothing of the anchored text is in this file.
pub fn judge_in_file(anchor: &Anchor, file: &AnchoredFile<'_>) -> Option<AnchorFinding> {
    let unchanged = if anchor.target.path() != Some(file.path) {
        AnchorFinding::Moved { to: anchor.target.at_path(file.path) }
    } else if anchor.file.as_ref() == Some(file.hash) {
        AnchorFinding::Fresh
    } else {
        AnchorFinding::Drifted
    };
    match &anchor.target {
        AnchorTarget::File { .. } => Some(unchanged),
        AnchorTarget::Symbol { .. } | AnchorTarget::Lines { .. } if unchanged == AnchorFinding::Fresh => {
            Some(unchanged)
        }
        AnchorTarget::Symbol { symbol, hash, .. } => judge_symbol(symbol, hash.as_ref(), unchanged, file),
        AnchorTarget::Lines { .. } => judge_lines(&anchor.target, unchanged, file),
        // They are in no file.
        AnchorTarget::Command { .. } | AnchorTarget::Error { .. } => Some(AnchorFinding::Fresh),
    }
}

fn judge_symbol(
    name: &str,
    seen: Option<&TextHash>,
    unchanged: AnchorFinding,
    file: &AnchoredFile<'_>,
) -> Option<AnchorFinding> {
    let Some(outline) = file.outline else {
        // Without an outline it can't be told whether the symbol was changed, only whether its name is still there.
        return has_word(file.text, plain_name(name)).then_some(unchanged);
    };
    let Some(seen) = seen else {
        return (!outline.called(name).is_empty()).then_some(unchanged);
    };
    let lines: Vec<&str> = file.text.lines().collect();
    let called = outline.called(name);
    if called.iter().any(|symbol| symbol.hash(&lines).as_ref() == Some(seen)) {
        return Some(unchanged);
    }
    // The same text under another qualified name, as when a method goes to another class.
    let namesakes = outline.symbols.iter().filter(|symbol| symbol.name == plain_name(name));
    if let Some(there) = namesakes.into_iter().find(|symbol| symbol.hash(&lines).as_ref() == Some(seen)) {
        let target = AnchorTarget::Symbol {
            path: file.path.clone(),
            symbol: there.qualified.clone(),
            hash: Some(seen.clone()),
        };
        return Some(AnchorFinding::Moved { to: target });
    }
    (!called.is_empty()).then_some(AnchorFinding::Stale)
}

fn judge_lines(
    target: &AnchorTarget,
    unchanged: AnchorFinding,
    file: &AnchoredFile<'_>,
) -> Option<AnchorFinding> {
    let AnchorTarget::Lines { first, last, text, hash, .. } = target else { return None };
    let lines: Vec<&str> = file.text.lines().collect();
    let (Some(seen), Some(head)) = (hash, text.first()) else {
        // What was there is not known.
        return Some(if lines.len() < *last as usize { AnchorFinding::Stale } else { unchanged });
    };
    let (start, count) = (*first as usize - 1, (*last - *first) as usize + 1);
    let mut hashed = 0;
    let mut is_at = |at: usize| {
        if hashed > MAX_HASHED || lines.get(at).is_none_or(|line| kept_of(line).trim() != head.trim()) {
            return false;
        }
        let Some(span) = lines.get(at..at.saturating_add(count)) else { return false };
        hashed += count;
        TextHash::of(span) == *seen
    };
    if is_at(start) {
        return Some(unchanged);
    }
    if let Some(at) = nearest_first(lines.len(), start).find(|at| is_at(*at)) {
        let line = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
        let to = AnchorTarget::Lines {
            path: file.path.clone(),
            first: line(at),
            last: line(at + count - 1),
            text: text.clone(),
            hash: Some(seen.clone()),
        };
        return Some(AnchorFinding::Moved { to });
    }
    has_part(&lines, text, start).then_some(AnchorFinding::Stale)
}

/// The numbers of all lines, those next to `start` first.
fn nearest_first(count: usize, start: usize) -> impl Iterator<Item = usize> {
    let start = start.min(count);
    let both = (0..=count).flat_map(move |distance| [start.checked_sub(distance), Some(start + distance)]);
    both.flatten().filter(move |at| *at < count)
}

/// Whether one of the kept lines is still there, or one that it was probably changed to. The nearest lines are compared
/// first; in a huge file, those far away only for equal ones.
fn has_part(lines: &[&str], kept: &[String], start: usize) -> bool {
    let telling = |line: &&str| line.chars().filter(|c| c.is_alphanumeric()).count() >= MIN_TELLING;
    let kept: Vec<&str> = kept.iter().map(|line| line.trim()).filter(telling).collect();
    if kept.is_empty() {
        // Only brackets and blanks: nothing that could be missed.
        return true;
    }
    if lines.iter().any(|line| kept.contains(&kept_of(line).trim())) {
        return true;
    }
    let mut compared = 0;
    let is_alike = |at: usize| {
        let line = kept_of(lines[at]).trim();
        kept.iter().filter(|kept| is_of_like_length(kept, line)).any(|kept| {
            compared += kept.len() + line.len();
            compared <= MAX_COMPARED && strsim::sorensen_dice(kept, line) >= ALIKE
        })
    };
    nearest_first(lines.len(), start).any(is_alike)
}

/// What an anchor keeps of a line.
fn kept_of(line: &str) -> &str {
    let end = line.char_indices().nth(MAX_ANCHOR_LINE).map_or(line.len(), |(at, _)| at);
    &line[..end]
}

/// Lines of very different length can't be alike, and comparing long ones takes long.
fn is_of_like_length(a: &str, b: &str) -> bool {
    let (short, long) = (a.len().min(b.len()), a.len().max(b.len()));
    long <= 1000 && long <= short * 3
}

/// The last part of a qualified name.
pub fn plain_name(name: &str) -> &str {
    name.rsplit([':', '.']).next().unwrap_or(name)
}

/// Whether the text has this word, not only as a part of a longer one.
pub fn has_word(text: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            !text[..at].chars().next_back().is_some_and(is_letter)
                && !text[at + word.len()..].chars().next().is_some_and(is_letter)
        })
}

impl AnchorTarget {
    /// The same in another file.
    fn at_path(&self, to: &AnchorPath) -> Self {
        let mut moved = self.clone();
        match &mut moved {
            Self::File { path } | Self::Symbol { path, .. } | Self::Lines { path, .. } => *path = to.clone(),
            Self::Command { .. } | Self::Error { .. } => {}
        }
        moved
    }
}

#[cfg(test)]
mod tests;
