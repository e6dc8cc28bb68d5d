//! `msg link`: linking the mesh, looking at the link, and ending it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::domain::link::{LinkAddress, MachineName};
use crate::domain::shell_word;
use crate::ops::agents::roster::Roster;
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::person_required;
use crate::store::link_protocol::LinkRequest;
use crate::store::{LinkConfig, LinkCredentials, LinkStage, LinkState, Mesh, RunPermission, ServerSummary};
use crate::sys::git::WorkTree;
use crate::sys::line_socket;
use crate::sys::{clock, environment, files, random};

use super::ask;
use super::clock_difference::{SET_CLOCKS, clock_difference};

/// How long `stop` waits until the link process has ended.
const STOP: Duration = Duration::from_secs(10);
/// After how long a link process is asked to stop once more.
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// How long `link URL` waits until the link process that it started says how it is.
const SETTLE: Duration = Duration::from_secs(10);

/// What is told to `msg link URL`. What is not told stays as it was.
#[derive(Clone, Debug, Default)]
pub struct LinkSettings {
    pub address: Option<String>,
    pub machine: Option<String>,
    pub credentials: Option<PathBuf>,
    pub ca: Option<PathBuf>,
    pub client_certificate: Option<(PathBuf, PathBuf)>,
    pub replicas: Option<u8>,
    pub reserves_repository: Option<bool>,
    pub runs: RunPermissionChange,
    /// Save it although the server can't be used now.
    pub is_forced: bool,
}

impl LinkSettings {
    /// The command line that says the same.
    fn line(&self) -> String {
        let mut words = vec!["msg link".to_string()];
        words.extend(self.address.as_deref().map(|address| shell_word(address).into_owned()));
        let mut option = |name: &str, value: &str| words.push(format!("{name} {}", shell_word(value)));
        let path = |path: &PathBuf| path.to_string_lossy().into_owned();
        if let Some(name) = &self.machine {
            option("--machine", name);
        }
        if let Some(file) = &self.credentials {
            option("--credentials", &path(file));
        }
        if let Some(file) = &self.ca {
            option("--ca", &path(file));
        }
        if let Some((certificate, key)) = &self.client_certificate {
            option("--certificate", &path(certificate));
            option("--key", &path(key));
        }
        if let Some(replicas) = self.replicas {
            option("--replicas", &replicas.to_string());
        }
        if let Some(is_rule) = self.reserves_repository {
            option("--reserve-repo", if is_rule { "yes" } else { "no" });
        }
        match self.runs.checkouts.as_deref() {
            Some([]) => option("--allow-runs", "none"),
            Some(dirs) => dirs.iter().for_each(|dir| option("--allow-runs", &path(dir))),
            None => {}
        }
        match self.runs.machines.as_deref() {
            Some([]) => option("--allow-runs-from", "all"),
            Some(names) => option("--allow-runs-from", &names.join(",")),
            None => {}
        }
        match &self.runs.remote {
            Some(PushTarget::Nowhere) => option("--push-runs", "none"),
            Some(PushTarget::Remote(name)) => option("--push-runs", name),
            None => {}
        }
        if self.is_forced {
            words.push("--force".to_string());
        }
        words.join(" ")
    }
}

/// What is told about runs for other machines. What is not told stays as it was.
#[derive(Clone, Debug, Default)]
pub struct RunPermissionChange {
    /// The checkouts in which such runs may be started; an empty list: nowhere.
    pub checkouts: Option<Vec<PathBuf>>,
    /// The machines that may ask; an empty list: all.
    pub machines: Option<Vec<String>>,
    /// Where their branches are pushed.
    pub remote: Option<PushTarget>,
}

impl RunPermissionChange {
    fn says_something(&self) -> bool {
        self.checkouts.is_some() || self.machines.is_some() || self.remote.is_some()
    }
}

/// Where branches of runs for other machines are pushed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PushTarget {
    Nowhere,
    Remote(String),
}

/// How the link is.
#[derive(Clone, Debug)]
pub struct LinkStatus {
    /// `None`: the mesh is not linked.
    pub config: Option<LinkConfig>,
    pub is_running: bool,
    /// What the link process last said.
    pub state: Option<LinkState>,
    /// Messages to other machines that are not on the server.
    pub queued: usize,
    /// Agents on other machines that are known here, and how many of their machines are away.
    pub agents: usize,
    pub away: usize,
    /// Whether this program can link.
    pub is_built_in: bool,
}

impl LinkStatus {
    /// Whether records can be decided on: the process lives, and says that it is linked.
    pub fn is_linked(&self) -> bool {
        self.is_running && self.state.as_ref().is_some_and(|state| state.stage == LinkStage::Linked)
    }
}

