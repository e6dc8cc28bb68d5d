//! Parses Markdown into a flat list of plain-text blocks with their offsets.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::id;
use super::line_numbers::LineNumbers;

/// Maximum nesting of lists and quotes. The parser revisits every level for every line.
const MAX_DEPTH: usize = 32;

#[derive(Debug, Default)]
pub struct MarkdownBlocks {
    pub blocks: Vec<Block>,
    /// The first line that could be a task but is nested too deeply.
    pub too_deep: Option<usize>,
}

#[derive(Debug)]
pub struct Block {
    pub kind: BlockKind,
    /// Without formatting; line breaks are `\n`.
    pub text: String,
    /// Byte offset of its first character.
    pub at: usize,
    /// Number of the innermost quote that contains it.
    pub quote: Option<usize>,
    /// Number of the innermost list item that contains it. For a `Lead`, the item that it starts.
    pub item: Option<usize>,
}

#[derive(Debug)]
pub enum BlockKind {
    Heading(HeadingLevel),
    /// The first text of a list item. `parent` is the enclosing item, `list` the outermost enclosing list.
    Lead {
        check: Option<Checkbox>,
        parent: Option<usize>,
        list: usize,
    },
    Paragraph,
    /// A table row; the block's text is empty.
    Row {
        cells: Vec<MarkdownCell>,
        is_head: bool,
    },
    /// Code or a rule: not read, but it separates other blocks.
    Other,
}

#[derive(Debug)]
pub struct MarkdownCell {
    pub text: String,
    pub source: Range<usize>,
}

/// A checkbox, by the offset of the character between its brackets.
#[derive(Clone, Copy, Debug)]
pub struct Checkbox {
    pub at: usize,
    pub is_ticked: bool,
}

impl Checkbox {
    /// The checkbox at the start of this range, after optional blanks.
    pub fn find(text: &str, place: Range<usize>) -> Option<Checkbox> {
        let source = text.get(place.clone())?;
        let blank = source.len() - source.trim_start().len();
        let is_ticked = match source.as_bytes().get(blank..blank + 3)? {
            b"[ ]" => false,
            b"[x]" | b"[X]" => true,
            _ => return None,
        };
        Some(Checkbox { at: place.start + blank + 1, is_ticked })
    }
}

pub fn read(text: &str) -> MarkdownBlocks {
    let start = front_matter(text);
    let (body, too_deep) = bounded(&text[start..]);
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    let mut reader = Reader { start, ..Reader::default() };
    for (event, place) in Parser::new_ext(&body, options).into_offset_iter() {
        reader.event(event, place);
    }
    reader.flush();
    let too_deep = too_deep.map(|at| LineNumbers::new(text).number(start + at));
    MarkdownBlocks { blocks: reader.blocks, too_deep }
}

/// The offset where the Markdown starts: after a byte order mark and YAML front matter (`---` … `---`).
fn front_matter(text: &str) -> usize {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut end = mark;
    for (number, line) in text[mark..].split_inclusive('\n').enumerate() {
        end += line.len();
        let line = line.trim_end();
        match number {
            0 if line != "---" => return mark,
            1 if !is_yaml(line) => return mark,
            2.. if line == "---" || line == "..." => return end,
            _ => {}
        }
    }
    mark
}

fn is_yaml(line: &str) -> bool {
    line.starts_with('#')
        || line.split_once(':').is_some_and(|(key, _)| {
            !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '"' | '\''))
        })
}

/// Blanks out lines that are nested too deeply, and returns the offset of the first of them that could be a task.
fn bounded(text: &str) -> (Cow<'_, str>, Option<usize>) {
    let mut bounded: Option<String> = None;
    let (mut at, mut first) = (0, None);
    for line in text.split_inclusive(['\n', '\r']) {
        let (depth, length) = nesting(line);
        if depth > MAX_DEPTH {
            let rest = &line[length.min(line.len())..];
            if first.is_none() && (rest.starts_with('[') || id::leading(rest).is_some()) {
                first = Some(at);
            }
            let end = line.trim_end_matches(['\n', '\r']).len();
            let bounded = bounded.get_or_insert_with(|| text[..at].to_string());
            bounded.extend(std::iter::repeat_n(' ', end));
            bounded.push_str(&line[end..]);
        } else if let Some(bounded) = &mut bounded {
            bounded.push_str(line);
        }
        at += line.len();
    }
    (bounded.map_or(Cow::Borrowed(text), Cow::Owned), first)
}

/// The maximum nesting level that a line may have, and the length of its leading markers and blanks.
fn nesting(line: &str) -> (usize, usize) {
    let bytes = line.as_bytes();
    let (mut marks, mut columns, mut at) = (0, 0, 0);
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes[at..].iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
        let mark = at + digits;
        let is_blank_next = bytes.get(mark + 1).is_none_or(u8::is_ascii_whitespace);
        match (byte, bytes.get(mark)) {
            (b' ', _) => columns += 1,
            (b'\t', _) => columns += 4,
            (b'>', _) => marks += 1,
            (b'-' | b'*' | b'+', _) if is_blank_next => marks += 1,
            (_, Some(b'.' | b')')) if digits > 0 && is_blank_next => marks += 1,
            _ => break,
        }
        at = mark + 1;
    }
    let depth = if marks == 0 { 0 } else { marks + columns / 2 };
    (depth, at)
}

