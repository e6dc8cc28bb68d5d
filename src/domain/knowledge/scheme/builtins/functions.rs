//! Functions that call functions. They take the function and the list either way round.

use super::super::fault::Stop;
use super::super::heap::Heap;
use super::super::outcome::{Builtin, EachCall, EachTask, FoldCall, FoldShape, Outcome, SortOrder};
use super::super::value::{Derived, ListView, Value};

pub(super) const BUILTINS: &[Builtin] = &[
    Builtin::calling("map", 2, None, map, "(map :name (get-decisions))"),
    Builtin::calling(
        "mapcat",
        2,
        None,
        |heap, args| several(heap, args, EachTask::MapAppend),
        "(mapcat :evidence (get-principles))",
    ),
    Builtin::calling(
        "filter-map",
        2,
        None,
        |heap, args| several(heap, args, EachTask::MapKeep),
        "(filter-map :impact (get-decisions))",
    ),
    Builtin::calling(
        "map-indexed",
        2,
        Some(2),
        map_indexed,
        "(map-indexed (fn [i d] [i (:name d)]) (get-decisions))",
    ),
    Builtin::calling(
        "filter",
        2,
        Some(2),
        |heap, args| each(heap, args, EachTask::Filter),
        "(filter (lambda (p) (> (@ p :confidence) 0.8)) (get-principles))",
    ),
    Builtin::calling("remove", 2, None, remove, "(remove :stale (get-notes))"),
    Builtin::calling("find", 2, None, find, "(find (fn [d] (= (:impact d) 9)) (get-decisions))"),
    Builtin::calling("position-if", 2, None, position, "(position-if even? '(1 2)) ; 1"),
    Builtin::calling(
        "some",
        2,
        Some(2),
        |heap, args| each(heap, args, EachTask::Any),
        "(some :stale (get-notes))",
    ),
    Builtin::calling(
        "every?",
        2,
        Some(2),
        |heap, args| each(heap, args, EachTask::Every),
        "(every? :author (get-notes))",
    ),
    Builtin::calling(
        "not-any?",
        2,
        Some(2),
        |heap, args| each(heap, args, EachTask::NotAny),
        "(not-any? :stale (get-notes))",
    ),
    Builtin::calling(
        "count-if",
        2,
        Some(2),
        |heap, args| each(heap, args, EachTask::Count),
        "(count-if :impact (get-decisions))",
    ),
    Builtin::calling(
        "partition-by-test",
        2,
        Some(2),
        |heap, args| each(heap, args, EachTask::Partition),
        "(partition-by-test even? '(1 2 3)) ; ((2) (1 3))",
    ),
    Builtin::calling(
        "take-while",
        2,
        Some(2),
        |heap, args| each(heap, args, EachTask::TakeWhile),
        "(take-while even? '(2 4 5))",
    ),
    Builtin::calling(
        "drop-while",
        2,
        Some(2),
        |heap, args| each(heap, args, EachTask::DropWhile),
        "(drop-while even? '(2 4 5))",
    ),
    Builtin::calling(
        "group-by",
        2,
        Some(2),
        |heap, args| each(heap, args, EachTask::GroupBy),
        "(group-by :kind (get-records))",
    ),
    Builtin::calling(
        "index-by",
        2,
        Some(2),
        |heap, args| each(heap, args, EachTask::IndexBy),
        "(index-by :name (get-decisions))",
    ),
    Builtin::calling(
        "unique-by",
        2,
        Some(2),
        |heap, args| each(heap, args, EachTask::UniqueBy),
        "(unique-by :author (get-notes))",
    ),
    Builtin::calling(
        "frequencies-by",
        2,
        Some(2),
        |heap, args| each(heap, args, EachTask::CountBy),
        "(frequencies-by :kind (get-records))",
    ),
    Builtin::calling(
        "max-by",
        2,
        None,
        |heap, args| extreme(heap, args, EachTask::MaxBy),
        "(max-by :confidence (get-principles))",
    ),
    Builtin::calling(
        "min-by",
        2,
        None,
        |heap, args| extreme(heap, args, EachTask::MinBy),
        "(min-by :confidence (get-principles))",
    ),
    Builtin::calling(
        "sum-by",
        2,
        Some(2),
        |heap, args| each(heap, args, EachTask::SumBy),
        "(sum-by :impact (get-decisions))",
    ),
    Builtin::calling(
        "sort-by",
        2,
        None,
        sort_by,
        "(sort-by :confidence > (get-principles)) ; or (sort-by xs :confidence)",
    ),
    Builtin::calling("sort", 1, None, sort, "(sort '(3 1 2) <) ; or (sort xs #'> :key #'confidence)"),
    Builtin::calling(
        "fold",
        3,
        Some(3),
        |heap, args| fold(heap, args, FoldShape::ElementFirst),
        "(fold + 0 '(1 2 3)) ; calls (f element sum)",
    ),
    Builtin::calling(
        "fold-right",
        3,
        Some(3),
        |heap, args| fold(heap, args, FoldShape::FromTheEnd),
        "(fold-right cons '() '(1 2))",
    ),
    Builtin::calling(
        "reduce",
        2,
        Some(4),
        reduce,
        "(reduce (lambda (sum x) (+ sum x)) 0 '(1 2)) ; calls (f sum element)",
    ),
    Builtin::calling("reductions", 3, Some(3), reductions, "(reductions + 0 '(1 2 3)) ; (0 1 3 6)"),
    Builtin::calling("apply", 2, None, apply, "(apply + '(1 2 3))"),
    Builtin::calling("call", 1, None, call, "(funcall #'count '(1 2))"),
    Builtin::plain("compose", 0, None, compose, "(map (comp count :evidence) (get-principles))"),
    Builtin::plain(
        "negate",
        1,
        Some(1),
        |heap, args| heap.derive(Derived::Negated(args[0])),
        "(filter (complement :stale) (get-notes))",
    ),
    Builtin::plain(
        "constantly",
        1,
        Some(1),
        |heap, args| heap.derive(Derived::Constant(args[0])),
        "(constantly 1)",
    ),
    Builtin::plain("partial", 1, None, partial, "(map (partial + 1) '(1 2))"),
    Builtin::plain("juxt", 1, None, juxt, "(map (juxt :name :confidence) (get-principles))"),
];

