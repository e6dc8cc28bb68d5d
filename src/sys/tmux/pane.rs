//! A pane: what it shows, and what is typed into it.
//!
//! A paste into a pane whose program has ended crashes tmux 3.3, and keys for a pane that is scrolled back are lost. So
//! tmux itself looks at the pane, in the same command in which it pastes: nothing can happen in between.

use std::sync::atomic::{AtomicU32, Ordering};

use super::call::{TmuxCall, TmuxError, TmuxSocket, quoted};
use super::pane_id::PaneId;
use super::pane_info::{self, PaneInfo};
use crate::domain::Pid;
use crate::sys::files;

/// The numbers of [`PaneCapture`], and its texts, before the screen itself.
const FACTS: &str = "#{pane_id} #{pane_pid} #{cursor_x} #{cursor_y} #{pane_width} #{pane_height} #{pane_dead} \
     #{pane_in_mode} #{alternate_on} #{n:pane_current_command} #{pane_current_command}#{pane_title}";
/// How many words stand before the texts.
const WORDS: usize = 10;
/// Begins what the guard prints when it does nothing.
const REFUSED: &str = "ravenry-refused";

/// A pane of a server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TmuxPane {
    socket: TmuxSocket,
    id: PaneId,
}

/// What a pane shows at one moment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PaneCapture {
    /// The lines of the screen, with escape sequences for colours and attributes.
    pub text: String,
    pub title: String,
    /// The name of the program in the foreground.
    pub command: String,
    /// The process that tmux started in it.
    pub pid: Pid,
    /// Column and line of the cursor, from 0.
    pub cursor: (u32, u32),
    /// Columns and lines of the pane.
    pub size: (u32, u32),
    /// Whether the process has ended and the pane was left open.
    pub is_dead: bool,
    /// Whether it is scrolled back, or in another mode in which tmux itself takes the keys.
    pub is_in_mode: bool,
    /// Whether its program draws on the alternate screen.
    pub is_on_alternate_screen: bool,
}

/// A text that the server has, ready to be pasted. Dropping it removes it from the server.
#[derive(Debug)]
#[must_use = "the text is removed again as soon as this is dropped"]
pub struct LoadedText<'a> {
    pane: &'a TmuxPane,
    buffer: String,
    /// Whether the server has no such buffer.
    is_gone: bool,
}

impl TmuxPane {
    pub fn new(socket: TmuxSocket, id: PaneId) -> Self {
        Self { socket, id }
    }

    pub fn id(&self) -> &PaneId {
        &self.id
    }

    pub fn socket(&self) -> &TmuxSocket {
        &self.socket
    }

    fn call(&self) -> TmuxCall<'_> {
        TmuxCall::new(&self.socket)
    }

    /// The target of a command.
    fn at(&self) -> [&str; 2] {
        ["-t", self.id.as_str()]
    }

    /// What it shows now.
    pub fn capture(&self) -> Result<PaneCapture, TmuxError> {
        self.capture_with_history(0)
    }

    /// What it shows now, with that many of the lines above the screen.
    pub fn capture_with_history(&self, lines: u32) -> Result<PaneCapture, TmuxError> {
        let call = self.call().words(["display-message", "-p"]).words(self.at()).words([FACTS]).then();
        let call = call.words(["capture-pane", "-e", "-p"]).words(self.at());
        let call = if lines > 0 { call.words(["-S", &format!("-{lines}")]) } else { call };
        let told = call.run()?;
        PaneCapture::parse(&told, &self.id).ok_or_else(|| {
            // `display-message` prints empty fields for a pane that is gone.
            match told.starts_with(' ') {
                true => TmuxError::NoPane(self.id.clone()),
                false => TmuxError::UnknownAnswer(told.lines().next().unwrap_or_default().to_string()),
            }
        })
    }

    /// What it shows now, without colours.
    pub fn plain_text(&self) -> Result<String, TmuxError> {
        self.call().words(["capture-pane", "-p"]).words(self.at()).run()
    }

    /// Where it is, and what runs in it.
    pub fn info(&self) -> Result<PaneInfo, TmuxError> {
        let call = self.call().words(["display-message", "-p"]).words(self.at()).words([pane_info::FORMAT]);
        let told = call.run()?;
        if told.starts_with(' ') {
            return Err(TmuxError::NoPane(self.id.clone()));
        }
        PaneInfo::of_line(told.trim_end_matches('\n'))
    }

    /// Hands the server a text of any length, so that little time passes between the last look and the paste.
    pub fn load(&self, text: &str) -> Result<LoadedText<'_>, TmuxError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let buffer = format!("ravenry-{}-{count}", files::own_mark());
        // tmux keeps no buffer without content, and there is nothing to paste.
        let loaded = LoadedText { pane: self, buffer, is_gone: text.is_empty() };
        self.call().words(["load-buffer", "-b", &loaded.buffer, "-"]).run_with_input(text.as_bytes())?;
        Ok(loaded)
    }

    /// Presses a key that many times. Keys have tmux's names: `Enter`, `Escape`, `BSpace`, `C-c`, `1`, `y`.
    pub fn press(&self, key: &str, times: usize) -> Result<(), TmuxError> {
        self.guarded(&self.key_command(key, times), None)
    }

    /// Presses a key if the cursor is still where it was at that look.
    pub fn press_if_still(&self, key: &str, look: &PaneCapture) -> Result<(), TmuxError> {
        self.guarded(&self.key_command(key, 1), Some(look.cursor))
    }

    fn key_command(&self, key: &str, times: usize) -> String {
        format!("send-keys -t {} -N {times} {}", self.id, quoted(key))
    }

    /// Brings it to the front in the terminals that show its session.
    pub fn select(&self) -> Result<(), TmuxError> {
        let call = self.call().words(["select-window"]).words(self.at()).then();
        call.words(["select-pane"]).words(self.at()).run().map(drop)
    }

    /// Lets it close when its program ends, whatever the user's tmux settings say about other panes.
    pub fn close_with_program(&self) -> Result<(), TmuxError> {
        self.call()
            .words(["set-option", "-p"])
            .words(self.at())
            .words(["remain-on-exit", "off"])
            .run()
            .map(drop)
    }

    /// Ends it: its program gets SIGHUP.
    pub fn close(&self) -> Result<(), TmuxError> {
        self.call().words(["kill-pane"]).words(self.at()).run().map(drop)
    }

    /// Lets the server do something if the pane takes keys, and its cursor is there.
    fn guarded(&self, command: &str, cursor: Option<(u32, u32)>) -> Result<(), TmuxError> {
        let takes_no_keys = "#{||:#{pane_dead},#{pane_in_mode}}".to_string();
        let condition = match cursor {
            None => takes_no_keys,
            Some((x, y)) => format!("#{{||:{takes_no_keys},#{{!=:#{{cursor_x}}.#{{cursor_y}},{x}.{y}}}}}"),
        };
        let refuse =
            format!("display-message -p -t {} '{REFUSED} #{{pane_dead}} #{{pane_in_mode}}'", self.id);
        let call = self.call().words(["if-shell", "-F"]).words(self.at());
        let told = call.words([condition.as_str(), &refuse, command]).run()?;
        let Some(rest) = told.trim_end().strip_prefix(REFUSED) else { return Ok(()) };
        let mut facts = rest.trim_start().split(' ').map(|fact| !fact.is_empty() && fact != "0");
        Err(match (facts.next(), facts.next()) {
            (Some(true), _) => TmuxError::Dead(self.id.clone()),
            (_, Some(true)) => TmuxError::InMode(self.id.clone()),
            _ => TmuxError::Changed(self.id.clone()),
        })
    }
}

