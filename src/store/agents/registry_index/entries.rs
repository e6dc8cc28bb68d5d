//! The lines of `index`: what is written for a registration, and how it is read.
//!
//! ```text
//! ravenry index 4
//! <length> <inode> <size> <modified> <changed> <pid> <name> <session> <ancestor>     all separated by tabs
//! H <rest>                a head of the agent above, without its ancestor; `length` is the size in bytes of its H and
//!                         h lines
//!                         (a reservation in every work tree of a repository also has the head of its made-up path)
//! h <path>                a head on a file system that ignores case, in lower case; the ancestor is then `/`
//! E                       the last line: an index without it was cut short
//! ```

use super::{RegistryQuery, is_for_reading};
use crate::domain::Agent;
use crate::domain::pattern::{LetterCase, NormalPath, Pattern};
use crate::store::agents::resolved_patterns::resolved_patterns;
use crate::sys::files::FileStamp;

pub(super) const HEADER: &str = "ravenry index 4\n";
/// The last line. Without it the file was cut short, and an agent would seem to hold less than it does.
pub(super) const END: &str = "E\n";

/// Writes the lines of one registration, or nothing if a path in them contains what separates fields or lines.
pub(super) fn describe(text: &mut String, agent: &Agent, stamp: &FileStamp) {
    debug_assert!(!is_for_reading(agent));
    let patterns = agent.reservations.iter().flat_map(|reservation| resolved_patterns(agent, reservation));
    let Some((ancestor, heads)) = head_lines(patterns) else { return };
    let FileStamp { inode, size, modified, changed } = stamp;
    let (pid, name, session) = (agent.process.pid(), &agent.name, &agent.session);
    let length = heads.len();
    text.push_str(&format!(
        "{length}\t{inode}\t{size}\t{modified}\t{changed}\t{pid}\t{name}\t{session}\t{ancestor}\n{heads}"
    ));
}

/// The ancestor of all heads, and their lines. `None`: a path contains what separates fields or lines.
fn head_lines(patterns: impl Iterator<Item = Pattern>) -> Option<(String, String)> {
    let mut heads = Vec::new();
    let mut ancestor: Option<String> = None;
    for pattern in patterns {
        let (kind, head) = match pattern.case() {
            LetterCase::Ignored => ('h', pattern.head().folded()),
            LetterCase::Matters => ('H', pattern.head().clone()),
        };
        if head.as_str().contains(['\n', '\r', '\t']) {
            return None;
        }
        ancestor = Some(match (ancestor, kind) {
            (None, 'H') => head.to_string(),
            (Some(known), 'H') => common(&known, head.as_str()).to_string(),
            // If case is ignored, every line has to be compared.
            _ => "/".to_string(),
        });
        heads.push((kind, head));
    }
    let ancestor = ancestor.unwrap_or_default();
    let shared = below(&ancestor).len();
    let line = |(kind, head): (char, NormalPath)| format!("{kind}\t{}\n", &head.as_str()[shared..]);
    let heads = heads.into_iter().map(line).collect();
    Some((ancestor, heads))
}

/// The part of an ancestor that its heads are written without: all of it, unless it is the root, with whose slash they
/// begin.
fn below(ancestor: &str) -> &str {
    ancestor.strip_suffix('/').unwrap_or(ancestor)
}

/// The deepest path that is equal to or above both paths.
fn common<'p>(a: &'p str, b: &str) -> &'p str {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let ends = |text: &str| matches!(text.as_bytes().get(same), None | Some(b'/'));
    if same > 0 && ends(a) && ends(b) {
        return &a[..same];
    }
    let slash = a.as_bytes()[..same].iter().rposition(|byte| *byte == b'/');
    slash.filter(|at| *at > 0).map_or("/", |at| &a[..at])
}

