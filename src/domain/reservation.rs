//! Reservations of paths and things, and the requests that were refused because of them.

use jiff::Timestamp;

use super::contest_mark::ContestMark;
use super::pattern::{LetterCase, NormalPath, Overlap, Pattern, SearchBudget};
use super::reservation_reach::ReservationReach;
use super::thing::{Thing, ThingScope, thing_path};

/// A path pattern that only one agent may change, or a thing that only one agent may use.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reservation {
    /// As the holder wrote it.
    pub pattern: String,
    pub reason: Option<String>,
    pub since: Timestamp,
    /// The directory that a relative pattern starts from; pi-messenger's patterns start from the agent's `cwd`. For a
    /// thing, the directory of what it is a part of.
    pub root: Option<String>,
    pub expires_at: Option<Timestamp>,
    /// The resolved path of the part before the first wildcard at reservation time, if links lead elsewhere.
    pub head: Option<String>,
    /// The pattern is a literal path, even if it contains wildcard characters.
    pub is_literal: bool,
    /// As the file system there has it.
    pub case: LetterCase,
    /// Reserved together with this task; binds only while the holder has the claim.
    pub task: Option<TaskRef>,
    /// Another agent has asked the holder to let go of it.
    pub contest: Option<ContestMark>,
    /// Where it binds.
    pub reach: ReservationReach,
    /// The names of agents whose own reservations don't bind the holder there: they started the run that the holder
    /// works for.
    pub passed_by: Vec<String>,
}

/// A task of a spec.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TaskRef {
    /// The key of the spec.
    pub spec: String,
    pub id: String,
}

/// A task that an agent wanted while another agent had it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TaskWait {
    pub task: TaskRef,
    /// The agent that had it.
    pub holder: String,
    pub since: Timestamp,
}

/// A pattern that an agent wanted while another agent held it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PathWait {
    pub pattern: String,
    /// The name the agent used, if it is another name for the same file; `pattern` is the holder's name then.
    pub named: Option<String>,
    pub root: Option<String>,
    pub is_literal: bool,
    /// The agent that held it.
    pub holder: String,
    pub since: Timestamp,
    /// Where it was wanted.
    pub reach: ReservationReach,
}

/// Whether a reservation conflicts with something.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Conflict {
    None,
    /// The comparison takes too long, so it counts as a conflict.
    Assumed,
    Certain,
}

impl Conflict {
    /// Whether any of `these` overlaps any of `those`.
    pub fn of(these: &[Pattern], those: &[Pattern], budget: &SearchBudget) -> Self {
        let mut hit = Self::None;
        for (this, that) in these.iter().flat_map(|this| those.iter().map(move |that| (this, that))) {
            match this.overlap(that, budget) {
                Overlap::At(_) => return Self::Certain,
                Overlap::TooComplex => hit = Self::Assumed,
                Overlap::Apart => {}
            }
        }
        hit
    }
}

/// Something that is about to be changed.
#[derive(Clone, Debug)]
pub enum ChangeTarget {
    /// One file, in every spelling that counts.
    File(Vec<NormalPath>),
    /// Many possible files: a directory tree, or everything that a wildcard matches.
    Area(Vec<Pattern>),
}

impl ChangeTarget {
    /// A directory and everything below it, in every spelling that counts.
    pub fn tree(spellings: Vec<NormalPath>) -> Self {
        Self::Area(spellings.into_iter().map(Pattern::literal).collect())
    }

    /// Whether the pattern conflicts, using no more comparison steps than the budget has left.
    pub fn hit_by(&self, pattern: &Pattern, budget: &SearchBudget) -> Conflict {
        match self {
            Self::File(spellings) => match spellings.iter().any(|path| pattern.covers(path)) {
                true => Conflict::Certain,
                false => Conflict::None,
            },
            Self::Area(areas) => Conflict::of(areas, std::slice::from_ref(pattern), budget),
        }
    }

    /// The paths it starts from: a pattern neither above nor below any of them cannot conflict.
    pub fn heads(&self) -> Vec<&NormalPath> {
        match self {
            Self::File(spellings) => spellings.iter().collect(),
            Self::Area(areas) => areas.iter().map(Pattern::head).collect(),
        }
    }
}

/// How hooks see that a holder uses what it has reserved.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SeenUse {
    Edits,
    GitCommands,
    /// They do not, as of a port.
    Nothing,
}

impl Reservation {
    /// Whether it is written alike and means the same path or thing. A path can be called like a thing.
    pub fn is_written_alike(&self, other: &Self) -> bool {
        self.pattern == other.pattern
            && self.head == other.head
            && self.reach == other.reach
            && self.root == other.root
    }

