//! `msg link`: links the mesh with other machines, and shows how that is.

mod config_page;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::Invocation;
use super::demo::machines::{self, LinkDemoArgs};
use crate::domain::escape_invisible;
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::ops::link::{
    LinkSettings, LinkStatus, PushTarget, RunPermissionChange, SET_CLOCKS, StopOutcome, UnlinkOutcome,
    clock_difference, link_status, set_link, stop_link, unlink,
};
use crate::ops::{CommandError, Op, format_age};
use crate::store::{LinkCredentials, LinkStage, iso};
use crate::sys::clock;
use config_page::ServerConfigArgs;

/// Link this mesh with the meshes of other machines, over a NATS server
///
/// Agents on all linked machines see each other, write to each other, and keep out of each other's names, tasks and
/// repository paths. One process per machine, which the first agent starts and the last one ends, holds the connection;
/// hooks and local commands never wait for the network.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  msg link demo                             see it first, on this computer alone
  msg link config --server --machine laptop --machine buildbox --store \"$PWD/data\" --output nats
  msg link tls://nats.example.net/team --machine laptop --credentials laptop.user
  msg link                                  show the state of the link
  msg link run                              run it here, for a service manager
  msg link --allow-runs ~/shop              let agents of other machines start workers in that checkout
  msg link off                              unlink this machine
  msg link forget laptop                    another machine does not come back
In a URL, the path is the name of the mesh. Credentials are never in a URL: they stay in a file of yours (mode 600)."
)]
pub(in crate::faces::cli) struct LinkArgs {
    #[command(subcommand)]
    action: Option<LinkAction>,
    #[command(flatten)]
    set: SetArgs,
}

#[derive(Args, Debug)]
struct SetArgs {
    /// The server and the mesh: nats://HOST:4222/MESH or tls://HOST:4222/MESH, several hosts with commas
    url: Option<String>,
    /// The name of this machine in the mesh; by default the first part of its host name
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// A `.creds` file, or a file with a user and a password on two lines
    #[arg(long, value_name = "FILE")]
    credentials: Option<PathBuf>,
    /// Certificates of the authority that signed the server's
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The certificate of this machine, for servers that ask for one
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// The key of that certificate
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// How many servers of a cluster keep each record: 1, 3 or 5; counts only when the streams are created
    #[arg(long, value_name = "N", value_parser = ["1", "3", "5"])]
    replicas: Option<String>,
    /// Whether `msg reserve` reserves paths in every clone by default: yes or no
    #[arg(long, value_name = "YES|NO", value_parser = ["yes", "no"])]
    reserve_repo: Option<String>,
    /// Let other machines start workers in this checkout, with your profiles; repeat it for more; `none` allows
    /// nothing
    #[arg(long, value_name = "DIR|none")]
    allow_runs: Vec<String>,
    /// Allow only these machines, separated by commas; `all` allows every machine of the mesh
    #[arg(long, value_name = "MACHINE", value_delimiter = ',')]
    allow_runs_from: Vec<String>,
    /// The remote to push the branches of such workers to, and to fetch their commits from; `none` for neither
    #[arg(long, value_name = "REMOTE|none")]
    push_runs: Option<String>,
    /// Save it even if the server can't be used now
    #[arg(long)]
    force: bool,
}

impl SetArgs {
    fn is_empty(&self) -> bool {
        let Self {
            url,
            machine,
            credentials,
            ca,
            certificate,
            key,
            replicas,
            reserve_repo,
            allow_runs,
            allow_runs_from,
            push_runs,
            force,
        } = self;
        let files = [credentials, ca, certificate, key].into_iter().all(Option::is_none);
        let runs = allow_runs.is_empty() && allow_runs_from.is_empty() && push_runs.is_none();
        url.is_none()
            && machine.is_none()
            && files
            && replicas.is_none()
            && reserve_repo.is_none()
            && runs
            && !force
    }

    fn settings(self) -> LinkSettings {
        LinkSettings {
            address: self.url,
            machine: self.machine,
            credentials: self.credentials,
            ca: self.ca,
            client_certificate: self.certificate.zip(self.key),
            replicas: self.replicas.and_then(|number| number.parse().ok()),
            reserves_repository: self.reserve_repo.map(|word| word == "yes"),
            runs: RunPermissionChange {
                checkouts: listed(self.allow_runs, "none")
                    .map(|dirs| dirs.into_iter().map(PathBuf::from).collect()),
                machines: listed(self.allow_runs_from, "all"),
                remote: self.push_runs.map(|name| match name.as_str() {
                    "none" => PushTarget::Nowhere,
                    _ => PushTarget::Remote(name),
                }),
            },
            is_forced: self.force,
        }
    }
}

