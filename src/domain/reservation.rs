//! What an agent has to itself, and what it was refused.

use jiff::Timestamp;

use super::pattern::{Budget, Overlap, PathForm, Pattern};

/// A path pattern that one agent alone may change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reservation {
    /// As its holder wrote it.
    pub pattern: String,
    pub reason: Option<String>,
    pub since: Timestamp,
    /// The directory that a relative pattern starts from; pi-messenger's start from the agent's `cwd`.
    pub root: Option<String>,
    pub expires_at: Option<Timestamp>,
    /// Where links led from the pattern's part before the first wildcard when it was reserved, if that is elsewhere.
    pub head: Option<String>,
    /// The pattern is a path as it stands, although there are wildcards in it.
    pub literal: bool,
    /// The file system there doesn't tell upper from lower case.
    pub ignore_case: bool,
    /// It was taken with this task, and binds only while its holder has that.
    pub task: Option<TaskRef>,
}

/// A task of a spec.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TaskRef {
    /// The key of the spec.
    pub spec: String,
    pub id: String,
}

/// A task that an agent wanted and another had.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TaskWait {
    pub task: TaskRef,
    /// Who had it.
    pub holder: String,
    pub since: Timestamp,
}

/// Something that an agent wanted and another held.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wait {
    pub pattern: String,
    /// What the agent called it, where that is another name of the same file; then the pattern is the holder's.
    pub named: Option<String>,
    pub root: Option<String>,
    pub literal: bool,
    /// Who held it.
    pub holder: String,
    pub since: Timestamp,
}

/// Whether a reservation is in the way of something.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Hit {
    No,
    /// Comparing them takes too long, so it counts as being in the way.
    Assumed,
    Yes,
}

impl Hit {
    /// Does any of these overlap any of those?
    pub fn of(these: &[Pattern], those: &[Pattern], budget: &Budget) -> Self {
        let mut hit = Self::No;
        for (this, that) in these.iter().flat_map(|this| those.iter().map(move |that| (this, that))) {
            match this.overlap(that, budget) {
                Overlap::At(_) => return Self::Yes,
                Overlap::TooComplex => hit = Self::Assumed,
                Overlap::Apart => {}
            }
        }
        hit
    }
}

/// What somebody is about to change.
#[derive(Clone, Debug)]
pub enum Target {
    /// One file, in every spelling that counts.
    File(Vec<PathForm>),
    /// Whatever there is: a directory with all beneath it, or what a wildcard leads to.
    Area(Vec<Pattern>),
}

impl Target {
    /// A directory and all beneath it, in every spelling that counts.
    pub fn tree(spellings: Vec<PathForm>) -> Self {
        Self::Area(spellings.into_iter().map(Pattern::literal).collect())
    }

    /// Whether the pattern is in the way, with no more steps of comparison than the budget has left.
    pub fn hit_by(&self, pattern: &Pattern, budget: &Budget) -> Hit {
        match self {
            Self::File(spellings) => match spellings.iter().any(|path| pattern.covers(path)) {
                true => Hit::Yes,
                false => Hit::No,
            },
            Self::Area(areas) => Hit::of(areas, std::slice::from_ref(pattern), budget),
        }
    }

    /// The paths that it starts from: what holds none of them, and lies beneath none, can't hit it.
    pub fn heads(&self) -> Vec<&PathForm> {
        match self {
            Self::File(spellings) => spellings.iter().collect(),
            Self::Area(areas) => areas.iter().map(Pattern::head).collect(),
        }
    }
}

impl Reservation {
    pub fn binds(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|end| end > now)
    }

    /// The patterns that it stands for: as it reads, and where links led, if that differs. `cwd` is its holder's.
    pub fn patterns(&self, cwd: &str) -> Vec<Pattern> {
        let read = read(&self.pattern, self.root.as_deref().unwrap_or(cwd), self.literal);
        let read = read.ignoring_case(self.ignore_case);
        let led = self.head.as_deref().map(|head| read.with_head(PathForm::absolute(head)));
        std::iter::once(read).chain(led).collect()
    }
}

impl Wait {
    /// The pattern as it reads. `cwd` is that of the agent that waits.
    pub fn read(&self, cwd: &str) -> Pattern {
        read(&self.pattern, self.root.as_deref().unwrap_or(cwd), self.literal)
    }
}

/// Others may write patterns that we would refuse: what is no glob is a path.
fn read(pattern: &str, root: &str, literal: bool) -> Pattern {
    let root = PathForm::absolute(root);
    let as_path = || Pattern::literal(root.join(pattern));
    if literal { as_path() } else { Pattern::new(pattern, &root).unwrap_or_else(|_| as_path()) }
}
