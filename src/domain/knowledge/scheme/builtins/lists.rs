//! Lists. Functions that cut a list take it and the number either way round.

use super::super::fault::Stop;
use super::super::heap::Heap;
use super::super::outcome::Builtin;
use super::super::value::{ListView, Value};
use super::maps::{entries, with};
use super::truth::truth;

pub(super) const BUILTINS: &[Builtin] = &[
    Builtin::plain("list", 0, None, |heap, args| heap.list(args.to_vec()), "(list 1 2 3)"),
    Builtin::plain("as-list", 1, Some(2), as_list, "(as-list {:a 1}) ; ((:a 1))"),
    Builtin::plain("cons", 2, Some(2), cons, "(cons 1 '(2 3))"),
    Builtin::plain("cons*", 1, None, cons_several, "(cons* 1 2 '(3))"),
    Builtin::plain("conj", 1, None, conj, "(conj [1 2] 3)"),
    Builtin::plain("into", 2, Some(2), into, "(into [] xs)"),
    Builtin::plain("count", 1, Some(1), count, "(count (get-decisions))"),
    Builtin::plain("first", 1, Some(1), |heap, args| element(heap, args[0], 0), "(first (get-recent))"),
    Builtin::plain("second", 1, Some(1), |heap, args| element(heap, args[0], 1), "(second '(1 2))"),
    Builtin::plain("third", 1, Some(1), |heap, args| element(heap, args[0], 2), "(third '(1 2 3))"),
    Builtin::plain("caar", 1, Some(1), first_of_first, "(caar '((1 2)))"),
    Builtin::plain(
        "cddr",
        1,
        Some(1),
        |heap, args| Ok(Value::List(heap.as_list(args[0])?.skip(2))),
        "(cddr '(1 2 3))",
    ),
    Builtin::plain(
        "rest",
        1,
        Some(1),
        |heap, args| Ok(Value::List(heap.as_list(args[0])?.skip(1))),
        "(rest '(1 2 3))",
    ),
    Builtin::plain("last-element", 1, Some(1), last, "(last '(1 2 3)) ; 3"),
    Builtin::plain("butlast", 1, Some(1), butlast, "(butlast '(1 2 3))"),
    Builtin::plain("nth", 2, Some(3), nth, "(nth xs 0)"),
    Builtin::plain("take", 2, Some(2), take, "(take 5 (get-recent))"),
    Builtin::plain("drop", 2, Some(2), drop, "(drop 5 xs)"),
    Builtin::plain("take-last", 2, Some(2), take_last, "(take-last 2 xs)"),
    Builtin::plain("subvec", 2, Some(3), part, "(subvec xs 1 3)"),
    Builtin::plain("append", 0, None, append, "(append '(1) '(2 3))"),
    Builtin::plain("reverse", 1, Some(1), reverse, "(reverse '(1 2 3))"),
    Builtin::plain("range", 1, Some(3), range, "(range 0 10)"),
    Builtin::plain("repeat", 2, Some(2), repeat, "(repeat 3 'x)"),
    Builtin::plain("zip", 1, None, zip, "(zip '(1 2) '(a b)) ; ((1 a) (2 b))"),
    Builtin::plain("interpose", 2, Some(2), interpose, "(interpose 0 '(1 2)) ; (1 0 2)"),
    Builtin::plain("partition", 2, Some(2), chunks, "(partition 2 '(1 2 3 4)) ; ((1 2) (3 4))"),
    Builtin::plain("unique", 1, None, unique, "(unique (map :author (get-notes)))"),
    Builtin::plain("frequencies", 1, Some(1), frequencies, "(frequencies (map :kind (get-records)))"),
    Builtin::plain("flatten", 1, Some(1), flatten, "(flatten '(1 (2 (3))))"),
    Builtin::plain("member", 2, None, member, "(member 2 '(1 2 3)) ; (2 3)"),
    Builtin::plain("contains?", 2, Some(2), contains, "(contains? {:a 1} :a)"),
    Builtin::plain("index-of", 2, Some(2), index_of, "(index-of '(a b) 'b) ; 1"),
    Builtin::plain(
        "empty?",
        1,
        Some(1),
        |heap, args| truth(length(heap, args[0])? == 0),
        "(empty? (get-stale))",
    ),
    Builtin::plain("not-empty", 1, Some(1), not_empty, "(not-empty (get-stale)) ; nil if there are none"),
];

/// `(vec xs)`, and Common Lisp's `(coerce xs 'list)`.
fn as_list<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    heap.as_list(args[0]).map(Value::List)
}

