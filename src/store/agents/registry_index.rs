//! `index`: a cache of registrations, so that most of them need not be read.
//!
//! For every registration it keeps the `stat` result at the time of reading, the session, the process and the heads of
//! its reservations. It is only a filter: registrations that pass are read from the registry, and decisions use those.
//! So a wrong line can cost time but never give a wrong answer, as long as no changed registration is taken for
//! unchanged. Hence git's rule: a file that was less than two seconds old when it was read is not trusted, because it
//! may change again within the same tick of the clock.
//!
//! ```text
//! ravenry index 2
//! <length> <inode> <size> <modified> <changed> <pid> <name> <session> <ancestor>     all separated by tabs
//! H <rest>                a head of the agent above, without its ancestor; `length` is the size in bytes of its H and
//!                         h lines
//! h <path>                a head on a file system that ignores case, in lower case; the ancestor is then empty or `/`
//! E                       the last line: an index without it was cut short
//! ```

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::registry::{self, Census, Registration};
use crate::domain::pattern::{LetterCase, NormalPath, Pattern};
use crate::domain::{Agent, Reservation, SessionId};
use crate::store::error::StoreError;
use crate::store::handles::Registry;
use crate::store::mesh::Mesh;
use crate::sys::files::{self, FileStamp};
use crate::sys::{clock, paths};

const HEADER: &str = "ravenry index 2\n";
/// The last line. Without it the file was cut short, and an agent would seem to hold less than it does.
const END: &str = "E\n";
/// With fewer registrations than this, reading them all is faster than using the index.
const WORTH_IT: usize = 4;
/// A file younger than this when it is read may change again with the same `stat` result.
const YOUNG: Duration = Duration::from_secs(2);
/// The index is rewritten when more than one in this many registrations is missing from it.
const STALE_ONE_IN: usize = 16;

/// A registered agent.
#[derive(Clone, Debug)]
pub enum ListedAgent {
    /// From the index: the process, and when the registration was written.
    Known {
        name: String,
        pid: i32,
        written: SystemTime,
    },
    Read(Box<Registration>),
}

/// A query: registrations that match any of these.
#[derive(Clone, Debug, Default)]
pub struct RegistryQuery<'a> {
    /// Reservations that cover one of these paths or are below it.
    pub heads: Vec<&'a NormalPath>,
    pub sessions: &'a [SessionId],
    /// Process ids.
    pub processes: Vec<i32>,
}

impl<'m> Registry<'m> {
    /// Lists the registry once, for several queries.
    pub fn indexed(self) -> Result<IndexedRegistry<'m>, StoreError> {
        let dir = self.mesh.layout.registry();
        let mut files = Vec::new();
        let mut text = String::new();
        let names = files::list(&dir)?;
        if names.len() >= WORTH_IT {
            // If the files cannot be examined, all registrations are read.
            let stamps = files::stamps(&dir, &names).unwrap_or_else(|_| vec![None; names.len()]);
            // A file that vanished may be there under another name that was not listed. Then all are read, too.
            if stamps.iter().all(Option::is_some) {
                files.reserve_exact(names.len());
                files.extend(names.into_iter().zip(stamps).filter_map(|(mut name, stamp)| {
                    let stem = name.strip_suffix(".json")?.len();
                    name.truncate(stem);
                    Some((name, stamp?))
                }));
            }
            files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            // An unreadable index counts as absent.
            let bytes = files::read_large(&self.mesh.layout.index()).ok().flatten().unwrap_or_default();
            text = String::from_utf8(bytes).unwrap_or_default();
        }
        Ok(IndexedRegistry {
            mesh: self.mesh,
            files,
            text,
            all: OnceCell::new(),
            learned: RefCell::default(),
        })
    }
}

/// The registry at one moment.
#[derive(Debug)]
pub struct IndexedRegistry<'m> {
    mesh: &'m Mesh,
    /// Sorted by name; empty if all registrations are read anyway.
    files: Vec<(String, FileStamp)>,
    /// The content of the index.
    text: String,
    /// All registrations, once they have been read.
    all: OnceCell<Census>,
    /// The new content of the index, if it is out of date.
    learned: RefCell<Option<String>>,
}

