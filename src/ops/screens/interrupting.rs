//! Ends the turn of a program in a pane by the keys that its user would press.

use std::time::{Duration, Instant};

use crate::domain::screens::{PromptLine, ScreenState};

use super::typing::{HeldPane, PaneLook, PromptObstacle, TypingError};

/// How often a look is taken while a turn ends.
const LOOK_EVERY: Duration = Duration::from_millis(25);
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
        for round in 0..ROUNDS {
            match self.press_to_interrupt() {
                // What was pressed before was enough.
                Err(TypingError::NoTurn) if round > 0 => {}
                pressed => pressed?,
            }
            if let Some(look) = self.wait_for_turn_end()? {
                return Ok(look);
            }
        }
        Err(TypingError::NotInterrupted)
    }

    fn press_to_interrupt(&self) -> Result<(), TypingError> {
        let mut is_pressed = false;
        for key in self.reader.interrupt_keys() {
            let started = Instant::now();
            loop {
                let look = self.look()?;
                match self.check_turn(&look) {
                    // The first of them was enough.
                    Err(TypingError::NoTurn) if is_pressed => return Ok(()),
                    turn => turn?,
                }
                if self.press_still(*key, &look)? {
                    is_pressed = true;
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

    /// What the pane shows once no turn runs there at two looks. `None`: it still runs.
    fn wait_for_turn_end(&self) -> Result<Option<PaneLook>, TypingError> {
        let started = Instant::now();
        let mut ended_looks = 0;
        while started.elapsed() < END_LIMIT {
            let look = self.look()?;
            let is_over = look.reading.state.is_some_and(|state| state != ScreenState::Working);
            ended_looks = if is_over { ended_looks + 1 } else { 0 };
            if ended_looks >= 2 {
                return Ok(Some(look));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(None)
    }

    /// A turn must be running, and the keys must reach nothing else.
    fn check_turn(&self, look: &PaneLook) -> Result<(), TypingError> {
        match PromptObstacle::at(look) {
            Some(PromptObstacle::Turn) => match &look.reading.prompt {
                // The same keys may remove it.
                PromptLine::Draft(_) => Err(TypingError::Obstacle(PromptObstacle::Draft)),
                PromptLine::Empty | PromptLine::Hidden => Ok(()),
            },
            Some(
                obstacle @ (PromptObstacle::Dialog(_)
                | PromptObstacle::ScrolledBack
                | PromptObstacle::UnknownScreen),
            ) => Err(TypingError::Obstacle(obstacle)),
            _ => Err(TypingError::NoTurn),
        }
    }
}
