//! Patterns for reservations: which paths they cover, and whether two of them overlap.
//!
//! A pattern has a *head*, an absolute path without wildcards, and a *tail*. A literal pattern covers its head and
//! everything below it; a glob covers what `globset` matches, where `*` stops at `/` and `**` does not. Overlap is
//! decided by a search in the product of both automata, so the answer is exact; patterns whose search would take too
//! many steps count as overlapping.

mod automaton;
mod intersection;
mod literals;
mod path;

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use automaton::Automaton;
use intersection::SearchResult;
pub use intersection::{STEPS_PER_PAIR, SearchBudget};
use literals::GlobLiterals;
pub use path::NormalPath;

/// Maximum length of a pattern, in bytes. Longer ones are mistakes and slow to compare.
pub const MAX_PATTERN: usize = 1024;

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PatternError {
    #[error("a pattern must not be empty")]
    Empty,
    #[error("a pattern has {0} bytes; {MAX_PATTERN} is the most")]
    TooLong(usize),
    #[error("a pattern must not have control characters in it")]
    Control,
    #[error("`..` can't follow a wildcard")]
    ParentAfterWildcard,
    #[error(
        "`[…]` can't have `{0}` in it, only ASCII characters: list the others in braces, as in `{{ä,ö}}`"
    )]
    WideClass(char),
    #[error("not a valid glob: {0}")]
    NoGlob(String),
}

/// Whether the case of letters matters when paths are compared.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum LetterCase {
    Matters,
    /// As the file system does.
    Ignored,
}

/// A set of paths: a path with everything below it, or a glob.
#[derive(Clone, Debug)]
pub struct Pattern {
    head: NormalPath,
    tail: Tail,
    case: LetterCase,
    made: Made,
}

/// Whether a glob covers what is below its matches.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum GlobDepth {
    MatchesOnly,
    WithDescendants,
}

/// Values derived from a pattern when first needed.
#[derive(Clone, Debug, Default)]
struct Made {
    machine: OnceLock<Option<Automaton>>,
    /// The case-insensitive machine of a case-sensitive pattern.
    folding: OnceLock<Option<Automaton>>,
    outline: OnceLock<Option<GlobLiterals>>,
}

/// Whether two patterns cover a common path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Overlap {
    Apart,
    /// Both cover this path.
    At(NormalPath),
    /// They count as overlapping: the comparison takes too long, or the bytes it found are not a path in composed
    /// Unicode, as after `*` and a combining mark.
    TooComplex,
}

#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Tail {
    /// The head itself and everything below it.
    Beneath,
    /// What the glob matches below the head.
    Glob { text: String, depth: GlobDepth },
}

impl Pattern {
    /// Parses a pattern. It is relative to `root` unless it is absolute.
    pub fn new(text: &str, root: &NormalPath) -> Result<Self, PatternError> {
        check(text)?;
        let normal = path::composed(text);
        let (head, rest) = split_at_wildcard(&normal);
        let head = root.join(head);
        let tail = match rest {
            "" => Tail::Beneath,
            glob => Tail::of_glob(glob)?,
        };
        let pattern = Self { head, tail, case: LetterCase::Matters, made: Made::default() };
        match &pattern.tail {
            Tail::Glob { text, .. } => build_glob(text, LetterCase::Matters).map(|_| pattern),
            Tail::Beneath => Ok(pattern),
        }
    }

    /// A path and everything below it, whatever characters it contains.
    pub fn literal(path: NormalPath) -> Self {
        Self { head: path, tail: Tail::Beneath, case: LetterCase::Matters, made: Made::default() }
    }

    /// The same pattern, with case ignored or not.
    #[must_use]
    pub fn with_case(self, case: LetterCase) -> Self {
        Self { case, made: Made::default(), ..self }
    }

    /// The same pattern with another head: where links lead.
    #[must_use]
    pub fn with_head(&self, head: NormalPath) -> Self {
        Self { head, made: Made::default(), ..self.clone() }
    }

    /// The path before the first component with a wildcard.
    pub fn head(&self) -> &NormalPath {
        &self.head
    }

    /// The pattern as text that means the same when parsed relative to `root`; absolute if it is not below `root`. A
    /// literal pattern is written as its path, without escaping wildcards.
    pub fn written_from(&self, root: &NormalPath) -> String {
        let near = self.head.relative_to(root);
        match (&self.tail, near) {
            (Tail::Beneath, Some("")) => ".".to_string(),
            (Tail::Beneath, near) => near.unwrap_or(self.head.as_str()).to_string(),
            (Tail::Glob { text, depth }, near) => {
                let slash = if *depth == GlobDepth::WithDescendants { "/" } else { "" };
                let place = escaped(near.unwrap_or(self.head.as_str()));
                let joint = if place.is_empty() || place.ends_with('/') { "" } else { "/" };
                format!("{place}{joint}{text}{slash}")
            }
        }
    }

