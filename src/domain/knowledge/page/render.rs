//! Writes a page.

use std::fmt::Write as _;

use super::page_text;
use super::record_page::{PageSection, RecordPage};
use super::yaml_scalar::scalar;
use crate::domain::knowledge::anchor::{Anchor, AnchorTarget, TextHash};
use crate::domain::knowledge::kinds::RecordKind;

impl RecordPage {
    /// The whole page. The same record has the same bytes.
    pub fn render(&self) -> String {
        let mut page = String::from("---\n");
        self.render_head(&mut page);
        page.push_str("---\n\n# ");
        page.push_str(&self.title());
        page.push('\n');
        for (section, heading) in PageSection::of(self.id.kind) {
            let text = section.text(self);
            if text.is_empty() {
                continue;
            }
            if let Some(heading) = heading {
                put(&mut page, format_args!("\n## {heading}\n"));
            }
            put(&mut page, format_args!("\n{}\n", page_text::encode(text)));
        }
        page
    }

    fn render_head(&self, page: &mut String) {
        put(page, format_args!("kind: {}\nname: {}\n", self.id.kind, scalar(self.id.name.as_str())));
        put(page, format_args!("basis: {}\n", self.basis));
        if let Some(status) = self.status {
            put(page, format_args!("status: {status}\n"));
        }
        if let Some(impact) = self.impact {
            put(page, format_args!("impact: {impact}\n"));
        }
        if let Some(ends) = &self.ends {
            let (from, to) = (scalar(&ends.from), scalar(&ends.to));
            put(page, format_args!("from: {from}\nto: {to}\ntype: {}\n", ends.relation));
        }
        if !self.pattern_type.is_empty() && self.id.kind != RecordKind::Relationship {
            put(page, format_args!("type: {}\n", scalar(&self.pattern_type)));
        }
        if !self.tags.is_empty() {
            page.push_str("tags:\n");
        }
        for (tag, value) in &self.tags {
            put(page, format_args!("  {}: {}\n", scalar(tag), scalar(value)));
        }
        if !self.related.is_empty() {
            page.push_str("related:\n");
        }
        for (group, names) in &self.related {
            put(page, format_args!("  {}:\n", scalar(group)));
            for name in names {
                put(page, format_args!("    - {}\n", scalar(name)));
            }
        }
        if !self.anchors.is_empty() {
            page.push_str("anchors:\n");
        }
        self.anchors.values().for_each(|anchor| render_anchor(anchor, page));
        render_list(page, "also", &self.also);
        render_list(page, "evidence", &self.evidence);
        render_list(page, "concepts", &self.concepts);
        render_list(page, "symbols", &self.symbols);
        render_list(page, "supersedes", self.supersedes.iter().map(ToString::to_string));
    }
}

fn render_list<T: AsRef<str>>(page: &mut String, key: &str, texts: impl IntoIterator<Item = T>) {
    for (number, text) in texts.into_iter().enumerate() {
        if number == 0 {
            put(page, format_args!("{key}:\n"));
        }
        put(page, format_args!("  - {}\n", scalar(text.as_ref())));
    }
}

/// What was seen of an anchored text belongs to it: without that nobody could tell when it goes stale.
fn render_anchor(anchor: &Anchor, page: &mut String) {
    let place = scalar(&anchor.target.to_string());
    let (lines, hash): (&[String], Option<&TextHash>) = match &anchor.target {
        AnchorTarget::Symbol { hash, .. } => (&[], hash.as_ref()),
        AnchorTarget::Lines { text, hash, .. } => (text, hash.as_ref()),
        _ => (&[], None),
    };
    let details = [
        ("hash", hash.map(TextHash::as_str)),
        ("file", anchor.file.as_ref().map(TextHash::as_str)),
        ("commit", anchor.commit.as_deref()),
    ];
    if details.iter().all(|(_, value)| value.is_none()) && lines.is_empty() {
        return put(page, format_args!("  - {place}\n"));
    }
    put(page, format_args!("  - at: {place}\n"));
    for (key, value) in details {
        if let Some(value) = value {
            put(page, format_args!("    {key}: {}\n", scalar(value)));
        }
    }
    if !lines.is_empty() {
        page.push_str("    lines:\n");
    }
    for line in lines {
        put(page, format_args!("      - {}\n", scalar(line)));
    }
}

/// A `String` takes everything.
fn put(page: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = page.write_fmt(text);
}