/// A registration as the index has it.
pub(super) struct Entry<'t> {
    pub(super) name: &'t str,
    pub(super) stamp: FileStamp,
    pub(super) pid: i32,
    session: &'t str,
    /// A directory above all of its heads; empty if it has none.
    ancestor: &'t str,
    /// All of its lines.
    pub(super) lines: &'t str,
    heads: &'t str,
}

/// The entries of an index. Parsing stops at the first line that is not valid.
pub(super) struct Entries<'t> {
    rest: &'t str,
}

impl<'t> Entries<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let whole = text.strip_prefix(HEADER).and_then(|text| text.strip_suffix(END));
        Self { rest: whole.unwrap_or_default() }
    }
}

impl<'t> Iterator for Entries<'t> {
    type Item = Entry<'t>;

    fn next(&mut self) -> Option<Entry<'t>> {
        let mut fields = Fields { rest: self.rest };
        let length = fields.number()?.try_into().ok()?;
        let stamp = FileStamp {
            inode: fields.number()?,
            size: fields.number()?,
            modified: fields.signed()?,
            changed: fields.signed()?,
        };
        let pid = fields.signed()?.try_into().ok()?;
        let (name, session, ancestor) = (fields.until(b'\t')?, fields.until(b'\t')?, fields.until(b'\n')?);
        let (heads, rest) = fields.rest.split_at_checked(length)?;
        let lines = &self.rest[..self.rest.len() - rest.len()];
        self.rest = rest;
        Some(Entry { name, stamp, pid, session, ancestor, lines, heads })
    }
}

/// The rest of a line of an index. It is read byte by byte: a thousand of them are read before each edit, and a general
/// search for the next tab takes several times as long on words this short.
struct Fields<'t> {
    rest: &'t str,
}

impl<'t> Fields<'t> {
    fn number(&mut self) -> Option<u64> {
        let mut number: u64 = 0;
        for (at, byte) in self.rest.bytes().enumerate() {
            match byte {
                b'0'..=b'9' => number = number.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?,
                b'\t' if at > 0 => {
                    self.rest = &self.rest[at + 1..];
                    return Some(number);
                }
                _ => return None,
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        match self.rest.strip_prefix('-') {
            Some(rest) => {
                self.rest = rest;
                0_i64.checked_sub_unsigned(self.number()?)
            }
            None => self.number()?.try_into().ok(),
        }
    }

    fn until(&mut self, end: u8) -> Option<&'t str> {
        let at = self.rest.bytes().position(|byte| byte == end)?;
        let field = &self.rest[..at];
        self.rest = &self.rest[at + 1..];
        Some(field)
    }
}

impl Entry<'_> {
    pub(super) fn is_near(&self, near: &RegistryQuery<'_>, folded: &[NormalPath]) -> bool {
        near.processes.contains(&self.pid)
            || near.sessions.iter().any(|session| session.as_str() == self.session)
            || self.has_near_head(near, folded)
    }

