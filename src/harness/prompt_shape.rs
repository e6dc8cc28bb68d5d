//! What a harness shows where its user types, and how to read the input from the screen.

/// What a harness shows in front of the user's input, and the placeholder it shows while that is empty.
#[derive(Clone, Copy, Debug)]
pub struct PromptShape {
    pub marks: &'static [&'static str],
    pub placeholder: &'static str,
}

impl PromptShape {
    /// The input without its mark and without whitespace, because a narrow pane wraps it. It is between the last two
    /// horizontal rules of the screen.
    pub fn content(&self, screen: &str) -> Option<String> {
        let lines: Vec<&str> = screen.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let bottom = lines.iter().rposition(|line| is_rule(line))?;
        let top = lines[..bottom].iter().rposition(|line| is_rule(line))?;
        let typed = lines[top + 1..bottom].concat();
        self.marks.iter().find_map(|mark| typed.strip_prefix(mark)).map(without_blanks)
    }
}

pub fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect()
}

fn is_rule(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.chars().all(|c| matches!(c, '─' | '▀' | '▄' | '━'))
}
