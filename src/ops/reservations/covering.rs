//! Which pattern covers all of another.

use crate::domain::pattern::Pattern;

/// Whether the first covers all of the second. For two globs that is not decided, so `false`: a superfluous notice is
/// better than none. A path that a glob covers counts as a file, with nothing beneath it.
pub(super) fn covers_all_of(pattern: &Pattern, other: &Pattern) -> bool {
    contains(pattern, other) || other.is_literal() && pattern.covers(other.head())
}

/// Whether the first certainly covers all of the second, whatever exists or will exist beneath it.
pub(in crate::ops) fn contains(pattern: &Pattern, other: &Pattern) -> bool {
    let is_same = pattern.is_literal() == other.is_literal() && pattern.to_string() == other.to_string();
    is_same || pattern.is_literal() && pattern.covers(other.head())
}