fn cons<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    // A pair of two values is a list of both, because there are no other pairs here.
    if !args[1].is_list() {
        return heap.list(args.to_vec());
    }
    let rest = heap.as_list(args[1])?;
    heap.cons(args[0], rest)
}

fn cons_several<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let mut all = args[..args.len() - 1].to_vec();
    all.extend(heap.elements(args[args.len() - 1])?);
    heap.list(all)
}

fn conj<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    if let Value::Dict(_) = args[0] {
        let mut pairs = Vec::new();
        for added in &args[1..] {
            if let Value::Dict(_) = added {
                entries(heap, *added)?.into_iter().for_each(|(key, value)| pairs.extend([key, value]));
                continue;
            }
            match heap.elements(*added)?.as_slice() {
                [key, value] => pairs.extend([*key, *value]),
                _ => return Err(Stop::wrong("a map takes pairs, as in (conj {:a 1} [:b 2])")),
            }
        }
        return with(heap, args[0], &pairs);
    }
    let mut list = Value::List(heap.as_list(args[0])?);
    for value in &args[1..] {
        let view = heap.as_list(list)?;
        list = heap.append_one(view, *value)?;
    }
    Ok(list)
}

fn into<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    if let Value::Dict(_) = args[0] {
        let mut all = vec![args[0]];
        all.extend(heap.elements(args[1])?);
        return conj(heap, &all);
    }
    append(heap, args)
}

fn length<'w>(heap: &mut Heap<'w>, value: Value<'w>) -> Result<usize, Stop> {
    match value {
        Value::Nil => Ok(0),
        Value::List(list) => Ok(list.len()),
        Value::Dict(dict) => Ok(heap.entries(dict).len()),
        Value::Text(text) => {
            heap.charge_letters(value)?;
            Ok(heap.text_of(text).chars().count())
        }
        other => Err(Stop::wrong(format!("expected a list, got {}", heap.describe(other)))),
    }
}

fn count<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    Ok(Value::Integer(length(heap, args[0])? as i64))
}

fn element<'w>(heap: &mut Heap<'w>, list: Value<'w>, nth: usize) -> Result<Value<'w>, Stop> {
    let list = heap.as_list(list)?;
    Ok(heap.cells(list).get(nth).copied().unwrap_or(Value::Nil))
}

fn first_of_first<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let first = element(heap, args[0], 0)?;
    element(heap, first, 0)
}

fn last<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let list = heap.as_list(args[0])?;
    Ok(heap.cells(list).last().copied().unwrap_or(Value::Nil))
}

fn butlast<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let list = heap.as_list(args[0])?;
    Ok(Value::List(list.take(list.len().saturating_sub(1))))
}

/// A list and a number, either way round.
fn list_and_count<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<(ListView, usize), Stop> {
    let is_number = |value| matches!(value, Value::Integer(_) | Value::Float(_));
    let (list, count) = if is_number(args[0]) { (args[1], args[0]) } else { (args[0], args[1]) };
    Ok((heap.as_list(list)?, heap.as_count(count)?))
}

fn nth<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let (list, nth) = list_and_count(heap, args)?;
    let default = args.get(2).copied().unwrap_or(Value::Nil);
    Ok(heap.cells(list).get(nth).copied().unwrap_or(default))
}

fn take<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let (list, count) = list_and_count(heap, args)?;
    Ok(Value::List(list.take(count)))
}

fn drop<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let (list, count) = list_and_count(heap, args)?;
    Ok(Value::List(list.skip(count)))
}

fn take_last<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let (list, count) = list_and_count(heap, args)?;
    Ok(Value::List(list.skip(list.len().saturating_sub(count))))
}

/// A part of a list or a text, from one place to before another.
fn part<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let from = heap.as_count(args[1])?;
    let to = args.get(2).map(|to| heap.as_count(*to)).transpose()?.unwrap_or(usize::MAX);
    if let Value::Text(text) = args[0] {
        heap.charge_letters(args[0])?;
        let part: String = heap.text_of(text).chars().take(to).skip(from).collect();
        return heap.text(part);
    }
    Ok(Value::List(heap.as_list(args[0])?.take(to).skip(from)))
}

fn append<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    if let [first, second] = args
        && let (Value::List(list), Value::List(more)) = (*first, *second)
        && more.len() == 1
    {
        let last = heap.cells(more)[0];
        return heap.append_one(list, last);
    }
    let mut all = Vec::new();
    for list in args {
        let list = heap.as_list(*list)?;
        heap.meter.steps(list.len() / 8)?;
        heap.meter.cells(list.len() / 8)?;
        all.extend_from_slice(heap.cells(list));
    }
    heap.list(all)
}

