//! A quick test that two globs are disjoint, by their literal prefixes, suffixes and components.

use super::{GlobDepth, LetterCase};

/// Literal parts that every match of a glob has.
#[derive(Clone, Debug)]
pub(super) struct GlobLiterals {
    /// Prefix of every match.
    lead: String,
    /// Suffix of every match.
    trail: String,
    /// Its components, if no wildcard in it can match a slash.
    parts: Option<Vec<Part>>,
    depth: GlobDepth,
}

/// A component of a glob.
#[derive(Clone, Debug)]
struct Part {
    lead: String,
    trail: String,
    is_literal: bool,
}

impl GlobLiterals {
    pub(super) fn new(glob: &str, depth: GlobDepth) -> Self {
        let lead = glob.find(['*', '?', '[', '{', '\\']).map_or(glob, |at| &glob[..at]);
        let trail = glob.rfind(['*', '?', '[', ']', '{', '}', '\\']).map_or(glob, |at| &glob[at + 1..]);
        // `**/` also matches the empty string.
        let trail = if depth == GlobDepth::WithDescendants { "" } else { trail.trim_start_matches('/') };
        let is_plain = !glob.contains("**") && !glob.contains(['[', ']', '{', '}', '\\']);
        let parts = is_plain.then(|| glob.split('/').map(Part::new).collect());
        Self { lead: lead.to_string(), trail: trail.to_string(), parts, depth }
    }

    /// `false` only if no path can match both.
    pub(super) fn may_meet(&self, other: &Self, case: LetterCase) -> bool {
        if !agree(&self.lead, &other.lead, case) || !agree_from_end(&self.trail, &other.trail, case) {
            return false;
        }
        let (Some(these), Some(those)) = (&self.parts, &other.parts) else { return true };
        (self.depth == GlobDepth::WithDescendants || those.len() <= these.len())
            && (other.depth == GlobDepth::WithDescendants || these.len() <= those.len())
            && these.iter().zip(those).all(|(this, that)| this.may_meet(that, case))
    }

    /// `false` only if no match starts with `path`, where `other` starts.
    pub(super) fn may_reach(&self, path: &str, other: Option<&Self>, case: LetterCase) -> bool {
        let lead = other.map_or("", |other| &other.lead);
        let trails = other.is_none_or(|other| agree_from_end(&self.trail, &other.trail, case));
        trails && agree(&self.lead, &format!("{path}/{lead}"), case)
    }
}

impl Part {
    fn new(text: &str) -> Self {
        let lead = text.find(['*', '?']).map_or(text, |at| &text[..at]);
        let trail = text.rfind(['*', '?']).map_or(text, |at| &text[at + 1..]);
        Self { lead: lead.to_string(), trail: trail.to_string(), is_literal: lead.len() == text.len() }
    }

    fn may_meet(&self, other: &Self, case: LetterCase) -> bool {
        let fits = |literal: &Self, glob: &Self| literal.lead.len() >= glob.lead.len() + glob.trail.len();
        let lengths = match (self.is_literal, other.is_literal) {
            (true, true) => self.lead.len() == other.lead.len(),
            (true, false) => fits(self, other),
            (false, true) => fits(other, self),
            (false, false) => true,
        };
        lengths && agree(&self.lead, &other.lead, case) && agree_from_end(&self.trail, &other.trail, case)
    }
}

/// Whether they are equal up to the length of the shorter one.
fn agree(a: &str, b: &str, case: LetterCase) -> bool {
    a.bytes().zip(b.bytes()).all(|(a, b)| same(a, b, case))
}

fn agree_from_end(a: &str, b: &str, case: LetterCase) -> bool {
    a.bytes().rev().zip(b.bytes().rev()).all(|(a, b)| same(a, b, case))
}

/// With case ignored, non-ASCII letters may be equal in many ways, so they always count as equal here.
fn same(a: u8, b: u8, case: LetterCase) -> bool {
    match case {
        LetterCase::Matters => a == b,
        LetterCase::Ignored => !a.is_ascii() || !b.is_ascii() || a.eq_ignore_ascii_case(&b),
    }
}
