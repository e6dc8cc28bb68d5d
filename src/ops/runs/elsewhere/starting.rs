//! Deciding about a run that another machine asked this one for, and starting it: in a process of its own, which may be
//! killed and started again at any moment. Of all attempts, one becomes a run.
//!
//! The profile, the gates, the budget and the permission are those of this machine. A request names none of them but the
//! profile.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::SignedDuration;

use crate::domain::link::{BranchPush, MachineName, REQUEST_LIFE, RemoteAsker, RunAskRefusal, is_too_late};
use crate::domain::runs::{MicroUsd, RunId};
use crate::domain::sha256;
use crate::domain::workers::{Budget, Isolation};
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runs::admission::{as_refusal, last_of};
use crate::ops::runs::gate::Gate;
use crate::ops::runs::list::as_it_is;
use crate::ops::runs::plan::{RunRequest, plan};
use crate::ops::runs::settle::settle;
use crate::ops::runs::start::{AskedFromElsewhere, start};
use crate::ops::runs::work;
use crate::store::{Mesh, RunAskedHere, RunDecision, RunPermission, RunRefusal};
use crate::sys::git::run_tree::RunRepository;
use crate::sys::git::{RepositoryStart, WorkTree};
use crate::sys::{clock, test_switches};

/// The command of the process that decides: `msg --mesh MESH run-for MACHINE REQUEST`. Only the link process calls it.
const COMMAND: &str = "run-for";
/// How long git may take to say where a repository began.
const GIT: Duration = Duration::from_secs(20);
/// How many runs that go on one machine may have asked this one for.
const MOST_OPEN: usize = 64;
/// How often it is tried to decide about a request.
const MOST_TRIES: u32 = 8;

/// A call of this program by its link process.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StarterCall {
    pub mesh: String,
    pub machine: MachineName,
    pub id: RunId,
}

impl StarterCall {
    pub fn to_args(&self) -> Vec<OsString> {
        let words = ["--mesh", &self.mesh, COMMAND, self.machine.as_str(), self.id.as_str()];
        words.map(OsString::from).to_vec()
    }

    /// The call that such arguments name; `None` if they are others.
    pub fn from_args(args: &[OsString]) -> Option<Self> {
        let [flag, mesh, command, machine, id] = args else { return None };
        let machine = MachineName::new(machine.to_str()?).ok()?;
        let id = RunId::new(id.to_str()?).ok()?;
        let is_call = flag == "--mesh" && command == COMMAND;
        is_call.then_some(Self { mesh: mesh.to_str()?.to_string(), machine, id })
    }
}

/// How long a request lives. Tests shorten it.
pub(in crate::ops) fn life() -> Duration {
    let told = test_switches::value(test_switches::RUN_REQUEST_LIFE).and_then(|millis| millis.parse().ok());
    told.map_or(REQUEST_LIFE, Duration::from_millis)
}

/// The checkout in which a run that was asked for is to be started: the process goes on with that directory's settings.
/// `None`: it was decided before, or is now.
pub fn find_checkout(op: &Op, call: &StarterCall) -> Result<Option<PathBuf>, CommandError> {
    let Some((mesh, asked)) = undecided(op, call)? else { return Ok(None) };
    let found = checkout(&mesh, &asked);
    found.map(Some).or_else(|refused| decide(&mesh, &asked, refused).map(|()| None))
}

/// Decides about the request, in its checkout, and starts the run; or pushes the branch of one that has ended.
pub fn start_asked(op: &Op, call: &StarterCall) -> Result<(), CommandError> {
    let Some((mesh, asked)) = undecided(op, call)? else { return Ok(()) };
    let (machine, id) = (&asked.machine, &asked.ask.id);
    let Some(_lock) = mesh.remote().try_lock_asked(machine, id)? else { return Ok(()) };
    if mesh.remote().decision(machine, id)?.is_some() {
        return Ok(());
    }
    let key = key(machine, id);
    if mesh.remote().count_try(machine, id)? >= MOST_TRIES {
        let text = "it could not be started: whatever was to start it ended at once, again and again";
        return decide(&mesh, &asked, CommandError::new(CommandErrorKind::Bug, text));
    }
    match begin(op, &mesh, &asked, key) {
        Ok(run) => Ok(mesh.remote().decide_asked(machine, id, &RunDecision::Run(run))?),
        Err(refused) => decide(&mesh, &asked, refused),
    }
}

