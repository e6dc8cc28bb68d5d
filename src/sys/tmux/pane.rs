//! A pane: what it shows, and what is typed into it.
//!
//! A paste into a pane whose program has ended crashes tmux 3.3, and keys for a pane that is scrolled back are lost. So
//! tmux itself looks at the pane, in the same command in which it pastes: nothing can happen in between.

use std::sync::atomic::{AtomicU32, Ordering};

use super::call::{BRIEF_LIMIT, TmuxCall, TmuxError, TmuxSocket, quoted};
use super::pane_id::PaneId;
use super::pane_info::{self, PaneInfo};
use crate::domain::{Liveness, Pid, RecordedProcess};
use crate::sys::environment::variable;
use crate::sys::{files, process};

/// The numbers of [`PaneCapture`], and its texts, before the screen itself. What runs there is looked up each time that it is
/// named, and may be another program by then: it comes last, so that nobody has to know how long it is.
const FACTS: &str = "#{pane_id} #{pane_pid} #{cursor_x} #{cursor_y} #{pane_width} #{pane_height} #{pane_dead} \
     #{pane_in_mode} #{alternate_on} #{window_index} #{pane_index} #{n:session_name} #{n:pane_title} \
     #{session_name}#{pane_title}#{pane_current_command}";
/// How many words stand before the texts.
const WORDS: usize = 13;
/// How much of a line is compared: tmux takes 16 KiB as one command.
const LONGEST_PATTERN: usize = 120;
const NO_LINES: &[&str] = &[];
/// Begins what the guard prints when it does nothing.
const REFUSED: &str = "ravenry-refused";

/// Begins the names of our buffers. The mark of the process that made it follows, and a number.
const BUFFER: &str = "ravenry-";

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
    /// Where it is, as tmux writes it: `session:window.pane`.
    pub address: String,
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

/// A terminal that shows a session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TmuxClient {
    pub name: String,
    pub session: String,
    /// The active pane of the window that it shows.
    pub pane: String,
    /// When something was typed in it last, in seconds.
    pub activity: u64,
}

impl TmuxClient {
    fn of_line(line: &str) -> Option<Self> {
        let mut words = line.splitn(4, ' ');
        let (activity, pane, length) =
            (words.next()?.parse().ok()?, words.next()?.to_string(), words.next()?);
        let (name, session) = words.next()?.split_at_checked(length.parse().ok()?)?;
        let session = session.strip_prefix(' ')?.to_string();
        Some(Self { name: name.to_string(), session, pane, activity })
    }
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

    /// The one in which this process runs: `$TMUX` and `$TMUX_PANE`.
    pub fn of_environment() -> Option<Self> {
        Some(Self::new(TmuxSocket::of_environment()?, PaneId::new(&variable("TMUX_PANE")?).ok()?))
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
        self.info_of(self.info_call().run()?)
    }

    /// Like [`Self::info`], for whoever can do without it.
    pub fn info_briefly(&self) -> Result<PaneInfo, TmuxError> {
        self.info_of(self.info_call().run_within(BRIEF_LIMIT)?)
    }