/// What was listed, without the word that says nothing, or everything; `None`: nothing was said.
fn listed(words: Vec<String>, empty: &str) -> Option<Vec<String>> {
    (!words.is_empty()).then(|| words.into_iter().filter(|word| word != empty).collect())
}

#[derive(Debug, Subcommand)]
enum LinkAction {
    /// Show the state of the link
    Status,
    Demo(LinkDemoArgs),
    /// Run the link process here until it is stopped, for a service manager
    Run {
        /// As the first agent starts it: ends with the last one, and says nothing
        #[arg(long, hide = true)]
        background: bool,
    },
    /// End the link process; the next command or hook starts it again, `msg link off` keeps it off
    Stop,
    /// Unlink this machine from the others
    Off,
    /// Forget a machine that does not come back: its agents, what they hold, and mail for it
    ///
    /// Only a person may do this, and not while the machine holds its lease. What it completed stays. Messages that it has
    /// not taken are lost; their senders see `gone` in the receipt. If there are any, the credentials of the admin are
    /// needed, which `msg link config` wrote.
    Forget {
        /// The name of the machine, as `msg agents` shows it
        machine: String,
        /// The credentials of the admin of the mesh; those of this machine if there are none
        #[arg(long, value_name = "FILE")]
        credentials: Option<PathBuf>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Print a ready configuration of a server, with a user for each machine
    Config(Box<ServerConfigArgs>),
}

pub(super) fn run(call: &Invocation<'_>, args: LinkArgs) -> Result<CommandOutput, CommandError> {
    // It has nothing to do with the user's mesh and settings.
    if let Some(LinkAction::Demo(args)) = &args.action {
        return machines::run(args, call.ui);
    }
    call.in_context(|op| act(op, args, call.ui))
}

fn act(op: &Op, args: LinkArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    match args.action {
        Some(LinkAction::Demo(args)) => machines::run(&args, ui),
        None if args.set.is_empty() => Ok(StatusReport(link_status(op)?).into()),
        None => Ok(StatusReport(set_link(op, &args.set.settings())?).into()),
        Some(LinkAction::Status) => Ok(StatusReport(link_status(op)?).into()),
        Some(LinkAction::Run { background }) => live(op, ui, background),
        Some(LinkAction::Stop) => Ok(StopReport(stop_link(op)?).into()),
        Some(LinkAction::Off) => Ok(OffReport(unlink(op)?).into()),
        Some(LinkAction::Forget { machine, credentials, yes }) => {
            forget(op, ui, &machine, credentials.as_deref(), yes)
        }
        Some(LinkAction::Config(args)) => config_page::run(op, &args),
    }
}

#[cfg(feature = "link")]
fn live(op: &Op, ui: &Ui, background: bool) -> Result<CommandOutput, CommandError> {
    use crate::ops::CommandErrorKind;
    use crate::ops::link::{LinkEnd, LinkLife};
    use crate::sys::signals::StopRequest;

    if background {
        // Its starter may be a command of an agent: what that has open, and where it is, is not ours. Before anything of
        // ours is open.
        drop(crate::sys::detached::leave_session());
    }
    let stop = StopRequest::listen_with_hangup()
        .map_err(|error| CommandError::new(CommandErrorKind::Io, error.to_string()))?;
    let life = if background { LinkLife::WhileNeeded } else { LinkLife::Foreground };
    let mut show = |state: &crate::store::LinkState| {
        op.take_warnings().iter().for_each(|warning| ui.note(warning));
        if background || ui.is_json() {
            return;
        }
        let problem = state.problem.as_ref().map_or(String::new(), |problem| format!(": {}", problem.text));
        ui.note(&format!("{} {}{problem}", iso(clock::now()), state.stage.name()));
        for hint in state.problem.iter().flat_map(|problem| &problem.hints) {
            ui.note(&format!("  {hint}"));
        }
    };
    let end = crate::ops::link::run(op, life, &stop, &mut show)?;
    match end {
        LinkEnd::AlreadyRunning if !background => {
            Err(CommandError::new(CommandErrorKind::AtWork, "a link process of this mesh is running already")
                .hint("`msg link status` shows its state; `msg link stop` ends it"))
        }
        _ => Ok(CommandOutput::said(None)),
    }
}

#[cfg(not(feature = "link"))]
fn live(_: &Op, _: &Ui, _: bool) -> Result<CommandOutput, CommandError> {
    Err(crate::ops::link::not_built_in())
}

#[cfg(feature = "link")]
fn forget(
    op: &Op,
    ui: &Ui,
    machine: &str,
    credentials: Option<&Path>,
    is_confirmed: bool,
) -> Result<CommandOutput, CommandError> {
    use crate::ops::CommandErrorKind;
    use crate::ops::link::{forget_machine, remains_of_machine};

    let (name, remains) = remains_of_machine(op, machine, credentials)?;
    let left = remains_text(&remains);
    if !is_confirmed {
        let error = |text: String| CommandError::new(CommandErrorKind::NotConfirmed, text);
        if !ui.is_with_person() {
            return Err(error(format!(
                "{name} has {left} on the server, and nobody can be asked whether to remove it"
            ))
            .hint("add `--yes` to remove it"));
        }
        if !ui.is_confirmed(&format!("Forget {name}, with {left}? What it has not taken is lost. [y/N]")) {
            return Err(error("nothing was removed".to_string()));
        }
    }
    let remains = forget_machine(op, machine, credentials)?;
    Ok(ForgetReport { machine: name.to_string(), remains }.into())
}

#[cfg(not(feature = "link"))]
fn forget(_: &Op, _: &Ui, _: &str, _: Option<&Path>, _: bool) -> Result<CommandOutput, CommandError> {
    Err(crate::ops::link::not_built_in())
}

#[cfg(feature = "link")]
fn remains_text(remains: &crate::ops::link::MachineRemains) -> String {
    let count =
        |number: usize, one: &str, many: &str| format!("{number} {}", if number == 1 { one } else { many });
    let crate::ops::link::MachineRemains { names, tasks, paths, messages } = *remains;
    format!(
        "{}, {}, {} and {}",
        count(names, "agent", "agents"),
        count(tasks, "claimed task", "claimed tasks"),
        count(paths, "reserved path", "reserved paths"),
        count(messages, "message that it has not taken", "messages that it has not taken"),
    )
}

#[cfg(feature = "link")]
struct ForgetReport {
    machine: String,
    remains: crate::ops::link::MachineRemains,
}

#[cfg(feature = "link")]
impl Report for ForgetReport {
    fn json(&self) -> Map<String, Value> {
        let crate::ops::link::MachineRemains { names, tasks, paths, messages } = self.remains;
        Map::from_iter([(
            "forgotten".to_string(),
            json!({
                "machine": self.machine, "names": names, "tasks": tasks, "paths": paths, "messages": messages,
            }),
        )])
    }