/// An open list item.
#[derive(Debug)]
struct Item {
    number: usize,
    check: Option<Checkbox>,
    has_lead: bool,
}

#[derive(Debug, Default)]
struct Reader {
    /// Offset of the Markdown in the text.
    start: usize,
    blocks: Vec<Block>,
    /// The block being collected, and where it started.
    text: String,
    at: Option<usize>,
    heading: Option<HeadingLevel>,
    cells: Vec<MarkdownCell>,
    is_cell: bool,
    /// The open items, and the open quotes as (number, items open at that point).
    items: Vec<Item>,
    quotes: Vec<(usize, usize)>,
    lists: usize,
    list: usize,
    items_so_far: usize,
    quotes_so_far: usize,
    /// Inside code or HTML, which is not read.
    is_skipping: bool,
}

impl Reader {
    fn event(&mut self, event: Event<'_>, place: Range<usize>) {
        let place = self.start + place.start..self.start + place.end;
        match event {
            Event::Start(tag) => self.open(&tag, place),
            Event::End(tag) => self.close(tag, place),
            Event::Text(text) | Event::Code(text) => self.push(&text, &place),
            Event::SoftBreak | Event::HardBreak => self.push("\n", &place),
            Event::InlineHtml(html) if html.starts_with("<br") => self.push("\n", &place),
            Event::Rule => self.other(place.start),
            Event::TaskListMarker(is_ticked) => {
                if let Some(item) = self.items.last_mut() {
                    item.check = Some(Checkbox { at: place.start + 1, is_ticked });
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, tag: &Tag<'_>, place: Range<usize>) {
        match tag {
            Tag::Paragraph => self.flush(),
            Tag::Heading { level, .. } => {
                self.flush();
                (self.heading, self.at) = (Some(*level), Some(place.start));
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.lead_is_past();
                self.quotes_so_far += 1;
                self.quotes.push((self.quotes_so_far, self.items.len()));
            }
            Tag::CodeBlock(_) => {
                self.other(place.start);
                self.is_skipping = true;
            }
            Tag::HtmlBlock => {
                self.flush();
                self.is_skipping = true;
            }
            Tag::List(_) => {
                self.flush();
                self.lead_is_past();
                self.lists += 1;
                if self.items.is_empty() {
                    self.list = self.lists;
                }
            }
            Tag::Item => {
                self.items_so_far += 1;
                self.items.push(Item { number: self.items_so_far, check: None, has_lead: false });
            }
            Tag::Table(_) => self.other(place.start),
            Tag::TableHead | Tag::TableRow => {
                self.cells.clear();
                self.at = Some(place.start);
            }
            Tag::TableCell => {
                self.text.clear();
                self.is_cell = true;
            }
            _ => {}
        }
    }

    fn close(&mut self, tag: TagEnd, place: Range<usize>) {
        match tag {
            TagEnd::Paragraph | TagEnd::Heading(_) => self.flush(),
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.quotes.pop();
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock => self.is_skipping = false,
            TagEnd::Item => {
                self.flush();
                self.items.pop();
            }
            TagEnd::TableCell => {
                self.is_cell = false;
                self.cells.push(MarkdownCell { text: std::mem::take(&mut self.text), source: place });
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                let cells = std::mem::take(&mut self.cells);
                let at = self.at.take().unwrap_or(place.start);
                self.add(BlockKind::Row { cells, is_head: tag == TagEnd::TableHead }, String::new(), at);
            }
            _ => {}
        }
    }

    fn push(&mut self, text: &str, place: &Range<usize>) {
        if self.is_skipping {
            return;
        }
        self.at.get_or_insert(place.start);
        self.text.push_str(text);
    }

    fn other(&mut self, at: usize) {
        self.flush();
        self.lead_is_past();
        self.add(BlockKind::Other, String::new(), at);
    }

    /// Marks the innermost item as one that starts with something other than text.
    fn lead_is_past(&mut self) {
        if let Some(item) = self.items.last_mut() {
            item.has_lead = true;
        }
    }

    /// Completes the block being collected.
    fn flush(&mut self) {
        if self.is_cell {
            return;
        }
        let heading = self.heading.take();
        let Some(at) = self.at.take() else { return };
        let text = std::mem::take(&mut self.text);
        let is_quoted = self.quotes.last().is_some_and(|(_, items)| *items == self.items.len());
        let parent = self.items.len().checked_sub(2).map(|index| self.items[index].number);
        let list = self.list;
        let kind = match (heading, self.items.last_mut()) {
            (Some(level), item) => {
                item.into_iter().for_each(|item| item.has_lead = true);
                BlockKind::Heading(level)
            }
            (None, Some(item)) if !item.has_lead && !is_quoted => {
                item.has_lead = true;
                BlockKind::Lead { check: item.check, parent, list }
            }
            (None, _) => BlockKind::Paragraph,
        };
        self.add(kind, text, at);
    }

    fn add(&mut self, kind: BlockKind, text: String, at: usize) {
        let quote = self.quotes.last().map(|(number, _)| *number);
        let item = self.items.last().map(|item| item.number);
        self.blocks.push(Block { kind, text, at, quote, item });
    }
}
