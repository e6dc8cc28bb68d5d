//! `index`: which registrations may matter, without reading them all.
//!
//! For every registration it keeps what `stat` said when it was read, its session, its process, and where its
//! reservations start. It is a sieve: what passes is read from the registry and decided there, so a wrong line can cost
//! time but never a wrong answer as long as no registration is taken for unchanged that was changed. Hence git's rule: a
//! file that was young when it was read may have been changed within the same tick of the clock, and is not trusted.
//!
//! ```text
//! ravenry index 1
//! <length> <inode> <size> <modified> <changed> <pid> <name> <session> <ancestor>     all separated by tabs
//! H <path>                a head of the agent above; `length` is that of all its lines of this kind
//! h <path>                the same where case doesn't count, in lower case
//! E                       the end: one without it was cut short
//! ```

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::error::StoreError;
use super::mesh::Mesh;
use super::registry::{self, Census, Record};
use crate::domain::pattern::{PathForm, Pattern};
use crate::domain::{Agent, Reservation, SessionId};
use crate::sys::files::{self, Stamp};
use crate::sys::{clock, paths};

const HEADER: &str = "ravenry index 1\n";
/// Without its last heads an agent would seem to hold less than it does.
const END: &str = "E\n";
/// Fewer registrations than this are read faster than looked up.
const WORTH_IT: usize = 4;
/// A file that is younger than this when it is read may change again without looking different.
const YOUNG: Duration = Duration::from_secs(2);
/// One in so many registrations may be unknown to the index before it is written anew.
const STALE_ONE_IN: usize = 16;

/// One who is registered.
#[derive(Clone, Debug)]
pub enum Listed {
    /// As the index has it: the process, and when the registration was written.
    Known {
        name: String,
        pid: i32,
        written: SystemTime,
    },
    Read(Box<Record>),
}

/// What is asked for: registrations that have to do with any of these.
#[derive(Clone, Debug, Default)]
pub struct Near<'a> {
    /// Reservations that cover one of these paths or lie beneath it.
    pub heads: Vec<&'a PathForm>,
    pub sessions: &'a [SessionId],
    /// Process ids.
    pub processes: Vec<i32>,
}

impl Mesh {
    /// Looks at the registry once, to be asked about it several times.
    pub fn survey(&self) -> Result<Survey<'_>, StoreError> {
        let dir = self.layout.registry();
        let mut files = Vec::new();
        let mut text = String::new();
        let names = files::list(&dir)?;
        if names.len() >= WORTH_IT {
            // Where one can't be looked at, everyone is read.
            let stamps = files::stamps(&dir, &names).unwrap_or_else(|_| vec![None; names.len()]);
            // One that is gone again may be there under another name, which was not listed: then everyone is read.
            if stamps.iter().all(Option::is_some) {
                let stems = names.iter().map(|name| name.strip_suffix(".json"));
                let known = stems.zip(stamps).filter_map(|(stem, stamp)| Some((stem?.to_string(), stamp?)));
                files.extend(known);
            }
            files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            // One that can't be read is none.
            let bytes = files::read_large(&self.layout.index()).ok().flatten().unwrap_or_default();
            text = String::from_utf8(bytes).unwrap_or_default();
        }
        Ok(Survey { mesh: self, files, text, all: OnceCell::new(), learned: RefCell::default() })
    }
}

/// The registry as of one moment.
#[derive(Debug)]
pub struct Survey<'m> {
    mesh: &'m Mesh,
    /// Sorted by name; none if there are so few that they are all read.
    files: Vec<(String, Stamp)>,
    /// The index.
    text: String,
    /// Everyone, once they were all read.
    all: OnceCell<Census>,
    /// What the index should say.
    learned: RefCell<Option<String>>,
}

