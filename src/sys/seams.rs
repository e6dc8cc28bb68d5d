//! Where tests reach in: time, chance, ancestors, death before any change to the file system, and faults on purpose.
//!
//! All of it is compiled under `debug_assertions` alone; a release build answers "not set" everywhere, and the
//! compiler removes what follows from it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Die before the n-th change to the file system; see [`step`].
pub const CRASH_AT: &str = "MSG_TEST_CRASH_AT";
/// Stop there, until somebody lets it go on.
pub const STOP_AT: &str = "MSG_TEST_STOP_AT";
/// The time that [`super::clock::now`] tells.
pub const NOW: &str = "MSG_TEST_NOW";
/// The seed of [`super::random`].
pub const SEED: &str = "MSG_TEST_SEED";
/// The pid at which the walk through the ancestors ends, so that whatever runs the tests is not found.
pub const ANCESTRY_END: &str = "MSG_TEST_ANCESTRY_END";
/// Set, the walk ends there because the next process can't be looked at, as in a sandbox with processes of its own.
pub const ANCESTRY_HIDDEN: &str = "MSG_TEST_ANCESTRY_HIDDEN";
/// Panic with this text, to see that a bug of ours is reported as one.
pub const PANIC: &str = "MSG_TEST_PANIC";
/// Panic with this text at the first key of the terminal chat.
pub const PANIC_ON_KEY: &str = "MSG_TEST_PANIC_ON_KEY";
/// Pretend that `flock` answers with this: `unsupported`, or `useless` (granted to everyone).
pub const FLOCK: &str = "MSG_TEST_FLOCK";
/// How many milliseconds `watch --exec` waits after a message's first failure, instead of a second.
pub const RETRY_MS: &str = "MSG_TEST_RETRY_MS";
/// Set, hooks have no limit of their own, so that what they would wait for shows.
pub const NO_HOOK_LIMIT: &str = "MSG_TEST_NO_HOOK_LIMIT";
/// Set, who follows a directory that tells of its changes does not look again by itself.
pub const NO_SLOW_TICK: &str = "MSG_TEST_NO_SLOW_TICK";
/// The program that `selftest` puts to the test in place of this one.
pub const PROGRAM: &str = "MSG_TEST_PROGRAM";

/// Fail to sync the directory whose path ends with this.
pub const FAIL_SYNC: &str = "MSG_TEST_FAIL_SYNC";
/// The file to which a byte is added whenever something is read whose number matters; see [`count`].
pub const COUNT: &str = "MSG_TEST_COUNT";

/// Have this fault, by its name; see [`has_bug`].
pub const BUG: &str = "MSG_TEST_BUG";

/// Pretend that no file system tells upper from lower case.
pub const CASELESS: &str = "MSG_TEST_CASELESS";

/// The value of one of the variables above.
pub fn value(variable: &str) -> Option<String> {
    if cfg!(debug_assertions) { std::env::var(variable).ok() } else { None }
}

/// Faults that the storm must see (`tests/storm/`), each the obvious way to get wrong what is delicate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Bug {
    /// Who finds the lock free goes on, and keeps nobody else out.
    NaiveLock,
    /// A message is recorded as handed over, and then handed over.
    DeleteBeforeDeliver,
    /// A look at the inbox, then the watch, and no look afterwards.
    ScanBeforeWatch,
}

impl Bug {
    pub const ALL: [Self; 3] = [Self::NaiveLock, Self::DeleteBeforeDeliver, Self::ScanBeforeWatch];

    pub fn name(self) -> &'static str {
        match self {
            Self::NaiveLock => "naive-lock",
            Self::DeleteBeforeDeliver => "delete-before-deliver",
            Self::ScanBeforeWatch => "scan-before-watch",
        }
    }
}

/// Is this process to have that fault?
pub fn has_bug(bug: Bug) -> bool {
    value(BUG).as_deref() == Some(bug.name())
}

/// Counts a read of that kind, for tests of how the work grows: `<COUNT>.<kind>` becomes longer by a byte.
pub fn count(kind: &str) {
    if let Some(path) = value(COUNT) {
        use std::io::Write as _;
        let file = std::fs::File::options().append(true).create(true).open(format!("{path}.{kind}"));
        // A test that counts finds too little, and says so.
        file.and_then(|mut file| file.write_all(b".")).ok();
    }
}

static STEPS: AtomicU64 = AtomicU64::new(0);

/// Called before every change to the file system, and before output: the n-th call is death if [`CRASH_AT`] is n, and a
/// pause if [`STOP_AT`] is.
///
/// This is what the crash sweep is made of: an op is run with n = 1, 2, 3 … until it survives, and after each
/// death the next process has to find everything in order.
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
    // A test that waits for it would wait in vain, and say so.
    kill(Pid::this(), Signal::SIGSTOP).ok();
}

fn die() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    if kill(Pid::this(), Signal::SIGKILL).is_ok() {
        // The signal is on its way; whatever this thread did now would be after its death.
        loop {
            std::thread::park();
        }
    }
}
