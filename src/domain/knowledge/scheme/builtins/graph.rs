//! Questions about how records, files and authors belong together.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use jiff::Timestamp;

use super::super::fault::Stop;
use super::super::fields::{paths, time_text};
use super::super::heap::Heap;
use super::super::outcome::Builtin;
use super::super::value::Value;
use crate::domain::knowledge::{Record, RecordId, RecordKind, RelationType};

pub(super) const BUILTINS: &[Builtin] = &[
    Builtin::plain(
        "get-relationships-from",
        1,
        Some(1),
        |heap, args| relationships(heap, args[0], End::From),
        "(get-relationships-from \"one-flock\")",
    ),
    Builtin::plain(
        "get-relationships-to",
        1,
        Some(1),
        |heap, args| relationships(heap, args[0], End::To),
        "(get-relationships-to \"one-flock\")",
    ),
    Builtin::plain(
        "get-related-files",
        1,
        Some(1),
        related_files,
        "(get-related-files \"src/sys/flock.rs\")",
    ),
    Builtin::plain(
        "neighbours",
        1,
        Some(1),
        neighbours,
        "(neighbours \"one-flock\") ; what belongs to it, and why",
    ),
    Builtin::plain(
        "contradictions",
        0,
        Some(0),
        contradictions,
        "(contradictions) ; what is said against what",
    ),
    Builtin::plain("who", 0, Some(1), who, "(who \"src/sys/flock.rs\") ; who recorded something about it"),
    Builtin::plain("history", 1, Some(1), history, "(history \"one-flock\")"),
    Builtin::plain("outline", 1, Some(1), outline, "(outline \"src/sys/flock.rs\") ; its symbols and lines"),
];

/// The longest name or path that is asked about, in bytes.
const MAX_SUBJECT: usize = 1024;
/// After how many records their steps are counted.
const RECORDS_PER_COUNT: usize = 64;

enum End {
    From,
    To,
}

/// What a question is about: a name, `kind/name`, or a path.
struct Subject {
    text: String,
    /// Its name without the kind.
    name: String,
}

impl Subject {
    fn of<'w>(heap: &Heap<'w>, value: Value<'w>) -> Result<Self, Stop> {
        let text = match value {
            Value::Record(record) if record.id.kind == RecordKind::File => {
                paths(record).first().map_or_else(|| record.id.name.to_string(), |path| (*path).to_string())
            }
            other => heap.as_text(other)?.trim_start_matches("./").to_string(),
        };
        if text.len() > MAX_SUBJECT {
            return Err(Stop::wrong("expected a name or a path"));
        }
        let name = match text.split_once('/') {
            Some((kind, name)) if RecordKind::parse(kind).is_some() => name.to_string(),
            _ => text.clone(),
        };
        Ok(Self { text, name })
    }

    fn is(&self, end: &str) -> bool {
        end == self.text || end == self.name || end.split_once('/').is_some_and(|(_, name)| name == self.name)
    }

    /// The records that it names, or that are anchored in it.
    fn records<'w>(&self, heap: &mut Heap<'w>) -> Result<Vec<&'w Record>, Stop> {
        heap.meter.steps(heap.world.snapshot.len() / 16)?;
        let named = heap.world.snapshot.named(&self.text);
        if !named.is_empty() {
            return Ok(named);
        }
        let folder = format!("{}/", self.text.trim_end_matches('/'));
        let mut found = Vec::new();
        each_record(heap, |record| {
            let mut paths = record.anchors.iter().filter_map(|anchor| anchor.target.path());
            if paths.any(|path| path.as_str() == self.text || path.as_str().starts_with(&folder)) {
                found.push(record);
            }
        })?;
        Ok(found)
    }
}

