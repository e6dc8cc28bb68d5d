//! What has to be right before the first worker of a crew is started, and where its branch begins.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::domain::workers::{Budget, Isolation};
use crate::domain::{escape_invisible_line, sha256};
use crate::store::ReviewOrder;
use crate::sys::clock;
use crate::sys::files;
use crate::sys::flock::FileLock;
use crate::sys::git::run_tree::{CrewBranch, RunRepository, RunTreeError};

use super::crew_branch_name::branch_stem;
use super::lost_work::require_no_lost_work;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runs::plan::{ReviewWish, RunRequest, plan};
use crate::ops::runs::work::git_state;
use crate::ops::tasks::{CrewSpec, check_crew_trust, crew_spec};

/// How many files are named that keep a crew from being started.
const MOST_NAMED: usize = 5;

/// What somebody asked for.
#[derive(Clone, Debug)]
pub struct CrewRequest {
    pub spec: String,
    pub workers: usize,
    /// The profiles of the builders, which take turns.
    pub profiles: Vec<String>,
    pub review: ReviewWish,
    /// What each run may use up.
    pub budget: Budget,
    /// The end of the branch's name; `None`: the name of the spec.
    pub branch: Option<String>,
    /// Whether the branch may begin with what is not committed.
    pub is_from_snapshot: bool,
}

/// A crew that was checked and can be started.
#[derive(Debug)]
pub struct Crew {
    pub(super) request: CrewRequest,
    /// The end of the branch's name.
    pub stem: String,
    pub branch: CrewBranch,
    /// Where the branch began.
    pub start: String,
    pub(super) root: PathBuf,
    /// How many tasks are not done.
    left: usize,
    /// Nobody else works on it meanwhile.
    _lock: FileLock,
    pub(super) since: Timestamp,
}

/// Checks everything before anything is started.
pub fn check(op: &Op, request: CrewRequest) -> Result<Crew, CommandError> {
    let spec = crew_spec(op, &request.spec)?;
    check_crew_trust(op, &request.spec)?;
    let repository = RunRepository::open(&op.cwd, &git_state(&op.home))?;
    let head = repository.head()?;
    repository.require_merging_git()?;
    let stem = match &request.branch {
        Some(branch) => branch.clone(),
        None => branch_stem(&spec.file),
    };
    let branch = CrewBranch::of(&repository, &stem)?;
    branch.require_free()?;
    branch.require_not_lost(&head)?;
    check_other_spec(op, (&stem, &repository), &spec)?;
    require_no_lost_work(op, &request.spec, &stem, (&branch, &head))?;
    if branch.at()?.is_none() && !request.is_from_snapshot {
        repository.require_clean().map_err(not_clean)?;
    }
    for profile in &request.profiles {
        let request = RunRequest {
            profile: profile.clone(),
            task: "check".to_string(),
            isolation: Some(Isolation::Worktree),
            review: request.review.clone(),
            ..RunRequest::default()
        };
        if let Some(ReviewOrder::Impossible { profile, why }) = plan(op, request)?.order.review {
            let text = format!("`{profile}` can't review the work: {why}");
            return Err(CommandError::new(CommandErrorKind::InvalidValue, text)
                .hint("`msg workers` lists the profiles; `--no-review` does without a review"));
        }
    }
    let lock = lock(op, &repository, &stem)?;
    let root = repository.root().to_path_buf();
    let left = spec.tasks.iter().filter(|task| !task.is_done).count();
    Ok(Crew { request, stem, branch, start: head, root, left, _lock: lock, since: clock::now() })
}

impl Crew {
    /// Makes the branch, unless it is there.
    pub fn begin(mut self) -> Result<Self, CommandError> {
        if self.request.is_from_snapshot && self.branch.at()?.is_none() {
            self.start = self.branch.snapshot_commit()?;
        }
        self.start = self.branch.begin(&self.start)?;
        Ok(self)
    }

    /// What a person is asked before the first worker is started.
    pub fn question(&self) -> String {
        let CrewRequest { workers, profiles, spec, .. } = &self.request;
        let tasks = if self.left == 1 { "1 task".to_string() } else { format!("{} tasks", self.left) };
        let workers = if *workers == 1 { "1 worker".to_string() } else { format!("{workers} workers") };
        let branch = self.branch.name();
        format!(
            "{tasks} of `{spec}`, {workers} ({}), on the branch {branch}.\nStart? [y/N] ",
            profiles.join(", ")
        )
    }
}

/// The refusal to start while files are changed that git knows.
fn not_clean(error: RunTreeError) -> CommandError {
    let RunTreeError::NotClean(paths) = &error else { return error.into() };
    let paths: Vec<String> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let named: Vec<String> =
        paths.iter().take(MOST_NAMED).map(|path| format!("`{}`", escape_invisible_line(path))).collect();
    let more = paths.len() - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let text = format!(
        "the work tree is not clean ({}{more}): workers start from the last commit and would not see these changes",
        named.join(", ")
    );
    CommandError::new(CommandErrorKind::NotClean, text)
        .hint("commit or stash them, or let the branch begin with them: `--from-snapshot`")
        .facts("paths", paths)
}

/// Two specs with the same name would build one branch, also in two work trees of a repository.
fn check_other_spec(
    op: &Op,
    (stem, repository): (&str, &RunRepository),
    spec: &CrewSpec,
) -> Result<(), CommandError> {
    let Some(mesh) = op.mesh()? else { return Ok(()) };
    for run in mesh.runs().list()?.runs {
        let is_of_stem = run.crew.as_ref().is_some_and(|part| part.crew == stem);
        let Some(claim) = run.claim.as_ref().filter(|claim| is_of_stem && claim.spec != spec.key) else {
            continue;
        };
        let is_here = match mesh.runs().work(&run.id)? {
            Some(work) => Path::new(&work.repository) == repository.common_dir(),
            None => Path::new(run.project.as_ref().unwrap_or(&run.root)) == repository.root(),
        };
        if is_here {
            let text = format!("the branch `ravenry/crew-{stem}` is that of another spec: `{}`", claim.spec);
            return Err(CommandError::new(CommandErrorKind::Duplicate, text)
                .hint("give it another name: `--branch NAME`"));
        }
    }
    Ok(())
}

fn lock(op: &Op, repository: &RunRepository, stem: &str) -> Result<FileLock, CommandError> {
    let locks = git_state(&op.home).join("crew-locks");
    files::create_dir(&locks)?;
    let name = sha256(format!("{}\0{stem}", repository.common_dir().display()).as_bytes());
    match FileLock::try_acquire(&locks.join(format!("{}-work.lock", &name[..16])))? {
        Some(lock) => Ok(lock),
        None => {
            let text = format!("somebody works on `ravenry/crew-{stem}` already");
            Err(CommandError::new(CommandErrorKind::AtWork, text)
                .hint("`msg crew status` shows how far it is"))
        }
    }
}
