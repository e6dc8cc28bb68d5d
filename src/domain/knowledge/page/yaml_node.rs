//! The head of a page as a tree of texts, lists and maps, each with its place.
//!
//! Every scalar is a text. Aliases, tags and several documents are refused: a page has no use for them, and a stranger
//! could make much of little with them.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};

use super::page_error::{PageError, PageSpot};

/// The deepest nesting: the map of an anchor in the list of anchors in the head has texts in a list.
const DEEPEST: usize = 5;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct YamlNode {
    pub(super) spot: PageSpot,
    pub(super) value: YamlValue,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum YamlValue {
    /// A key with nothing after it.
    Nothing,
    Text(String),
    List(Vec<YamlNode>),
    /// No key is there twice.
    Map(Vec<YamlEntry>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct YamlEntry {
    pub(super) spot: PageSpot,
    pub(super) key: String,
    pub(super) node: YamlNode,
}

/// What is open while the events come in.
enum OpenNode {
    List(Vec<YamlNode>),
    Map(Vec<YamlEntry>, Option<(PageSpot, String)>),
}

/// Reads one document. Its first line is line `first_line` of the page.
pub(super) fn parse_yaml(text: &str, first_line: usize) -> Result<YamlNode, PageError> {
    let place = |marker: &Marker| PageSpot {
        line: (marker.line() + first_line).saturating_sub(1).max(first_line),
        column: marker.col() + 1,
    };
    let mut open: Vec<(PageSpot, OpenNode)> = Vec::new();
    let mut root = None;
    for event in Parser::new_from_str(text) {
        let (event, span) = event
            .map_err(|error| PageError::new(place(error.marker()), format!("not YAML: {}", error.info())))?;
        let spot = place(&span.start);
        let refuse = |problem: &str| Err(PageError::new(spot, problem));
        let is_marked = match &event {
            Event::Alias(_) => true,
            Event::Scalar(_, _, anchor, tag) => *anchor > 0 || tag.is_some(),
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => {
                *anchor > 0 || tag.is_some()
            }
            _ => false,
        };
        if is_marked {
            return refuse("a page has no YAML anchors, aliases or tags");
        }
        let done = match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => continue,
            Event::DocumentStart(_) if root.is_some() => return refuse("the head has a second document"),
            Event::DocumentStart(_) | Event::Alias(_) => continue,
            Event::Scalar(text, style, ..) => {
                let is_nothing = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null");
                let value = if is_nothing { YamlValue::Nothing } else { YamlValue::Text(text.into_owned()) };
                YamlNode { spot, value }
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() >= DEEPEST => {
                return refuse("the head is nested too deeply");
            }
            Event::SequenceStart(..) => {
                open.push((spot, OpenNode::List(Vec::new())));
                continue;
            }
            Event::MappingStart(..) => {
                open.push((spot, OpenNode::Map(Vec::new(), None)));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some((spot, OpenNode::List(items))) => YamlNode { spot, value: YamlValue::List(items) },
                Some((spot, OpenNode::Map(entries, _))) => YamlNode { spot, value: YamlValue::Map(entries) },
                None => return refuse("the head is not YAML"),
            },
        };
        match open.last_mut() {
            None => root = Some(done),
            Some((_, OpenNode::List(items))) => items.push(done),
            Some((_, OpenNode::Map(entries, key))) => take(entries, key, done)?,
        }
    }
    root.ok_or_else(|| PageError::new(PageSpot::line(first_line), "the head is empty"))
}

/// Takes a node of a map: a key, or what belongs to the key before it.
fn take(
    entries: &mut Vec<YamlEntry>,
    key: &mut Option<(PageSpot, String)>,
    node: YamlNode,
) -> Result<(), PageError> {
    if let Some((spot, key)) = key.take() {
        entries.push(YamlEntry { spot, key, node });
        return Ok(());
    }
    let YamlValue::Text(text) = node.value else {
        return Err(PageError::new(node.spot, "the key is not a text"));
    };
    if entries.iter().any(|entry| entry.key == text) {
        let problem = format!("`{}` is there twice", text.escape_debug());
        return Err(PageError::new(node.spot, problem));
    }
    *key = Some((node.spot, text));
    Ok(())
}

impl YamlNode {
    fn wrong(&self, key: &str, expected: &str) -> PageError {
        PageError::new(self.spot, format!("`{}` is not {expected}", key.escape_debug()))
    }

    /// The text of the field `key`.
    pub(super) fn text(&self, key: &str) -> Result<&str, PageError> {
        match &self.value {
            YamlValue::Text(text) => Ok(text),
            _ => Err(self.wrong(key, "a text")),
        }
    }

    /// The items; nothing at all is an empty list.
    pub(super) fn list(&self, key: &str) -> Result<&[YamlNode], PageError> {
        match &self.value {
            YamlValue::List(items) => Ok(items),
            YamlValue::Nothing => Ok(&[]),
            _ => Err(self.wrong(key, "a list")),
        }
    }

    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>, PageError> {
        self.list(key)?.iter().map(|item| item.text(key).map(str::to_string)).collect()
    }

    /// The entries; nothing at all is an empty map.
    pub(super) fn map(&self, key: &str) -> Result<&[YamlEntry], PageError> {
        match &self.value {
            YamlValue::Map(entries) => Ok(entries),
            YamlValue::Nothing => Ok(&[]),
            _ => Err(self.wrong(key, "a map of names and values")),
        }
    }
}
