//! What tmux tells about a pane: where it is, what runs in it, and how large it is.

use super::call::TmuxError;
use super::geometry::{Rectangle, ScreenCorner};
use super::pane_id::PaneId;
use crate::domain::Pid;

/// A pane, as tmux describes it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PaneInfo {
    pub id: PaneId,
    /// The process that tmux started in it.
    pub pid: Pid,
    pub session: String,
    pub window_index: u32,
    pub window_name: String,
    pub pane_index: u32,
    /// Whether the process has ended and the pane was left open.
    pub is_dead: bool,
    /// Whether it is scrolled back, or in another mode in which tmux itself takes the keys.
    pub is_in_mode: bool,
    /// Whether it is the active pane of its session.
    pub is_active: bool,
    /// Whether a terminal shows its session.
    pub is_attached: bool,
    /// The name of the program in the foreground.
    pub command: String,
    pub title: String,
    /// Where in its window it is.
    pub place: Rectangle,
    /// The width and height of its window.
    pub window_size: (u32, u32),
}

/// The numbers of [`PaneInfo`], the lengths of its texts in bytes, and the texts: they may contain any character. What
/// runs there is looked up each time that it is named, and may be another program by then, so it comes last, without one.
pub(super) const FORMAT: &str = "#{pane_id} #{pane_pid} #{window_index} #{pane_index} #{pane_dead} #{pane_in_mode} \
     #{pane_active} #{window_active} #{session_attached} #{pane_left} #{pane_top} #{pane_width} #{pane_height} \
     #{window_width} #{window_height} #{n:session_name} #{n:window_name} #{n:pane_title} \
     #{session_name}#{window_name}#{pane_title}#{pane_current_command}";
/// How many words stand before the texts.
const WORDS: usize = 18;

impl PaneInfo {
    /// What a line in [`FORMAT`] says.
    pub(super) fn of_line(line: &str) -> Result<Self, TmuxError> {
        Self::parse(line).ok_or_else(|| TmuxError::UnknownAnswer(line.to_string()))
    }

    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(WORDS + 1, ' ');
        let words: Vec<&str> = parts.by_ref().take(WORDS).collect();
        let mut texts = parts.next()?;
        let number = |at: usize| words.get(at)?.parse::<u32>().ok();
        let is_set = |at: usize| Some(number(at)? > 0);
        let mut text = |at: usize| {
            let (text, rest) = texts.split_at_checked(words.get(at)?.parse().ok()?)?;
            texts = rest;
            Some(text.to_string())
        };
        let (session, window_name, title) = (text(15)?, text(16)?, text(17)?);
        Some(Self {
            id: PaneId::new(words.first()?).ok()?,
            pid: Pid::new(number(1)?.into()).ok()?,
            session,
            window_index: number(2)?,
            window_name,
            pane_index: number(3)?,
            // Some are empty instead of 0.
            is_dead: is_set(4).unwrap_or(false),
            is_in_mode: is_set(5).unwrap_or(false),
            is_active: is_set(6)? && is_set(7)?,
            is_attached: is_set(8)?,
            command: texts.to_string(),
            title,
            place: Rectangle { left: number(9)?, top: number(10)?, width: number(11)?, height: number(12)? },
            window_size: (number(13)?, number(14)?),
        })
    }

    /// Where it is, as tmux writes it: `session:window.pane`.
    pub fn address(&self) -> String {
        format!("{}:{}.{}", self.session, self.window_index, self.pane_index)
    }

    /// In which corner of its window it is; `None` if it fills the window.
    pub fn corner(&self) -> Option<ScreenCorner> {
        ScreenCorner::of(self.place, self.window_size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_tmux() {
        let line = "%3 42 1 2 0 0 1 1 0 101 0 99 50 200 50 11 9 12 my gr\u{fc}n \u{e9}two words\u{2733} A Clientbash";
        let info = PaneInfo::of_line(line).unwrap();
        assert_eq!((info.id.as_str(), info.pid.get()), ("%3", 42));
        assert_eq!((info.session.as_str(), info.window_name.as_str()), ("my gr\u{fc}n \u{e9}", "two words"));
        assert_eq!((info.command.as_str(), info.title.as_str()), ("bash", "\u{2733} A Client"));
        assert_eq!(info.address(), "my gr\u{fc}n \u{e9}:1.2");
        assert_eq!(info.corner(), Some(ScreenCorner::Right));
        assert!(info.is_active && !info.is_attached && !info.is_dead && !info.is_in_mode);
    }

    #[test]
    fn another_line_is_told() {
        for line in ["", "%3", "%3 42 1 2 0 0 1 1 0 101 0 99 50 200 50 99 9 4 short", " 0 0 0 0 0 0 0 0 0 0"]
        {
            assert!(matches!(PaneInfo::of_line(line), Err(TmuxError::UnknownAnswer(_))), "{line}");
        }
    }
}