/// How the link of this mesh is. Asks nobody.
pub fn link_status(op: &Op) -> Result<LinkStatus, CommandError> {
    op.leave_link_alone();
    let is_built_in = cfg!(feature = "link");
    let none = LinkStatus {
        config: None,
        is_running: false,
        state: None,
        queued: 0,
        agents: 0,
        away: 0,
        is_built_in,
    };
    let Some(mesh) = op.mesh()? else { return Ok(none) };
    let remote = mesh.remote().agents()?;
    let is_away = |agent: &crate::domain::Agent| {
        agent.machine.as_ref().is_some_and(|machine| machine.away_since.is_some())
    };
    Ok(LinkStatus {
        config: mesh.link().config()?,
        is_running: mesh.link().is_running()?,
        state: mesh.link().state()?,
        queued: mesh.remote().queued_count()?,
        agents: remote.len(),
        away: remote.iter().filter(|record| is_away(&record.agent)).count(),
        is_built_in,
    })
}

/// Links the mesh, or changes how it is linked. The server is tried first: what can't work is not saved.
pub fn set_link(op: &Op, settings: &LinkSettings) -> Result<LinkStatus, CommandError> {
    op.leave_link_alone();
    let line = || person_required::with_mesh(op, &settings.line());
    person_required::required_at_terminal(op, line)?;
    let before = match op.mesh()? {
        Some(mesh) => mesh.link().config()?,
        None => None,
    };
    let config = configured(op, settings, before.as_ref())?;
    // What is allowed counts at once, also without the server: whoever takes it back means it.
    let is_only_permission = before.as_ref().is_some_and(|before| {
        settings.runs.says_something() && LinkConfig { runs: config.runs.clone(), ..before.clone() } == config
    });
    if !is_only_permission && !cfg!(feature = "link") {
        return Err(ask::not_built_in());
    }
    let difference = match settings.is_forced || is_only_permission {
        true => None,
        false => clock_difference(&try_server(&config, op.mesh()?.as_deref())?),
    };
    let mesh = op.create_mesh()?;
    mesh.link().set_config(&config)?;
    if is_only_permission {
        return link_status(op);
    }
    if before.as_ref().is_some_and(|before| before != &config) {
        end_process(op, &mesh)?;
    }
    if before.is_some_and(|before| before.address != config.address) {
        // Another mesh knows nothing of what this machine has shared.
        mesh.link().forget_shared()?;
        mesh.remote().forget_others()?;
    }
    mesh.remote().begin_feed()?;
    // Without an agent there is nothing to link yet: the first `join` starts it.
    let has_agents = Roster::read(&mesh)?.live().any(|agent| agent.is_ours());
    if has_agents && cfg!(feature = "link") {
        ask::start(op, &mesh)?;
        wait_until_settled(&mesh)?;
    } else if let Some(difference) = difference {
        // Nothing else says so until a link process runs.
        op.warn(format!("{difference}; {SET_CLOCKS}"));
    }
    link_status(op)
}

fn configured(
    ctx: &Context,
    settings: &LinkSettings,
    before: Option<&LinkConfig>,
) -> Result<LinkConfig, CommandError> {
    let invalid = |text: String| CommandError::new(CommandErrorKind::InvalidValue, text);
    let address = match (&settings.address, before) {
        (Some(text), _) => LinkAddress::parse(text).map_err(|error| {
            invalid(error.to_string()).hint("for example: `msg link nats://host:4222/team`")
        })?,
        (None, Some(before)) => before.address.clone(),
        (None, None) => {
            return Err(CommandError::new(CommandErrorKind::NotLinked, "this mesh is not linked yet")
                .hint("name the server and the mesh: `msg link nats://HOST:4222/NAME`"));
        }
    };
    let machine = match (&settings.machine, before) {
        (Some(name), _) => MachineName::new(name.as_str()).map_err(|error| invalid(error.to_string()))?,
        (None, Some(before)) => before.machine.clone(),
        (None, None) => MachineName::of_host(&environment::host_name()).ok_or_else(|| {
            invalid("the name of this host can't be that of a machine".to_string())
                .hint("`--machine NAME` gives it one")
        })?,
    };
    let full = |path: &PathBuf| full_path(ctx, path);
    let credentials = match &settings.credentials {
        Some(path) => credentials(ctx, path)?,
        None => before.map(|before| before.credentials.clone()).unwrap_or_default(),
    };
    let client_certificate = match &settings.client_certificate {
        Some((certificate, key)) => Some((full(certificate)?, full(key)?)),
        None => before.and_then(|before| before.client_certificate.clone()),
    };
    let ca = match &settings.ca {
        Some(ca) => Some(full(ca)?),
        None => before.and_then(|before| before.ca.clone()),
    };
    let config = LinkConfig {
        address,
        machine,
        installation: before
            .map_or_else(|| random::uuid().simple().to_string(), |before| before.installation.clone()),
        credentials,
        ca,
        client_certificate,
        replicas: settings.replicas.or(before.map(|before| before.replicas)).unwrap_or(1),
        reserves_repository: settings
            .reserves_repository
            .or(before.map(|before| before.reserves_repository))
            .unwrap_or(false),
        runs: permission(ctx, &settings.runs, before.map(|before| before.runs.clone()).unwrap_or_default())?,
    };
    let is_open = !config.address.requires_tls() && !config.address.is_loopback();
    if is_open && config.credentials != LinkCredentials::None && !settings.is_forced {
        return Err(invalid(format!(
            "`{}` is not encrypted, so the credentials would be readable on the way",
            config.address
        ))
        .hint(
            "use `tls://…`; through a tunnel, address its end on this machine: `nats://localhost:PORT/NAME`",
        )
        .hint("`--force` links nevertheless, for a network that you trust"));
    }
    Ok(config)
}

