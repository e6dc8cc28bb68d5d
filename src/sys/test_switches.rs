//! Switches for tests: fixed time and randomness, a crash before any file change, deliberate faults. Absent from
//! release builds.
//!
//! They work only with `debug_assertions`. In a release build every variable counts as not set, and the compiler
//! removes the code that depends on it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Crash before the n-th change to the file system; see [`step`].
pub const CRASH_AT: &str = "MSG_TEST_CRASH_AT";
/// The same for the supervisor that this process starts, as its [`CRASH_AT`].
pub const SUPERVISOR_CRASH_AT: &str = "MSG_TEST_SUPERVISOR_CRASH_AT";
/// Stop (SIGSTOP) there until somebody continues the process.
pub const STOP_AT: &str = "MSG_TEST_STOP_AT";
/// A pipe that a keeper reads to its end before it says that its program has started.
pub const START_HELD: &str = "MSG_TEST_START_HELD";
/// A pipe that is read to its end between the last look at a terminal and the paste into it.
pub const PASTE_HELD: &str = "MSG_TEST_PASTE_HELD";
/// A pipe that is read to its end between the last look at a terminal and a key that acts: Enter, or Escape.
pub const KEY_HELD: &str = "MSG_TEST_KEY_HELD";
/// The time that [`super::clock::now`] returns.
pub const NOW: &str = "MSG_TEST_NOW";
/// A file with the milliseconds by which the wall clock is off, and those by which the clock since the machine started
/// is ahead, as after a sleep: `-3600000 0`. Read each time, so that both can jump while a process runs.
pub const CLOCK: &str = "MSG_TEST_CLOCK";
/// The seed of [`super::random`].
pub const SEED: &str = "MSG_TEST_SEED";
/// The pid at which the walk through the ancestors ends, so that the program that runs the tests is not found.
pub const ANCESTRY_END: &str = "MSG_TEST_ANCESTRY_END";
/// If set, the walk ends there because the next process cannot be examined, as in a sandbox with its own pid namespace.
pub const ANCESTRY_HIDDEN: &str = "MSG_TEST_ANCESTRY_HIDDEN";
/// Panic with this text, to test that a bug in msg is reported as one.
pub const PANIC: &str = "MSG_TEST_PANIC";
/// If set, a hook hangs, as on a file system that does not answer.
pub const HANG: &str = "MSG_TEST_HANG";
/// Panic with this text at the first key of the terminal chat.
pub const PANIC_ON_KEY: &str = "MSG_TEST_PANIC_ON_KEY";
/// The result of `flock` to simulate: `unsupported`, or `useless` (granted to everyone).
pub const FLOCK: &str = "MSG_TEST_FLOCK";
/// Milliseconds that `watch --exec` waits after a message's first failure, instead of a second.
pub const RETRY_MS: &str = "MSG_TEST_RETRY_MS";
/// Milliseconds that a program may take to tell its version, instead of seconds.
pub const VERSION_MS: &str = "MSG_TEST_VERSION_MS";
/// Milliseconds that a worker in tmux may take until it is ready, instead of minutes.
pub const READY_MS: &str = "MSG_TEST_READY_MS";
/// Milliseconds after which the terminal chat reads again what agents are heading for, instead of seconds.
pub const LOOK_MS: &str = "MSG_TEST_LOOK_MS";
/// If set, hooks have no time limit, and some other limits are long: for tests of anything but the limits, which must
/// pass on a busy machine, too.
pub const NO_HOOK_LIMIT: &str = "MSG_TEST_NO_HOOK_LIMIT";
/// If set, a watcher of a directory that reports its changes does not check it periodically.
pub const NO_SLOW_TICK: &str = "MSG_TEST_NO_SLOW_TICK";
/// Milliseconds that the lease of a machine in a linked mesh lasts, instead of half a minute.
pub const LINK_LEASE: &str = "MSG_TEST_LINK_LEASE";
/// Milliseconds that a request to another machine for a run lives, instead of minutes.
pub const RUN_REQUEST_LIFE: &str = "MSG_TEST_RUN_REQUEST_LIFE";
/// The program that `selftest` tests instead of this one.
pub const PROGRAM: &str = "MSG_TEST_PROGRAM";

/// What happens to background jobs: `off`, none is started; `wait`, whoever starts one waits for its end.
pub const BACKGROUND: &str = "MSG_TEST_BACKGROUND";
/// If set, every command and hook starts a background job that shows itself in this directory, which has two pipes:
/// it writes its pid to `said` and ends when `go` is opened and closed.
pub const PROBE: &str = "MSG_TEST_PROBE";

