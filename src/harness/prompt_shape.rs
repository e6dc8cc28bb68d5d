//! Reads the input of a harness of whose screen nothing else is known: what it shows where its user types.

use crate::domain::screens::{PromptLine, ScreenReading, ScreenState, ScreenText, without_blanks};

use super::screen::ScreenReader;

/// What a harness shows in front of the user's input, and the placeholder it shows while that is empty.
#[derive(Clone, Copy, Debug)]
pub struct PromptShape {
    pub marks: &'static [&'static str],
    pub placeholder: &'static str,
    pub frame: PromptFrame,
}

/// What is drawn around the input.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PromptFrame {
    /// A horizontal rule above it and one below.
    Rules,
    /// A box with round corners.
    Box,
}

impl PromptFrame {
    /// Whether this line is an edge above or below the input.
    fn is_edge(self, line: &str) -> bool {
        match self {
            Self::Rules => is_rule(line),
            Self::Box => {
                let edge = line.strip_prefix(['╭', '╰']).and_then(|line| line.strip_suffix(['╮', '╯']));
                edge.is_some_and(is_rule)
            }
        }
    }

    /// The part of a line that is inside.
    fn inside(self, line: &str) -> &str {
        match self {
            Self::Rules => line,
            Self::Box => line.trim_matches('│').trim(),
        }
    }
}

impl PromptShape {
    /// The input without its mark and without whitespace, because a narrow pane wraps it. It is between the last two
    /// edges on the screen.
    pub fn content(&self, screen: &str) -> Option<String> {
        let lines: Vec<&str> = screen.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let bottom = lines.iter().rposition(|line| self.frame.is_edge(line))?;
        let top = lines[..bottom].iter().rposition(|line| self.frame.is_edge(line))?;
        let typed: String = lines[top + 1..bottom].iter().map(|line| self.frame.inside(line)).collect();
        self.marks.iter().find_map(|mark| typed.strip_prefix(mark)).map(without_blanks)
    }
}

impl ScreenReader for PromptShape {
    fn recorded(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether a turn runs is not known from the screen. Whoever pastes into it goes by the hooks.
    fn read(&self, screen: &ScreenText) -> ScreenReading {
        let Some(content) = self.content(&screen.text()) else { return ScreenReading::default() };
        let is_empty = content == without_blanks(self.placeholder);
        let prompt = if is_empty { PromptLine::Empty } else { PromptLine::Draft(content) };
        ScreenReading { state: Some(ScreenState::Idle), prompt, ..ScreenReading::default() }
    }

    fn starts_session_at_launch(&self) -> bool {
        false
    }
}

fn is_rule(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.chars().all(|c| matches!(c, '─' | '▀' | '▄' | '━'))
}