impl Survey<'_> {
    /// Those who may have to do with what is asked for, and perhaps others. Nothing is written.
    pub fn near(&self, near: &Near<'_>) -> Result<Cow<'_, Census>, StoreError> {
        match self.files.is_empty() {
            true => self.everyone(),
            false => match self.sift(near)? {
                Some((census, _)) => Ok(Cow::Owned(census)),
                None => self.everyone(),
            },
        }
    }

    /// The same; and if the index has fallen behind, what it should say is kept for [`Self::learn`].
    pub fn near_and_learn(&self, near: &Near<'_>) -> Result<Cow<'_, Census>, StoreError> {
        if self.files.is_empty() {
            return self.everyone();
        }
        let Some((census, learned)) = self.sift(near)? else { return self.everyone() };
        if let Some(text) = learned {
            self.learned.replace(Some(text));
        }
        Ok(Cow::Owned(census))
    }

    /// Brings the index up to date, if a look at it has shown that it has fallen behind. Nobody waits for it.
    pub fn learn(&self) {
        if let Some(text) = self.learned.take() {
            // Worth no more than the time that it saves.
            drop(self.mesh.files.replace(&self.mesh.layout.index(), text.as_bytes()));
        }
    }

    /// Everyone, without reading those whom the index knows. Nothing is written.
    pub fn roll(&self) -> Result<Vec<Listed>, StoreError> {
        let read = || {
            Ok(self.everyone()?.records.iter().map(|record| Listed::Read(Box::new(record.clone()))).collect())
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
                    roll.push(Listed::Known { name: name.clone(), pid: entry.pid, written });
                }
                None => match self.mesh.registration_file(name) {
                    Some(record) => roll.extend(record.ok().map(|record| Listed::Read(Box::new(record)))),
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
        let all = self.mesh.census()?;
        Ok(Cow::Borrowed(self.all.get_or_init(|| all)))
    }

    /// Those who pass, and what the index should say if it has fallen behind. `None`: the registry has changed since it
    /// was looked at.
    fn sift(&self, near: &Near<'_>) -> Result<Option<(Census, Option<String>)>, StoreError> {
        let folded: Vec<PathForm> = near.heads.iter().map(|head| head.folded()).collect();
        let mut index = Entries::of(&self.text).peekable();
        let mut sieve = Sieve::default();
        for (name, stamp) in &self.files {
            // Both are in the order of names.
            while index.next_if(|entry| entry.name < name.as_str()).is_some() {}
            let known = index.next_if(|entry| entry.name == name).filter(|entry| entry.stamp == *stamp);
            match known {
                Some(entry) if !entry.is_near(near, &folded) => sieve.pass(entry),
                known => match self.mesh.registration_file(name) {
                    Some(read) => sieve.keep(read, stamp, known),
                    // It is gone, and may be there under another name.
                    None => return Ok(None),
                },
            }
        }
        let is_behind = sieve.stale * STALE_ONE_IN > self.files.len();
        let learned = is_behind.then(|| sieve.learned());
        sieve.census.set_superseded_aside();
        self.mesh.leave_out_unbound(&mut sieve.census);
        Ok(Some((sieve.census, learned)))
    }
}

/// What the look at the registry brings up.
#[derive(Default)]
struct Sieve<'t> {
    census: Census,
    /// What the index will have to say, in the order of names: what it says already, or what was read.
    lines: Vec<Lines<'t>>,
    stale: usize,
}

enum Lines<'t> {
    Known(&'t str),
    /// The record of that number in the census.
    Read(usize, Stamp),
}

impl<'t> Sieve<'t> {
    fn pass(&mut self, entry: Entry<'t>) {
        self.lines.push(Lines::Known(entry.lines));
    }

    fn keep(&mut self, read: Result<Record, registry::Unreadable>, stamp: &Stamp, known: Option<Entry<'t>>) {
        let record = match read {
            Ok(record) => record,
            Err(unreadable) => return self.census.unreadable.push(unreadable),
        };
        match known {
            Some(entry) => self.pass(entry),
            // Those come up again and again; they are no reason to write all others anew.
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

/// Writes the lines of one registration; none if they could be misread.
fn describe(text: &mut String, agent: &Agent, stamp: &Stamp) {
    debug_assert!(!is_for_reading(agent));
    let patterns = agent.reservations.iter().flat_map(|reservation| patterns(agent, reservation));
    let mut heads = String::new();
    let mut ancestor: Option<String> = None;
    for pattern in patterns {
        let (kind, head) = match pattern.ignores_case() {
            true => ('h', pattern.head().folded()),
            false => ('H', pattern.head().clone()),
        };
        if head.as_str().contains(['\n', '\t']) {
            return;
        }
        heads.push_str(&format!("{kind}\t{head}\n"));
        ancestor = Some(match (ancestor, kind) {
            (None, 'H') => head.to_string(),
            (Some(known), 'H') => common(&known, head.as_str()).to_string(),
            // Where case doesn't count, each line has to be looked at.
            _ => "/".to_string(),
        });
    }
    let Stamp { inode, size, modified, changed } = stamp;
    let (pid, name, session) = (agent.process.pid(), &agent.name, &agent.session);
    let (length, ancestor) = (heads.len(), ancestor.unwrap_or_default());
    text.push_str(&format!(
        "{length}\t{inode}\t{size}\t{modified}\t{changed}\t{pid}\t{name}\t{session}\t{ancestor}\n{heads}"
    ));
}

/// Where a stranger's reservations lead depends on links as they are now, so it is read each time.
fn is_for_reading(agent: &Agent) -> bool {
    agent.is_foreign() && !agent.reservations.is_empty()
}

/// The directory that both paths lie in, or one of them.
fn common<'p>(a: &'p str, b: &str) -> &'p str {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let ends = |text: &str| matches!(text.as_bytes().get(same), None | Some(b'/'));
    if same > 0 && ends(a) && ends(b) {
        return &a[..same];
    }
    let slash = a.as_bytes()[..same].iter().rposition(|byte| *byte == b'/');
    slash.filter(|at| *at > 0).map_or("/", |at| &a[..at])
}

/// The patterns that a reservation stands for. Where a stranger's links led when it was made was not written down, so
/// that is looked up now.
pub fn patterns(agent: &Agent, reservation: &Reservation) -> Vec<Pattern> {
    let mut patterns = reservation.patterns(&agent.cwd);
    if agent.is_foreign()
        && let Some(read) = patterns.first()
    {
        let head = Path::new(read.head().as_str());
        let led = paths::resolve(head);
        let read = read.clone().ignoring_case(paths::ignores_case(head));
        patterns = match led != *read.head() {
            true => vec![read.with_head(led), read],
            false => vec![read],
        };
    }
    patterns
}

/// One registration, as the index has it.
struct Entry<'t> {
    name: &'t str,
    stamp: Stamp,
    pid: i32,
    session: &'t str,
    /// What all of its heads lie beneath; nothing if it has none.
    ancestor: &'t str,
    /// All of its lines.
    lines: &'t str,
    heads: &'t str,
}

/// The entries of an index. Whatever can't be understood is not there, nor what follows it.
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
        let (first, below) = self.rest.split_once('\n')?;
        let (length, words) = first.split_once('\t')?;
        let (heads, rest) = below.split_at_checked(length.parse().ok()?)?;
        let lines = &self.rest[..first.len() + 1 + heads.len()];
        self.rest = rest;
        Entry::parse(words, lines, heads)
    }
}