fn undecided(op: &Op, call: &StarterCall) -> Result<Option<(std::rc::Rc<Mesh>, RunAskedHere)>, CommandError> {
    let Some(mesh) = op.mesh()? else { return Ok(None) };
    let Some(asked) = mesh.remote().asked(&call.machine, &call.id)? else { return Ok(None) };
    if mesh.remote().decision(&call.machine, &call.id)?.is_some() {
        return Ok(None);
    }
    // An earlier process may have been killed just before it wrote this down.
    if let Some(run) = last_of(&mesh, &key(&call.machine, &call.id))? {
        mesh.remote().decide_asked(&call.machine, &call.id, &RunDecision::Run(run.id))?;
        return Ok(None);
    }
    Ok(Some((mesh, asked)))
}

/// Names the request among the runs of this machine.
fn key(machine: &MachineName, id: &RunId) -> String {
    sha256(format!("asked by a machine\0{machine}\0{id}").as_bytes())
}

/// Refuses, unless it is a run already. A supervisor that an earlier process left may be about to become it: it asks for
/// the decision under the same lock.
fn decide(mesh: &Mesh, asked: &RunAskedHere, refused: CommandError) -> Result<(), CommandError> {
    let (machine, id) = (&asked.machine, &asked.ask.id);
    let _lock = mesh.runs().lock_admission()?;
    let decision = match last_of(mesh, &key(machine, id))? {
        Some(run) => RunDecision::Run(run.id),
        None => RunDecision::Refused(refusal_of(refused)),
    };
    Ok(mesh.remote().decide_asked(machine, id, &decision)?)
}

/// What the other machine is told of an error here.
pub(in crate::ops) fn refusal_of(error: CommandError) -> RunAskRefusal {
    let (hints, message) = (error.hints.clone(), error.message.clone());
    match as_refusal(error) {
        RunRefusal::Refused { kind, gate, message, hints } => RunAskRefusal { kind, gate, message, hints },
        RunRefusal::DoneBy(_) | RunRefusal::Budget(_) => {
            RunAskRefusal { kind: CommandErrorKind::Gate.name().to_string(), gate: None, message, hints }
        }
    }
}

/// Refuses what nobody allowed. Asked by the link process, too, so that nothing is started for it.
pub(in crate::ops) fn check_allowed(
    permission: &RunPermission,
    machine: &MachineName,
) -> Result<(), CommandError> {
    let refuse = |text: String| {
        Err(CommandError::new(CommandErrorKind::NotAllowed, text)
            .hint("a person there can run `msg link --allow-runs DIR`, with a checkout of the repository"))
    };
    if permission.checkouts.is_empty() {
        return refuse("no runs for other machines are allowed there".to_string());
    }
    if !permission.machines.is_empty() && !permission.machines.contains(machine) {
        return refuse(format!("runs for {machine} are not allowed there"));
    }
    Ok(())
}

/// Refuses what came too late, by the clock of the server.
pub(in crate::ops) fn check_time(asked: &RunAskedHere) -> Result<(), CommandError> {
    let now = clock::now() + SignedDuration::from_millis(asked.offset_millis);
    if !is_too_late(asked.stored_at, now, life()) {
        return Ok(());
    }
    let minutes = life().as_secs().div_ceil(60);
    let text = format!("the request came more than {minutes} min late, so nothing was started");
    Err(CommandError::new(CommandErrorKind::TimedOut, text).hint("ask again, if it is still wanted"))
}

/// The permission as it is now. Whoever takes it back means it at once.
fn permission(mesh: &Mesh, asked: &RunAskedHere) -> Result<RunPermission, CommandError> {
    let permission = mesh.link().config()?.map(|config| config.runs).unwrap_or_default();
    check_allowed(&permission, &asked.machine)?;
    check_time(asked)?;
    Ok(permission)
}

/// The first of the allowed checkouts that is one of that repository.
fn checkout(mesh: &Mesh, asked: &RunAskedHere) -> Result<PathBuf, CommandError> {
    for dir in permission(mesh, asked)?.checkouts {
        let Some(tree) = WorkTree::containing(&dir) else { continue };
        // One that git says nothing of is not the one.
        let Ok((start, record)) = mesh.repositories().start(&tree, GIT) else { continue };
        record.iter().for_each(|record| mesh.repositories().save(record));
        if matches!(start, RepositoryStart::At(commit) if commit == asked.ask.repository.as_str()) {
            return Ok(tree.root);
        }
    }
    let text = "no checkout of this repository is among those in which runs are allowed there";
    Err(CommandError::new(CommandErrorKind::NotAllowed, text)
        .hint("a person there can run `msg link --allow-runs DIR`, with a checkout of the repository"))
}