/// The function first, whichever way they were given.
fn function_first<'w>(a: Value<'w>, b: Value<'w>) -> (Value<'w>, Value<'w>) {
    if a.is_list() && !b.is_list() { (b, a) } else { (a, b) }
}

fn each<'w>(heap: &mut Heap<'w>, args: &[Value<'w>], task: EachTask<'w>) -> Result<Outcome<'w>, Stop> {
    let (function, list) = function_first(args[0], args[1]);
    let lists = vec![heap.as_list(list)?];
    Ok(Outcome::Each(Box::new(EachCall { task, function, lists, results: Vec::new() })))
}

fn several<'w>(heap: &mut Heap<'w>, args: &[Value<'w>], task: EachTask<'w>) -> Result<Outcome<'w>, Stop> {
    if args.len() == 2 {
        return each(heap, args, task);
    }
    let lists = args[1..].iter().map(|list| heap.as_list(*list)).collect::<Result<_, _>>()?;
    Ok(Outcome::Each(Box::new(EachCall { task, function: args[0], lists, results: Vec::new() })))
}

/// Common Lisp's `(map 'list f xs)` names a type first.
fn map<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Outcome<'w>, Stop> {
    match args {
        [Value::Symbol(name), rest @ ..] if rest.len() > 1 && heap.name(*name) == "list" => {
            several(heap, rest, EachTask::Map)
        }
        _ => several(heap, args, EachTask::Map),
    }
}

fn map_indexed<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Outcome<'w>, Stop> {
    let (function, list) = function_first(args[0], args[1]);
    let list = heap.as_list(list)?;
    let numbers = (0..list.len() as i64).map(Value::Integer).collect();
    let numbers = heap.list(numbers)?;
    several(heap, &[function, numbers, Value::List(list)], EachTask::Map)
}

/// By a test, or in Common Lisp's manner one value.
fn remove<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Outcome<'w>, Stop> {
    let (function, list) = function_first(args[0], args[1]);
    if function.is_function() {
        return each(heap, args, EachTask::Remove);
    }
    let mut kept = Vec::new();
    for element in heap.elements(list)? {
        if !heap.are_equal(element, function)? {
            kept.push(element);
        }
    }
    heap.list(kept).map(Outcome::Value)
}

/// By a test, or `(find x xs :key #'name)`.
fn find<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Outcome<'w>, Stop> {
    let (function, list) = function_first(args[0], args[1]);
    let key = named(heap, args, "key");
    if function.is_function() && key.is_none() {
        return each(heap, args, EachTask::Find);
    }
    for element in heap.elements(list)? {
        let part = match key {
            Some(key) => heap.get(element, key, None)?,
            None => element,
        };
        if heap.are_equal(part, function)? {
            return Ok(Outcome::Value(element));
        }
    }
    Ok(Outcome::Value(Value::Nil))
}

/// By a test, or one value.
fn position<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Outcome<'w>, Stop> {
    let (function, list) = function_first(args[0], args[1]);
    if function.is_function() {
        return each(heap, args, EachTask::Position);
    }
    for (nth, element) in heap.elements(list)?.into_iter().enumerate() {
        if heap.are_equal(element, function)? {
            return Ok(Outcome::Value(Value::Integer(nth as i64)));
        }
    }
    Ok(Outcome::Value(Value::Nil))
}

/// `(max-by f xs)`, and Clojure's `(max-key f a b)`.
fn extreme<'w>(heap: &mut Heap<'w>, args: &[Value<'w>], task: EachTask<'w>) -> Result<Outcome<'w>, Stop> {
    if let [_, one] = args
        && !matches!(one, Value::Record(_))
    {
        return each(heap, args, task);
    }
    let list = heap.list(args[1..].to_vec())?;
    each(heap, &[args[0], list], task)
}