impl IndexedRegistry<'_> {
    /// The registrations that match the query, and possibly others. Writes nothing.
    pub fn matching(&self, near: &RegistryQuery<'_>) -> Result<Cow<'_, Census>, StoreError> {
        match self.files.is_empty() {
            true => self.everyone(),
            false => match self.sift(near)? {
                Some((census, _)) => Ok(Cow::Owned(census)),
                None => self.everyone(),
            },
        }
    }

    /// Like [`Self::matching`]; if the index is out of date, its new content is kept for [`Self::update_index`].
    pub fn matching_and_update(&self, near: &RegistryQuery<'_>) -> Result<Cow<'_, Census>, StoreError> {
        if self.files.is_empty() {
            return self.everyone();
        }
        let Some((census, learned)) = self.sift(near)? else { return self.everyone() };
        if let Some(text) = learned {
            self.learned.replace(Some(text));
        }
        Ok(Cow::Owned(census))
    }

    /// Writes the index if a query has shown that it is out of date. Takes no lock.
    pub fn update_index(&self) {
        if let Some(text) = self.learned.take() {
            // The index only saves time, so errors are ignored.
            drop(self.mesh.files.replace(&self.mesh.layout.index(), text.as_bytes()));
        }
    }

    /// All agents, without reading registrations that the index knows. Writes nothing.
    pub fn all_agents(&self) -> Result<Vec<ListedAgent>, StoreError> {
        let read = || {
            Ok(self
                .everyone()?
                .records
                .iter()
                .map(|record| ListedAgent::Read(Box::new(record.clone())))
                .collect())
        };
        if self.files.is_empty() {
            return read();
        }
        let mut index = Entries::of(&self.text).peekable();
        let mut roll = Vec::with_capacity(self.files.len());
        for (name, stamp) in &self.files {
            while index.next_if(|entry| entry.name < name.as_str()).is_some() {}
            match index.next_if(|entry| entry.name == name).filter(|entry| entry.stamp == *stamp) {
                Some(entry) => {
                    let written = stamp.newest();
                    roll.push(ListedAgent::Known { name: name.clone(), pid: entry.pid, written });
                }
                None => match self.mesh.registry().file(name) {
                    Some(record) => {
                        roll.extend(record.ok().map(|record| ListedAgent::Read(Box::new(record))));
                    }
                    // It is gone, and may be there under another name.
                    None => return read(),
                },
            }
        }
        Ok(roll)
    }

    fn everyone(&self) -> Result<Cow<'_, Census>, StoreError> {
        if let Some(all) = self.all.get() {
            return Ok(Cow::Borrowed(all));
        }
        let all = self.mesh.registry().census()?;
        Ok(Cow::Borrowed(self.all.get_or_init(|| all)))
    }

    /// The registrations that match, and the new content of the index if it is out of date. `None`: the registry has
    /// changed since it was listed.
    fn sift(&self, near: &RegistryQuery<'_>) -> Result<Option<(Census, Option<String>)>, StoreError> {
        let folded: Vec<NormalPath> = near.heads.iter().map(|head| head.folded()).collect();
        let mut index = Entries::of(&self.text).peekable();
        let lines = Vec::with_capacity(self.files.len());
        let mut sieve = Sieve { lines, ..Sieve::default() };
        for (name, stamp) in &self.files {
            // Both are sorted by name.
            while index.next_if(|entry| entry.name < name.as_str()).is_some() {}
            let known = index.next_if(|entry| entry.name == name).filter(|entry| entry.stamp == *stamp);
            match known {
                Some(entry) if !entry.is_near(near, &folded) => sieve.pass(entry),
                known => match self.mesh.registry().file(name) {
                    Some(read) => sieve.keep(read, stamp, known),
                    // It is gone, and may be there under another name.
                    None => return Ok(None),
                },
            }
        }
        let is_behind = sieve.stale * STALE_ONE_IN > self.files.len();
        let learned = is_behind.then(|| sieve.learned());
        sieve.census.set_superseded_aside();
        self.mesh.registry().leave_out_unbound(&mut sieve.census);
        Ok(Some((sieve.census, learned)))
    }
}

/// The result of one query.
#[derive(Default)]
struct Sieve<'t> {
    census: Census,
    /// The entries of the new index, sorted by name: existing ones, or registrations that were read.
    lines: Vec<Lines<'t>>,
    stale: usize,
}

enum Lines<'t> {
    Known(&'t str),
    /// The index of a record in the census.
    Read(usize, FileStamp),
}

impl<'t> Sieve<'t> {
    fn pass(&mut self, entry: Entry<'t>) {
        self.lines.push(Lines::Known(entry.lines));
    }

