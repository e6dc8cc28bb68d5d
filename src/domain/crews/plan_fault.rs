//! What can be wrong with a plan, as sentences for people and planners.

use std::fmt;

use crate::domain::quote_code;

/// How many faults are listed.
pub(super) const MOST_FAULTS: usize = 30;

/// What makes a plan unusable.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PlanFault {
    NoBlock,
    TaskOutsideBlock,
    NoTasks,
    TooLong {
        bytes: usize,
        most: usize,
    },
    TooMany {
        tasks: usize,
        most: usize,
    },
    Invisible {
        line: usize,
    },
    TooDeep {
        line: usize,
    },
    /// Text between tasks.
    Stray {
        line: usize,
    },
    NotAtMargin {
        id: String,
        line: usize,
    },
    NoTitle {
        id: String,
    },
    Duplicate {
        id: String,
    },
    /// Two ids that are the same to whoever types one.
    Alike {
        id: String,
        other: String,
    },
    /// The id of a task that has begun and is not in the plan any more.
    Taken {
        id: String,
    },
    /// A task that nobody has done.
    Ticked {
        id: String,
    },
    UnknownNeed {
        id: String,
        need: String,
    },
    Cycle {
        ids: Vec<String>,
    },
    /// A path that leaves the repository.
    Outside {
        id: String,
        path: String,
    },
    BadPath {
        id: String,
        path: String,
        why: String,
    },
    /// Tasks that could be worked on at the same time change the same files.
    Overlap {
        id: String,
        other: String,
        paths: (String, String),
    },
    /// So many more.
    More {
        count: usize,
    },
}

impl fmt::Display for PlanFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = |text: &str| quote_code(text);
        match self {
            Self::NoBlock => write!(f, "the answer has no fenced block with a plan"),
            Self::TaskOutsideBlock => write!(
                f,
                "there are tasks outside of the fenced block: all of them belong into one, which begins and ends with ````"
            ),
            Self::NoTasks => write!(f, "the plan has no tasks: a task is a line `- [ ] TASK-01: TITLE`"),
            Self::TooLong { bytes, most } => write!(f, "the plan has {bytes} bytes; {most} is the most"),
            Self::TooMany { tasks, most } => write!(f, "the plan has {tasks} tasks; {most} is the most"),
            Self::Invisible { line } => write!(f, "line {line} contains a control or invisible character"),
            Self::TooDeep { line } => write!(f, "line {line} is nested too deeply to be read"),
            Self::Stray { line } => write!(
                f,
                "line {line} is neither a task nor indented beneath one: after the first task there are only tasks"
            ),
            Self::NotAtMargin { id, line } => write!(
                f,
                "line {line}: {} has to begin at the left margin, as `- [ ] ID: TITLE`; a task contains no other task",
                code(id)
            ),
            Self::NoTitle { id } => write!(f, "{} has no title", code(id)),
            Self::Duplicate { id } => write!(f, "{} is used for more than one task", code(id)),
            Self::Alike { id, other } => {
                write!(f, "{} and {} differ only in case or in zeros", code(id), code(other))
            }
            Self::Taken { id } => write!(
                f,
                "{} was the id of a task that is not in the plan any more: choose another",
                code(id)
            ),
            Self::Ticked { id } => write!(f, "{} is ticked, but nobody has done it: write `- [ ]`", code(id)),
            Self::UnknownNeed { id, need } => {
                write!(f, "{} needs {}, which is not a task of the plan", code(id), code(need))
            }
            Self::Cycle { ids } => write_cycle(f, ids),
            Self::Outside { id, path } => write!(
                f,
                "{} of {} leaves the repository: paths are relative to its root, without `..`",
                code(path),
                code(id)
            ),
            Self::BadPath { id, path, why } => write!(f, "{} of {}: {why}", code(path), code(id)),
            Self::Overlap { id, other, paths: (path, other_path) } => {
                let what = match path == other_path {
                    true => code(path),
                    false => format!("{} and {}, which overlap", code(path), code(other_path)),
                };
                write!(
                    f,
                    "{} and {} could be worked on at the same time, and change {what}: let one need the other, or \
                     give them different paths",
                    code(id),
                    code(other)
                )
            }
            Self::More { count } => write!(f, "{count} more faults are not listed"),
        }
    }
}

impl PlanFault {
    /// Not more than can be read.
    pub(super) fn bounded(mut faults: Vec<Self>) -> Vec<Self> {
        if faults.len() > MOST_FAULTS {
            let count = faults.len() - MOST_FAULTS;
            faults.truncate(MOST_FAULTS);
            faults.push(Self::More { count });
        }
        faults
    }
}

fn write_cycle(f: &mut fmt::Formatter<'_>, ids: &[String]) -> fmt::Result {
    const SHOWN: usize = 8;
    let Some(first) = ids.first() else { return Ok(()) };
    if ids.len() == 1 {
        return write!(f, "{} needs itself", quote_code(first));
    }
    write!(f, "tasks wait for each other: ")?;
    ids.iter().take(SHOWN).try_for_each(|id| write!(f, "{} → ", quote_code(id)))?;
    if ids.len() > SHOWN {
        write!(f, "{} more → ", ids.len() - SHOWN)?;
    }
    write!(f, "{}", quote_code(first))
}

/// What a person should know before the plan is used.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PlanWarning {
    /// Nothing proves that it is done.
    NoVerify { id: String },
    /// Nothing is reserved for it.
    NoPaths { id: String },
}

impl PlanWarning {
    /// The task that it is about.
    pub fn id(&self) -> &str {
        match self {
            Self::NoVerify { id } | Self::NoPaths { id } => id,
        }
    }

    /// Without the task.
    pub fn what(&self) -> &'static str {
        match self {
            Self::NoVerify { .. } => "no command proves that it is done",
            Self::NoPaths { .. } => "it names no paths, so nothing is reserved for it",
        }
    }
}

impl fmt::Display for PlanWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", quote_code(self.id()), self.what())
    }
}
