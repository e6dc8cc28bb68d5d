//! The fields in the head of a page.

use std::collections::{BTreeMap, BTreeSet};

use super::page_error::{PageError, PageSpot};
use super::record_page::RecordPage;
use super::yaml_node::{YamlNode, YamlValue};
use crate::domain::knowledge::anchor::{Anchor, AnchorTarget, MAX_ANCHOR_LINE, MAX_ANCHOR_LINES, TextHash};
use crate::domain::knowledge::draft::id_of;
use crate::domain::knowledge::kinds::{Basis, DecisionStatus, RecordKind, RelationType};
use crate::domain::knowledge::statement::RelationEnds;
use crate::domain::suggestions;

const FIELDS: [&str; 16] = [
    "kind",
    "name",
    "basis",
    "status",
    "impact",
    "from",
    "to",
    "type",
    "tags",
    "related",
    "anchors",
    "also",
    "evidence",
    "concepts",
    "symbols",
    "supersedes",
];
const ANCHOR_FIELDS: [&str; 5] = ["at", "hash", "file", "commit", "lines"];

/// Where the fields of a page are.
pub(super) type FieldSpots = BTreeMap<&'static str, PageSpot>;

/// Reads the head into the page.
pub(super) fn read_head(page: &mut RecordPage, head: &YamlNode) -> Result<FieldSpots, PageError> {
    let YamlValue::Map(entries) = &head.value else {
        return Err(PageError::new(
            head.spot,
            "the head is not a map: write `name: …` and so on, one a line",
        ));
    };
    let mut spots = FieldSpots::new();
    let (mut ends, mut kind_type) = ((None, None), None);
    for entry in entries {
        let (node, field) = (&entry.node, entry.key.as_str());
        let known = FIELDS.into_iter().find(|known| *known == field);
        let Some(known) = known else { return Err(unknown("field", field, entry.spot, FIELDS)) };
        spots.insert(known, node.spot);
        match known {
            "kind" => check_same(node, field, page.id.kind.as_str(), "the directory", RecordKind::ALL)?,
            "name" if node.text(field)? != page.id.name.as_str() => {
                let (text, name) = (node.text(field)?.escape_debug(), &page.id.name);
                let problem = format!("the name `{text}` differs from the name of the file, `{name}.md`");
                return Err(PageError::new(node.spot, problem));
            }
            "name" => {}
            "basis" => page.basis = word(node, field, Basis::parse, Basis::ALL)?,
            "status" => page.status = Some(word(node, field, DecisionStatus::parse, DecisionStatus::ALL)?),
            "impact" => {
                let impact = node.text(field)?.parse().ok().filter(|impact| *impact <= 10);
                let problem = "`impact` is not a whole number from 0 to 10";
                page.impact = Some(impact.ok_or_else(|| PageError::new(node.spot, problem))?);
            }
            "from" => ends.0 = Some(node.text(field)?.to_string()),
            "to" => ends.1 = Some(node.text(field)?.to_string()),
            "type" => kind_type = Some(node),
            "tags" => {
                for tag in node.map(field)? {
                    page.tags.insert(tag.key.clone(), tag.node.text(field)?.to_string());
                }
            }
            "related" => {
                for group in node.map(field)? {
                    let names: BTreeSet<String> = group.node.texts(field)?.into_iter().collect();
                    if group.key.contains('/') {
                        return Err(PageError::new(group.spot, "the name of a group has no `/`"));
                    }
                    page.related.insert(group.key.clone(), names);
                }
            }
            "anchors" => {
                for anchor in node.list(field)?.iter().map(anchor) {
                    let anchor = anchor?;
                    page.anchors.insert(anchor.target.to_string(), anchor);
                }
            }
            "also" => page.also.extend(node.texts(field)?),
            "evidence" => page.evidence.extend(node.texts(field)?),
            "concepts" => page.concepts.extend(node.texts(field)?),
            "symbols" => page.symbols.extend(node.texts(field)?),
            _ => {
                for old in node.list(field)? {
                    let name = old.text(field)?;
                    let problem = || format!("`{}` is not the name of a record", name.escape_debug());
                    let id = id_of(page.id.kind, name).ok_or_else(|| PageError::new(old.spot, problem()))?;
                    page.supersedes.insert(id);
                }
            }
        }
    }
    read_type(page, head, ends, kind_type)?;
    Ok(spots)
}

