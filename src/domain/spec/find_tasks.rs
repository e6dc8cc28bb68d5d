//! Finds the tasks in a parsed spec, and the texts that may name their dependencies.

use std::collections::HashMap;

use pulldown_cmark::HeadingLevel;

use super::dependencies;
use super::id;
use super::line_numbers::LineNumbers;
use super::markdown::{Block, BlockKind, Checkbox, MarkdownCell};
use super::task_draft::{DependencyContext, TaskDraft};

/// The tasks, and the number of checkboxes that have no id and belong to no task.
pub fn find<'a>(text: &'a str, blocks: &'a [Block]) -> (Vec<TaskDraft<'a>>, usize) {
    let mut finder = Finder {
        text,
        lines: LineNumbers::new(text),
        drafts: Vec::new(),
        owners: HashMap::new(),
        section: None,
        label: None,
        columns: Columns::default(),
        boxes: 0,
    };
    blocks.iter().for_each(|block| finder.block(block));
    (finder.drafts, finder.boxes)
}

/// A heading that is a task, and our position below it.
#[derive(Debug)]
struct Section {
    draft: usize,
    level: HeadingLevel,
    below: Below,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Below {
    Directly,
    InFirstList(usize),
    Further,
}

#[derive(Debug, Default)]
struct Columns {
    /// Which columns name dependencies.
    needs: Vec<bool>,
    title: Option<usize>,
}

#[derive(Debug)]
struct Finder<'a> {
    text: &'a str,
    lines: LineNumbers<'a>,
    drafts: Vec<TaskDraft<'a>>,
    /// Maps a list item to the task that it is or belongs to.
    owners: HashMap<usize, usize>,
    section: Option<Section>,
    /// A task after whose "Depends on:" a list follows, and the list item that this list would be in.
    label: Option<(usize, Option<usize>)>,
    columns: Columns,
    /// Checkboxes without an id that belong to no task.
    boxes: usize,
}

impl<'a> Finder<'a> {
    fn block(&mut self, block: &'a Block) {
        match &block.kind {
            BlockKind::Heading(level) => self.heading(block, *level),
            BlockKind::Lead { check, parent, list } => self.lead(block, *check, *parent, *list),
            BlockKind::Paragraph => self.paragraph(block),
            BlockKind::Row { cells, is_head: true } => self.columns = Columns::of(cells),
            BlockKind::Row { cells, is_head: false } => self.row(block, cells),
            BlockKind::Other => {
                self.label = None;
                self.go_below(Below::Further);
            }
        }
    }

    fn heading(&mut self, block: &'a Block, level: HeadingLevel) {
        self.label = None;
        let line = self.text[block.at..].split(['\n', '\r']).next().unwrap_or_default();
        let hashes = line.len() - line.trim_start_matches('#').len();
        let check = Checkbox::find(self.text, block.at + hashes..block.at + line.len());
        if let Some((id, own)) = split_id(without_box(&block.text, check)) {
            let draft = self.add(block, id, own, check);
            match block.item {
                Some(item) => _ = self.owners.insert(item, draft),
                None => self.section = Some(Section { draft, level, below: Below::Directly }),
            }
        } else if block.item.is_none() {
            // A subheading such as "Dependencies" still belongs to the task.
            let section = self.section.take().filter(|section| level > section.level);
            self.section = section.filter(|_| dependencies::is_keyword(&block.text));
            self.go_below(Below::Further);
            self.label = self.section.as_ref().map(|section| (section.draft, None));
        }
    }

    fn lead(&mut self, block: &'a Block, check: Option<Checkbox>, parent: Option<usize>, list: usize) {
        let Some(item) = block.item else { return };
        if let Some((owner, around)) = self.label
            && around == parent
            && check.is_none()
        {
            self.add_source(owner, block, DependencyContext::Named);
            return;
        }
        let found = split_id(&block.text).or_else(|| check.and_then(|_| split_at_colon(&block.text)));
        let owner = if let Some((id, own)) = found {
            Some(self.add(block, id, own, check))
        } else if let Some(parent) = parent {
            self.owners
                .get(&parent)
                .copied()
                .inspect(|owner| self.add_source(*owner, block, DependencyContext::Alone))
        } else {
            self.below_heading(block, Below::InFirstList(list))
        };
        if parent.is_none() && found.is_some() {
            self.go_below(Below::InFirstList(list));
        }
        self.boxes += usize::from(check.is_some() && owner.is_none());
        self.owners.extend(owner.map(|owner| (item, owner)));
        self.label =
            owner.filter(|_| dependencies::ends_in_label(&block.text)).map(|owner| (owner, Some(item)));
    }

    fn paragraph(&mut self, block: &'a Block) {
        let owner = match block.item {
            Some(item) => self
                .owners
                .get(&item)
                .copied()
                .inspect(|owner| self.add_source(*owner, block, DependencyContext::Alone)),
            None => self.below_heading(block, Below::Further),
        };
        self.label =
            owner.filter(|_| dependencies::ends_in_label(&block.text)).map(|owner| (owner, block.item));
    }

