//! Numbers. A whole number that gets too large becomes a float.

use std::cmp::Ordering;

use super::super::compare::number_order;
use super::super::fault::Stop;
use super::super::heap::Heap;
use super::super::outcome::Builtin;
use super::super::value::Value;
use super::truth::truth;

pub(super) const BUILTINS: &[Builtin] = &[
    Builtin::plain("+", 0, None, |heap, args| heap.sum_strictly(args), "(+ 1 2 3)"),
    Builtin::plain("-", 1, None, subtract, "(- 5 2)"),
    Builtin::plain("*", 0, None, multiply, "(* 2 3)"),
    Builtin::plain("/", 1, None, divide, "(/ 6 4) ; 1.5"),
    Builtin::plain(
        "inc",
        1,
        Some(1),
        |heap, args| heap.sum_strictly(&[args[0], Value::Integer(1)]),
        "(inc 1)",
    ),
    Builtin::plain(
        "dec",
        1,
        Some(1),
        |heap, args| heap.sum_strictly(&[args[0], Value::Integer(-1)]),
        "(dec 1)",
    ),
    Builtin::plain(
        "quotient",
        2,
        Some(2),
        |heap, args| whole(heap, args, i64::checked_div),
        "(quotient 7 2)",
    ),
    Builtin::plain("mod", 2, Some(2), |heap, args| whole(heap, args, i64::checked_rem_euclid), "(mod 7 2)"),
    Builtin::plain(
        "remainder",
        2,
        Some(2),
        |heap, args| whole(heap, args, i64::checked_rem),
        "(remainder 7 2)",
    ),
    Builtin::plain("abs", 1, Some(1), |heap, args| shaped(heap, args[0], f64::abs), "(abs -2)"),
    Builtin::plain("round", 1, Some(2), round, "(round 0.876 2) ; 0.88"),
    Builtin::plain("floor", 1, Some(1), |heap, args| shaped(heap, args[0], f64::floor), "(floor 1.9)"),
    Builtin::plain("ceiling", 1, Some(1), |heap, args| shaped(heap, args[0], f64::ceil), "(ceiling 1.1)"),
    Builtin::plain("sqrt", 1, Some(1), |heap, args| shaped(heap, args[0], f64::sqrt), "(sqrt 2)"),
    Builtin::plain("expt", 2, Some(2), power, "(expt 2 10)"),
    Builtin::plain(
        "max",
        0,
        None,
        |heap, args| extreme(heap, args, Ordering::Greater),
        "(max 1 2) ; or of a list: (max '(1 2))",
    ),
    Builtin::plain("min", 0, None, |heap, args| extreme(heap, args, Ordering::Less), "(min 1 2)"),
    Builtin::plain("sum", 1, Some(1), sum, "(sum (map :confidence (get-notes)))"),
    Builtin::plain("mean", 1, Some(1), mean, "(mean (map :confidence (get-notes)))"),
    Builtin::plain(
        "<",
        1,
        None,
        |heap, args| in_order(heap, args, Ordering::is_lt),
        "(< 1 2) ; nil is neither less nor more",
    ),
    Builtin::plain(
        ">",
        1,
        None,
        |heap, args| in_order(heap, args, Ordering::is_gt),
        "(> (:confidence d) 0.8)",
    ),
    Builtin::plain("<=", 1, None, |heap, args| in_order(heap, args, Ordering::is_le), "(<= 1 2)"),
    Builtin::plain(">=", 1, None, |heap, args| in_order(heap, args, Ordering::is_ge), "(>= (:impact d) 7)"),
    Builtin::plain("compare", 2, Some(2), compare, "(compare 1 2) ; -1"),
    Builtin::plain("zero?", 1, Some(1), |heap, args| sign(heap, args[0], Ordering::is_eq), "(zero? 0)"),
    Builtin::plain("pos?", 1, Some(1), |heap, args| sign(heap, args[0], Ordering::is_gt), "(pos? 1)"),
    Builtin::plain("neg?", 1, Some(1), |heap, args| sign(heap, args[0], Ordering::is_lt), "(neg? -1)"),
    Builtin::plain("even?", 1, Some(1), |heap, args| truth(heap.as_integer(args[0])? % 2 == 0), "(even? 2)"),
    Builtin::plain("odd?", 1, Some(1), |heap, args| truth(heap.as_integer(args[0])? % 2 != 0), "(odd? 1)"),
    Builtin::plain(
        "number?",
        1,
        Some(1),
        |_, args| truth(matches!(args[0], Value::Integer(_) | Value::Float(_))),
        "(number? 1)",
    ),
    Builtin::plain(
        "integer?",
        1,
        Some(1),
        |_, args| truth(matches!(args[0], Value::Integer(_))),
        "(integer? 1)",
    ),
    Builtin::plain("parse-number", 1, Some(2), parse, "(parse-number \"12\")"),
    Builtin::plain(
        "exact->inexact",
        1,
        Some(1),
        |heap, args| Ok(Value::Float(float(heap, args[0])?)),
        "(exact->inexact 1)",
    ),
];

impl<'w> Heap<'w> {
    /// A sum in which `nil` is a mistake.
    fn sum_strictly(&mut self, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
        for value in args {
            float(self, *value)?;
        }
        self.sum(args)
    }
}

fn float<'w>(heap: &Heap<'w>, value: Value<'w>) -> Result<f64, Stop> {
    match value {
        Value::Integer(integer) => Ok(integer as f64),
        Value::Float(float) => Ok(float),
        other => Err(Stop::wrong(format!("expected a number, got {}", heap.describe(other)))),
    }
}