    fn info_call(&self) -> TmuxCall<'_> {
        self.call().words(["display-message", "-p"]).words(self.at()).words([pane_info::FORMAT])
    }

    fn info_of(&self, told: String) -> Result<PaneInfo, TmuxError> {
        if told.starts_with(' ') {
            return Err(TmuxError::NoPane(self.id.clone()));
        }
        PaneInfo::of_line(told.trim_end_matches('\n'))
    }

    /// Hands the server a text of any length, so that little time passes between the last look and the paste.
    pub fn load(&self, text: &str) -> Result<LoadedText<'_>, TmuxError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let buffer = format!("{BUFFER}{}-{count}", files::own_mark());
        self.sweep_buffers();
        // tmux keeps no buffer without content, and there is nothing to paste.
        let loaded = LoadedText { pane: self, buffer, is_gone: text.is_empty() };
        self.call().words(["load-buffer", "-b", &loaded.buffer, "-"]).run_with_input(text.as_bytes())?;
        Ok(loaded)
    }

    /// Removes the texts of processes that were killed before they could paste them: the server would keep them for good.
    fn sweep_buffers(&self) {
        // Whatever is wrong with the server is told by what follows.
        let Ok(told) = self.call().words(["list-buffers", "-F", "#{buffer_name}"]).run() else { return };
        for buffer in told.lines().filter(|name| is_left_over(name)) {
            drop(self.call().words(["delete-buffer", "-b", buffer]).run());
        }
    }

    /// Presses a key that many times. Keys have tmux's names: `Enter`, `Escape`, `BSpace`, `C-c`, `1`, `y`.
    pub fn press(&self, key: &str, times: usize) -> Result<(), TmuxError> {
        self.guarded(&self.key_command(key, times), None)
    }

    /// Presses a key if the cursor is still where it was at that look.
    pub fn press_if_still(&self, key: &str, look: &PaneCapture) -> Result<(), TmuxError> {
        self.press_if_shown(key, look, &[])
    }

    /// The same, if the screen still shows all these lines of it, too: the cursor may be in one place for several dialogs.
    pub fn press_if_shown(&self, key: &str, look: &PaneCapture, lines: &[&str]) -> Result<(), TmuxError> {
        self.guarded(&self.key_command(key, 1), Some((look.cursor, lines)))
    }

    fn key_command(&self, key: &str, times: usize) -> String {
        format!("send-keys -t {} -N {times} {}", self.id, quoted(key))
    }

    /// Brings it to the front in the terminals that show its session.
    pub fn select(&self) -> Result<(), TmuxError> {
        let call = self.call().words(["select-window"]).words(self.at()).then();
        call.words(["select-pane"]).words(self.at()).run().map(drop)
    }

    /// The terminals that show something of its server.
    pub fn clients(&self) -> Result<Vec<TmuxClient>, TmuxError> {
        // Names of sessions and terminals may have blanks.
        let format = "#{client_activity} #{pane_id} #{n:client_name} #{client_name} #{client_session}";
        let told = self.call().words(["list-clients", "-F", format]).run_within(BRIEF_LIMIT)?;
        Ok(told.lines().filter_map(TmuxClient::of_line).collect())
    }

    /// Shows it in the terminal of that client, also if the client is in another session.
    pub fn show_to(&self, client: &str) -> Result<(), TmuxError> {
        self.call().words(["switch-client", "-c", client]).words(self.at()).run_within(BRIEF_LIMIT).map(drop)
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

    /// Lets the server do something if the pane takes keys, its cursor is there, and it shows those lines.
    fn guarded(&self, command: &str, seen: Option<((u32, u32), &[&str])>) -> Result<(), TmuxError> {
        let mut condition = "#{||:#{pane_dead},#{pane_in_mode}}".to_string();
        if let Some(((x, y), lines)) = seen {
            condition = format!("#{{||:{condition},#{{!=:#{{cursor_x}}.#{{cursor_y}},{x}.{y}}}}}");
            if let Some(misses) = missing_line(lines) {
                condition = format!("#{{||:{condition},{misses}}}");
            }
        }
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

/// A format that is true if one of these lines is not on the screen. `C` is the number of the line with a text, or 0.
fn missing_line(lines: &[&str]) -> Option<String> {
    let searches: Vec<String> = lines
        .iter()
        .map(|line| pattern_of(line))
        .filter(|pattern| !pattern.is_empty())
        .map(|pattern| format!("#{{C:{pattern}}}|"))
        .collect();
    (!searches.is_empty()).then(|| format!("#{{m:*|0|*,|{}}}", searches.concat()))
}

/// A pattern for a line of a screen. What means something in formats or in patterns stands for any character.
fn pattern_of(line: &str) -> String {
    let any = |c: char| if "#,:{}*?[]\\".contains(c) || c.is_control() { '?' } else { c };
    line.trim().chars().take(LONGEST_PATTERN).map(any).collect()
}

/// Whether a buffer was made by a process of ours that is gone.
fn is_left_over(buffer: &str) -> bool {
    let mark = buffer.strip_prefix(BUFFER).and_then(|rest| rest.rsplit_once('-'));
    let maker = mark.and_then(|(mark, _)| files::owner_of(mark)).map(RecordedProcess::Pinned);
    maker.is_some_and(|maker| process::liveness(&maker) == Liveness::Gone)
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
        self.pane.guarded(&paste, cursor.map(|cursor| (cursor, NO_LINES)))?;
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
        let (session, texts) = parts.next()?.split_at_checked(words.get(11)?.parse().ok()?)?;
        let (title, command) = texts.split_at_checked(words.get(12)?.parse().ok()?)?;
        Some(Self {
            text: text.to_string(),
            title: title.to_string(),
            address: format!("{session}:{}.{}", number(9)?, number(10)?),
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
    fn names_of_terminals_and_sessions_may_have_blanks() {
        let client = TmuxClient::of_line("1763460000 %12 11 /dev/pts/ 1 my  project").unwrap();
        assert_eq!((client.name.as_str(), client.session.as_str()), ("/dev/pts/ 1", "my  project"));
        assert_eq!((client.pane.as_str(), client.activity), ("%12", 1_763_460_000));
        assert_eq!(TmuxClient::of_line("1 %1 99 /dev/pts/1 x"), None);
    }

    #[test]
    fn lines_are_searched_for_as_they_are() {
        assert_eq!(missing_line(&[]), None);
        assert_eq!(missing_line(&["  "]), None);
        let format = missing_line(&[" │ ❯ 1. Yes, #{x}: *", "b"]);
        assert_eq!(format.as_deref(), Some("#{m:*|0|*,|#{C:│ ❯ 1. Yes? ??x?? ?}|#{C:b}|}"));
    }

    #[test]
    fn a_capture_is_a_line_of_facts_and_a_screen() {
        let id = PaneId::new("%7").unwrap();
        let told = "%7 42 2 47 200 50 0 0 1 3 0 5 12 my é\u{2733} A Clientnode\n\u{1b}[1mhello\u{1b}[0m\n\n";
        let capture = PaneCapture::parse(told, &id).unwrap();
        assert_eq!((capture.command.as_str(), capture.title.as_str()), ("node", "\u{2733} A Client"));
        assert_eq!((capture.cursor, capture.size, capture.pid.get()), ((2, 47), (200, 50), 42));
        assert_eq!(capture.address, "my é:3.0");
        assert_eq!(capture.text, "\u{1b}[1mhello\u{1b}[0m\n\n");
        assert!(capture.is_on_alternate_screen && !capture.is_dead && !capture.is_in_mode);
        assert_eq!(PaneCapture::parse("           0 0 \n", &id), None);
        assert_eq!(PaneCapture::parse(told, &PaneId::new("%8").unwrap()), None);
    }

    #[test]
    fn only_buffers_of_dead_processes_of_ours_are_left_over() {
        assert!(!is_left_over(&format!("{BUFFER}{}-0", files::own_mark())));
        let place = files::own_mark().splitn(3, '.').nth(2).unwrap();
        let reused = format!("{BUFFER}{}.1.{place}-3", process::own_pid());
        assert!(is_left_over(&reused), "its pid is ours, its start is not");
        for other in ["buffer0", "ravenry-", "ravenry-x-1", "ravenry-notes"] {
            assert!(!is_left_over(other), "{other}");
        }
    }
}