/// Goes through all records, and counts steps on the way.
fn each_record<'w>(heap: &mut Heap<'w>, mut take: impl FnMut(&'w Record)) -> Result<(), Stop> {
    let snapshot = heap.world.snapshot;
    for (number, record) in snapshot.records().enumerate() {
        if number % RECORDS_PER_COUNT == 0 {
            heap.meter.steps(RECORDS_PER_COUNT)?;
        }
        take(record);
    }
    Ok(())
}

fn relationships<'w>(heap: &mut Heap<'w>, of: Value<'w>, end: End) -> Result<Value<'w>, Stop> {
    let subject = Subject::of(heap, of)?;
    let snapshot = heap.world.snapshot;
    heap.meter.steps(snapshot.len() / 4)?;
    let fits = |record: &&Record| {
        record.statement.ends.as_ref().is_some_and(|ends| match end {
            End::From => subject.is(&ends.from),
            End::To => subject.is(&ends.to),
        })
    };
    heap.record_list(snapshot.of_kind(RecordKind::Relationship).filter(fits))
}

/// Files named together with this one, those with the most records first.
fn related_files<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let subject = Subject::of(heap, args[0])?;
    let mut counts: BTreeMap<&'w str, usize> = BTreeMap::new();
    for record in subject.records(heap)? {
        let related = record.related.get("files").into_iter().flatten().map(String::as_str);
        for path in paths(record).into_iter().chain(related) {
            *counts.entry(path).or_default() += 1;
        }
    }
    each_record(heap, |record| {
        if let Some(ends) = &record.statement.ends {
            for (one, other) in [(&ends.from, &ends.to), (&ends.to, &ends.from)] {
                if subject.is(one) && (other.contains('/') || other.contains('.')) {
                    *counts.entry(other).or_default() += 1;
                }
            }
        }
        if record.related.get("files").is_some_and(|files| files.contains(&subject.text)) {
            for path in paths(record) {
                *counts.entry(path).or_default() += 1;
            }
        }
    })?;
    counts.remove(subject.text.as_str());
    let mut files: Vec<(&'w str, usize)> = counts.into_iter().collect();
    files.sort_by_key(|(path, count)| (std::cmp::Reverse(*count), *path));
    heap.texts(files.into_iter().map(|(path, _)| path))
}

/// Records and files that belong to a record, each with the reason.
fn neighbours<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let subject = Subject::of(heap, args[0])?;
    let mut found: BTreeSet<(String, String)> = BTreeSet::new();
    let own = subject.records(heap)?;
    heap.meter.steps(own.len())?;
    for record in &own {
        for (group, names) in &record.related {
            found.extend(names.iter().map(|name| (name.clone(), format!("related {group}"))));
        }
        found.extend(record.supersedes.iter().map(|id| (id.to_string(), "superseded by it".to_string())));
        found.extend(record.superseded_by.iter().map(|id| (id.to_string(), "supersedes it".to_string())));
    }
    let own_ids: HashSet<&RecordId> = own.iter().map(|record| &record.id).collect();
    let own_paths: HashSet<&str> = own.iter().flat_map(|record| paths(record)).collect();
    each_record(heap, |record| {
        if let Some(ends) = &record.statement.ends {
            let why = || format!("{} {} {}", ends.from, ends.relation, ends.to);
            if subject.is(&ends.from) {
                found.insert((ends.to.clone(), why()));
            } else if subject.is(&ends.to) {
                found.insert((ends.from.clone(), why()));
            }
        } else if !own_ids.contains(&record.id)
            && let Some(path) = paths(record).into_iter().find(|path| own_paths.contains(path))
        {
            found.insert((record.id.to_string(), format!("also at {path}")));
        }
    })?;
    let mut rows = Vec::new();
    for (name, why) in found {
        let row = vec![(heap.keyword("name")?, heap.text(name)?), (heap.keyword("why")?, heap.text(why)?)];
        rows.push(heap.dict(row)?);
    }
    heap.list(rows)
}