/// What other machines may start here from now on.
fn permission(
    ctx: &Context,
    change: &RunPermissionChange,
    before: RunPermission,
) -> Result<RunPermission, CommandError> {
    let invalid = |text: String| CommandError::new(CommandErrorKind::InvalidValue, text);
    let checkout = |dir: &PathBuf| -> Result<PathBuf, CommandError> {
        let full = ctx.cwd.join(ctx.home.expand(&dir.to_string_lossy()));
        let tree = WorkTree::containing(&full).filter(|_| full.is_dir()).ok_or_else(|| {
            invalid(format!("`{}` is not in a checkout of a git repository", full.display()))
                .hint("runs for other machines start in a checkout of the repository that both have")
        })?;
        Ok(tree.root)
    };
    let mut checkouts = match &change.checkouts {
        Some(dirs) => dirs.iter().map(checkout).collect::<Result<_, _>>()?,
        None => before.checkouts,
    };
    let mut seen = Vec::new();
    checkouts.retain(|dir: &PathBuf| {
        !seen.contains(dir) && {
            seen.push(dir.clone());
            true
        }
    });
    let machines = match &change.machines {
        Some(names) => {
            let name =
                |name: &String| MachineName::new(name.as_str()).map_err(|error| invalid(error.to_string()));
            names.iter().map(name).collect::<Result<_, _>>()?
        }
        None => before.machines,
    };
    let remote = match &change.remote {
        Some(PushTarget::Remote(name))
            if name.is_empty() || name.starts_with('-') || name.chars().any(char::is_whitespace) =>
        {
            return Err(invalid(format!("`{}` can't be the name of a remote", name.escape_debug())));
        }
        Some(PushTarget::Remote(name)) => Some(name.clone()),
        Some(PushTarget::Nowhere) => None,
        None => before.remote,
    };
    let asks_for_some = change.machines.as_ref().is_some_and(|names| !names.is_empty())
        || matches!(change.remote, Some(PushTarget::Remote(_)));
    if checkouts.is_empty() && asks_for_some && change.checkouts.is_none() {
        return Err(invalid("no runs for other machines are allowed yet".to_string())
            .hint("name a checkout, too: `msg link --allow-runs DIR`"));
    }
    Ok(RunPermission { checkouts, machines, remote })
}

fn full_path(ctx: &Context, path: &Path) -> Result<PathBuf, CommandError> {
    let path = ctx.cwd.join(ctx.home.expand(&path.to_string_lossy()));
    match files::metadata(&path)? {
        Some(metadata) if metadata.is_file() => Ok(path),
        _ => {
            let text = format!("there is no file `{}`", path.display());
            Err(CommandError::new(CommandErrorKind::InvalidValue, text))
        }
    }
}

/// What kind of credentials is in the file, by its name.
pub(super) fn credentials(ctx: &Context, path: &Path) -> Result<LinkCredentials, CommandError> {
    let path = full_path(ctx, path)?;
    let is_creds = path.extension().is_some_and(|extension| extension == "creds");
    Ok(if is_creds { LinkCredentials::Creds(path) } else { LinkCredentials::User(path) })
}

#[cfg(feature = "link")]
fn try_server(config: &LinkConfig, mesh: Option<&Mesh>) -> Result<ServerSummary, CommandError> {
    let tried = super::process::try_server(config, mesh)?;
    tried.map_err(|problem| ask::unreachable(&problem, "nothing was saved"))
}

#[cfg(not(feature = "link"))]
fn try_server(_: &LinkConfig, _: Option<&Mesh>) -> Result<ServerSummary, CommandError> {
    Err(ask::not_built_in())
}