/// A float that is a whole number stays one if it was made of whole numbers.
fn subtract<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let mut result = args[0];
    let first = float(heap, result)?;
    if args.len() == 1 {
        return match result {
            Value::Integer(integer) => Ok(integer.checked_neg().map_or(Value::Float(-first), Value::Integer)),
            _ => Ok(Value::Float(-first)),
        };
    }
    for value in &args[1..] {
        result = match (result, *value) {
            (Value::Integer(a), Value::Integer(b)) => {
                a.checked_sub(b).map_or(Value::Float(a as f64 - b as f64), Value::Integer)
            }
            (a, b) => Value::Float(float(heap, a)? - float(heap, b)?),
        };
    }
    Ok(result)
}

fn multiply<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let mut result = Value::Integer(1);
    for value in args {
        result = match (result, *value) {
            (Value::Integer(a), Value::Integer(b)) => {
                a.checked_mul(b).map_or(Value::Float(a as f64 * b as f64), Value::Integer)
            }
            (a, b) => Value::Float(float(heap, a)? * float(heap, b)?),
        };
    }
    Ok(result)
}

fn divide<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let (mut result, divisors) = match args {
        [one] => (Value::Integer(1), std::slice::from_ref(one)),
        [first, divisors @ ..] => (*first, divisors),
        [] => return Ok(Value::Integer(1)),
    };
    for value in divisors {
        if float(heap, *value)? == 0.0 {
            return Err(Stop::wrong("a number cannot be divided by 0"));
        }
        result = match (result, *value) {
            (Value::Integer(a), Value::Integer(b)) if a.checked_rem(b) == Some(0) => Value::Integer(a / b),
            (a, b) => Value::Float(float(heap, a)? / float(heap, b)?),
        };
    }
    Ok(result)
}

fn whole<'w>(
    heap: &mut Heap<'w>,
    args: &[Value<'w>],
    operation: fn(i64, i64) -> Option<i64>,
) -> Result<Value<'w>, Stop> {
    let (a, b) = (heap.as_integer(args[0])?, heap.as_integer(args[1])?);
    operation(a, b).map(Value::Integer).ok_or_else(|| Stop::wrong("a number cannot be divided by 0"))
}

/// A whole number if the result is one.
fn shaped<'w>(heap: &Heap<'w>, value: Value<'w>, shape: fn(f64) -> f64) -> Result<Value<'w>, Stop> {
    let shaped = shape(float(heap, value)?);
    let is_whole = shaped.fract() == 0.0 && shaped.abs() < 9e15;
    Ok(if is_whole { Value::Integer(shaped as i64) } else { Value::Float(shaped) })
}

fn round<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let Some(digits) = args.get(1) else { return shaped(heap, args[0], f64::round) };
    let scale = 10_f64.powi(i32::try_from(heap.as_count(*digits)?.min(15)).unwrap_or(15));
    Ok(Value::Float((float(heap, args[0])? * scale).round() / scale))
}

fn power<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    if let (Value::Integer(base), Value::Integer(exponent)) = (args[0], args[1])
        && let Some(power) = u32::try_from(exponent).ok().and_then(|exponent| base.checked_pow(exponent))
    {
        return Ok(Value::Integer(power));
    }
    Ok(Value::Float(float(heap, args[0])?.powf(float(heap, args[1])?)))
}

fn extreme<'w>(heap: &mut Heap<'w>, args: &[Value<'w>], wanted: Ordering) -> Result<Value<'w>, Stop> {
    let values = match args {
        [one] if one.is_list() => heap.elements(*one)?,
        several => several.to_vec(),
    };
    let mut best = Value::Nil;
    for value in values.into_iter().filter(|value| !matches!(value, Value::Nil)) {
        if matches!(best, Value::Nil) || heap.order(value, best)? == wanted {
            best = value;
        }
    }
    Ok(best)
}

fn sum<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let values = heap.elements(args[0])?;
    heap.sum(&values)
}

fn mean<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let mut values = heap.elements(args[0])?;
    values.retain(|value| !matches!(value, Value::Nil));
    if values.is_empty() {
        return Ok(Value::Nil);
    }
    let sum = heap.sum(&values)?;
    Ok(Value::Float(float(heap, sum)? / values.len() as f64))
}

/// Numbers and texts; a comparison with `nil` does not hold, so that records without an impact are left out.
fn in_order<'w>(
    heap: &mut Heap<'w>,
    args: &[Value<'w>],
    holds: fn(Ordering) -> bool,
) -> Result<Value<'w>, Stop> {
    for pair in args.windows(2) {
        let order = match (pair[0], pair[1]) {
            (Value::Nil, _) | (_, Value::Nil) => return truth(false),
            (a, b) => match number_order(a, b) {
                Some(order) => order,
                None if heap.letters(a).is_some() && heap.letters(b).is_some() => heap.order(a, b)?,
                None => {
                    let (a, b) = (heap.describe(a), heap.describe(b));
                    return Err(Stop::wrong(format!("cannot compare {a} with {b}")));
                }
            },
        };
        if !holds(order) {
            return truth(false);
        }
    }
    truth(true)
}

fn compare<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    Ok(Value::Integer(match heap.order(args[0], args[1])? {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }))
}

fn sign<'w>(heap: &Heap<'w>, value: Value<'w>, holds: fn(Ordering) -> bool) -> Result<Value<'w>, Stop> {
    let number = float(heap, value)?;
    truth(holds(number.partial_cmp(&0.0).unwrap_or(Ordering::Less)))
}

fn parse<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    if matches!(args[0], Value::Integer(_) | Value::Float(_)) {
        return Ok(args[0]);
    }
    heap.charge_letters(args[0])?;
    let text = heap.as_text(args[0])?.trim();
    let float = || text.parse().ok().filter(|float: &f64| float.is_finite()).map(Value::Float);
    Ok(text.parse().ok().map(Value::Integer).or_else(float).unwrap_or(Value::Nil))
}