/// What contradicts what, and records about which two authors differ.
fn contradictions<'w>(heap: &mut Heap<'w>, _: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let snapshot = heap.world.snapshot;
    heap.meter.steps(snapshot.len() / 4)?;
    let mut rows = Vec::new();
    for record in snapshot.records() {
        let ends = record.statement.ends.as_ref();
        let ends = ends.filter(|ends| ends.relation == RelationType::Contradicts);
        let (one, other, why) = match (ends, record.also_said.first()) {
            (Some(ends), _) => (ends.from.clone(), ends.to.clone(), record.statement.headline().to_string()),
            (None, Some(said)) => {
                let other = format!("{} said: {}", said.origin.author, said.headline());
                (record.id.to_string(), other, "said without having seen the other".to_string())
            }
            (None, None) => continue,
        };
        let row = vec![
            (heap.keyword("one")?, heap.text(one)?),
            (heap.keyword("other")?, heap.text(other)?),
            (heap.keyword("why")?, heap.text(why)?),
        ];
        rows.push(heap.dict(row)?);
    }
    heap.list(rows)
}

/// Authors, how many records they made, and when they made the latest.
fn who<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let records = match args.first() {
        Some(about) => Subject::of(heap, *about)?.records(heap)?,
        None => heap.world.snapshot.records().collect(),
    };
    let mut authors: BTreeMap<&'w str, (i64, Timestamp)> = BTreeMap::new();
    for (number, record) in records.into_iter().enumerate() {
        if number % RECORDS_PER_COUNT == 0 {
            heap.meter.steps(RECORDS_PER_COUNT)?;
        }
        let origin = &record.statement.origin;
        let others = record.confirmations.iter().map(|confirmation| &confirmation.origin);
        for origin in others.chain([origin]) {
            let entry = authors.entry(origin.author.as_str()).or_insert((0, origin.at));
            *entry = (entry.0 + 1, entry.1.max(origin.at));
        }
    }
    let mut sorted: Vec<(&'w str, (i64, Timestamp))> = authors.into_iter().collect();
    sorted.sort_by_key(|(author, (count, _))| (std::cmp::Reverse(*count), *author));
    let mut rows = Vec::new();
    for (author, (count, latest)) in sorted {
        let row = vec![
            (heap.keyword("author")?, heap.text(author)?),
            (heap.keyword("records")?, Value::Integer(count)),
            (heap.keyword("latest")?, heap.text(time_text(latest))?),
        ];
        rows.push(heap.dict(row)?);
    }
    heap.list(rows)
}

fn history<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let records = match args[0] {
        Value::Record(record) => vec![record],
        other => {
            let snapshot = heap.world.snapshot;
            heap.meter.steps(snapshot.len() / 8)?;
            snapshot.named(heap.as_text(other)?)
        }
    };
    let mut rows = Vec::new();
    for record in records {
        heap.meter.look()?;
        for event in heap.world.facts.history(&record.id) {
            let row = vec![
                (heap.keyword("at")?, heap.text(time_text(event.at))?),
                (heap.keyword("author")?, heap.text(event.author)?),
                (heap.keyword("text")?, heap.text(event.text)?),
            ];
            rows.push(heap.dict(row)?);
        }
    }
    heap.list(rows)
}

/// `nil` if there is no such file.
fn outline<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let subject = Subject::of(heap, args[0])?;
    heap.meter.steps(1_000)?;
    heap.meter.look()?;
    let Some(symbols) = heap.world.facts.outline(&subject.text) else { return Ok(Value::Nil) };
    let mut rows = Vec::new();
    for symbol in symbols {
        let row = vec![
            (heap.keyword("name")?, heap.text(symbol.name)?),
            (heap.keyword("kind")?, heap.symbol(&symbol.kind)?),
            (heap.keyword("from")?, Value::Integer(symbol.first_line.into())),
            (heap.keyword("to")?, Value::Integer(symbol.last_line.into())),
        ];
        rows.push(heap.dict(row)?);
    }
    heap.list(rows)
}
