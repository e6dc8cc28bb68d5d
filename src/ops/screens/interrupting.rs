//! Ends the turn of a program in a pane by the keys that its user would press.

use std::time::{Duration, Instant};

use crate::domain::screens::{PromptLine, ScreenReading, ScreenState};
use crate::sys::test_switches;

use super::pane_look::PaneLook;
use super::typing::{HeldPane, LOOK_EVERY};
use super::typing_error::{PromptObstacle, TypingError};

/// Between two keys: two bytes of Escape that are read at once are another key.
const KEY_PAUSE: Duration = Duration::from_millis(250);
/// How long a key may wait for a screen that stands still.
const STILL_LIMIT: Duration = Duration::from_secs(10);
/// How long a turn may take to end before the keys are pressed again.
const END_LIMIT: Duration = Duration::from_secs(3);
/// How often they are pressed.
const ROUNDS: usize = 3;

impl HeldPane<'_> {
    /// Ends the running turn. Returns what the pane shows afterwards. A program that draws at that moment, or is about to
    /// begin its turn, may miss the keys: they are pressed again while the turn runs.
    pub(in crate::ops) fn interrupt(&self) -> Result<PaneLook, TypingError> {
        let mut presses = 0;
        for _ in 0..ROUNDS {
            let ended = self.press_to_interrupt(&mut presses).and_then(|()| self.wait_for_turn_end());
            let ended = ended.map_err(|error| if presses > 0 { after_keys(error) } else { error });
            if let Some(look) = ended? {
                return Ok(look);
            }
        }
        Err(TypingError::NotInterrupted(None))
    }

    /// Presses the keys that end a turn, as long as it runs, and counts them.
    fn press_to_interrupt(&self, presses: &mut usize) -> Result<(), TypingError> {
        for key in self.reader.interrupt_keys() {
            let started = Instant::now();
            loop {
                let look = self.look()?;
                match check_turn(&look) {
                    // What was pressed before was enough.
                    Err(TypingError::NoTurn) if *presses > 0 => return Ok(()),
                    turn => turn?,
                }
                test_switches::wait_for_pipe(test_switches::KEY_HELD);
                if self.press_still(*key, &look)? {
                    *presses += 1;
                    break;
                }
                if started.elapsed() > STILL_LIMIT {
                    return Err(TypingError::Obstacle(PromptObstacle::Changed));
                }
            }
            std::thread::sleep(KEY_PAUSE);
        }
        Ok(())
    }

    /// What the pane shows once no turn runs there at two looks. `None`: it still runs. A dialog does not end a turn: it goes
    /// on when somebody answers.
    fn wait_for_turn_end(&self) -> Result<Option<PaneLook>, TypingError> {
        let started = Instant::now();
        let (mut ended_looks, mut asking_looks) = (0, 0);
        while started.elapsed() < END_LIMIT {
            let look = self.look()?;
            ended_looks = if is_over(&look.reading) { ended_looks + 1 } else { 0 };
            if ended_looks >= 2 {
                return Ok(Some(look));
            }
            asking_looks = if look.reading.dialog.is_some() { asking_looks + 1 } else { 0 };
            if let Some(dialog) = look.reading.dialog.filter(|_| asking_looks >= 2) {
                return Err(TypingError::Obstacle(PromptObstacle::Dialog(dialog)));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(None)
    }
}

/// Whether a screen shows that no turn runs.
fn is_over(reading: &ScreenReading) -> bool {
    let is_state_after =
        |state: ScreenState| state.is_between_turns() || matches!(state, ScreenState::Limited);
    reading.dialog.is_none() && !reading.is_busy() && reading.state.is_some_and(is_state_after)
}

/// A turn must be running, and the keys must reach nothing else.
fn check_turn(look: &PaneLook) -> Result<(), TypingError> {
    let reading = &look.reading;
    let obstacle = PromptObstacle::at(look);
    match (obstacle, &reading.prompt) {
        (
            Some(
                obstacle @ (PromptObstacle::ScrolledBack
                | PromptObstacle::Dialog(_)
                | PromptObstacle::UnknownScreen),
            ),
            _,
        ) => Err(TypingError::Obstacle(obstacle)),
        _ if !reading.is_busy() => Err(TypingError::NoTurn),
        // The same keys may remove it.
        (_, PromptLine::Draft(_)) => Err(TypingError::Obstacle(PromptObstacle::Draft)),
        (_, PromptLine::Empty | PromptLine::Hidden) => Ok(()),
    }
}

/// The error of what came in between once keys were pressed.
fn after_keys(error: TypingError) -> TypingError {
    match error {
        TypingError::Obstacle(obstacle) => TypingError::NotInterrupted(Some(obstacle)),
        error => error,
    }
}
