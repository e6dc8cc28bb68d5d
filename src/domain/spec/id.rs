//! Recognises task ids in text.

/// Maximum length of an id, in bytes.
pub const MAX_ID: usize = 200;

/// The id that the text starts with: letters and digits, one of `-_.`, then a digit and any further letters, digits
/// and `.` parts.
pub fn leading(text: &str) -> Option<&str> {
    shape(text).filter(|end| ends_here(text, *end)).map(|end| &text[..end])
}

/// The length of the id that the text starts with, whatever follows.
fn shape(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let run = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    if !bytes.first()?.is_ascii_alphabetic() {
        return None;
    }
    let dash = run(0);
    if !matches!(bytes.get(dash)?, b'-' | b'_' | b'.') || !bytes.get(dash + 1)?.is_ascii_digit() {
        return None;
    }
    let mut end = dash + 1 + run(dash + 1);
    while bytes.get(end) == Some(&b'.') && run(end + 1) > 0 {
        end += 1 + run(end + 1);
    }
    (end <= MAX_ID).then_some(end)
}

/// Whether the whole text can be an id, whatever its form.
pub fn is_valid(text: &str) -> bool {
    (1..=MAX_ID).contains(&text.len()) && !text.chars().any(char::is_control)
}

/// Whether an id may end here: not in the middle of a path, a URL or a longer name.
fn ends_here(text: &str, end: usize) -> bool {
    let Some(mut rest) = text.get(end..).map(str::chars) else { return false };
    match rest.next() {
        None => true,
        Some('-' | '.' | '\'' | '’') => !rest.next().is_some_and(|c| c.is_alphanumeric() || c == '_'),
        Some(c) => !(c.is_alphanumeric() || matches!(c, '_' | '/' | '\\' | '@' | '=' | '%' | '(')),
    }
}

/// Whether an id in a list may end here: also before a slash and another id, `A-1/A-2`.
fn ends_in_list(text: &str, end: usize) -> bool {
    let next = text.get(end..).and_then(|rest| rest.strip_prefix('/'));
    ends_here(text, end) || next.is_some_and(|next| shape(next).is_some())
}

/// Finds the id that the user meant: the exact one, otherwise one in another case, otherwise one with other leading
/// zeros.
///
/// ```
/// use ravenry::domain::spec::resolve_id;
/// let ids = ["TASK-01", "TASK-02", "task-2", "TASK-10"];
/// assert_eq!(resolve_id("task-1", ids), Some("TASK-01"));
/// assert_eq!(resolve_id("Task-10", ids), Some("TASK-10"));
/// assert_eq!(resolve_id("TASK-2", ids), Some("task-2"));
/// assert_eq!(resolve_id("TASK-002", ids), None);
/// ```
pub fn resolve_id<'a>(typed: &str, ids: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let ids: Vec<&str> = ids.into_iter().collect();
    let only = |is_it: &dyn Fn(&str) -> bool| {
        let mut fitting = ids.iter().copied().filter(|id| is_it(id));
        let first = fitting.next()?;
        fitting.all(|other| other == first).then_some(first)
    };
    let loose = loosened(typed);
    only(&|id| id == typed)
        .or_else(|| only(&|id| id.eq_ignore_ascii_case(typed)))
        .or_else(|| only(&|id| loosened(id) == loose))
}

/// The id in lower case, with numbers stripped of leading zeros.
fn loosened(id: &str) -> String {
    let mut loose = String::with_capacity(id.len());
    let mut rest = id.chars().peekable();
    let mut in_number = false;
    while let Some(c) = rest.next() {
        let is_padding = c == '0' && !in_number && rest.peek().is_some_and(char::is_ascii_digit);
        if !is_padding {
            loose.push(c.to_ascii_lowercase());
            in_number = c.is_ascii_digit();
        }
    }
    loose
}

/// How a text must spell an id that does not have the form of one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IdSpelling {
    Exact,
    AnyCase,
}

/// The ids of a spec's tasks, searchable by the start of a text.
#[derive(Debug)]
pub struct KnownIds<'a> {
    /// Pairs of lower-case and original spelling, sorted.
    ids: Vec<(String, &'a str)>,
}

impl<'a> KnownIds<'a> {
    pub fn new(ids: impl Iterator<Item = &'a str>) -> Self {
        let mut ids: Vec<_> = ids.map(|id| (id.to_ascii_lowercase(), id)).collect();
        ids.sort_unstable();
        KnownIds { ids }
    }

    /// The id that the text starts with, and the length of the mention: the longest known id, otherwise what has the
    /// form of one. Case is ignored for anything in the form of an id.
    pub fn mentioned(&self, text: &'a str, spelling: IdSpelling) -> Option<(&'a str, usize)> {
        let shaped = shape(text).filter(|end| ends_in_list(text, *end)).map(|end| &text[..end]);
        match (self.longest(text, spelling), shaped) {
            (Some(known), Some(shaped)) if shaped.len() > known.len() => Some((shaped, shaped.len())),
            (Some(known), _) => Some((known, known.len())),
            (None, shaped) => shaped.map(|shaped| (shaped, shaped.len())),
        }
    }

    /// Finds the longest known id that the text starts with. All such ids sort at or before the text, and the nearest
    /// entry before it starts with all of them, so the prefix that it shares with the text bounds the next search.
    fn longest(&self, text: &str, spelling: IdSpelling) -> Option<&'a str> {
        let window = text.floor_char_boundary(MAX_ID);
        let folded = text[..window].to_ascii_lowercase();
        let mut head = folded.as_str();
        while !head.is_empty() {
            let after = self.ids.partition_point(|(id, _)| id.as_str() <= head);
            let (candidate, _) = self.ids.get(after.checked_sub(1)?)?;
            let common = candidate.bytes().zip(head.bytes()).take_while(|(a, b)| a == b).count();
            if common == candidate.len()
                && ends_in_list(text, common)
                && let Some(id) = self.spelled(&text[..common], candidate, spelling)
            {
                return Some(id);
            }
            let shorter = if common == candidate.len() { common.checked_sub(1)? } else { common };
            head = &head[..head.floor_char_boundary(shorter)];
        }
        None
    }

    /// The id with exactly this spelling; otherwise, where case is ignored, the first that differs only in case.
    fn spelled(&self, text: &str, folded: &str, spelling: IdSpelling) -> Option<&'a str> {
        if let Ok(at) = self.ids.binary_search_by(|(id, exact)| (id.as_str(), *exact).cmp(&(folded, text))) {
            return Some(self.ids[at].1);
        }
        let first = self.ids.partition_point(|(id, _)| id.as_str() < folded);
        let is_shaped = leading(text).is_some_and(|shaped| shaped.len() == text.len());
        self.ids.get(first).filter(|_| spelling == IdSpelling::AnyCase || is_shaped).map(|(_, id)| *id)
    }
}
