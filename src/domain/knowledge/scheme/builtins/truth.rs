//! Questions about values: what they are, and whether they are the same.

use super::super::fault::Stop;
use super::super::heap::Heap;
use super::super::outcome::Builtin;
use super::super::value::Value;

pub(super) const BUILTINS: &[Builtin] = &[
    Builtin::plain(
        "=",
        1,
        None,
        equal,
        "(= (:status d) :active) ; \"active\", :active and 'active are the same",
    ),
    Builtin::plain("not=", 1, None, not_equal, "(not= 1 2)"),
    Builtin::plain("not", 1, Some(1), not, "(not (:impact d))"),
    Builtin::plain("identity", 0, None, identity, "(identity 1)"),
    Builtin::plain("nil?", 1, Some(1), |_, args| truth(matches!(args[0], Value::Nil)), "(nil? (:impact d))"),
    Builtin::plain(
        "not-nil?",
        1,
        Some(1),
        |_, args| truth(!matches!(args[0], Value::Nil)),
        "(not-nil? (:impact d))",
    ),
    Builtin::plain(
        "true?",
        1,
        Some(1),
        |_, args| truth(matches!(args[0], Value::Truth(true))),
        "(true? true)",
    ),
    Builtin::plain(
        "false?",
        1,
        Some(1),
        |_, args| truth(matches!(args[0], Value::Truth(false))),
        "(false? false)",
    ),
    Builtin::plain("boolean", 1, Some(1), |_, args| truth(args[0].is_true()), "(boolean 1)"),
    Builtin::plain(
        "boolean?",
        1,
        Some(1),
        |_, args| truth(matches!(args[0], Value::Truth(_))),
        "(boolean? true)",
    ),
    Builtin::plain(
        "string?",
        1,
        Some(1),
        |_, args| truth(matches!(args[0], Value::Text(_))),
        "(string? \"a\")",
    ),
    Builtin::plain(
        "symbol?",
        1,
        Some(1),
        |_, args| truth(matches!(args[0], Value::Symbol(_))),
        "(symbol? 'a)",
    ),
    Builtin::plain(
        "keyword?",
        1,
        Some(1),
        |_, args| truth(matches!(args[0], Value::Keyword(_))),
        "(keyword? :a)",
    ),
    Builtin::plain(
        "list?",
        1,
        Some(1),
        |_, args| truth(matches!(args[0], Value::List(_) | Value::Nil)),
        "(list? '(1))",
    ),
    Builtin::plain("pair?", 1, Some(1), is_pair, "(pair? '(1 2))"),
    Builtin::plain("atom", 1, Some(1), |_, args| truth(!matches!(args[0], Value::List(_))), "(atom 1)"),
    Builtin::plain("map?", 1, Some(1), |_, args| truth(matches!(args[0], Value::Dict(_))), "(map? {:a 1})"),
    Builtin::plain(
        "record?",
        1,
        Some(1),
        |_, args| truth(matches!(args[0], Value::Record(_))),
        "(record? d)",
    ),
    Builtin::plain("function?", 1, Some(1), |_, args| truth(args[0].is_function()), "(function? count)"),
    Builtin::plain("type-of", 1, Some(1), type_of, "(type-of 1) ; \"a number\""),
];

pub(super) fn truth<'w>(answer: impl Into<Value<'w>>) -> Result<Value<'w>, Stop> {
    Ok(answer.into())
}

fn equal<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    for pair in args.windows(2) {
        if !heap.are_equal(pair[0], pair[1])? {
            return truth(false);
        }
    }
    truth(true)
}

fn not_equal<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let equal = equal(heap, args)?;
    truth(!equal.is_true())
}

fn not<'w>(_: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    truth(!args[0].is_true())
}

/// There is no output but the answer, so that of `println` is what it is given.
fn identity<'w>(_: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    Ok(args.first().copied().unwrap_or(Value::Nil))
}

fn is_pair<'w>(_: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    truth(matches!(args[0], Value::List(list) if list.len() > 0))
}

fn type_of<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    heap.text(args[0].kind())
}
