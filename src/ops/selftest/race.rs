//! Runs several commands at once and kills some of them at a random instant.

use std::time::{Duration, Instant};

use crate::sys::random;

use super::check_environment::{CheckEnvironment, MsgOutput, PromiseBroken};

/// One racer in this many is killed, so that two or more of the four usually survive.
const KILLED: u32 = 3;

/// Counts rounds: at least `least`, then as long as there is time, at most `most`.
#[derive(Debug)]
pub(super) struct Rounds {
    until: Instant,
    least: usize,
    most: usize,
    pub(super) count: usize,
}

impl Rounds {
    pub(super) fn new(time: Duration, least: usize, most: usize) -> Self {
        Self { until: Instant::now() + time, least, most, count: 0 }
    }

    /// Starts another round if there is one.
    pub(super) fn next(&mut self, stage: &CheckEnvironment<'_>) -> bool {
        let has_time = self.count < self.most && Instant::now() < self.until;
        let goes_on = (has_time || self.count < self.least) && !stage.stop.is_requested();
        self.count += usize::from(goes_on);
        goes_on
    }
}

/// How long a command takes here, so that commands are killed while they run and not before or after.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tempo(Duration);

impl Tempo {
    /// Measures a command that ran to its end.
    pub(super) fn of(answer: &MsgOutput) -> Self {
        Self(answer.took)
    }

    /// When to kill a command: a random instant of its run one time in `n`, otherwise `None`.
    pub(super) fn instant(self, n: u32) -> Option<Duration> {
        let thousandths = f64::from(random::number() % 1000);
        random::number().is_multiple_of(n).then(|| self.0.mul_f64(thousandths / 1000.0))
    }
}

/// Runs commands at the same time and kills about one in three of them in mid-run. The answers are in the order
/// of the commands.
pub(super) fn race(
    stage: &CheckEnvironment<'_>,
    commands: &[Vec<&str>],
    tempo: Tempo,
) -> Result<Vec<MsgOutput>, PromiseBroken> {
    std::thread::scope(|scope| {
        let running: Vec<_> = commands
            .iter()
            .map(|args| {
                let instant = tempo.instant(KILLED);
                scope.spawn(move || stage.msg_until(args, instant))
            })
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(crashed()))).collect()
    })
}

pub(super) fn crashed() -> PromiseBroken {
    PromiseBroken("a thread of the test panicked: that is a bug in msg".to_string())
}
