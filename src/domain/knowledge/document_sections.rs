//! Divides a text document into the sections that are searched.

/// A piece of a document that begins at a line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DocumentSection {
    /// From 1.
    pub line: u32,
    /// Empty if it has none.
    pub heading: String,
    pub text: String,
}

/// A section of more lines is divided at the next empty line.
const LONG: usize = 30;
/// And after so many lines in any case.
const LONGEST: usize = 60;

/// The sections of a Markdown document, or of another text, without empty ones.
pub fn document_sections(text: &str) -> Vec<DocumentSection> {
    let mut sections = Vec::new();
    let mut open = OpenSection::default();
    let mut is_code = false;
    for (number, line) in (1..).zip(text.lines()) {
        let is_fence = ["```", "~~~"].iter().any(|fence| line.trim_start().starts_with(fence));
        if let Some((level, heading)) = heading(line).filter(|_| !is_code) {
            open.close(&mut sections);
            open = match open.lines.is_empty() && (1..level).contains(&open.level) {
                // A title without a text of its own stands above the first section below it.
                true => OpenSection { level, heading: format!("{}, {heading}", open.heading), ..open },
                false => OpenSection { line: number, level, heading: heading.to_string(), lines: Vec::new() },
            };
            continue;
        }
        let is_break = line.trim().is_empty() && open.lines.len() >= LONG && !is_code;
        if is_break || open.lines.len() >= LONGEST {
            let heading = open.heading.clone();
            open.close(&mut sections);
            open = OpenSection { heading, ..OpenSection::default() };
        }
        open.add(number, line);
        is_code ^= is_fence;
    }
    open.close(&mut sections);
    sections
}

/// The level and the text of a heading: one to six `#` and a space.
fn heading(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let is_heading = (1..=6).contains(&level) && rest.starts_with([' ', '\t']);
    is_heading.then(|| (level, rest.trim().trim_end_matches('#').trim_end()))
}

#[derive(Default)]
struct OpenSection<'a> {
    /// 0 until there is something.
    line: u32,
    /// Of its heading; 0 if it has none.
    level: usize,
    heading: String,
    lines: Vec<&'a str>,
}

impl<'a> OpenSection<'a> {
    fn add(&mut self, number: u32, line: &'a str) {
        if self.lines.is_empty() && line.trim().is_empty() {
            return;
        }
        if self.line == 0 {
            self.line = number;
        }
        self.lines.push(line);
    }

    fn close(&self, sections: &mut Vec<DocumentSection>) {
        let text = self.lines.join("\n").trim_end().to_string();
        if !text.is_empty() {
            sections.push(DocumentSection { line: self.line, heading: self.heading.clone(), text });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let show =
            |section: &DocumentSection| format!("{} {}: {}", section.line, section.heading, section.text);
        document_sections(text).iter().map(show).collect()
    }

    #[test]
    fn a_section_begins_at_its_heading() {
        let text = "intro\n\n# One #\n\ntext\nmore\n\n## Empty\n## Two\n```\n# a comment\n```\n#no heading\n";
        let expected = ["1 : intro", "3 One: text\nmore", "9 Two: ```\n# a comment\n```\n#no heading"];
        assert_eq!(shown(text), expected);
        assert_eq!(shown(""), [] as [&str; 0]);
        assert_eq!(shown("\n\n  \n"), [] as [&str; 0]);
    }

    #[test]
    fn a_title_right_above_a_heading_is_kept() {
        let text = "# Use flock\n\n## Context\n\nNames race.\n\n## Decision\n\nOne flock.\n";
        assert_eq!(shown(text), ["1 Use flock, Context: Names race.", "7 Decision: One flock."]);
        assert_eq!(shown("# One\n# Two\ntext\n"), ["2 Two: text"]);
    }

    #[test]
    fn a_long_section_is_divided() {
        let text = format!("# Long\n{}", "line\n".repeat(40) + "\n" + &"word\n".repeat(200));
        let sections = document_sections(&text);
        assert_eq!(sections[0].line, 1);
        assert_eq!(sections[1].line, 43);
        assert!(sections.len() >= 4 && sections.iter().all(|section| section.heading == "Long"));
        assert!(sections.iter().all(|section| section.text.lines().count() <= LONGEST));
        let count: usize = sections.iter().map(|section| section.text.lines().count()).sum();
        assert_eq!(count, 240);
    }
}