impl<'t> Entry<'t> {
    fn parse(words: &'t str, lines: &'t str, heads: &'t str) -> Option<Self> {
        let mut words = words.split('\t');
        let stamp = Stamp {
            inode: words.next()?.parse().ok()?,
            size: words.next()?.parse().ok()?,
            modified: words.next()?.parse().ok()?,
            changed: words.next()?.parse().ok()?,
        };
        let pid = words.next()?.parse().ok()?;
        let (name, session, ancestor) = (words.next()?, words.next()?, words.next()?);
        Some(Self { name, stamp, pid, session, ancestor, lines, heads })
    }

    fn is_near(&self, near: &Near<'_>, folded: &[PathForm]) -> bool {
        near.processes.contains(&self.pid)
            || near.sessions.iter().any(|session| session.as_str() == self.session)
            || self.has_near_head(near, folded)
    }

    fn has_near_head(&self, near: &Near<'_>, folded: &[PathForm]) -> bool {
        if self.ancestor.is_empty() || !near.heads.iter().any(|wanted| wanted.is_related(self.ancestor)) {
            return false;
        }
        self.heads.lines().any(|line| match line.split_at_checked(2) {
            Some(("H\t", head)) => near.heads.iter().any(|wanted| wanted.is_related(head)),
            Some(("h\t", head)) => folded.iter().any(|wanted| wanted.is_related(head)),
            // Whatever this is, it is looked at.
            _ => true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