/// The type of a pattern, or the type and the ends of a relationship.
fn read_type(
    page: &mut RecordPage,
    head: &YamlNode,
    ends: (Option<String>, Option<String>),
    kind_type: Option<&YamlNode>,
) -> Result<(), PageError> {
    match (page.id.kind, ends, kind_type) {
        (RecordKind::Relationship, (Some(from), Some(to)), Some(node)) => {
            let relation = word(node, "type", RelationType::parse, RelationType::ALL)?;
            page.ends = Some(RelationEnds { from, to, relation });
            Ok(())
        }
        (RecordKind::Relationship, ..) => {
            Err(PageError::new(head.spot, "a relationship needs `from`, `to` and `type`"))
        }
        (kind, (Some(_), _) | (_, Some(_)), _) => {
            Err(PageError::new(head.spot, format!("a {kind} has no `from` and no `to`")))
        }
        (_, (None, None), Some(node)) => {
            page.pattern_type = node.text("type")?.to_string();
            Ok(())
        }
        (_, (None, None), None) => Ok(()),
    }
}

fn anchor(node: &YamlNode) -> Result<Anchor, PageError> {
    let target = |node: &YamlNode| {
        let target = AnchorTarget::parse(node.text("anchors")?);
        target.map_err(|error| PageError::new(node.spot, error.to_string()))
    };
    let YamlValue::Map(entries) = &node.value else {
        return Ok(Anchor::new(target(node)?));
    };
    let Some(at) = entries.iter().find(|entry| entry.key == "at") else {
        return Err(PageError::new(node.spot, "the anchor has no `at`: the place that it is about"));
    };
    let mut anchor = Anchor::new(target(&at.node)?);
    for entry in entries {
        let (node, field) = (&entry.node, entry.key.as_str());
        match field {
            "at" => {}
            "hash" => {
                let seen = Some(TextHash::stored(digits(node, field)?));
                match &mut anchor.target {
                    AnchorTarget::Symbol { hash, .. } | AnchorTarget::Lines { hash, .. } => *hash = seen,
                    _ => return Err(PageError::new(entry.spot, "only symbols and lines have a `hash`")),
                }
            }
            "file" => anchor.file = Some(TextHash::stored(digits(node, field)?)),
            "commit" => anchor.commit = Some(digits(node, field)?.to_string()),
            "lines" => match &mut anchor.target {
                AnchorTarget::Lines { text, .. } => *text = lines(node)?,
                _ => return Err(PageError::new(entry.spot, "only an anchor to lines has `lines`")),
            },
            _ => return Err(unknown("field of an anchor", field, entry.spot, ANCHOR_FIELDS)),
        }
    }
    Ok(anchor)
}

fn lines(node: &YamlNode) -> Result<Vec<String>, PageError> {
    let lines = node.texts("lines")?;
    let is_long = |line: &String| line.chars().count() > MAX_ANCHOR_LINE;
    if lines.len() > MAX_ANCHOR_LINES || lines.iter().any(is_long) {
        let problem = format!(
            "at most {MAX_ANCHOR_LINES} lines of {MAX_ANCHOR_LINE} characters of an anchored text are kept"
        );
        return Err(PageError::new(node.spot, problem));
    }
    Ok(lines)
}

/// A hash, or the id of a commit, which may be given to git.
fn digits<'a>(node: &'a YamlNode, field: &str) -> Result<&'a str, PageError> {
    let text = node.text(field)?;
    match !text.is_empty() && text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => Ok(text),
        false => Err(PageError::new(node.spot, format!("`{field}` is not a hexadecimal number"))),
    }
}

fn word<T: Copy + std::fmt::Display>(
    node: &YamlNode,
    field: &str,
    parse: impl Fn(&str) -> Option<T>,
    all: &[T],
) -> Result<T, PageError> {
    let text = node.text(field)?;
    parse(text).ok_or_else(|| {
        let words: Vec<String> = all.iter().map(ToString::to_string).collect();
        let problem = format!("`{}` is not a {field}: use {}", text.escape_debug(), words.join(", "));
        PageError::new(node.spot, problem)
    })
}

/// The kind must be known, and be that of the directory.
fn check_same(
    node: &YamlNode,
    field: &str,
    expected: &str,
    place: &str,
    all: &[RecordKind],
) -> Result<(), PageError> {
    let kind = word(node, field, RecordKind::parse, all)?;
    if kind.as_str() == expected {
        return Ok(());
    }
    Err(PageError::new(node.spot, format!("the {field} `{kind}` differs from {place}, `{expected}`")))
}

fn unknown<const COUNT: usize>(
    what: &str,
    field: &str,
    spot: PageSpot,
    fields: [&'static str; COUNT],
) -> PageError {
    let near = suggestions(field, fields);
    let hint = match near.as_slice() {
        [] => format!("there are {}", fields.join(", ")),
        near => format!("did you mean {}?", near.join(", ")),
    };
    PageError::new(spot, format!("unknown {what} `{}`: {hint}", field.escape_debug()))
}