    fn keep(
        &mut self,
        read: Result<Registration, registry::UnreadableFile>,
        stamp: &FileStamp,
        known: Option<Entry<'t>>,
    ) {
        let record = match read {
            Ok(record) => record,
            Err(unreadable) => return self.census.unreadable.push(unreadable),
        };
        match known {
            Some(entry) => self.pass(entry),
            // These are read at every query anyway, so they are no reason to rewrite the index.
            None if clock::age(stamp.newest()) < YOUNG || is_for_reading(&record.agent) => {}
            None => {
                self.stale += 1;
                self.lines.push(Lines::Read(self.census.records.len(), *stamp));
            }
        }
        self.census.records.push(record);
    }

    fn learned(&self) -> String {
        let mut text = String::with_capacity(self.lines.len() * 512);
        text.push_str(HEADER);
        for lines in &self.lines {
            match lines {
                Lines::Known(lines) => text.push_str(lines),
                Lines::Read(number, stamp) => describe(&mut text, &self.census.records[*number].agent, stamp),
            }
        }
        text.push_str(END);
        text
    }
}

/// Writes the lines of one registration, or nothing if a path in them contains a tab or a newline.
fn describe(text: &mut String, agent: &Agent, stamp: &FileStamp) {
    debug_assert!(!is_for_reading(agent));
    let patterns = agent.reservations.iter().flat_map(|reservation| resolved_patterns(agent, reservation));
    let mut heads = Vec::new();
    let mut ancestor: Option<String> = None;
    for pattern in patterns {
        let (kind, head) = match pattern.case() {
            LetterCase::Ignored => ('h', pattern.head().folded()),
            LetterCase::Matters => ('H', pattern.head().clone()),
        };
        if head.as_str().contains(['\n', '\t']) {
            return;
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
    let heads: String = heads.into_iter().map(line).collect();
    let FileStamp { inode, size, modified, changed } = stamp;
    let (pid, name, session) = (agent.process.pid(), &agent.name, &agent.session);
    let length = heads.len();
    text.push_str(&format!(
        "{length}\t{inode}\t{size}\t{modified}\t{changed}\t{pid}\t{name}\t{session}\t{ancestor}\n{heads}"
    ));
}

/// The part of an ancestor that its heads are written without: all of it, unless it is the root, with whose slash they
/// begin.
fn below(ancestor: &str) -> &str {
    ancestor.strip_suffix('/').unwrap_or(ancestor)
}

/// Whether it must be read every time: where a foreign agent's reservations lead depends on the links as they are now.
fn is_for_reading(agent: &Agent) -> bool {
    agent.is_foreign() && !agent.reservations.is_empty()
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

/// The patterns of a reservation. For a foreign agent it was not recorded where links led at that time, so they are
/// resolved now.
pub fn resolved_patterns(agent: &Agent, reservation: &Reservation) -> Vec<Pattern> {
    let mut patterns = reservation.patterns(&agent.cwd);
    if agent.is_foreign()
        && let Some(read) = patterns.first()
    {
        let head = Path::new(read.head().as_str());
        let led = paths::resolve(head);
        let read = read.clone().with_case(paths::letter_case(head));
        patterns = match led != *read.head() {
            true => vec![read.with_head(led), read],
            false => vec![read],
        };
    }
    patterns
}

/// A registration as the index has it.
struct Entry<'t> {
    name: &'t str,
    stamp: FileStamp,
    pid: i32,
    session: &'t str,
    /// A directory above all of its heads; empty if it has none.
    ancestor: &'t str,
    /// All of its lines.
    lines: &'t str,
    heads: &'t str,
}

/// The entries of an index. Parsing stops at the first line that is not valid.
struct Entries<'t> {
    rest: &'t str,
}

impl<'t> Entries<'t> {
    fn of(text: &'t str) -> Self {
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
    fn is_near(&self, near: &RegistryQuery<'_>, folded: &[NormalPath]) -> bool {
        near.processes.contains(&self.pid)
            || near.sessions.iter().any(|session| session.as_str() == self.session)
            || self.has_near_head(near, folded)
    }

    fn has_near_head(&self, near: &RegistryQuery<'_>, folded: &[NormalPath]) -> bool {
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
        let text = "ravenry index 2\n10\t1\t2\t-3\t4\t5\tA\ts\t/a/b\nH\t/c\nH\t/d\nE\n";
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