fn begin(op: &Op, mesh: &Mesh, asked: &RunAskedHere, key: String) -> Result<RunId, CommandError> {
    let permission = permission(mesh, asked)?;
    check_open(mesh, &asked.machine)?;
    let root = WorkTree::containing(&op.cwd).map_or_else(|| op.cwd.clone(), |tree| tree.root);
    have_commit(op, &root, &asked.ask.commit, permission.remote.as_deref())?;
    // While it was fetched, the time may have come.
    check_time(asked)?;
    let ask = &asked.ask;
    let is_to_read = ask.is_to_read;
    let spec = |path: &String| root.join(path).to_string_lossy().into_owned();
    let request = RunRequest {
        profile: ask.profile.clone(),
        task: ask.task.clone(),
        name: ask.name.clone(),
        timeout: ask.timeout_seconds.map(Duration::from_secs),
        budget: Budget { usd: ask.most_micros.map(MicroUsd::from_micros), tokens: ask.most_tokens },
        // The tree of the person here is not touched.
        isolation: Some(Isolation::Worktree),
        reserve: ask.reserve.clone(),
        reserve_from: Some(root.clone()),
        is_to_wait: ask.is_to_wait,
        claims: ask.claim.as_ref().map(|(task, path)| (task.clone(), Some(spec(path)))),
        asked: Some(AskedFromElsewhere {
            by: RemoteAsker {
                machine: asked.machine.clone(),
                agent: ask.by.name().cloned(),
                id: ask.id.clone(),
            },
            depth: ask.depth,
            commit: ask.commit.clone(),
            key,
            id: ask.id.clone(),
        }),
        root: Some(root),
        ..RunRequest::default()
    };
    let new = plan(op, request)?;
    if is_to_read && new.order.is_to_write {
        let text = format!("`{}` changes files, and who asks for it may only read", ask.profile);
        return Err(Gate::Harness.refuse(text).hint("choose a profile that only reads"));
    }
    Ok(start(op, new)?.id)
}

/// Refuses a machine that has very many runs here.
fn check_open(mesh: &Mesh, machine: &MachineName) -> Result<(), CommandError> {
    let runs = mesh.runs().list()?.runs.into_iter().map(|run| as_it_is(mesh, run));
    let of_machine = |asker: &RemoteAsker| asker.machine == *machine;
    let open =
        runs.filter(|run| !run.state.is_final() && run.asked_by.as_ref().is_some_and(of_machine)).count();
    if open < MOST_OPEN {
        return Ok(());
    }
    let text =
        format!("{machine} has asked for {open} runs there that go on; at most {MOST_OPEN} are allowed");
    Err(Gate::Depth.refuse(text).hint("wait until some of them have ended"))
}

/// Sees to it that the commit is here. It is fetched only from the remote that the owner of this machine named.
fn have_commit(ctx: &Context, root: &Path, commit: &str, remote: Option<&str>) -> Result<(), CommandError> {
    let repository = work::repository(&ctx.home, root)?;
    if repository.has_commit(commit)? {
        return Ok(());
    }
    let short = &commit[..commit.len().min(12)];
    let missing = |text: String| CommandError::new(CommandErrorKind::NoCommit, text).fact("commit", commit);
    let Some(remote) = remote else {
        return Err(missing(format!("commit {short} is not there"))
            .hint(format!("push {short} to a remote that both machines have, and fetch it there"))
            .hint("`msg link --push-runs REMOTE` there lets it fetch by itself"));
    };
    let problem = match fetch(&repository, remote) {
        Ok(()) if repository.has_commit(commit)? => return Ok(()),
        Ok(()) => format!("commit {short} is not there, and `{remote}` does not have it either"),
        Err(problem) => format!("commit {short} is not there, and could not be fetched: {problem}"),
    };
    Err(missing(problem).hint(format!("push {short} to `{remote}`")))
}

/// Why a remote could not be used, in the words of git or of ours.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct RemoteTrouble(String);