    /// Adds text below a task heading; afterwards the position is `next`.
    fn below_heading(&mut self, block: &'a Block, next: Below) -> Option<usize> {
        let section = self.section.as_ref()?;
        let owner = section.draft;
        let is_direct = section.below == Below::Directly || section.below == next && next != Below::Further;
        self.add_source(
            owner,
            block,
            if is_direct { DependencyContext::Anywhere } else { DependencyContext::Alone },
        );
        self.go_below(next);
        Some(owner)
    }

    /// Updates the position below a heading. It never returns to an earlier part.
    fn go_below(&mut self, next: Below) {
        if let Some(section) = &mut self.section
            && section.below != next
        {
            section.below = if section.below == Below::Directly { next } else { Below::Further };
        }
    }

    fn row(&mut self, block: &'a Block, cells: &'a [MarkdownCell]) {
        self.label = None;
        let boxes: Vec<_> = cells.iter().map(|cell| self.box_alone(cell)).collect();
        let first = usize::from(boxes.first().is_some_and(Option::is_some));
        let Some(cell) = cells.get(first) else { return };
        let check = Checkbox::find(self.text, cell.source.clone());
        let Some((id, rest)) = split_id(without_box(&cell.text, check)) else { return };
        if !rest.trim_matches([':', '.', ' ']).is_empty() {
            return;
        }
        let check = check.or_else(|| boxes.iter().copied().flatten().next());
        let is_other = |at: &usize| *at != first && boxes[*at].is_none() && !self.columns.is_need(*at);
        let title = self.columns.title.filter(|at| *at < cells.len() && is_other(at));
        let title = title.or_else(|| (first + 1..cells.len()).find(is_other));
        let own = title.map_or("", |at| cells[at].text.as_str());
        let rest = (0..cells.len()).filter(|at| *at != first && Some(*at) != title);
        let sources = rest.map(|at| {
            let mode =
                if self.columns.is_need(at) { DependencyContext::Named } else { DependencyContext::Anywhere };
            (mode, cells[at].text.as_str())
        });
        let sources = sources.collect();
        let draft = self.add(block, id, own, check);
        self.drafts[draft].sources = sources;
    }

    /// The checkbox of a cell that contains nothing else.
    fn box_alone(&self, cell: &MarkdownCell) -> Option<Checkbox> {
        let source = self.text.get(cell.source.clone())?.trim();
        Checkbox::find(self.text, cell.source.clone()).filter(|_| source.len() == 3)
    }

    fn add(&mut self, block: &Block, id: &str, own: &'a str, check: Option<Checkbox>) -> usize {
        let line = self.lines.number(block.at);
        let (id, quote) = (id.to_string(), block.quote);
        self.drafts.push(TaskDraft { id, line, check, own, sources: Vec::new(), quote });
        self.drafts.len() - 1
    }

    /// Adds a text, unless it is in another quote than the task: quoted text is not the task's own.
    fn add_source(&mut self, draft: usize, block: &'a Block, mode: DependencyContext) {
        let draft = &mut self.drafts[draft];
        if draft.quote == block.quote {
            draft.sources.push((mode, &block.text));
        }
    }
}

impl Columns {
    fn of(cells: &[MarkdownCell]) -> Columns {
        const TITLES: [&str; 6] = ["title", "task", "name", "summary", "description", "what"];
        let names: Vec<String> = cells.iter().map(|cell| cell.text.trim().to_lowercase()).collect();
        let needs = names.iter().map(|name| dependencies::is_keyword(name)).collect();
        // Column 0 is the id.
        let title = TITLES.iter().find_map(|title| names.iter().skip(1).position(|name| name == title));
        Columns { needs, title: title.map(|at| at + 1) }
    }

    fn is_need(&self, at: usize) -> bool {
        self.needs.get(at).is_some_and(|is_need| *is_need)
    }
}

/// Splits off the id that a text starts with, which may be in brackets.
fn split_id(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    if let Some(inner) = text.strip_prefix('[') {
        let id = id::leading(inner)?;
        return Some((id, inner[id.len()..].strip_prefix(']')?));
    }
    let id = id::leading(text)?;
    Some((id, &text[id.len()..]))
}

/// Splits the first line at its first colon, if the part before it is a valid id.
fn split_at_colon(text: &str) -> Option<(&str, &str)> {
    let line = text.split('\n').next()?;
    // Skip the colon of a URL.
    let (at, _) = line.match_indices(':').find(|(at, _)| !line[at + 1..].starts_with("//"))?;
    let id = line[..at].trim();
    (id::is_valid(id) && !dependencies::is_keyword(id)).then(|| (id, &text[at + 1..]))
}

/// Removes the checkbox from the start of the text. If `[x]` is the name of a link, only its `x` is in the text.
fn without_box(text: &str, check: Option<Checkbox>) -> &str {
    let stripped = || {
        let text = text.trim_start();
        ["[ ]", "[x]", "[X]", "x ", "X "].iter().find_map(|mark| text.strip_prefix(mark))
    };
    check.and_then(|_| stripped()).unwrap_or(text)
}