/// Waits until the link process is linked, or says why it is not.
fn wait_until_settled(mesh: &Mesh) -> Result<(), CommandError> {
    let until = Instant::now() + SETTLE;
    while Instant::now() < until {
        let state = mesh.link().state()?;
        let is_settled = |state: &LinkState| {
            matches!(state.stage, LinkStage::Linked | LinkStage::Refused | LinkStage::Unreachable)
        };
        if mesh.link().is_running()? && state.as_ref().is_some_and(is_settled) {
            return Ok(());
        }
        clock::pause(Duration::from_millis(50));
    }
    Ok(())
}

/// What became of a link process that was to end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StopOutcome {
    Stopped,
    NotRunning,
}

/// Ends the link process. The next command or hook starts it again.
pub fn stop_link(op: &Op) -> Result<StopOutcome, CommandError> {
    op.leave_link_alone();
    person_required::required_at_terminal(op, || person_required::with_mesh(op, "msg link stop"))?;
    match op.mesh()? {
        Some(mesh) => end_process(op, &mesh),
        None => Ok(StopOutcome::NotRunning),
    }
}

fn end_process(op: &Op, mesh: &Mesh) -> Result<StopOutcome, CommandError> {
    if !mesh.link().is_running()? {
        return Ok(StopOutcome::NotRunning);
    }
    let until = Instant::now() + STOP;
    let ask = || line_socket::ask(&mesh.link().socket(), &LinkRequest::Stop.line(), until, 4096);
    let mut asked = Instant::now();
    if let Err(error) = ask() {
        op.warn(format!("the link process did not answer: {error}"));
    }
    while mesh.link().is_running()? {
        // One that was started meanwhile may have waited for the lock of the one that ended.
        if asked.elapsed() >= ASK_AGAIN {
            drop(ask());
            asked = Instant::now();
        }
        if Instant::now() >= until {
            let pid = mesh.link().pid().map_or(String::new(), |pid| format!(" (process {pid})"));
            return Err(CommandError::new(
                CommandErrorKind::TimedOut,
                format!("the link process{pid} has not ended"),
            )
            .hint("end it with `kill`: nothing is lost"));
        }
        clock::pause(Duration::from_millis(20));
    }
    Ok(StopOutcome::Stopped)
}

/// What became of a mesh that was to be unlinked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum UnlinkOutcome {
    Unlinked,
    NotLinked,
}

/// Unlinks the mesh: what other machines had here is forgotten. Messages that the server does not have are kept until
/// the mesh is linked again.
pub fn unlink(op: &Op) -> Result<UnlinkOutcome, CommandError> {
    op.leave_link_alone();
    person_required::required_at_terminal(op, || person_required::with_mesh(op, "msg link off"))?;
    let Some(mesh) = op.mesh()?.filter(|mesh| mesh.link().is_configured()) else {
        return Ok(UnlinkOutcome::NotLinked);
    };
    let machine = mesh.link().config()?.map(|config| config.machine);
    // Only a process that is linked can tell the server that this machine goes.
    let before = link_status(op)?;
    mesh.link().remove_config()?;
    end_process(op, &mesh)?;
    mesh.remote().forget_others()?;
    if let Some(machine) = machine.filter(|_| !before.is_linked()) {
        op.warn(format!(
            "the server was not told: other machines may still list the agents of this one; \
             `msg link forget {machine}` on one of them removes them"
        ));
    }
    match mesh.remote().queued_count()? {
        0 => {}
        1 => op.warn("1 message to another machine was not sent; it is sent if you link the mesh again"),
        queued => op.warn(format!(
            "{queued} messages to other machines were not sent; they are sent if you link the mesh again"
        )),
    }
    Ok(UnlinkOutcome::Unlinked)
}

/// Where generated files go: nothing that is there is replaced.
pub fn write_config_files(
    op: &Op,
    directory: &Path,
    config_files: &[(String, String)],
) -> Result<Vec<PathBuf>, CommandError> {
    let directory = op.cwd.join(directory);
    files::create_dir(&directory)?;
    let mut written = Vec::new();
    for (name, _) in config_files {
        if files::exists(&directory.join(name))? {
            let text = format!("`{}` exists already", directory.join(name).display());
            return Err(CommandError::new(CommandErrorKind::FileExists, text)
                .hint("name another directory: `--output DIR`"));
        }
    }
    for (name, text) in config_files {
        let path = directory.join(name);
        let published = files::publish_beside(&path, text.as_bytes(), 0o600)?;
        if published == files::Published::Exists {
            let text = format!("`{}` has just been made by another program", path.display());
            return Err(CommandError::new(CommandErrorKind::FileExists, text));
        }
        written.push(path);
    }
    Ok(written)
}
