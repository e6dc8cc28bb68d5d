//! `msg link demo`: two machines that are linked, on this computer. The server is a real one, with the configuration that
//! `msg link config` makes; each machine has a home, a mesh and a link process of its own.

mod nats_server;
mod story;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Map, Value};

use super::clearing::{clear_away, processes};
use super::pace::Pace;
use super::{DemoStep, DemoTold, Stage, failed};
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::ops::link::not_built_in;
use crate::ops::{CommandError, CommandErrorKind, require_person};
use crate::sys::children::{CapturedOutput, ChildInput, kill_other};
use crate::sys::files;
use crate::sys::signals::StopRequest;

/// How long a link process may take to end.
const END_LIMIT: Duration = Duration::from_secs(15);
/// Longer than any state takes to come on any machine; a lease takes half a minute of it.
const LIMIT: Duration = Duration::from_secs(180);
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// See two linked machines at work, on this computer
///
/// Starts a `nats-server` with the configuration of `msg link config`, and two machines with a mesh and a link process
/// each. Agents on them see each other, write to each other and keep out of each other's tasks and paths; then one
/// machine loses its network, and what it had. Everything is real, and ends with the demo. Your own mesh and
/// configuration are not touched. It takes about a minute, half of which is the wait for a lease; at a terminal it waits
/// after each step.
///
/// It needs `nats-server` 2.11 or later: on the PATH, in /usr/sbin, in /usr/local/sbin or named by $RAVENRY_NATS_SERVER.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg link demo
  msg link demo --fast    all steps at once, as it does without a terminal
  msg link demo --json    the same, for a program to look at")]
pub(in crate::faces::cli::commands) struct LinkDemoArgs {
    /// Do not wait after each step
    #[arg(long)]
    fast: bool,
    /// Be the process that ends this server with the demo
    #[arg(long, hide = true, value_name = "PROGRAM")]
    serve: Option<PathBuf>,
}

pub(in crate::faces::cli::commands) fn run(
    args: &LinkDemoArgs,
    ui: &Ui,
) -> Result<CommandOutput, CommandError> {
    if let Some(program) = &args.serve {
        return nats_server::serve(program, ui);
    }
    if !cfg!(feature = "link") {
        return Err(not_built_in());
    }
    let stop = StopRequest::listen_with_hangup().map_err(|error| failed(&error))?;
    let pace = if args.fast { Pace::fast(ui, &stop) } else { Pace::of_reader(ui, &stop) }.followed();
    pace.ended(show(&stop, &pace), "msg link demo --fast")
}

/// Shows it, and leaves nothing behind, however it ends.
fn show(stop: &StopRequest, pace: &Pace) -> Result<CommandOutput, CommandError> {
    require_person(|| "msg link demo".to_string())?;
    let program = nats_server::find()?;
    let machines = Machines::set(stop)?;
    let mut told = DemoTold::new(pace);
    let played = story::play(&machines, &program, &mut told);
    let report = MachinesReport { steps: told.steps };
    pace.waiting_for("");
    let cleared = machines.clear_away();
    match played {
        Ok(()) => cleared.map(|()| report.into()),
        // Its text says that nothing is left behind.
        Err(error) if error.kind == CommandErrorKind::Interrupted => Err(cleared.err().unwrap_or(error)),
        Err(error) => Err(error),
    }
}

/// Two machines of one mesh.
struct Machines {
    laptop: Stage,
    /// The one with the server.
    tower: Stage,
}

impl Machines {
    fn set(stop: &StopRequest) -> Result<Self, CommandError> {
        let machine = |name: &'static str| {
            let mut stage = Stage::set(stop)?;
            // A slow computer is no fault of ours.
            (stage.machine, stage.fault) = (Some(name), CommandErrorKind::Io);
            stage.allow_git();
            Ok::<_, CommandError>(stage)
        };
        let (mut laptop, mut tower) = (machine("laptop")?, machine("tower")?);
        let homes = [&laptop, &tower].map(|stage| stage.home.path().to_string_lossy().into_owned());
        laptop.homes = homes.to_vec();
        tower.homes = homes.to_vec();
        Ok(Self { laptop, tower })
    }

    /// Ends the link processes and whatever else is left, and removes all files.
    fn clear_away(self) -> Result<(), CommandError> {
        let (never, _trigger) = StopRequest::manual();
        let Self { laptop, tower } = self;
        for stage in [&laptop, &tower] {
            let stop = stage.start(&["link", "stop"], ChildInput::Nothing, CapturedOutput::Stdout);
            // What does not end in this way is killed next.
            drop(stop.map(|child| child.end_within(END_LIMIT, &never)));
            processes(stage.home.path()).into_iter().for_each(kill_other);
        }
        let (one, other) = (clear_away(laptop), clear_away(tower));
        one.and(other)
    }
}

impl Stage {
    /// The JSON answer of a command that is not shown.
    fn json(&self, args: &[&str]) -> Result<Value, CommandError> {
        let all = [args, &["--json"]].concat();
        let ended = self.end(self.start(&all, ChildInput::Nothing, CapturedOutput::Stdout)?)?;
        serde_json::from_slice(&ended.said).map_err(|error| {
            let text = format!("`{}` has no answer in JSON: {error}", super::shown(args));
            CommandError::new(self.fault, text)
        })
    }

    /// Runs a command again and again until its JSON answer is so.
    fn until(
        &self,
        told: &DemoTold<'_>,
        what: &str,
        args: &[&str],
        is_so: impl Fn(&Value) -> bool,
    ) -> Result<(), CommandError> {
        let started = Instant::now();
        while !is_so(&self.json(args)?) {
            let waited = started.elapsed();
            if waited >= LIMIT {
                let text = format!("the demo waited in vain until {what}");
                return Err(CommandError::new(self.fault, text));
            }
            told.pace.waiting_for(&format!("  … waiting until {what} ({} s)", waited.as_secs()));
            std::thread::sleep(LOOK_AGAIN);
        }
        told.pace.waiting_for("");
        self.check_interrupt()
    }

    /// Puts a file into the directory of the stage, closed to others.
    fn put(&self, name: &str, text: &[u8]) -> Result<(), CommandError> {
        const MODE: u32 = 0o600;
        let path = self.dir.join(name);
        if let Some(dir) = path.parent() {
            files::create_dir(dir)?;
        }
        Ok(files::replace_beside(&path, text, MODE)?)
    }
}

struct MachinesReport {
    steps: Vec<DemoStep>,
}

impl Report for MachinesReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("steps".to_string(), self.steps.iter().map(DemoStep::json).collect())])
    }

    /// The rest was shown while it happened.
    fn text(&self, page: &mut Page) {
        page.line("");
        page.line(style::dim(
            "The server, both meshes and the repository of this demo are removed. To link your own mesh,",
        ));
        page.line(style::dim("start with `msg link config --help`; see docs/machines.md."));
    }
}
