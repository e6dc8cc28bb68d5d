//! Replays the history of a repository as if its authors were agents: each commit is a prompt, and its files are what came
//! of it. Prints how well the forecast that hooks use would have told of collisions.
//!
//! `cargo bench -- replay PATH [COMMITS]`. An agent is an author, or the session of an author on one day.

pub mod score;
mod stream;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use ravenry::domain::awareness::counters::{AgentId, PathId, WordId};
use ravenry::domain::awareness::past_work::PastWork;
use ravenry::domain::awareness::topics::{self, NoiseWords};
use ravenry::sys::git::{PastCommit, past_commits};

use score::Score;
use stream::{NameWords, Stream, StreamEvent};

/// How many commits are replayed.
const COMMITS: usize = 3_000;
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// Who counts as an agent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AgentKind {
    Author,
    /// An author on one day. Most sessions are shorter than that.
    DaySession,
}

impl AgentKind {
    fn describe(self) -> &'static str {
        match self {
            Self::Author => "authors as agents, window of 7 days",
            Self::DaySession => "sessions of one day as agents, window of 8 hours",
        }
    }

    /// How long an event counts as recent, and how far a forecast looks ahead, in seconds. A session of one day has the
    /// window that hooks have by default; the forecast was fitted to authors with a window of seven days.
    fn window(self) -> i64 {
        match self {
            Self::Author => 7 * DAY,
            Self::DaySession => 8 * HOUR,
        }
    }
}

/// The commits of a repository that count as events, the oldest first.
pub struct History {
    commits: Vec<(PastCommit, PastWork)>,
}

/// Prints the replay; an error is a sentence for a person.
pub fn run(args: &[String]) -> Result<String, String> {
    let (path, most) = match args {
        [path] => (path, COMMITS),
        [path, most] => (path, most.parse().map_err(|_| format!("`{most}` is not a number of commits"))?),
        _ => return Err("name one repository: `cargo bench -- replay PATH [COMMITS]`".to_string()),
    };
    let history = History::read(Path::new(path), most)?;
    let mut text = format!("{path}: {}\n", history.describe());
    for kind in [AgentKind::Author, AgentKind::DaySession] {
        write!(text, "\n{}\n{}", kind.describe(), history.score(kind)).map_err(|error| error.to_string())?;
    }
    Ok(text)
}

impl History {
    pub fn read(path: &Path, most: usize) -> Result<Self, String> {
        let shown = path.display();
        let mut ask = Command::new("git");
        ask.arg("-C").arg(path).args(["rev-parse", "--git-dir"]).stdout(Stdio::null()).stderr(Stdio::null());
        if !ask.status().map_err(|error| format!("git can't be run: {error}"))?.success() {
            return Err(format!("{shown} is not a git repository"));
        }
        let name = path.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_owned()));
        let noise = NoiseWords::new([name.unwrap_or_default().to_string_lossy().as_ref()]);
        let mut commits = Vec::new();
        let read = past_commits(path, most, &mut |commit| {
            let work = PastWork::of_commit(&commit.author, &commit.message, &commit.files, &noise);
            commits.extend(work.map(|work| (commit, work)));
        });
        read.map_err(|error| format!("{shown} can't be read: {error}"))?;
        commits.reverse();
        commits.sort_by_key(|(commit, _)| commit.at);
        let history = Self { commits };
        match history.authors().len() {
            0 => Err(format!("{shown} has no commits to replay")),
            1 => Err(format!("{shown} has commits of one author only, and nobody collides alone")),
            _ => Ok(history),
        }
    }

    pub fn score(&self, kind: AgentKind) -> Score {
        let stream = self.stream(kind);
        Score::of(&stream, &stream.replay())
    }

    fn describe(&self) -> String {
        let days = match (self.commits.first(), self.commits.last()) {
            (Some((first, _)), Some((last, _))) => (last.at - first.at) / DAY,
            _ => 0,
        };
        format!("{} commits by {} authors in {days} days", self.commits.len(), self.authors().len())
    }

    fn authors(&self) -> HashSet<&str> {
        self.commits.iter().map(|(commit, _)| email(&commit.author)).collect()
    }

    fn stream(&self, kind: AgentKind) -> Stream {
        let mut agents: BTreeMap<(&str, i64), AgentId> = BTreeMap::new();
        let mut stream = Stream { window: kind.window(), ..Stream::default() };
        for (commit, work) in &self.commits {
            let day = if kind == AgentKind::DaySession { commit.at.div_euclid(DAY) } else { 0 };
            let next = AgentId(agents.len() as u64);
            let agent = *agents.entry((email(&commit.author), day)).or_insert(next);
            let files: BTreeSet<PathId> = work.files.iter().map(|path| PathId::of(path)).collect();
            for path in &work.files {
                stream.names.entry(PathId::of(path)).or_insert_with(|| {
                    let found = topics::of_path(&String::from_utf8_lossy(path));
                    let stem = found.stem.iter().map(WordId::of).collect();
                    NameWords { stem, all: found.all.iter().map(WordId::of).collect() }
                });
            }
            let words = work.topics.iter().map(WordId::of).collect();
            stream.events.push(StreamEvent { at: commit.at, agent, words, files });
        }
        stream
    }
}

/// The address of an author, whatever name is beside it.
fn email(author: &str) -> &str {
    author.rsplit_once('<').map_or(author, |(_, rest)| rest.trim_end_matches('>'))
}
