//! What a harness shows where its user types, and how to read the input from the screen.

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

/// The text without whitespace, and without the space of no width that some harnesses draw their cursor on.
pub fn without_blanks(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '\u{200b}').collect()
}

fn is_rule(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.chars().all(|c| matches!(c, '─' | '▀' | '▄' | '━'))
}
