//! Runs a program of somebody else for a short answer: within a time, with an output of bounded size, in a process
//! group of its own that is ended with it.

use std::io::{self, PipeReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crossbeam_channel::bounded;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::signals::StopRequest;

/// How often a wait checks whether it should stop.
const LOOK_UP: Duration = Duration::from_millis(20);
/// How long to wait for the rest of the output once the program has ended.
const REST: Duration = Duration::from_secs(1);

/// What a program answered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BoundedAnswer {
    /// What it printed, standard output and errors together, or the beginning of it.
    pub output: Vec<u8>,
    pub end: RunEnd,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RunEnd {
    /// With this exit code; `None`: by a signal.
    Exited(Option<i32>),
    /// Its time was up.
    TooSlow,
    /// It printed more than allowed.
    TooMuch,
    /// We were asked to stop.
    Stopped,
}

/// Runs it. When this returns, the program and what it left in its process group have ended.
pub fn run_bounded(
    command: &mut Command,
    limit: Duration,
    most: usize,
    stop: &StopRequest,
) -> io::Result<BoundedAnswer> {
    run(command.stdin(Stdio::null()), b"", limit, most, stop)
}

/// The same for a program that reads `input`. It need not read all of it.
pub fn run_bounded_with_input(
    command: &mut Command,
    input: &[u8],
    limit: Duration,
    most: usize,
    stop: &StopRequest,
) -> io::Result<BoundedAnswer> {
    run(command.stdin(Stdio::piped()), input, limit, most, stop)
}

fn run(
    command: &mut Command,
    input: &[u8],
    limit: Duration,
    most: usize,
    stop: &StopRequest,
) -> io::Result<BoundedAnswer> {
    let (reader, writer) = io::pipe()?;
    command.process_group(0).stdout(writer.try_clone()?).stderr(writer);
    let spawned = command.spawn();
    // The command would keep our ends of the pipe open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = spawned?;
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        // It fails if the program ends first.
        std::thread::spawn(move || drop(stdin.write_all(&input)));
    }
    let (sender, receiver) = bounded(1);
    std::thread::spawn(move || drop(sender.send(read_at_most(reader, most))));
    let deadline = Instant::now() + limit;
    let is_in_time = || Instant::now() < deadline && !stop.is_requested();
    let mut heard = None;
    // A child of it may hold the pipe after its own end.
    while heard.is_none() && is_in_time() && !has_ended(&child) {
        heard = receiver.recv_deadline(deadline.min(Instant::now() + LOOK_UP)).ok();
    }
    let is_too_much = heard.as_ref().is_some_and(|output: &Vec<u8>| output.len() > most);
    while !is_too_much && is_in_time() && !has_ended(&child) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let is_over = has_ended(&child);
    // It is not reaped yet, so the group is still its own. It fails if nobody is left in it.
    killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL).ok();
    let status = child.wait()?;
    // Nobody holds the pipe any more, unless somebody has left the group.
    let mut output = heard.or_else(|| receiver.recv_timeout(REST).ok()).unwrap_or_default();
    let end = match output.len() > most {
        true => RunEnd::TooMuch,
        false if is_over => RunEnd::Exited(status.code()),
        false if stop.is_requested() => RunEnd::Stopped,
        false => RunEnd::TooSlow,
    };
    output.truncate(most);
    Ok(BoundedAnswer { output, end })
}

/// Whether it has ended, without reaping it.
fn has_ended(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let pid = rustix::process::Pid::from_child(child);
    // It is our child, so there is no other error than being interrupted.
    waitid(WaitId::Pid(pid), options).is_ok_and(|status| status.is_some())
}

/// Reads until the end, or until there is more than `most`.
fn read_at_most(reader: PipeReader, most: usize) -> Vec<u8> {
    let mut output = Vec::new();
    // What was read before an error counts.
    drop(reader.take(most as u64 + 1).read_to_end(&mut output));
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(script: &str, limit: Duration) -> BoundedAnswer {
        let (stop, _trigger) = StopRequest::manual();
        run_bounded(Command::new("sh").args(["-c", script]), limit, 1_000, &stop).unwrap()
    }

    const LONG: Duration = Duration::from_secs(60);

    fn is_alive(pid: i32) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    }

    /// Waits until the process whose number was printed has ended.
    #[track_caller]
    fn wait_for_end(printed: &[u8]) {
        let child: i32 = std::str::from_utf8(printed).unwrap().trim().parse().unwrap();
        let give_up = Instant::now() + LONG;
        while is_alive(child) {
            assert!(Instant::now() < give_up, "{child} is alive");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_short_answer() {
        let answer = answer("echo out; echo err >&2; exit 3", LONG);
        assert_eq!((answer.output.as_slice(), answer.end), (&b"out\nerr\n"[..], RunEnd::Exited(Some(3))));
    }

    #[test]
    fn it_reads_its_input_or_does_not() {
        let (stop, _trigger) = StopRequest::manual();
        let read = |program: &str, input: &[u8]| {
            run_bounded_with_input(&mut Command::new(program), input, LONG, 1_000, &stop).unwrap()
        };
        assert_eq!(read("cat", b"told").output, b"told");
        assert_eq!(read("true", &vec![b'x'; 1 << 20]).end, RunEnd::Exited(Some(0)));
    }

    #[test]
    fn one_that_hangs_is_ended_with_its_children() {
        // Its time may be over before it has begun.
        let mut answers = [300, 3_000, 30_000].into_iter().map(|limit| {
            let answer = answer("sleep 1000 & echo $!; wait", Duration::from_millis(limit));
            assert_eq!(answer.end, RunEnd::TooSlow);
            answer
        });
        let answer = answers.find(|answer| !answer.output.is_empty()).unwrap();
        wait_for_end(&answer.output);
    }

    #[test]
    fn what_it_leaves_behind_is_ended() {
        let answer = answer("sleep 1000 & echo $!", LONG);
        assert_eq!(answer.end, RunEnd::Exited(Some(0)));
        wait_for_end(&answer.output);
    }

    #[test]
    fn too_much_is_cut() {
        let answer = answer("while :; do echo 1234567890; done", LONG);
        assert_eq!((answer.output.len(), answer.end), (1_000, RunEnd::TooMuch));
    }

    #[test]
    fn it_stops_when_asked() {
        let (stop, trigger) = StopRequest::manual();
        trigger.trigger();
        let mut command = Command::new("sleep");
        let answer = run_bounded(command.arg("1000"), LONG, 10, &stop).unwrap();
        assert_eq!(answer.end, RunEnd::Stopped);
    }
}