    fn text(&self, page: &mut Page) {
        page.line(format!("Forgot {}: {}.", self.machine, remains_text(&self.remains)));
    }
}

struct StatusReport(LinkStatus);

impl Report for StatusReport {
    fn json(&self) -> Map<String, Value> {
        let LinkStatus { config, is_running, state, queued, agents, away, is_built_in } = &self.0;
        let credentials = |credentials: &LinkCredentials| match credentials {
            LinkCredentials::None => Value::Null,
            LinkCredentials::Creds(path) | LinkCredentials::User(path) => json!(path),
        };
        let config = config.as_ref().map(|config| {
            json!({
                "address": config.address.to_string(),
                "mesh": config.address.mesh(),
                "machine": config.machine.as_str(),
                "credentials": credentials(&config.credentials),
                "ca": config.ca,
                "replicas": config.replicas,
                "reservesRepository": config.reserves_repository,
                "allowRuns": config.runs.checkouts,
                "allowRunsFrom": config.runs.machines.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "pushRuns": config.runs.remote,
            })
        });
        let state = state.as_ref().filter(|_| *is_running).map(|state| {
            json!({
                "stage": state.stage.name(),
                "since": iso(state.since),
                "pid": state.pid,
                "version": state.version,
                "lastContact": state.last_contact.map(iso),
                "problem": state.problem.as_ref().map(|problem| json!({
                    "kind": problem.kind, "message": problem.text, "hints": problem.hints,
                })),
                "server": state.server.as_ref().map(|server| json!({
                    "name": server.name,
                    "version": server.version,
                    "cluster": server.cluster,
                    "encrypted": server.is_encrypted,
                    "roundTripMicros": server.round_trip_micros,
                    "clockOffsetMillis": server.clock_offset_millis,
                })),
                "machines": state.machines,
            })
        });
        Map::from_iter([
            ("linked".to_string(), json!(self.0.is_linked())),
            ("config".to_string(), json!(config)),
            ("running".to_string(), json!(is_running)),
            ("state".to_string(), json!(state)),
            ("queued".to_string(), json!(queued)),
            ("agents".to_string(), json!(agents)),
            ("away".to_string(), json!(away)),
            ("builtIn".to_string(), json!(is_built_in)),
        ])
    }

