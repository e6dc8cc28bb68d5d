//! Asks every harness for its version and every local model server for its models, at the same time, and keeps what
//! they answered.

use std::process::Command;
use std::time::Duration;

use crossbeam_channel::unbounded;

use super::discovery::{self, InstalledProgram};
use super::local_models::{self, ServerAddress};
use crate::domain::workers::version_in;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::{ProbeCache, ProbeRecord, ProbedHarness, ProbedServer};
use crate::sys::bounded_run::{RunEnd, run_bounded};
use crate::sys::signals::StopRequest;
use crate::sys::{clock, test_switches};

/// How long a program may take to tell its version. Some need seconds on a busy machine.
const LIMIT: Duration = Duration::from_secs(10);
/// The most that a program may print, in bytes.
const MOST_OUTPUT: usize = 64 << 10;

/// What one of them answered.
enum Answer {
    Harness(ProbedHarness),
    /// `None`: nobody answered.
    Server(&'static str, Option<ProbedServer>),
}

impl Answer {
    fn name(&self) -> &str {
        match self {
            Self::Harness(harness) => &harness.name,
            Self::Server(name, _) => name,
        }
    }
}

/// Asks all of them. `progress` gets how many have answered, how many there are, and who was the last.
pub(super) fn probe(
    stop: &StopRequest,
    progress: &mut dyn FnMut(usize, usize, &str),
) -> Result<ProbeRecord, CommandError> {
    let (programs, addresses) = (discovery::installed(), local_models::usual_servers());
    let count = programs.len() + addresses.len();
    let (sender, receiver) = unbounded();
    for program in programs {
        let (sender, stop) = (sender.clone(), stop.clone());
        std::thread::spawn(move || drop(sender.send(Answer::Harness(ask(&program, &stop)))));
    }
    for address in addresses {
        let sender = sender.clone();
        std::thread::spawn(move || drop(sender.send(ask_server(&address))));
    }
    drop(sender);
    progress(0, count, "");
    let mut answers = Vec::new();
    // It ends when every thread has. Each of them has a time limit.
    for answer in receiver {
        progress(answers.len() + 1, count, answer.name());
        answers.push(answer);
    }
    if stop.is_requested() {
        return Err(CommandError::new(CommandErrorKind::Interrupted, ""));
    }
    let (mut harnesses, mut servers) = (Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Answer::Harness(harness) => harnesses.push(harness),
            Answer::Server(_, server) => servers.extend(server),
        }
    }
    servers.sort_by(|one: &ProbedServer, two| one.name.cmp(&two.name));
    Ok(ProbeRecord::new(clock::now(), harnesses, servers))
}

/// Asks all of them and keeps the answers, for a background job.
pub(in crate::ops) fn refresh(op: &Op) -> Result<(), CommandError> {
    let cache = ProbeCache::of(&op.home);
    // Several calls may have started one each.
    let Some(lock) = cache.try_lock()? else { return Ok(()) };
    let (stop, _trigger) = StopRequest::manual();
    let kept = cache.keep(&probe(&stop, &mut |_, _, _| {})?);
    drop(lock);
    Ok(kept?)
}

fn ask_server(address: &ServerAddress) -> Answer {
    Answer::Server(address.name(), address.ask())
}

/// Asks a program for its version. It runs outside of any project, whose settings it might obey.
fn ask(program: &InstalledProgram, stop: &StopRequest) -> ProbedHarness {
    let mut command = Command::new(&program.path);
    command.arg("--version").current_dir("/").env("NO_COLOR", "1");
    let version_of = |output: &[u8]| {
        let text = String::from_utf8_lossy(output);
        match program.support.worker() {
            Some(adapter) => adapter.version_in(&text),
            None => version_in(&text),
        }
    };
    let limit = limit();
    let answer = run_bounded(&mut command, limit, MOST_OUTPUT, stop);
    let version = match &answer {
        Ok(answer) if matches!(answer.end, RunEnd::Exited(_)) => version_of(&answer.output),
        _ => None,
    };
    let trouble = match (answer, &version) {
        (_, Some(_)) => None,
        (Err(error), None) => Some(format!("can't be started: {error}")),
        (Ok(answer), None) => Some(match answer.end {
            RunEnd::Exited(Some(0)) => "told no version".to_string(),
            RunEnd::Exited(Some(code)) => format!("failed with exit code {code}"),
            RunEnd::Exited(None) => "was ended by a signal".to_string(),
            RunEnd::TooSlow => format!("no answer within {} s", limit.as_secs_f64()),
            RunEnd::TooMuch => format!("printed more than {} KiB", MOST_OUTPUT >> 10),
            RunEnd::Stopped => "was not waited for".to_string(),
        }),
    };
    let (path, stamp) = (program.path.clone(), program.stamp);
    ProbedHarness { name: program.support.id().name().to_string(), path, stamp, version, trouble }
}

fn limit() -> Duration {
    let millis = test_switches::value(test_switches::VERSION_MS).and_then(|text| text.parse().ok());
    millis.map_or(LIMIT, Duration::from_millis)
}