    pub fn case(&self) -> LetterCase {
        self.case
    }

    pub fn is_literal(&self) -> bool {
        self.tail == Tail::Beneath
    }

    /// Cheap pre-check of `covers`, by the head alone: `false` is always right, `true` may not be.
    pub fn may_cover(&self, path: &NormalPath) -> bool {
        match self.case {
            LetterCase::Ignored => path.folded().is_within(&self.head.folded()),
            LetterCase::Matters => path.is_within(&self.head),
        }
    }

    pub fn covers(&self, path: &NormalPath) -> bool {
        if !self.may_cover(path) {
            return false;
        }
        match &self.tail {
            Tail::Beneath => true,
            // Globs that cannot become a machine were rejected by the parser.
            Tail::Glob { .. } => self.machine(self.case).is_some_and(|machine| {
                let accepts = |rest: Option<&str>| rest.is_some_and(|rest| machine.accepts(rest.as_bytes()));
                match self.case {
                    LetterCase::Ignored => accepts(path.folded().beneath(&self.head.folded())),
                    LetterCase::Matters => accepts(path.beneath(&self.head)),
                }
            }),
        }
    }

    /// Whether both cover a common path, or it is too expensive to decide.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.overlap(other, &SearchBudget::for_one_pair()) != Overlap::Apart
    }

    /// Searches for a path that both cover, within the budget and the limit per pair.
    pub fn overlap(&self, other: &Self, budget: &SearchBudget) -> Overlap {
        let case = self.case.max(other.case);
        let (a, b) = (self.head_for(case), other.head_for(case));
        // The one with the shorter head comes first, so that `a.overlap(b)` and `b.overlap(a)` do the same search.
        let is_near = if a == b { self.tail <= other.tail } else { b.is_within(&a) };
        let ((near, near_head), (far, far_head)) =
            if is_near { ((self, &a), (other, &b)) } else { ((other, &b), (self, &a)) };
        let Some(between) = far_head.beneath(near_head) else { return Overlap::Apart };
        if near.is_literal() && far.is_literal() {
            return Overlap::At(far_head.as_ref().clone());
        }
        if !near.may_meet(between, far, case) {
            return Overlap::Apart;
        }
        let graphs =
            (near.machine(case).and_then(Automaton::graph), far.machine(case).and_then(Automaton::graph));
        let (Some(near), Some(far)) = graphs else { return Overlap::TooComplex };
        match intersection::meet(near, between, far, budget) {
            SearchResult::At(rest) => match String::from_utf8(rest) {
                Ok(rest) if path::composed(&rest) == rest => {
                    Overlap::At(far_head.join(rest.trim_start_matches('/')))
                }
                _ => Overlap::TooComplex,
            },
            SearchResult::Apart => Overlap::Apart,
            SearchResult::TooComplex => Overlap::TooComplex,
        }
    }

    fn head_for(&self, case: LetterCase) -> Cow<'_, NormalPath> {
        match case {
            LetterCase::Ignored => Cow::Owned(self.head.folded()),
            LetterCase::Matters => Cow::Borrowed(&self.head),
        }
    }

    /// Cheap pre-check; `false` is always right, `true` may not be.
    fn may_meet(&self, between: &str, far: &Self, case: LetterCase) -> bool {
        match (self.outline(), far.outline(), between.strip_prefix('/')) {
            (Some(near), far, Some(between)) => near.may_reach(between, far, case),
            (Some(near), Some(far), None) => near.may_meet(far, case),
            _ => true,
        }
    }

    fn outline(&self) -> Option<&GlobLiterals> {
        let outline = || match &self.tail {
            Tail::Beneath => None,
            Tail::Glob { text, depth } => Some(GlobLiterals::new(text, *depth)),
        };
        self.made.outline.get_or_init(outline).as_ref()
    }

    fn machine(&self, case: LetterCase) -> Option<&Automaton> {
        let place = if case == self.case { &self.made.machine } else { &self.made.folding };
        place.get_or_init(|| Automaton::new(&self.regex(case)?)).as_ref()
    }

    /// A regular expression for the bytes after the head.
    fn regex(&self, case: LetterCase) -> Option<String> {
        Some(match &self.tail {
            Tail::Beneath => format!("{}(?:/.*)?", flags(case)),
            Tail::Glob { text, depth } => {
                let glob = build_glob(text, case).ok()?;
                let body = glob.regex().split_once('^')?.1.strip_suffix('$')?.to_string();
                let beneath = if *depth == GlobDepth::WithDescendants { "(?:/.*)?" } else { "" };
                format!("{}/(?:{body}){beneath}", flags(case))
            }
        })
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        (&self.head, &self.tail, self.case) == (&other.head, &other.tail, other.case)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tail {
            Tail::Beneath => write!(f, "{}", self.head),
            Tail::Glob { text, depth } => {
                let slash = if *depth == GlobDepth::WithDescendants { "/" } else { "" };
                write!(f, "{}/{text}{slash}", self.head.as_str().trim_end_matches('/'))
            }
        }
    }
}