    /// Whether one of its reservations is near one of the paths.
    pub(super) fn has_near_head(&self, near: &RegistryQuery<'_>, folded: &[NormalPath]) -> bool {
        if self.ancestor.is_empty() || !near.heads.iter().any(|wanted| wanted.is_related(self.ancestor)) {
            return false;
        }
        let whole = |rest: &str| [below(self.ancestor), rest].concat();
        self.heads.lines().any(|line| match line.split_at_checked(2) {
            Some(("H\t", rest)) => near.heads.iter().any(|wanted| wanted.is_related(&whole(rest))),
            Some(("h\t", head)) => folded.iter().any(|wanted| wanted.is_related(head)),
            // An unknown line counts as a match, so the registration is read.
            _ => true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_whole_or_not_at_all() {
        let text = "ravenry index 4\n10\t1\t2\t-3\t4\t5\tA\ts\t/a/b\nH\t/c\nH\t/d\nE\n";
        let entries: Vec<_> = Entries::of(text).collect();
        let [entry] = entries.as_slice() else { panic!("{} entries", entries.len()) };
        assert_eq!(entry.stamp, FileStamp { inode: 1, size: 2, modified: -3, changed: 4 });
        assert_eq!((entry.pid, entry.name, entry.session, entry.ancestor), (5, "A", "s", "/a/b"));
        let is_near = |path: &str| {
            let head = NormalPath::absolute(path);
            let query = RegistryQuery { heads: vec![&head], ..RegistryQuery::default() };
            entry.is_near(&query, &[head.folded()])
        };
        assert!(["/", "/a", "/a/b", "/a/b/c", "/a/b/d/e"].into_iter().all(is_near));
        assert!(!["/a/c", "/a/b/e", "/a/b/cc", "/c"].into_iter().any(is_near));
        for (was, is) in [
            ("\nE\n", "\n"),
            ("\n10\t", "\n99\t"),
            ("\n10\t", "\n\t"),
            ("\t-3\t", "\t--3\t"),
            ("\t4\t", "\t9223372036854775808\t"),
            ("\t2\t", "\t99999999999999999999\t"),
            ("\t5\t", "\t5x\t"),
            ("\ts\t", "\ts"),
        ] {
            assert_eq!(Entries::of(&text.replacen(was, is, 1)).count(), 0, "{was:?} is {is:?}");
        }
    }

    #[test]
    fn whoever_holds_something_near_is_found() {
        let pattern = |text: &str| {
            let (text, case) = match text.strip_prefix('~') {
                Some(text) => (text, LetterCase::Ignored),
                None => (text, LetterCase::Matters),
            };
            Pattern::new(text, &NormalPath::absolute("/")).unwrap().with_case(case)
        };
        let wanted = ["/", "/a", "/a/b", "/a/B", "/a/b/c", "/a/b/c/d", "/a/bc", "/ab", "/x", "/x/Y/z"];
        for held in [
            &["/a/b"][..],
            &["/a/b/c", "/a/b/d/"],
            &["/a/b", "/a/b/c/*.rs"],
            &["/a/bc", "/a/b/**"],
            &["/a", "/x/y"],
            &["/**"],
            &["~/A/B", "/x/Y"],
            &["/x/Y", "~/A/B"],
            &["/a/b", "/a/bc", "~/X/y", "/"],
            &[],
        ] {
            let patterns: Vec<Pattern> = held.iter().map(|text| pattern(text)).collect();
            let (ancestor, heads) = head_lines(patterns.iter().cloned()).unwrap();
            let text = format!("{HEADER}{}\t1\t2\t3\t4\t5\tA\ts\t{ancestor}\n{heads}{END}", heads.len());
            let entry = Entries::of(&text).next().unwrap();
            for path in wanted.map(NormalPath::absolute) {
                let query = RegistryQuery { heads: vec![&path], ..RegistryQuery::default() };
                let is_near = patterns.iter().any(|pattern| match pattern.case() {
                    LetterCase::Matters => path.is_related(pattern.head().as_str()),
                    LetterCase::Ignored => path.folded().is_related(pattern.head().folded().as_str()),
                });
                assert_eq!(entry.is_near(&query, &[path.folded()]), is_near, "{path} and {held:?}: {text}");
            }
        }
        assert!(head_lines(std::iter::once(Pattern::literal(NormalPath::absolute("/a\rb")))).is_none());
    }

    #[test]
    fn what_two_paths_have_in_common() {
        for (a, b, expected) in [
            ("/a/b/c", "/a/b/d", "/a/b"),
            ("/a/b", "/a/b/d", "/a/b"),
            ("/a/b/d", "/a/b", "/a/b"),
            ("/a/bc", "/a/bd", "/a"),
            ("/a/b", "/a/bd", "/a"),
            ("/a", "/b", "/"),
            ("/", "/b", "/"),
            ("/a/é", "/a/è", "/a"),
        ] {
            assert_eq!(common(a, b), expected, "{a} and {b}");
        }
    }
}