/// The end of the path of a directory whose sync fails.
pub const FAIL_SYNC: &str = "MSG_TEST_FAIL_SYNC";
/// The file to which a byte is added for every counted read; see [`count`].
pub const COUNT: &str = "MSG_TEST_COUNT";

/// The name of a fault to have; see [`has_bug`].
pub const BUG: &str = "MSG_TEST_BUG";

/// If set, every file system counts as ignoring case.
pub const CASELESS: &str = "MSG_TEST_CASELESS";

/// The value of one of the variables above.
pub fn value(variable: &str) -> Option<String> {
    if cfg!(debug_assertions) { std::env::var(variable).ok() } else { None }
}

/// The limit, or a long one where [`NO_HOOK_LIMIT`] is set.
pub fn or_long(limit: Duration) -> Duration {
    if value(NO_HOOK_LIMIT).is_some() { limit.max(LONG) } else { limit }
}

/// Reads the pipe that one of the variables above names to its end.
pub fn wait_for_pipe(variable: &str) {
    if let Some(pipe) = value(variable) {
        drop(std::fs::read(pipe));
    }
}

/// By how much the clocks are off.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ClockShift {
    pub wall_millis: i64,
    pub slept_millis: u64,
}

/// What [`CLOCK`] says now.
pub fn clock_shift() -> ClockShift {
    let text = value(CLOCK).and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let mut words = text.split_whitespace();
    ClockShift {
        wall_millis: words.next().and_then(|word| word.parse().ok()).unwrap_or_default(),
        slept_millis: words.next().and_then(|word| word.parse().ok()).unwrap_or_default(),
    }
}

/// Faults that the storms (`tests/storm/`, `tests/link-storm/`) must detect, each the obvious mistake in a delicate place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Bug {
    /// The lock is shared: it does not keep others out.
    NaiveLock,
    /// A message is recorded as handed over before it is handed over.
    DeleteBeforeDeliver,
    /// The inbox is listed before the watch starts, and not again afterwards.
    ScanBeforeWatch,
    /// The server is told that a message has arrived before it is in an inbox.
    AckBeforeInbox,
    /// A task is completed whoever owns its record.
    UnfencedCompletion,
    /// The records of a dead agent stay, and the lease of its machine keeps them alive.
    DeadStayOwners,
}

impl Bug {
    pub const ALL: [Self; 6] = [
        Self::NaiveLock,
        Self::DeleteBeforeDeliver,
        Self::ScanBeforeWatch,
        Self::AckBeforeInbox,
        Self::UnfencedCompletion,
        Self::DeadStayOwners,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::NaiveLock => "naive-lock",
            Self::DeleteBeforeDeliver => "delete-before-deliver",
            Self::ScanBeforeWatch => "scan-before-watch",
            Self::AckBeforeInbox => "ack-before-inbox",
            Self::UnfencedCompletion => "unfenced-completion",
            Self::DeadStayOwners => "dead-stay-owners",
        }
    }
}

/// Whether this process should have that fault.
pub fn has_bug(bug: Bug) -> bool {
    value(BUG).as_deref() == Some(bug.name())
}

/// Counts a read of that kind by adding a byte to `<COUNT>.<kind>`, for tests of how the work grows.
pub fn count(kind: &str) {
    if let Some(path) = value(COUNT) {
        use std::io::Write as _;
        let file = std::fs::File::options().append(true).create(true).open(format!("{path}.{kind}"));
        // If this fails, the test that counts finds too few and fails.
        file.and_then(|mut file| file.write_all(b".")).ok();
    }
}

static STEPS: AtomicU64 = AtomicU64::new(0);

/// Called before every change to the file system and before output. The n-th call kills the process if [`CRASH_AT`] is
/// n, and stops it if [`STOP_AT`] is n.
///
/// The crash sweep uses this: it runs an op with n = 1, 2, 3 … until the op survives, and after each crash the next
/// process must find a valid state.
pub fn step() {
    if cfg!(debug_assertions) {
        static AT: OnceLock<[Option<u64>; 2]> = OnceLock::new();
        let number = |variable| value(variable).and_then(|text| text.parse().ok());
        let [crash_at, stop_at] = *AT.get_or_init(|| [CRASH_AT, STOP_AT].map(number));
        let this = STEPS.fetch_add(1, Ordering::SeqCst) + 1;
        if crash_at == Some(this) {
            die();
        }
        if stop_at == Some(this) {
            stop();
        }
    }
}

fn stop() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    // If this fails, a test that waits for it times out.
    kill(Pid::this(), Signal::SIGSTOP).ok();
}

fn die() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    if kill(Pid::this(), Signal::SIGKILL).is_ok() {
        // The signal is on its way; this thread must do nothing more.
        loop {
            std::thread::park();
        }
    }
}
