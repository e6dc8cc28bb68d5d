//! Reads a page.

use super::page_error::{PageError, PageSpot};
use super::page_head::{FieldSpots, read_head};
use super::page_text;
use super::record_page::{PageSection, RecordPage};
use super::yaml_node::parse_yaml;
use crate::domain::knowledge::draft::RecordDraft;
use crate::domain::knowledge::draft_check::check;
use crate::domain::knowledge::kinds::{DecisionStatus, RecordKind};
use crate::domain::knowledge::record_id::RecordId;

/// The largest page, in bytes.
const MAX_PAGE: usize = 1024 * 1024;
/// What git writes where a merge failed.
const CONFLICT_MARKS: [&str; 4] = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];

impl RecordPage {
    /// Reads the page of that record. Whoever wrote it, what is accepted is within the limits of a record.
    pub fn parse(id: &RecordId, text: &str) -> Result<Self, PageError> {
        let first = PageSpot::line(1);
        if text.len() > MAX_PAGE {
            let problem = format!("the page has {} bytes; {MAX_PAGE} is the most", text.len());
            return Err(PageError::new(first, problem));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines: Vec<&str> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
        let is_mark = |line: &&str| CONFLICT_MARKS.iter().any(|mark| line.starts_with(mark));
        if let Some(at) = lines.iter().position(is_mark) {
            let problem = "a merge of git left a conflict here: keep one side, and remove the marks";
            return Err(PageError::new(PageSpot::line(at + 1), problem));
        }
        if lines.first() != Some(&"---") {
            return Err(PageError::new(first, "the page does not begin with `---` and its YAML head"));
        }
        let Some(end) = lines.iter().skip(1).position(|line| *line == "---").map(|at| at + 1) else {
            return Err(PageError::new(first, "the YAML head has no end: a line with `---`"));
        };
        let mut page = Self::empty(id.clone());
        let mut spots = read_head(&mut page, &parse_yaml(&lines[1..end].join("\n"), 2)?)?;
        page.read_sections(&lines[end + 1..], end + 2, &mut spots)?;
        if id.kind == RecordKind::Decision {
            page.status = page.status.or(Some(DecisionStatus::Active));
        }
        page.check(&spots)?;
        Ok(page)
    }

    /// Reads the title and the texts, which begin at line `first` of the page.
    fn read_sections(
        &mut self,
        lines: &[&str],
        first: usize,
        spots: &mut FieldSpots,
    ) -> Result<(), PageError> {
        let sections = PageSection::of(self.id.kind);
        let lead = sections.into_iter().find(|(_, heading)| heading.is_none()).map(|(section, _)| section);
        let mut seen: Vec<PageSection> = lead.into_iter().collect();
        // Each with the line where its text begins.
        let mut found: Vec<(Option<PageSection>, usize, Vec<&str>)> = vec![(lead, first, Vec::new())];
        let mut has_title = false;
        for (number, line) in lines.iter().enumerate() {
            let spot = PageSpot::line(first + number);
            let Some((level, heading)) = heading(line) else {
                if let Some((_, _, text)) = found.last_mut() {
                    text.push(line);
                }
                continue;
            };
            if level == 1 {
                let title = self.title();
                let has_text =
                    found.iter().any(|(_, _, text)| text.iter().any(|line| !line.trim().is_empty()));
                if heading != title || has_title || has_text || found.len() > 1 {
                    let problem = format!("the only title is `# {title}`, as the file is named, at the top");
                    return Err(PageError::new(spot, problem));
                }
                has_title = true;
                // It counts as an empty line.
                found.iter_mut().for_each(|(_, _, text)| text.push(""));
                continue;
            }
            let named = sections.iter().find(|(_, name)| level == 2 && *name == Some(heading));
            let Some((section, _)) = named else {
                let names = sections.iter().filter_map(|(_, name)| *name);
                let names: Vec<String> = names.map(|name| format!("`## {name}`")).collect();
                let problem = format!(
                    "`{}` is not a heading of a {}: there are {}; write `\\#` for text that begins with #",
                    line.escape_debug(),
                    self.id.kind,
                    names.join(", ")
                );
                return Err(PageError::new(spot, problem));
            };
            if seen.contains(section) {
                return Err(PageError::new(spot, format!("the heading `{heading}` is there twice")));
            }
            seen.push(*section);
            found.push((Some(*section), first + number + 1, Vec::new()));
        }
        for (section, line, text) in found {
            let decoded = page_text::decode(&text);
            let skipped = text.iter().position(|line| !line.trim().is_empty()).unwrap_or_default();
            match section {
                Some(section) => {
                    spots.insert(section.field(), PageSpot::line(line + skipped));
                    *section.text_mut(self) = decoded;
                }
                None if decoded.is_empty() => {}
                None => {
                    let problem = format!("a {} has no text before its first heading", self.id.kind);
                    return Err(PageError::new(PageSpot::line(line + skipped), problem));
                }
            }
        }
        Ok(())
    }

    /// The limits that hold for all records.
    fn check(&self, spots: &FieldSpots) -> Result<(), PageError> {
        let spot = |field: Option<&str>| {
            field.and_then(|field| spots.get(field).copied()).unwrap_or(PageSpot::line(1))
        };
        let has_text = match self.id.kind {
            RecordKind::File => !self.summary.trim().is_empty() || !self.description.trim().is_empty(),
            RecordKind::Relationship => true,
            _ => !self.description.trim().is_empty(),
        };
        if !has_text {
            let problem = format!("the page of a {} says nothing: write a sentence", self.id.kind);
            return Err(PageError::new(spot(Some("description")), problem));
        }
        match check(0, &self.draft()).into_iter().next() {
            Some(problem) => {
                let text = format!("{}; {}", problem.message, problem.fix);
                Err(PageError::new(spot(problem.field.as_deref()), text))
            }
            None => Ok(()),
        }
    }

    fn draft(&self) -> RecordDraft {
        let given = |text: &String| (!text.is_empty()).then(|| text.clone());
        RecordDraft {
            description: given(&self.description),
            rationale: given(&self.rationale),
            summary: given(&self.summary),
            status: self.status,
            impact: self.impact,
            pattern_type: given(&self.pattern_type),
            ends: self.ends.clone(),
            tags: self.tags.clone(),
            related: self.related.clone(),
            anchors: self.anchors.values().cloned().collect(),
            also: self.also.iter().cloned().collect(),
            evidence: self.evidence.iter().cloned().collect(),
            concepts: self.concepts.iter().cloned().collect(),
            symbols: self.symbols.iter().cloned().collect(),
            ..RecordDraft::new(self.id.kind)
        }
    }
}

impl PageSection {
    fn field(self) -> &'static str {
        match self {
            Self::Description => "description",
            Self::Rationale => "rationale",
            Self::Summary => "summary",
        }
    }
}

/// The level and the text of a heading. Anything that begins with `#` is one.
fn heading(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (level > 0).then(|| (level, rest.trim()))
}
