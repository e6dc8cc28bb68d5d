//! The thread that reads terminal events. It can be paused while another program has the terminal.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, bounded};
use crossterm::event::{self, Event, KeyCode, KeyModifiers};

use crate::sys::stdin::{self, KeyWait};

/// Wait for further events of the same read. `event::poll` finds none, not even those that were read before, if this
/// thread does not run for so long, so it must be long compared to that.
const BURST_WAIT: Duration = Duration::from_millis(50);
/// After this long without a key it is asked once more whether events were left, in case it did not run that long.
const LEFT_OVER_WAIT: Duration = Duration::from_secs(1);

/// Held by whoever reads from the terminal.
#[derive(Clone, Debug, Default)]
pub(super) struct TerminalInput(Arc<Mutex<InputUse>>);

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum InputUse {
    #[default]
    Read,
    /// What is typed from now on is for whatever has the terminal next.
    Left,
}

impl TerminalInput {
    /// Nobody else reads from the terminal until the guard is dropped.
    pub(super) fn take(&self) -> MutexGuard<'_, InputUse> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing more is read from the terminal.
    pub(super) fn leave(&self) {
        *self.take() = InputUse::Left;
    }
}

/// Starts the thread. It ends with the process, with the terminal, or when that is left. `most`: how many events wait to be processed.
pub(super) fn start(input: &TerminalInput, most: usize) -> io::Result<Receiver<Event>> {
    let (sender, keys) = bounded(most);
    let input = input.clone();
    std::thread::Builder::new().name("keys".to_string()).spawn(move || {
        let mut limit = None;
        let mut late = LateAnswer::default();
        // Check here whether the terminal is still there: reading from one that is gone would loop forever.
        while let Ok(KeyWait::Typed | KeyWait::Quiet) = stdin::wait_for_keys(limit) {
            limit = None;
            // Several events may have been read together.
            while let Some(event) = next(&input) {
                let Ok(event) = event else { return };
                if !late.takes(&event) && sender.send(event).is_err() {
                    return;
                }
                limit = Some(LEFT_OVER_WAIT);
            }
            if *input.take() == InputUse::Left {
                return;
            }
        }
    })?;
    Ok(keys)
}

fn next(input: &TerminalInput) -> Option<io::Result<Event>> {
    let reading = input.take();
    (*reading == InputUse::Read && matches!(event::poll(BURST_WAIT), Ok(true))).then(event::read)
}

/// Recognises an answer about the background colour that came after nobody waited for it any more: it is read as keys,
/// Alt-] and letters.
#[derive(Debug, Default)]
struct LateAnswer {
    /// What was read of it.
    seen: Option<String>,
}

impl LateAnswer {
    const BEGIN: &str = "11;rgb:";

    /// Whether the event is a part of such an answer.
    fn takes(&mut self, event: &Event) -> bool {
        let Event::Key(key) = event else { return false };
        let Some(mut seen) = self.seen.take() else {
            let begins = key.code == KeyCode::Char(']') && key.modifiers == KeyModifiers::ALT;
            self.seen = begins.then(String::new);
            return begins;
        };
        let KeyCode::Char(letter) = key.code else { return false };
        if key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::CONTROL) {
            // The end of the answer: BEL, or ESC and a backslash.
            return matches!(letter, 'g' | '\\');
        }
        let fits = match Self::BEGIN.chars().nth(seen.len()) {
            Some(expected) => letter == expected,
            None => letter.is_ascii_hexdigit() || letter == '/',
        };
        if fits {
            seen.push(letter);
            self.seen = Some(seen);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyEvent;

    use super::*;

    #[test]
    fn a_late_answer_is_no_text() {
        let key = |letter: char, held| Event::Key(KeyEvent::new(KeyCode::Char(letter), held));
        let plain = |text: &str| text.chars().map(|c| key(c, KeyModifiers::NONE)).collect::<Vec<_>>();
        let left = |events: Vec<Event>| {
            let mut late = LateAnswer::default();
            events.into_iter().filter(|event| !late.takes(event)).collect::<Vec<_>>()
        };
        for end in [key('g', KeyModifiers::CONTROL), key('\\', KeyModifiers::ALT)] {
            let mut events = plain("a");
            events.push(key(']', KeyModifiers::ALT));
            events.extend(plain("11;rgb:ffff/ff0a/0000"));
            events.push(end);
            events.extend(plain("11;b"));
            assert_eq!(left(events), plain("a11;b"));
        }
        let mut events = vec![key(']', KeyModifiers::ALT)];
        events.extend(plain("hello 1"));
        assert_eq!(left(events), plain("hello 1"), "somebody pressed Alt-]");
    }
}
