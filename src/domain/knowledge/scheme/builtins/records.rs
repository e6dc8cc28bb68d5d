//! Questions about the records.

use jiff::{SignedDuration, Timestamp};

use super::super::fault::{Stop, excerpt};
use super::super::fields::paths;
use super::super::heap::Heap;
use super::super::outcome::Builtin;
use super::super::value::Value;
use crate::domain::knowledge::{Record, RecordKind};

const RECENT: usize = 10;
const FOUND: usize = 10;
/// The longest text to search for, in bytes.
const MAX_WORDS: usize = 1024;
/// The most records that a search gives.
const MAX_FOUND: usize = 200;

pub(super) const BUILTINS: &[Builtin] = &[
    Builtin::plain(
        "search-knowledge",
        1,
        None,
        search,
        "(search-knowledge \"file locks\" 5) ; the best first",
    ),
    Builtin::plain("get-records", 0, Some(0), |heap, _| chosen(heap, |_| true), "(get-records) ; all kinds"),
    Builtin::plain(
        "get-record",
        1,
        Some(1),
        |heap, args| named(heap, args[0], None),
        "(get-record \"one-flock\") ; any kind, or \"decision/one-flock\"",
    ),
    Builtin::plain(
        "get-decisions",
        0,
        Some(0),
        |heap, _| of_kind(heap, RecordKind::Decision),
        "(get-decisions)",
    ),
    Builtin::plain(
        "get-decision",
        1,
        Some(1),
        |heap, args| named(heap, args[0], Some(RecordKind::Decision)),
        "(:rationale (get-decision \"one-flock\"))",
    ),
    Builtin::plain(
        "get-decisions-by-status",
        1,
        Some(1),
        by_status,
        "(get-decisions-by-status 'active) ; or deprecated, superseded",
    ),
    Builtin::plain(
        "get-principles",
        0,
        Some(0),
        |heap, _| of_kind(heap, RecordKind::Principle),
        "(get-principles)",
    ),
    Builtin::plain(
        "get-principle",
        1,
        Some(1),
        |heap, args| named(heap, args[0], Some(RecordKind::Principle)),
        "(get-principle \"one-writer\")",
    ),
    Builtin::plain(
        "get-patterns",
        0,
        Some(0),
        |heap, _| of_kind(heap, RecordKind::Pattern),
        "(get-patterns)",
    ),
    Builtin::plain(
        "get-pattern",
        1,
        Some(1),
        |heap, args| named(heap, args[0], Some(RecordKind::Pattern)),
        "(get-pattern \"guard-value\")",
    ),
    Builtin::plain("get-patterns-by-type", 1, Some(1), by_type, "(get-patterns-by-type \"concurrency\")"),
    Builtin::plain("get-notes", 0, Some(0), |heap, _| of_kind(heap, RecordKind::Note), "(get-notes)"),
    Builtin::plain("get-tried", 0, Some(1), tried, "(get-tried) ; what failed, and why"),
    Builtin::plain(
        "get-files",
        0,
        Some(0),
        |heap, _| of_kind(heap, RecordKind::File),
        "(get-files) ; files that somebody described",
    ),
    Builtin::plain(
        "get-file-understanding",
        1,
        Some(1),
        understanding,
        "(get-file-understanding \"src/sys/flock.rs\")",
    ),
    Builtin::plain(
        "get-relationships",
        0,
        Some(0),
        |heap, _| of_kind(heap, RecordKind::Relationship),
        "(get-relationships)",
    ),
    Builtin::plain("get-stale", 0, Some(0), stale, "(get-stale) ; records whose code changed or is gone"),
    Builtin::plain("get-recent", 0, Some(1), recent, "(get-recent 5) ; or (get-recent \"7d\")"),
    Builtin::plain(
        "stale?",
        1,
        Some(1),
        |heap, args| field(heap, args[0], "stale"),
        "(filter stale? (get-notes))",
    ),
    Builtin::plain(
        "superseded?",
        1,
        Some(1),
        |heap, args| field(heap, args[0], "superseded"),
        "(remove superseded? (get-decisions))",
    ),
];

impl<'w> Heap<'w> {
    pub(super) fn record_list(
        &mut self,
        records: impl IntoIterator<Item = &'w Record>,
    ) -> Result<Value<'w>, Stop> {
        let records: Vec<Value<'w>> = records.into_iter().map(Value::Record).collect();
        self.meter.steps(records.len() / 8)?;
        self.list(records)
    }
}

fn chosen<'w>(heap: &mut Heap<'w>, is_chosen: impl Fn(&Record) -> bool) -> Result<Value<'w>, Stop> {
    heap.meter.steps(heap.world.snapshot.len() / 8)?;
    let snapshot = heap.world.snapshot;
    heap.record_list(snapshot.records().filter(|record| is_chosen(record)))
}

fn of_kind<'w>(heap: &mut Heap<'w>, kind: RecordKind) -> Result<Value<'w>, Stop> {
    chosen(heap, |record| record.id.kind == kind)
}