impl Tail {
    fn of_glob(text: &str) -> Result<Self, PatternError> {
        let depth = if text.ends_with('/') { GlobDepth::WithDescendants } else { GlobDepth::MatchesOnly };
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.contains(&"..") {
            return Err(PatternError::ParentAfterWildcard);
        }
        Ok(Self::Glob { text: parts.join("/"), depth })
    }
}

fn check(text: &str) -> Result<(), PatternError> {
    if text.is_empty() {
        return Err(PatternError::Empty);
    }
    if text.len() > MAX_PATTERN {
        return Err(PatternError::TooLong(text.len()));
    }
    if text.chars().any(char::is_control) {
        return Err(PatternError::Control);
    }
    wide_class(text).map_or(Ok(()), |c| Err(PatternError::WideClass(c)))
}

/// The first character in a class that has more than one byte. `globset` would let each of its bytes stand alone, so
/// `[ä].rs` would match no path at all.
fn wide_class(text: &str) -> Option<char> {
    with_class(text).find(|(c, in_class)| *in_class && !c.is_ascii()).map(|(c, _)| c)
}

/// The characters of a glob, each with whether it is in a class. A `]` that comes first in its class does not end it.
fn with_class(text: &str) -> impl Iterator<Item = (char, bool)> {
    let (mut class, mut is_escaped) = (None, false);
    text.chars().map(move |c| {
        match (&mut class, c) {
            (Some(0), '!' | '^') => {}
            (Some(1..), ']') => class = None,
            (Some(members), _) => *members += 1,
            (None, _) if std::mem::take(&mut is_escaped) => {}
            (None, '\\') => is_escaped = true,
            (None, '[') => class = Some(0),
            (None, _) => {}
        }
        (c, class.is_some())
    })
}

/// Whether the text contains a wildcard or an escape.
pub fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?', '[', '{', '\\'])
}

/// The part of a pattern before the first component with a wildcard, as typed.
pub fn literal_head(text: &str) -> &str {
    split_at_wildcard(text).0
}

/// A path with all wildcards escaped.
fn escaped(path: &str) -> String {
    let escape = |c: char| has_wildcard(c.encode_utf8(&mut [0; 4])).then_some('\\').into_iter().chain([c]);
    path.chars().flat_map(escape).collect()
}

/// Splits before the first component with a wildcard.
fn split_at_wildcard(text: &str) -> (&str, &str) {
    let Some(at) = text.find(['*', '?', '[', '{', '\\']) else { return (text, "") };
    let start = text[..at].rfind('/').map_or(0, |slash| slash + 1);
    text.split_at(start)
}

fn build_glob(text: &str, case: LetterCase) -> Result<globset::Glob, PatternError> {
    let is_ignored = case == LetterCase::Ignored;
    let text = if is_ignored { folded(text) } else { Cow::Borrowed(text) };
    globset::GlobBuilder::new(&text)
        .literal_separator(true)
        .backslash_escape(true)
        .case_insensitive(is_ignored)
        .build()
        .map_err(|error| PatternError::NoGlob(error.kind().to_string()))
}

/// Lower-cases a glob to match a folded path. The automaton handles ASCII letters, also in classes, which have no
/// others ([`PatternError::WideClass`]).
fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let fold = |(c, in_class): (char, bool)| {
        let is_kept = in_class || c.is_ascii();
        is_kept.then_some(c).into_iter().chain(c.to_lowercase().filter(move |_| !is_kept))
    };
    Cow::Owned(with_class(text).flat_map(fold).collect())
}

fn flags(case: LetterCase) -> &'static str {
    match case {
        LetterCase::Ignored => "(?-u)(?i)",
        LetterCase::Matters => "(?-u)",
    }
}

#[cfg(test)]
mod tests;
