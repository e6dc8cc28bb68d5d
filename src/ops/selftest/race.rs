//! Several commands at once, some of them killed at an instant of chance's choosing.

use std::time::{Duration, Instant};

use crate::sys::random;

use super::stage::{Answer, Fault, LIMIT, Stage};

/// Commands for as long as there is time, and never fewer rounds than that.
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

    /// Is there another one?
    pub(super) fn next(&mut self, stage: &Stage<'_>) -> bool {
        let more = self.count < self.least || (self.count < self.most && Instant::now() < self.until);
        self.count += 1;
        let goes_on = more && !stage.stop.is_asked();
        if !goes_on {
            self.count -= 1;
        }
        goes_on
    }
}

/// How long commands take here, so that they are killed while they run and not before or after.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tempo(Duration);

impl Tempo {
    /// Of a command that was let run.
    pub(super) fn of(answer: &Answer) -> Self {
        Self(answer.took)
    }

    /// How long a command may run: mostly to its end, one time in `n` to an instant somewhere in it.
    pub(super) fn limit(self, n: u32) -> Duration {
        if !random::number().is_multiple_of(n) {
            return LIMIT;
        }
        let thousandths = random::number() % 1200;
        self.0.mul_f64(f64::from(thousandths) / 1000.0)
    }
}

/// Runs commands at the same moment, one time in three one of them to an instant in its middle. The answers are in the
/// order of the commands.
pub(super) fn race(stage: &Stage<'_>, commands: &[Vec<&str>], tempo: Tempo) -> Result<Vec<Answer>, Fault> {
    std::thread::scope(|scope| {
        let running: Vec<_> = commands
            .iter()
            .map(|args| {
                let limit = tempo.limit(3);
                scope.spawn(move || stage.msg_for(args, limit))
            })
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(crashed()))).collect()
    })
}

pub(super) fn crashed() -> Fault {
    Fault("a thread of the test panicked: that is a bug in msg".to_string())
}
