//! Where on the screen the window of a terminal is: on X11 by `xdotool`, where that is installed, on macOS by
//! AppleScript. Elsewhere nobody knows.

mod applescript;
mod xdotool;

use std::time::{Duration, Instant};

use crate::domain::Pid;
use crate::sys::tmux::geometry::{Rectangle, ScreenCorner};

/// A window, and the screen that it is on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WindowPlace {
    pub place: Rectangle,
    /// The width and height of the screen.
    pub screen: (u32, u32),
}

impl WindowPlace {
    /// In which corner of the screen it is; `None` if it fills the screen.
    pub fn corner(&self) -> Option<ScreenCorner> {
        ScreenCorner::of(self.place, self.screen)
    }
}

/// How much may be spent on finding windows: a display that does not answer must not hold up a list of agents.
#[derive(Debug)]
pub struct LookupBudget {
    until: Instant,
    /// How many programs may still be started.
    programs: u32,
}

impl LookupBudget {
    /// That much time and that many programs, for all windows together.
    pub fn new(time: Duration, programs: u32) -> Self {
        Self { until: Instant::now() + time, programs }
    }

    /// The time that the next program may take; `None` if nothing is left. It counts whether it succeeds or not.
    fn take(&mut self) -> Option<Duration> {
        self.programs = self.programs.checked_sub(1)?;
        Some(self.until.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }
}

/// Where the terminal window is that a process runs in.
pub fn window_of(pid: Pid, budget: &mut LookupBudget) -> Option<WindowPlace> {
    match cfg!(target_os = "macos") {
        true => applescript::window_of(pid, budget),
        false => xdotool::window_of(pid, budget),
    }
}

/// Whether the system may ask its user before it tells where a window is: macOS does, once for each program that is
/// asked.
pub fn may_ask_user() -> bool {
    cfg!(target_os = "macos")
}

/// A part of a window may be beyond the edge.
fn within(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lookup_counts_before_it_succeeds_and_all_have_one_deadline() {
        let mut budget = LookupBudget::new(Duration::from_secs(100), 2);
        assert!(budget.take().is_some_and(|time| time <= Duration::from_secs(100)));
        assert!(budget.take().is_some());
        assert_eq!(budget.take(), None, "only two programs");
        assert_eq!(LookupBudget::new(Duration::ZERO, 9).take(), None, "no time is left");
    }
}