/// What follows a keyword among the arguments: `:key #'name`.
fn named<'w>(heap: &Heap<'w>, args: &[Value<'w>], name: &str) -> Option<Value<'w>> {
    let at = args.iter().position(|arg| matches!(arg, Value::Keyword(id) if heap.name(*id) == name))?;
    args.get(at + 1).copied().filter(|_| at > 0 && args.len() > 2)
}

/// A key, a list, and perhaps an order: a function of two keys, or `:desc`.
fn sort_by<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Outcome<'w>, Stop> {
    let list = args.iter().copied().find(|arg| arg.is_list());
    let mut others = args.iter().copied().filter(|arg| !arg.is_list());
    let (Some(list), Some(key)) = (list, others.next()) else {
        return Err(Stop::wrong("expected a key and a list"));
    };
    let order = match others.next() {
        None => SortOrder::Ascending,
        Some(order) => named_order(heap, order),
    };
    let lists = vec![heap.as_list(list)?];
    let task = EachTask::SortBy(order);
    Ok(Outcome::Each(Box::new(EachCall { task, function: key, lists, results: Vec::new() })))
}

fn named_order<'w>(heap: &Heap<'w>, order: Value<'w>) -> SortOrder<'w> {
    match heap.letters(order).map(|name| name.trim_start_matches(':')) {
        Some("desc" | "descending" | "down") => SortOrder::Descending,
        Some("asc" | "ascending" | "up") => SortOrder::Ascending,
        _ => SortOrder::By(order),
    }
}

fn sort<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Outcome<'w>, Stop> {
    let Some(list) = args.iter().copied().find(|arg| arg.is_list()) else {
        return Err(Stop::wrong("expected a list"));
    };
    let key = named(heap, args, "key");
    let order = args[..args.len().min(2)].iter().copied().find(|arg| !arg.is_list());
    let order = order.map_or(SortOrder::Ascending, |order| named_order(heap, order));
    if let Some(function) = key {
        let lists = vec![heap.as_list(list)?];
        let task = EachTask::SortBy(order);
        return Ok(Outcome::Each(Box::new(EachCall { task, function, lists, results: Vec::new() })));
    }
    let items = heap.elements(list)?.into_iter().map(|element| (element, element)).collect();
    Ok(Outcome::Sort { order, items })
}

fn fold<'w>(heap: &mut Heap<'w>, args: &[Value<'w>], shape: FoldShape) -> Result<Outcome<'w>, Stop> {
    let (before, list) =
        if args[2].is_list() || !args[1].is_list() { (args[1], args[2]) } else { (args[2], args[1]) };
    let list = heap.as_list(list)?;
    Ok(Outcome::Fold(Box::new(FoldCall { function: args[0], before, list, next: 0, shape, way: None })))
}

/// `(reduce f xs)`, `(reduce f 0 xs)`, `(reduce f xs :initial-value 0)`
fn reduce<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Outcome<'w>, Stop> {
    let shape = FoldShape::BeforeFirst;
    if let Some(before) = named(heap, args, "initial-value") {
        return fold(heap, &[args[0], before, args[1]], shape);
    }
    if args.len() == 3 {
        return fold(heap, args, shape);
    }
    let (function, list) = function_first(args[0], args[1]);
    let list = heap.as_list(list)?;
    match heap.cells(list).first().copied() {
        None => Ok(Outcome::Call { function, arguments: Vec::new() }),
        Some(before) => {
            let call = FoldCall { function, before, list: list.skip(1), next: 0, shape, way: None };
            Ok(Outcome::Fold(Box::new(call)))
        }
    }
}

fn reductions<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Outcome<'w>, Stop> {
    let list = heap.as_list(args[2])?;
    let (shape, way) = (FoldShape::BeforeFirst, Some(vec![args[1]]));
    Ok(Outcome::Fold(Box::new(FoldCall { function: args[0], before: args[1], list, next: 0, shape, way })))
}

fn apply<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Outcome<'w>, Stop> {
    let mut arguments = args[1..args.len() - 1].to_vec();
    let last = heap.elements(args[args.len() - 1])?;
    heap.meter.cells(last.len())?;
    arguments.extend(last);
    Ok(Outcome::Call { function: args[0], arguments })
}

fn call<'w>(_: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Outcome<'w>, Stop> {
    Ok(Outcome::Call { function: args[0], arguments: args[1..].to_vec() })
}

fn as_view<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<ListView, Stop> {
    let list = heap.list(args.to_vec())?;
    heap.as_list(list)
}

fn compose<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let functions = as_view(heap, args)?;
    heap.derive(Derived::Composed(functions))
}

fn partial<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let first = as_view(heap, &args[1..])?;
    heap.derive(Derived::Partial { function: args[0], first })
}

fn juxt<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let functions = as_view(heap, args)?;
    heap.derive(Derived::Several(functions))
}
