//! The server of the demo: a `nats-server` that is installed here, with a store that is thrown away.
//!
//! A process of ours stands between: it ends the server when its input is closed, which the system does when the demo ends,
//! however that happens.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::faces::cli::commands::demo::{Line, Stage, failed};
use crate::faces::cli::output::{CommandOutput, Ui};
use crate::ops::{CommandError, CommandErrorKind};
use crate::sys::children::{CapturedOutput, Child, ChildInput};
use crate::sys::environment;
use crate::sys::files;
use crate::sys::program;
use crate::sys::signals::StopRequest;

/// The variable that names the program.
const VARIABLE: &str = "RAVENRY_NATS_SERVER";
/// Where packages put it, which is not on everybody's `PATH`.
const PLACES: [&str; 2] = ["/usr/sbin/nats-server", "/usr/local/sbin/nats-server"];
/// The oldest version that a mesh can use.
const OLDEST: (u64, u64) = (2, 11);

/// Where `msg link config` puts its files, in the home of the machine.
pub(super) const DIR: &str = "nats";
/// The ports of the configuration may be in use: the system gives free ones.
const ARGS: [&str; 8] =
    ["-c", "nats/nats-server.conf", "--port", "-1", "--http_port", "-1", "--ports_file_dir", DIR];

/// Longer than it takes to start or to end on any machine.
const LIMIT: Duration = Duration::from_secs(60);
/// Longer than anybody looks at a demo.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The program, and what it calls its version.
pub(super) fn find() -> Result<PathBuf, CommandError> {
    let named = environment::variable(VARIABLE).map(PathBuf::from);
    let found = match &named {
        Some(path) => program::is_program(path).then(|| path.clone()),
        None => program::on_path("nats-server")
            .or_else(|| PLACES.iter().map(PathBuf::from).find(|path| program::is_program(path))),
    };
    let Some(path) = found else {
        return Err(missing(match named {
            Some(path) => format!("`{}` in ${VARIABLE} is not a program", path.display()),
            None => {
                "the demo of linked machines needs `nats-server`, which is not installed here".to_string()
            }
        }));
    };
    let version = program::run_within(Command::new(&path).arg("--version"), LIMIT)
        .map_err(|error| missing(format!("`{} --version` has failed: {error}", path.display())))?;
    match numbers(&version) {
        Some(found) if found >= OLDEST => Ok(path),
        _ => Err(missing(format!(
            "the demo of linked machines needs nats-server 2.11 or later, and `{}` says `{}`",
            path.display(),
            version.trim().escape_debug()
        ))),
    }
}

fn missing(text: String) -> CommandError {
    CommandError::new(CommandErrorKind::NoNatsServer, text)
        .hint(
            "it is one file: download it from https://github.com/nats-io/nats-server/releases, or run \
             `brew install nats-server`; packages of Debian and Ubuntu may be too old",
        )
        .hint(format!("`{VARIABLE}=/path/to/nats-server msg link demo` uses one that is not on the PATH"))
}

/// The first two numbers of `nats-server: v2.15.1`.
fn numbers(version: &str) -> Option<(u64, u64)> {
    let start = version.find(|c: char| c.is_ascii_digit())?;
    let mut parts = version[start..].split('.').map(|part| part.trim().parse().ok());
    Some((parts.next()??, parts.next()??))
}

/// A server that runs.
pub(super) struct NatsServer {
    process: Child,
    pub(super) port: u16,
}

impl NatsServer {
    /// Starts it with the configuration of this machine, and waits until it listens.
    pub(super) fn start(stage: &Stage, program: &Path) -> Result<(Self, Line), CommandError> {
        let program = program.to_string_lossy();
        let args = ["link", "demo", "--serve", program.as_ref()];
        let mut process = stage.start(&args, ChildInput::Lifeline, CapturedOutput::StdoutAndStderr)?;
        let port = wait_for_port(stage, &mut process)?;
        let line = Line {
            machine: stage.machine,
            command: format!("nats-server {}", ARGS.join(" ")),
            exit: None,
            output: format!("(it listens on 127.0.0.1:{port})"),
        };
        Ok((Self { process, port }, line))
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.process.close_input();
        // Until it and what stands between have closed their output.
        let (never, _trigger) = StopRequest::manual();
        self.process.hear(|_| false, LIMIT, &never);
    }
}

/// The server writes its ports into a file when it listens.
fn wait_for_port(stage: &Stage, process: &mut Child) -> Result<u16, CommandError> {
    let give_up = Instant::now() + LIMIT;
    let dir = stage.dir.join(DIR);
    loop {
        stage.check_interrupt()?;
        if let Some(port) = written_port(&dir)? {
            return Ok(port);
        }
        let has_ended = crate::sys::process::identify(process.pid()).is_none();
        if has_ended || Instant::now() >= give_up {
            process.hear(|_| false, LOOK_AGAIN, &stage.stop);
            let said = String::from_utf8_lossy(process.said()).into_owned();
            let last: Vec<&str> = said.lines().rev().take(5).collect();
            let said = last.into_iter().rev().collect::<Vec<_>>().join("\n");
            return Err(CommandError::new(
                CommandErrorKind::Io,
                format!("nats-server does not listen; it said: {said}"),
            ));
        }
        process.hear(|_| false, LOOK_AGAIN, &stage.stop);
    }
}

fn written_port(dir: &Path) -> Result<Option<u16>, CommandError> {
    let Some(name) = files::list(dir)?.into_iter().find(|name| name.ends_with(".ports")) else {
        return Ok(None);
    };
    let Some(bytes) = files::read(&dir.join(name))? else { return Ok(None) };
    // It may be half written.
    let Ok(ports) = serde_json::from_slice::<Value>(&bytes) else { return Ok(None) };
    let address = ports["nats"][0].as_str().and_then(|url| url.rsplit_once(':'));
    Ok(address.and_then(|(_, port)| port.parse().ok()))
}

/// Is the process between: runs the server in the current directory until the input ends.
pub(super) fn serve(program: &Path, ui: &Ui) -> Result<CommandOutput, CommandError> {
    let (stop, trigger) = StopRequest::manual();
    // It ends with the process.
    std::thread::spawn(move || {
        drop(io::copy(&mut io::stdin().lock(), &mut io::sink()));
        trigger.trigger();
    });
    let mut command = Command::new(program);
    command.args(ARGS);
    let server = Child::start(&mut command, ChildInput::Nothing, CapturedOutput::StdoutAndStderr);
    let ended =
        server.and_then(|server| server.end_within(LONGEST, &stop)).map_err(|error| failed(&error))?;
    // Why it ended by itself.
    if !ended.was_killed {
        ui.progress_change(&String::from_utf8_lossy(&ended.said));
    }
    Ok(CommandOutput::said(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_servers_are_read() {
        assert_eq!(numbers("nats-server: v2.15.1\n"), Some((2, 15)));
        assert_eq!(numbers("nats-server: v2.9.10"), Some((2, 9)));
        assert_eq!(numbers("nats-server: v2.12.0-RC.1"), Some((2, 12)));
        assert_eq!(numbers("hello"), None);
        assert!(numbers("v2.9.10") < Some(OLDEST) && numbers("v2.11.0") >= Some(OLDEST));
    }
}
