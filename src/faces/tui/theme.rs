//! Colours. They are the terminal's own sixteen. Yellow and cyan can't be read on a light background, so other ones are
//! used there. Without colour, only bold, faint and reverse are used.

use ratatui::style::{Color, Modifier, Style};

use crate::domain::Presence;

use super::model::{ReceiptView, TaskStateView, Tone};

#[derive(Clone, Copy, Debug)]
pub(super) struct Theme {
    pub(super) has_colour: bool,
    /// The background of the terminal is light.
    pub(super) is_light: bool,
}

impl Theme {
    pub(super) const PLAIN: Self = Self { has_colour: false, is_light: false };

    fn yellow(self) -> Style {
        self.fg(if self.is_light { Color::Magenta } else { Color::Yellow })
    }

    fn cyan(self) -> Style {
        self.fg(if self.is_light { Color::Blue } else { Color::Cyan })
    }

    fn fg(self, colour: Color) -> Style {
        if self.has_colour { Style::new().fg(colour) } else { Style::new() }
    }

    pub(super) fn bar(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The open tab and the selected row.
    pub(super) fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(super) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(super) fn unread(self) -> Style {
        self.yellow().add_modifier(Modifier::BOLD)
    }

    pub(super) fn theirs(self) -> Style {
        self.cyan().add_modifier(Modifier::BOLD)
    }

    pub(super) fn mine(self) -> Style {
        self.fg(Color::Green).add_modifier(Modifier::BOLD)
    }

    pub(super) fn error(self) -> Style {
        self.fg(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(super) fn presence(self, presence: Presence) -> Style {
        match presence {
            Presence::Active => self.fg(Color::Green),
            Presence::Idle => self.yellow(),
            Presence::Away | Presence::Unknown | Presence::Unreachable | Presence::Gone => self.faint(),
            Presence::Stuck => self.error(),
        }
    }

    pub(super) fn progress(self, state: &TaskStateView) -> Style {
        match state {
            TaskStateView::Open => self.strong(),
            TaskStateView::Blocked(_) => self.faint(),
            TaskStateView::Claimed { .. } => self.yellow(),
            TaskStateView::Done { .. } => self.fg(Color::Green),
        }
    }

    pub(super) fn receipt(self, receipt: ReceiptView) -> Style {
        match receipt {
            ReceiptView::Queued | ReceiptView::Stored | ReceiptView::Delivered => self.faint(),
            ReceiptView::Surfaced | ReceiptView::Taken => self.cyan(),
            ReceiptView::Acked => self.fg(Color::Green),
            ReceiptView::Gone | ReceiptView::Expired => self.error(),
        }
    }

    pub(super) fn tone(self, tone: Tone) -> Style {
        match tone {
            Tone::Plain => Style::new(),
            Tone::Good => self.fg(Color::Green),
            Tone::Bad => self.fg(Color::Red),
        }
    }
}

/// A dot whose shape shows the presence without colour.
pub(super) fn dot(presence: Presence) -> &'static str {
    match presence {
        Presence::Active => "●",
        Presence::Idle => "◐",
        Presence::Away => "○",
        Presence::Unknown => "?",
        Presence::Gone => "×",
        Presence::Stuck => "▲",
        Presence::Unreachable => "·",
    }
}