    /// The directory that a relative pattern starts from; `None` if that is on another machine.
    pub fn root_here(&self) -> Option<&str> {
        // No file can be below a name with a NUL: see `link::shared`.
        self.root.as_deref().filter(|root| !root.contains('\0'))
    }

    pub fn binds(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|end| end > now)
    }

    /// Whether it is of a thing, not of paths.
    pub fn is_thing(&self) -> bool {
        self.reach == ReservationReach::Thing
    }

    /// What the thing is a part of; `None` for paths, and for a thing of a later release.
    pub fn thing_scope(&self) -> Option<ThingScope> {
        let thing = self.is_thing().then(|| Thing::parse(&self.pattern))?;
        Some(thing?.ok()?.scope())
    }

    /// How hooks see that its holder uses it.
    pub fn seen_use(&self) -> SeenUse {
        match self.thing_scope() {
            _ if !self.is_thing() => SeenUse::Edits,
            Some(ThingScope::WorkTree | ThingScope::Repository) => SeenUse::GitCommands,
            Some(ThingScope::Machine) | None => SeenUse::Nothing,
        }
    }

    /// The pattern as it is typed where it is relative to: a path called like a thing begins with `./`.
    pub fn typed(&self) -> String {
        typed(&self.pattern, &self.reach)
    }

    /// What to add to the pattern where it is listed, if it binds in more than one work tree.
    pub fn reach_note(&self) -> &'static str {
        match self.reach {
            ReservationReach::WorkTree | ReservationReach::Thing => "",
            ReservationReach::Repository(_) => " (every work tree)",
        }
    }

    /// The patterns it covers: as written, and with links resolved if that differs; then the same in its repository, if
    /// it binds there. `cwd` is the holder's.
    pub fn patterns(&self, cwd: &str) -> Vec<Pattern> {
        let root = self.root.as_deref().unwrap_or(cwd);
        if self.is_thing() {
            return vec![thing_pattern(&self.pattern, root)];
        }
        let read = read(&self.pattern, root, self.is_literal);
        let read = read.with_case(self.case);
        let led = self.head.as_deref().map(|head| read.with_head(NormalPath::absolute(head)));
        in_repository(std::iter::once(read).chain(led).collect(), root, &self.reach)
    }
}

impl PathWait {
    /// The pattern, parsed. `cwd` is that of the waiting agent.
    pub fn read(&self, cwd: &str) -> Pattern {
        let root = self.root.as_deref().unwrap_or(cwd);
        match self.reach {
            ReservationReach::Thing => thing_pattern(&self.pattern, root),
            ReservationReach::WorkTree | ReservationReach::Repository(_) => {
                read(&self.pattern, root, self.is_literal)
            }
        }
    }

    /// The pattern as it is typed, or the name that was used.
    pub fn typed(&self) -> String {
        typed(self.named.as_ref().unwrap_or(&self.pattern), &self.reach)
    }

    /// The pattern, and the same in the repository if it was wanted there.
    pub fn patterns(&self, cwd: &str) -> Vec<Pattern> {
        in_repository(vec![self.read(cwd)], self.root.as_deref().unwrap_or(cwd), &self.reach)
    }
}

/// Adds the patterns as they are in the repository.
fn in_repository(mut patterns: Vec<Pattern>, root: &str, reach: &ReservationReach) -> Vec<Pattern> {
    if let Some(commit) = reach.repository() {
        let root = NormalPath::absolute(root);
        let shared: Vec<Pattern> =
            patterns.iter().filter_map(|pattern| commit.pattern(pattern, &root)).collect();
        patterns.extend(shared);
    }
    patterns
}

fn thing_pattern(written: &str, root: &str) -> Pattern {
    Pattern::literal(thing_path(written, root))
}

fn typed(pattern: &str, reach: &ReservationReach) -> String {
    let is_ambiguous = *reach != ReservationReach::Thing && Thing::is_meant_by(pattern);
    if is_ambiguous { format!("./{pattern}") } else { pattern.to_string() }
}

/// Parses a pattern. Others may write patterns that we would reject: an invalid glob counts as a literal path.
fn read(pattern: &str, root: &str, literal: bool) -> Pattern {
    let root = NormalPath::absolute(root);
    let as_path = || Pattern::literal(root.join(pattern));
    if literal { as_path() } else { Pattern::new(pattern, &root).unwrap_or_else(|_| as_path()) }
}
