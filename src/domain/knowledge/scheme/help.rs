//! `(help)`, `(help all)` and `(help take)`, and the names that are near to one that is not known.

use super::builtins::{BASICS, all_builtins};
use super::compile::FORMS;
use super::dialect::{DIALECT, FIELD_DIALECT, canonical};
use super::fault::{Stop, WantedItem, excerpt};
use super::fields::{DERIVED_FIELDS, FIELDS};
use super::heap::Heap;
use super::query_answer::QueryHint;
use super::value::Value;
use crate::domain::suggestions;

/// How many fields `(help all)` prints in a line.
const FIELDS_PER_LINE: usize = 8;

/// What `help` says.
pub(super) fn help<'w>(heap: &mut Heap<'w>, topic: Option<&str>) -> Result<Value<'w>, Stop> {
    let topic = topic.map(|topic| topic.trim_start_matches(':'));
    match topic {
        None => {
            let mut rows: Vec<String> =
                BASICS.iter().filter_map(|name| example(name)).map(str::to_string).collect();
            rows.push("(help all) ; the other functions, the forms and the fields".to_string());
            lines(heap, rows)
        }
        Some("all") => everything(heap),
        Some(name) => {
            let ours = canonical(name);
            let Some(example) = example(ours) else {
                let wanted = WantedItem::Name { text: name.to_string(), variables: Vec::new() };
                return Err(Stop::wanting(format!("`{}` is not a function", excerpt(name)), wanted));
            };
            let others: Vec<&str> =
                DIALECT.iter().filter(|(_, known)| *known == ours).map(|(theirs, _)| *theirs).collect();
            let mut entries = vec![
                (heap.keyword("name")?, heap.symbol(ours)?),
                (heap.keyword("example")?, heap.text(example)?),
            ];
            if !others.is_empty() {
                let others = others.into_iter().map(|name| heap.symbol(name)).collect::<Result<_, _>>()?;
                entries.push((heap.keyword("also-called")?, heap.list(others)?));
            }
            heap.dict(entries)
        }
    }
}

/// Lines for a person, under comments that say what they are.
fn everything<'w>(heap: &mut Heap<'w>) -> Result<Value<'w>, Stop> {
    let others = all_builtins().filter(|builtin| !BASICS.contains(&builtin.name));
    let mut fields: Vec<&str> = FIELDS.to_vec();
    fields.extend(DERIVED_FIELDS.iter().filter(|field| !FIELDS.contains(field)));
    let mut rows = vec!["; functions".to_string()];
    rows.extend(others.map(|builtin| builtin.example.to_string()));
    rows.push("; forms".to_string());
    rows.extend(FORMS.iter().map(|(_, example)| example.to_string()));
    rows.push("; fields".to_string());
    rows.extend(fields.chunks(FIELDS_PER_LINE).map(|some| format!(":{}", some.join(" :"))));
    lines(heap, rows)
}

/// A list of texts that is printed as lines if it is the answer.
fn lines<'w>(heap: &mut Heap<'w>, rows: Vec<String>) -> Result<Value<'w>, Stop> {
    let list = heap.made_texts(rows)?;
    heap.help = Some(list);
    Ok(list)
}

fn example(name: &str) -> Option<&'static str> {
    let form = FORMS.iter().find(|(form, _)| *form == name).map(|(_, example)| *example);
    form.or_else(|| all_builtins().find(|builtin| builtin.name == name).map(|builtin| builtin.example))
}

/// Names of more bytes are not compared with those that are known.
const LONGEST_NAME: usize = 64;

/// At most three names near to what was written, each with an example.
pub(super) fn hints(wanted: &WantedItem) -> Vec<QueryHint> {
    match wanted {
        WantedItem::Nothing => Vec::new(),
        // Nothing that is known is as long.
        WantedItem::Field(text) | WantedItem::Name { text, .. } if text.len() > LONGEST_NAME => Vec::new(),
        WantedItem::Usage(name) => hint(name, example(name).unwrap_or("")).into_iter().collect(),
        WantedItem::Field(written) => {
            let known = FIELDS.iter().chain(&DERIVED_FIELDS).copied();
            let known = known.chain(FIELD_DIALECT.iter().map(|(theirs, _)| *theirs));
            let near = suggestions(written, known).into_iter();
            near.filter_map(|field| hint(field, &format!("(:{field} d)"))).collect()
        }
        WantedItem::Name { text, variables } => {
            let known = all_builtins().map(|builtin| builtin.name);
            let known = known.chain(FORMS.iter().map(|(form, _)| *form));
            let known = known.chain(DIALECT.iter().map(|(theirs, _)| *theirs));
            let known = known.chain(FIELDS).chain(variables.iter().map(String::as_str));
            let near = suggestions(text, known.filter(|name| name != text)).into_iter();
            let mut hints: Vec<QueryHint> = near
                .filter_map(|name| match example(canonical(name)) {
                    Some(example) => hint(name, example),
                    None if FIELDS.contains(&name) => hint(name, &format!("(:{name} d)")),
                    None => hint(name, name),
                })
                .collect();
            hints.dedup_by(|one, other| one.example == other.example);
            if hints.is_empty() {
                hints.extend(hint("help", "(help all)"));
            }
            hints
        }
    }
}

fn hint(name: &str, example: &str) -> Option<QueryHint> {
    (!example.is_empty()).then(|| QueryHint { name: name.to_string(), example: example.to_string() })
}
