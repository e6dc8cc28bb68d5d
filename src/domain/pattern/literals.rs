//! A quick test that two globs are disjoint, by their literal prefixes, suffixes and components.

/// Literal parts that every match of a glob has.
#[derive(Clone, Debug)]
pub(super) struct GlobLiterals {
    /// Prefix of every match.
    lead: String,
    /// Suffix of every match.
    trail: String,
    /// Its components, if no wildcard in it can match a slash.
    parts: Option<Vec<Part>>,
    /// Whether everything below a match is covered too.
    deep: bool,
}

/// A component of a glob.
#[derive(Clone, Debug)]
struct Part {
    lead: String,
    trail: String,
    is_literal: bool,
}

impl GlobLiterals {
    pub(super) fn new(glob: &str, deep: bool) -> Self {
        let lead = glob.find(['*', '?', '[', '{', '\\']).map_or(glob, |at| &glob[..at]);
        let trail = glob.rfind(['*', '?', '[', ']', '{', '}', '\\']).map_or(glob, |at| &glob[at + 1..]);
        // `**/` also matches the empty string.
        let trail = if deep { "" } else { trail.trim_start_matches('/') };
        let is_plain = !glob.contains("**") && !glob.contains(['[', ']', '{', '}', '\\']);
        let parts = is_plain.then(|| glob.split('/').map(Part::new).collect());
        Self { lead: lead.to_string(), trail: trail.to_string(), parts, deep }
    }

    /// `false` only if no path can match both.
    pub(super) fn may_meet(&self, other: &Self, fold: bool) -> bool {
        if !agree(&self.lead, &other.lead, fold) || !agree_from_end(&self.trail, &other.trail, fold) {
            return false;
        }
        let (Some(these), Some(those)) = (&self.parts, &other.parts) else { return true };
        (self.deep || those.len() <= these.len())
            && (other.deep || these.len() <= those.len())
            && these.iter().zip(those).all(|(this, that)| this.may_meet(that, fold))
    }

    /// `false` only if no match starts with `path`, where `other` starts.
    pub(super) fn may_reach(&self, path: &str, other: Option<&Self>, fold: bool) -> bool {
        let lead = other.map_or("", |other| &other.lead);
        let trails = other.is_none_or(|other| agree_from_end(&self.trail, &other.trail, fold));
        trails && agree(&self.lead, &format!("{path}/{lead}"), fold)
    }
}

impl Part {
    fn new(text: &str) -> Self {
        let lead = text.find(['*', '?']).map_or(text, |at| &text[..at]);
        let trail = text.rfind(['*', '?']).map_or(text, |at| &text[at + 1..]);
        Self { lead: lead.to_string(), trail: trail.to_string(), is_literal: lead.len() == text.len() }
    }

    fn may_meet(&self, other: &Self, fold: bool) -> bool {
        let fits = |literal: &Self, glob: &Self| literal.lead.len() >= glob.lead.len() + glob.trail.len();
        let lengths = match (self.is_literal, other.is_literal) {
            (true, true) => self.lead.len() == other.lead.len(),
            (true, false) => fits(self, other),
            (false, true) => fits(other, self),
            (false, false) => true,
        };
        lengths && agree(&self.lead, &other.lead, fold) && agree_from_end(&self.trail, &other.trail, fold)
    }
}

/// Whether they are equal up to the length of the shorter one.
fn agree(a: &str, b: &str, fold: bool) -> bool {
    a.bytes().zip(b.bytes()).all(|(a, b)| same(a, b, fold))
}

fn agree_from_end(a: &str, b: &str, fold: bool) -> bool {
    a.bytes().rev().zip(b.bytes().rev()).all(|(a, b)| same(a, b, fold))
}

/// With case ignored, non-ASCII letters may be equal in many ways, so they always count as equal here.
fn same(a: u8, b: u8, fold: bool) -> bool {
    match fold {
        false => a == b,
        true => !a.is_ascii() || !b.is_ascii() || a.eq_ignore_ascii_case(&b),
    }
}