/// The record of that name; `nil` if there is none.
fn named<'w>(heap: &mut Heap<'w>, name: Value<'w>, kind: Option<RecordKind>) -> Result<Value<'w>, Stop> {
    if let Value::Record(_) = name {
        return Ok(name);
    }
    heap.meter.steps(heap.world.snapshot.len() / 8)?;
    let snapshot = heap.world.snapshot;
    let found = snapshot.named(heap.as_text(name)?);
    let mut fitting = found.into_iter().filter(|record| kind.is_none_or(|kind| record.id.kind == kind));
    Ok(fitting.next().map_or(Value::Nil, Value::Record))
}

fn by_status<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let wanted = heap.as_text(args[0])?.to_lowercase();
    chosen(heap, |record| {
        record.id.kind == RecordKind::Decision
            && record.status().is_some_and(|status| status.as_str() == wanted)
    })
}

fn by_type<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let wanted = heap.as_text(args[0])?.to_lowercase();
    chosen(heap, |record| {
        record.id.kind == RecordKind::Pattern && record.statement.pattern_type.to_lowercase() == wanted
    })
}

fn tried<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    match args.first() {
        Some(name) => named(heap, *name, Some(RecordKind::Tried)),
        None => of_kind(heap, RecordKind::Tried),
    }
}

/// The record about a file: by its path, the end of its path, or the record's name.
fn understanding<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    heap.meter.steps(heap.world.snapshot.len() / 8)?;
    heap.charge_letters(args[0])?;
    let wanted = heap.as_text(args[0])?.trim_start_matches("./").to_string();
    let snapshot = heap.world.snapshot;
    let files = || snapshot.of_kind(RecordKind::File);
    let exact = files().find(|record| paths(record).contains(&wanted.as_str()));
    let by_name = || files().find(|record| record.id.name.as_str() == wanted);
    let ending = format!("/{wanted}");
    let by_end = || {
        let mut fitting = files().filter(|record| paths(record).iter().any(|path| path.ends_with(&ending)));
        fitting.next().filter(|_| fitting.next().is_none())
    };
    Ok(exact.or_else(by_name).or_else(by_end).map_or(Value::Nil, Value::Record))
}

/// `(search-knowledge "words" 5)`, also with the words one by one.
fn search<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let mut words = Vec::new();
    let mut limit = FOUND;
    for value in args {
        match value {
            Value::Integer(_) => limit = heap.as_count(*value)?.min(MAX_FOUND),
            Value::Keyword(name) if heap.name(*name) == "limit" => {}
            other => words.push(heap.as_text(*other)?.to_string()),
        }
    }
    let words = words.join(" ");
    if words.len() > MAX_WORDS {
        return Err(Stop::wrong("expected a few words to search for"));
    }
    heap.meter.steps(1_000)?;
    heap.meter.look()?;
    let found = heap.world.facts.search(&words, limit);
    let snapshot = heap.world.snapshot;
    let records = found.iter().take(limit).filter_map(|id| snapshot.get(id));
    heap.record_list(records)
}

fn stale<'w>(heap: &mut Heap<'w>, _: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let snapshot = heap.world.snapshot;
    let mut found = Vec::new();
    for record in snapshot.records() {
        if matches!(heap.verdict(record)?, Some("stale" | "gone")) {
            found.push(record);
        }
    }
    heap.record_list(found)
}

/// The latest first: so many, or those since a day ago.
fn recent<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let snapshot = heap.world.snapshot;
    heap.meter.steps(snapshot.len() / 4)?;
    let mut records: Vec<&Record> = snapshot.records().collect();
    records.sort_by(|a, b| b.changed.cmp(&a.changed).then_with(|| a.id.cmp(&b.id)));
    match args.first() {
        None => records.truncate(RECENT),
        Some(count @ (Value::Integer(_) | Value::Float(_))) => records.truncate(heap.as_count(*count)?),
        Some(since) => {
            let since = moment(heap, *since)?;
            records.retain(|record| record.changed >= since);
        }
    }
    heap.record_list(records)
}

/// `"7d"`, `"12h"`, `"2026-11-01"` or a whole time.
fn moment<'w>(heap: &Heap<'w>, value: Value<'w>) -> Result<Timestamp, Stop> {
    let text = heap.as_text(value)?;
    let wrong = || {
        let text = excerpt(text);
        Stop::wrong(format!("`{text}` is not a time: use for example \"7d\", \"12h\" or \"2026-11-01\""))
    };
    let (digits, unit) = text.split_at(text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len()));
    let seconds = match unit {
        "m" | "min" => Some(60),
        "h" => Some(3_600),
        "d" => Some(86_400),
        "w" => Some(604_800),
        _ => None,
    };
    if let (Ok(count), Some(seconds)) = (digits.parse::<i64>(), seconds) {
        let ago = SignedDuration::from_secs(count.checked_mul(seconds).ok_or_else(wrong)?);
        return heap.world.facts.now().checked_sub(ago).map_err(|_| wrong());
    }
    let day = || format!("{text}T00:00:00Z").parse().ok();
    text.parse().ok().or_else(day).ok_or_else(wrong)
}

fn field<'w>(heap: &mut Heap<'w>, record: Value<'w>, name: &str) -> Result<Value<'w>, Stop> {
    match record {
        Value::Record(record) => heap.known_field(record, name),
        other => Err(Stop::wrong(format!("expected a record, got {}", heap.describe(other)))),
    }
}