impl LoadedText<'_> {
    /// Pastes it: line feeds stay what they are, and a program that asked for it is told where it begins and ends.
    pub fn paste(self) -> Result<(), TmuxError> {
        self.paste_at(None)
    }

    /// Pastes it if the cursor is still where it was at that look: if a dialog has opened since, nothing is pasted.
    pub fn paste_if_still(self, look: &PaneCapture) -> Result<(), TmuxError> {
        self.paste_at(Some(look.cursor))
    }

    fn paste_at(mut self, cursor: Option<(u32, u32)>) -> Result<(), TmuxError> {
        if self.is_gone {
            return Ok(());
        }
        let paste = format!("paste-buffer -p -r -d -b {} -t {}", quoted(&self.buffer), self.pane.id);
        self.pane.guarded(&paste, cursor)?;
        self.is_gone = true;
        Ok(())
    }

    /// Removes it from the server.
    pub fn discard(mut self) -> Result<(), TmuxError> {
        if std::mem::replace(&mut self.is_gone, true) {
            return Ok(());
        }
        self.remove()
    }

    fn remove(&self) -> Result<(), TmuxError> {
        self.pane.call().words(["delete-buffer", "-b", &self.buffer]).run().map(drop)
    }
}

impl Drop for LoadedText<'_> {
    fn drop(&mut self) {
        if !self.is_gone {
            // If the server is gone, so is the text.
            drop(self.remove());
        }
    }
}

impl PaneCapture {
    fn parse(told: &str, id: &PaneId) -> Option<Self> {
        let (facts, text) = told.split_once('\n')?;
        let mut parts = facts.splitn(WORDS + 1, ' ');
        let words: Vec<&str> = parts.by_ref().take(WORDS).collect();
        if words.first() != Some(&id.as_str()) {
            return None;
        }
        let number = |at: usize| words.get(at)?.parse::<u32>().ok();
        let is_set = |at: usize| number(at).is_some_and(|value| value > 0);
        let (command, title) = parts.next()?.split_at_checked(words.get(9)?.parse().ok()?)?;
        Some(Self {
            text: text.to_string(),
            title: title.to_string(),
            command: command.to_string(),
            pid: Pid::new(number(1)?.into()).ok()?,
            cursor: (number(2)?, number(3)?),
            size: (number(4)?, number(5)?),
            is_dead: is_set(6),
            is_in_mode: is_set(7),
            is_on_alternate_screen: is_set(8),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_is_a_line_of_facts_and_a_screen() {
        let id = PaneId::new("%7").unwrap();
        let told = "%7 42 2 47 200 50 0 0 1 4 node\u{2733} A Client\n\u{1b}[1mhello\u{1b}[0m\n\n";
        let capture = PaneCapture::parse(told, &id).unwrap();
        assert_eq!((capture.command.as_str(), capture.title.as_str()), ("node", "\u{2733} A Client"));
        assert_eq!((capture.cursor, capture.size, capture.pid.get()), ((2, 47), (200, 50), 42));
        assert_eq!(capture.text, "\u{1b}[1mhello\u{1b}[0m\n\n");
        assert!(capture.is_on_alternate_screen && !capture.is_dead && !capture.is_in_mode);
        assert_eq!(PaneCapture::parse("         0 \n", &id), None);
        assert_eq!(PaneCapture::parse(told, &PaneId::new("%8").unwrap()), None);
    }
}
