//! The literal parts of a glob, which tell most pairs of globs apart without their automata.

/// What every match of a glob has in common, as far as it shows at once.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    /// Every match starts with this.
    lead: String,
    /// Every match ends with this.
    trail: String,
    /// Its components, if no wildcard in it stands for a slash.
    parts: Option<Vec<Part>>,
    /// What lies beneath a match belongs to it.
    deep: bool,
}

/// A component of a glob.
#[derive(Clone, Debug)]
struct Part {
    lead: String,
    trail: String,
    is_literal: bool,
}

impl Outline {
    pub(super) fn new(glob: &str, deep: bool) -> Self {
        let lead = glob.find(['*', '?', '[', '{', '\\']).map_or(glob, |at| &glob[..at]);
        let trail = glob.rfind(['*', '?', '[', ']', '{', '}', '\\']).map_or(glob, |at| &glob[at + 1..]);
        // `**/` matches nothing at all as well.
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

    /// `false` only if no match starts with that path, which `other` starts from.
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

/// Are they the same as far as both go?
fn agree(a: &str, b: &str, fold: bool) -> bool {
    a.bytes().zip(b.bytes()).all(|(a, b)| same(a, b, fold))
}

fn agree_from_end(a: &str, b: &str, fold: bool) -> bool {
    a.bytes().rev().zip(b.bytes().rev()).all(|(a, b)| same(a, b, fold))
}

/// Where case is ignored, letters beyond ASCII may be the same in many ways, so they are not held against each other.
fn same(a: u8, b: u8, fold: bool) -> bool {
    match fold {
        false => a == b,
        true => !a.is_ascii() || !b.is_ascii() || a.eq_ignore_ascii_case(&b),
    }
}
