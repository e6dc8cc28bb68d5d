//! Maps, and the parts of records.

use super::super::fault::Stop;
use super::super::heap::Heap;
use super::super::outcome::Builtin;
use super::super::value::Value;

pub(super) const BUILTINS: &[Builtin] = &[
    Builtin::plain(
        "get",
        2,
        Some(3),
        |heap, args| heap.get(args[0], args[1], args.get(2).copied()),
        "(get d :status \"none\") ; also (@ d :status), (@ 'status d), (:status d)",
    ),
    Builtin::plain("get-in", 2, Some(3), get_in, "(get-in d [:related :files])"),
    Builtin::plain("hash-map", 0, None, hash_map, "{:name \"a\" :size 3}"),
    Builtin::plain("assoc", 2, None, assoc, "(assoc {:a 1} :b 2)"),
    Builtin::plain("dissoc", 1, None, dissoc, "(dissoc {:a 1 :b 2} :b)"),
    Builtin::plain("merge", 0, None, merge, "(merge {:a 1} {:b 2})"),
    Builtin::plain(
        "select-keys",
        2,
        None,
        select_keys,
        "(map (fn [d] (select-keys d [:name :status])) (get-decisions))",
    ),
    Builtin::plain("keys", 1, Some(1), keys, "(keys {:a 1})"),
    Builtin::plain("vals", 1, Some(1), vals, "(vals {:a 1})"),
    Builtin::plain("zipmap", 2, Some(2), zipmap, "(zipmap [:a :b] [1 2])"),
];

fn get_in<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let mut value = args[0];
    for key in heap.elements(args[1])? {
        value = heap.get(value, key, None)?;
    }
    Ok(match (value, args.get(2)) {
        (Value::Nil, Some(default)) => *default,
        (value, _) => value,
    })
}

fn hash_map<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let empty = heap.dict(Vec::new())?;
    with(heap, empty, args)
}

/// The map with other entries; a later one replaces an earlier one of the same key.
pub(super) fn with<'w>(heap: &mut Heap<'w>, map: Value<'w>, pairs: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    if !pairs.len().is_multiple_of(2) {
        return Err(Stop::wrong("a key has no value"));
    }
    let mut entries = entries(heap, map)?;
    for pair in pairs.chunks_exact(2) {
        heap.put_entry(&mut entries, pair[0], pair[1])?;
    }
    heap.dict(entries)
}

/// The entries of a map, or the fields of a record that are shown.
pub(super) fn entries<'w>(heap: &mut Heap<'w>, map: Value<'w>) -> Result<Vec<(Value<'w>, Value<'w>)>, Stop> {
    match map {
        Value::Nil => Ok(Vec::new()),
        Value::Dict(dict) => {
            heap.meter.steps(heap.entries(dict).len() / 8)?;
            Ok(heap.entries(dict).to_vec())
        }
        Value::Record(record) => {
            let mut entries = Vec::new();
            for (field, value) in heap.shown_fields(record)? {
                entries.push((heap.keyword(field)?, value));
            }
            Ok(entries)
        }
        other => Err(Stop::wrong(format!("expected a map, got {}", heap.describe(other)))),
    }
}

/// `(assoc map key value)`, or in Scheme's manner `(assoc key pairs)`.
fn assoc<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    if args.len() != 2 {
        return with(heap, args[0], &args[1..]);
    }
    let list = heap.as_list(args[1])?;
    for nth in 0..list.len() {
        let pair = heap.cells(list)[nth];
        if let Value::List(parts) = pair
            && let Some(key) = heap.cells(parts).first().copied()
            && heap.are_equal(key, args[0])?
        {
            return Ok(pair);
        }
    }
    Ok(Value::Nil)
}

fn dissoc<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let mut kept = Vec::new();
    'entries: for (key, value) in entries(heap, args[0])? {
        for removed in &args[1..] {
            if heap.are_equal(key, *removed)? {
                continue 'entries;
            }
        }
        kept.push((key, value));
    }
    heap.dict(kept)
}

fn merge<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let mut pairs = Vec::new();
    for map in args {
        for (key, value) in entries(heap, *map)? {
            pairs.extend([key, value]);
        }
    }
    hash_map(heap, &pairs)
}

fn select_keys<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let keys = match &args[1..] {
        [one] if one.is_list() => heap.elements(*one)?,
        several => several.to_vec(),
    };
    let mut chosen = Vec::new();
    for key in keys {
        let value = heap.get(args[0], key, None)?;
        let is_there = match args[0] {
            Value::Dict(dict) => heap.entry(dict, key)?.is_some(),
            _ => true,
        };
        if is_there {
            heap.put_entry(&mut chosen, key, value)?;
        }
    }
    heap.dict(chosen)
}

fn keys<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let keys = entries(heap, args[0])?.into_iter().map(|(key, _)| key).collect();
    heap.list(keys)
}

fn vals<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let values = entries(heap, args[0])?.into_iter().map(|(_, value)| value).collect();
    heap.list(values)
}

fn zipmap<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let (keys, values) = (heap.elements(args[0])?, heap.elements(args[1])?);
    let pairs: Vec<Value<'w>> = keys.into_iter().zip(values).flat_map(|(key, value)| [key, value]).collect();
    hash_map(heap, &pairs)
}