fn fetch(repository: &RunRepository, remote: &str) -> Result<(), RemoteTrouble> {
    known_remote(repository, remote)?;
    repository.fetch_from(remote).map_err(|error| RemoteTrouble(error.to_string()))
}

/// The name of a remote, and not something else that git takes for one.
fn known_remote(repository: &RunRepository, remote: &str) -> Result<(), RemoteTrouble> {
    let remotes = repository.remotes().map_err(|error| RemoteTrouble(error.to_string()))?;
    let is_known = remotes.iter().any(|known| known == remote);
    if is_known { Ok(()) } else { Err(RemoteTrouble(format!("there is no remote `{remote}` there"))) }
}

/// The checkout of a run that has ended and whose branch is to be pushed: the process goes on there.
pub fn unpushed(op: &Op, call: &StarterCall) -> Result<Option<PathBuf>, CommandError> {
    let Some(mesh) = op.mesh()? else { return Ok(None) };
    let Some(RunDecision::Run(run)) = mesh.remote().decision(&call.machine, &call.id)? else {
        return Ok(None);
    };
    if mesh.remote().push(&call.machine, &call.id)?.is_some() {
        return Ok(None);
    }
    let Some(run) = mesh.runs().get(&run)? else { return Ok(None) };
    let run = as_it_is(&mesh, run);
    let root = run.project.clone().unwrap_or_else(|| run.root.clone());
    Ok(run.state.is_final().then(|| PathBuf::from(root)))
}

/// Pushes the branch with the work of a run that has ended, where the owner of this machine wants that.
pub fn push_asked(op: &Op, call: &StarterCall) -> Result<(), CommandError> {
    let Some(mesh) = op.mesh()? else { return Ok(()) };
    let (machine, id) = (&call.machine, &call.id);
    let Some(_lock) = mesh.remote().try_lock_asked(machine, id)? else { return Ok(()) };
    let Some(RunDecision::Run(run)) = mesh.remote().decision(machine, id)? else { return Ok(()) };
    if mesh.remote().push(machine, id)?.is_some() {
        return Ok(());
    }
    // What a supervisor that died left is saved first.
    settle(op, &mesh)?;
    let Some(run) = mesh.runs().get(&run)?.map(|run| as_it_is(&mesh, run)) else { return Ok(()) };
    let remote = mesh.link().config()?.and_then(|config| config.runs.remote).unwrap_or_default();
    let branch = run.branch.as_deref().filter(|_| !remote.is_empty());
    // Without a remote: nothing was to be pushed.
    let pushed = match branch {
        None => BranchPush { remote: String::new(), problem: None },
        Some(branch) => {
            let problem = push(op, &run.root, run.project.as_deref(), &remote, branch).err();
            let problem = problem.map(|trouble| trouble.to_string());
            BranchPush { remote, problem }
        }
    };
    Ok(mesh.remote().put_push(machine, id, &pushed)?)
}

fn push(
    ctx: &Context,
    root: &str,
    project: Option<&str>,
    remote: &str,
    branch: &str,
) -> Result<(), RemoteTrouble> {
    let repository = work::repository(&ctx.home, Path::new(project.unwrap_or(root)));
    let repository = repository.map_err(|error| RemoteTrouble(error.message))?;
    known_remote(&repository, remote)?;
    repository.push_branch(remote, branch).map_err(|error| RemoteTrouble(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_of_the_link_reads_back_and_is_nobody_elses() {
        let call = StarterCall {
            mesh: "/m".to_string(),
            machine: MachineName::new("laptop").unwrap(),
            id: RunId::from_random(3),
        };
        assert_eq!(StarterCall::from_args(&call.to_args()), Some(call.clone()));
        let mut other = call.to_args();
        other[2] = "run".into();
        assert_eq!(StarterCall::from_args(&other), None);
    }

    #[test]
    fn nothing_is_allowed_unless_somebody_said_so() {
        let machine = |name: &str| MachineName::new(name).unwrap();
        let nothing = RunPermission::default();
        assert!(check_allowed(&nothing, &machine("laptop")).is_err());
        let all = RunPermission { checkouts: vec!["/p".into()], ..RunPermission::default() };
        assert!(check_allowed(&all, &machine("laptop")).is_ok());
        let one = RunPermission { machines: vec![machine("laptop")], ..all };
        assert!(check_allowed(&one, &machine("laptop")).is_ok());
        assert!(check_allowed(&one, &machine("other")).is_err());
    }
}