    fn text(&self, page: &mut Page) {
        let status = &self.0;
        let Some(config) = &status.config else {
            page.line("This mesh is not linked: its agents are on this machine alone.");
            page.line("To link it: msg link nats://HOST:4222/NAME");
            if !status.is_built_in {
                page.line("This `msg` was built without the feature `link`, so it can't.");
            }
            return;
        };
        let state = status.state.as_ref().filter(|_| status.is_running);
        let stage = state.map_or("not running", |state| state.stage.name());
        let paint: fn(&str) -> String = match state.map(|state| state.stage) {
            Some(LinkStage::Linked) => style::good,
            Some(LinkStage::Refused) => style::bad,
            None => style::dim,
            Some(_) => style::warn,
        };
        page.line(format!(
            "{} as {}: {}",
            config.address,
            style::bold(config.machine.as_str()),
            paint(stage)
        ));
        let Some(state) = state else {
            page.line("The first agent that joins starts the link; `msg link run` runs it here.");
            return self.rest(page);
        };
        if let Some(problem) = &state.problem {
            page.line(format!("  {}", style::bad(&escape_invisible(&problem.text))));
            problem.hints.iter().for_each(|hint| page.line(format!("  {}", escape_invisible(hint))));
        }
        if let Some(server) = &state.server {
            let cluster = server.cluster.as_ref().map_or(String::new(), |name| format!(", cluster {name}"));
            let encrypted = if server.is_encrypted { ", encrypted" } else { "" };
            // A server without a name of its own has a long one that nobody knows.
            let name = if server.name.len() > 40 { String::new() } else { format!(" {}", server.name) };
            let text = format!(
                "  nats-server{name} {}{cluster}{encrypted}, {:.1} ms away",
                server.version,
                server.round_trip_micros as f64 / 1000.0
            );
            page.line(escape_invisible(&text));
            if let Some(difference) = clock_difference(server) {
                page.line(format!("  {}", style::warn(&difference)));
                page.line(format!("  {SET_CLOCKS}"));
            }
        }
        match state.last_contact {
            Some(at) => page.line(format!("  last confirmed {} ago", format_age(at, clock::now()))),
            None => page.line("  not confirmed yet"),
        }
        self.rest(page);
    }
}

impl StatusReport {
    fn rest(&self, page: &mut Page) {
        let LinkStatus { config, is_running, state, queued, agents, away, .. } = &self.0;
        // What a process said that has ended may not be so any more.
        let state = state.as_ref().filter(|_| *is_running);
        let machines = state.map_or(&[][..], |state| state.machines.as_slice());
        if !machines.is_empty() {
            page.line(format!("  other machines: {}", escape_invisible(&machines.join(", "))));
        }
        if *agents > 0 {
            let away =
                if *away > 0 { format!(", {away} of them on machines that are away") } else { String::new() };
            page.line(format!("  agents elsewhere: {agents}{away}"));
        }
        if let Some(runs) =
            config.as_ref().map(|config| &config.runs).filter(|runs| !runs.checkouts.is_empty())
        {
            let dirs: Vec<String> = runs.checkouts.iter().map(|dir| dir.display().to_string()).collect();
            let machines: Vec<String> = runs.machines.iter().map(ToString::to_string).collect();
            let who = if machines.is_empty() { "any machine".to_string() } else { machines.join(", ") };
            let push = runs
                .remote
                .as_ref()
                .map_or(String::new(), |remote| format!("; their branches go to {remote}"));
            let text = format!("  runs for {who} are allowed in {}{push}", dirs.join(", "));
            page.line(escape_invisible(&text));
        }
        match *queued {
            0 => {}
            1 => page.line("  1 message waits here until the server takes it"),
            _ => page.line(format!("  {queued} messages wait here until the server takes them")),
        }
    }
}

struct StopReport(StopOutcome);

impl Report for StopReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("stopped".to_string(), json!(self.0 == StopOutcome::Stopped))])
    }

    fn text(&self, page: &mut Page) {
        page.line(match self.0 {
            StopOutcome::Stopped => {
                "The link process has ended. The next command or hook starts it again; `msg link off` keeps it off."
            }
            StopOutcome::NotRunning => "There was no link process.",
        });
    }
}

struct OffReport(UnlinkOutcome);

impl Report for OffReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("unlinked".to_string(), json!(self.0 == UnlinkOutcome::Unlinked))])
    }

    fn text(&self, page: &mut Page) {
        page.line(match self.0 {
            UnlinkOutcome::Unlinked => {
                "This mesh is not linked any more. What other machines hold here is forgotten."
            }
            UnlinkOutcome::NotLinked => "This mesh was not linked.",
        });
    }
}