fn reverse<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let mut elements = heap.elements(args[0])?;
    elements.reverse();
    heap.list(elements)
}

fn range<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let numbers = args.iter().map(|arg| heap.as_integer(*arg)).collect::<Result<Vec<i64>, _>>()?;
    let (from, to, step) = match numbers.as_slice() {
        [to] => (0, *to, 1),
        [from, to] => (*from, *to, 1),
        [from, to, step, ..] => (*from, *to, *step),
        [] => (0, 0, 1),
    };
    let mut list = Vec::new();
    let mut next = Some(from);
    while let Some(number) = next.filter(|number| if step < 0 { *number > to } else { *number < to }) {
        if step == 0 {
            return Err(Stop::wrong("a range with steps of 0 never ends"));
        }
        heap.meter.cells(1)?;
        list.push(Value::Integer(number));
        next = number.checked_add(step);
    }
    heap.meter.steps(list.len() / 8)?;
    heap.list(list)
}

fn repeat<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let count = heap.as_count(args[0])?;
    heap.meter.cells(count)?;
    heap.list(vec![args[1]; count])
}

fn zip<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let lists = args.iter().map(|list| heap.as_list(*list)).collect::<Result<Vec<_>, _>>()?;
    let count = lists.iter().map(|list| list.len()).min().unwrap_or(0);
    let mut rows = Vec::new();
    for nth in 0..count {
        let row = lists.iter().map(|list| heap.cells(*list)[nth]).collect();
        rows.push(heap.list(row)?);
    }
    heap.list(rows)
}

fn interpose<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let elements = heap.elements(args[1])?;
    let between = elements.into_iter().flat_map(|element| [args[0], element]).skip(1).collect();
    heap.list(between)
}

fn chunks<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let (list, count) = list_and_count(heap, args)?;
    let mut parts = Vec::new();
    let mut rest = list;
    while count > 0 && rest.len() >= count {
        heap.meter.cells(1)?;
        parts.push(Value::List(rest.take(count)));
        rest = rest.skip(count);
    }
    heap.list(parts)
}

fn unique<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let pairs = heap.elements(args[0])?.into_iter().map(|element| (element, element)).collect();
    heap.unique(pairs)
}

fn frequencies<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let elements = heap.elements(args[0])?;
    heap.count_each(elements)
}

fn flatten<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let mut flat = Vec::new();
    let mut open = vec![heap.as_list(args[0])?];
    while let Some(list) = open.pop() {
        heap.meter.steps(1)?;
        let Some(first) = heap.cells(list).first().copied() else { continue };
        open.push(list.skip(1));
        match first {
            Value::List(inner) => open.push(inner),
            other => flat.push(other),
        }
    }
    heap.list(flat)
}

fn position<'w>(heap: &mut Heap<'w>, list: ListView, wanted: Value<'w>) -> Result<Option<usize>, Stop> {
    for nth in 0..list.len() {
        let element = heap.cells(list)[nth];
        if heap.are_equal(element, wanted)? {
            return Ok(Some(nth));
        }
    }
    Ok(None)
}

fn member<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let (wanted, list) =
        if args[0].is_list() && !args[1].is_list() { (args[1], args[0]) } else { (args[0], args[1]) };
    let list = heap.as_list(list)?;
    Ok(position(heap, list, wanted)?.map_or(Value::Nil, |nth| Value::List(list.skip(nth))))
}

/// A key of a map, an element of a list, or a part of a text.
fn contains<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    match args[0] {
        Value::Dict(dict) => {
            let found = heap.entry(dict, args[1])?;
            truth(found.is_some())
        }
        Value::Text(text) => {
            heap.charge_letters(args[0])?;
            let is_part = heap.text_of(text).contains(heap.as_text(args[1])?);
            truth(is_part)
        }
        Value::Record(_) => truth(heap.get(args[0], args[1], Some(Value::Nil))?.is_true()),
        other => {
            let list = heap.as_list(other)?;
            truth(position(heap, list, args[1])?.is_some())
        }
    }
}

fn index_of<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    if let (Value::Text(_), Value::Text(_)) = (args[0], args[1]) {
        heap.charge_letters(args[0])?;
        let (text, part) = (heap.as_text(args[0])?, heap.as_text(args[1])?);
        let found = text.find(part).map(|at| text[..at].chars().count() as i64);
        return Ok(found.map_or(Value::Nil, Value::Integer));
    }
    let list = heap.as_list(args[0])?;
    Ok(position(heap, list, args[1])?.map_or(Value::Nil, |nth| Value::Integer(nth as i64)))
}

fn not_empty<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    Ok(if length(heap, args[0])? == 0 { Value::Nil } else { args[0] })
}
