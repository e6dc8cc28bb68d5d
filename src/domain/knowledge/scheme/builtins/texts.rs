//! Texts. A symbol or a keyword is taken for how it is spelled; `nil` has no letters.

use super::super::fault::Stop;
use super::super::heap::Heap;
use super::super::outcome::Builtin;
use super::super::show::Shower;
use super::super::value::Value;
use super::truth::truth;

/// The longest text that is made of a value that is none.
const MAX_SHOWN: usize = 16 * 1024;

pub(super) const BUILTINS: &[Builtin] = &[
    Builtin::plain("str", 0, None, str, "(str (:name d) \": \" (:confidence d))"),
    Builtin::plain("str-name", 1, Some(1), str_name, "(symbol->string 'a)"),
    Builtin::plain("symbol", 1, Some(1), symbol, "(symbol \"a\")"),
    Builtin::plain("keyword", 1, Some(1), keyword, "(keyword \"a\")"),
    Builtin::plain(
        "lower-case",
        1,
        Some(1),
        |heap, args| changed(heap, args[0], str::to_lowercase),
        "(lower-case \"ABC\")",
    ),
    Builtin::plain(
        "upper-case",
        1,
        Some(1),
        |heap, args| changed(heap, args[0], str::to_uppercase),
        "(upper-case \"abc\")",
    ),
    Builtin::plain(
        "capitalize",
        1,
        Some(1),
        |heap, args| changed(heap, args[0], capitalized),
        "(capitalize \"abc\")",
    ),
    Builtin::plain(
        "trim",
        1,
        Some(2),
        |heap, args| changed(heap, args[args.len() - 1], trimmed),
        "(trim \" a \")",
    ),
    Builtin::plain(
        "string-contains?",
        2,
        Some(2),
        |heap, args| holds(heap, args, |text, part| text.contains(part)),
        "(string-contains? (:description d) \"lock\")",
    ),
    Builtin::plain("starts-with?", 2, Some(2), starts_with, "(starts-with? (:path f) \"src/\")"),
    Builtin::plain("ends-with?", 2, Some(2), ends_with, "(ends-with? (:path f) \".rs\")"),
    Builtin::plain(
        "string-empty?",
        1,
        Some(1),
        |heap, args| {
            heap.charge_letters(args[0])?;
            truth(letters(heap, args[0])?.trim().is_empty())
        },
        "(blank? \"\")",
    ),
    Builtin::plain("string-search-forward", 2, Some(3), search, "(string-search-forward \"b\" \"abc\") ; 1"),
    Builtin::plain("substring", 2, Some(3), substring, "(substring \"abcdef\" 1 3) ; \"bc\""),
    Builtin::plain("join", 1, Some(2), join, "(join \", \" (map :name (get-decisions)))"),
    Builtin::plain("split", 1, Some(3), split, "(split \"a,b\" \",\")"),
    Builtin::plain("replace", 3, Some(3), replace, "(replace \"a-b\" \"-\" \"_\")"),
    Builtin::plain("re-find", 2, Some(2), re_find, "(re-find #\"flock|lock\" (:description d))"),
    Builtin::plain("format", 1, None, format_text, "(format \"%s: %s\" (:name d) (:status d))"),
];

fn letters<'h, 'w>(heap: &'h Heap<'w>, value: Value<'w>) -> Result<&'h str, Stop> {
    if matches!(value, Value::Nil) { Ok("") } else { heap.as_text(value) }
}

/// A value inside of a text: a text itself without quotes, anything else as it is printed.
fn inside<'w>(heap: &mut Heap<'w>, value: Value<'w>) -> Result<String, Stop> {
    let text = match value {
        Value::Nil => String::new(),
        Value::Record(record) => record.id.name.to_string(),
        Value::Text(index) => heap.text_of(index).to_string(),
        other => Shower::new(MAX_SHOWN).show(heap, other)?.to_string(),
    };
    heap.meter.text(text.len())?;
    Ok(text)
}

fn str<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let mut text = String::new();
    for value in args {
        text.push_str(&inside(heap, *value)?);
    }
    heap.text(text)
}

fn str_name<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    heap.charge_letters(args[0])?;
    let name = letters(heap, args[0])?.to_string();
    heap.text(name)
}

fn symbol<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    heap.charge_letters(args[0])?;
    let name = letters(heap, args[0])?.to_string();
    heap.symbol(&name)
}

fn keyword<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    heap.charge_letters(args[0])?;
    let name = letters(heap, args[0])?.to_string();
    heap.keyword(&name)
}

fn changed<'w>(heap: &mut Heap<'w>, value: Value<'w>, change: fn(&str) -> String) -> Result<Value<'w>, Stop> {
    let text = change(letters(heap, value)?);
    heap.meter.steps(text.len() / 64)?;
    heap.text(text)
}

fn trimmed(text: &str) -> String {
    text.trim().to_string()
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn holds<'w>(
    heap: &mut Heap<'w>,
    args: &[Value<'w>],
    test: fn(&str, &str) -> bool,
) -> Result<Value<'w>, Stop> {
    let (text, part) = (letters(heap, args[0])?, letters(heap, args[1])?);
    let (is_so, length) = (test(text, part), text.len());
    heap.meter.steps(length / 64)?;
    truth(is_so)
}

/// In Scheme the prefix comes first: the shorter one is the part.
fn starts_with<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    holds(heap, args, |a, b| if a.len() < b.len() { b.starts_with(a) } else { a.starts_with(b) })
}

fn ends_with<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    holds(heap, args, |a, b| if a.len() < b.len() { b.ends_with(a) } else { a.ends_with(b) })
}

/// Where a part is in a text: the shorter one is the part, because the dialects disagree about the order.
fn search<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let (a, b) = (letters(heap, args[0])?, letters(heap, args[1])?);
    let (part, text) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let found = text.find(part).map(|at| text[..at].chars().count() as i64);
    let length = text.len();
    heap.meter.steps(length / 64)?;
    Ok(found.map_or(Value::Nil, Value::Integer))
}

fn substring<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let from = heap.as_count(args[1])?;
    let to = args.get(2).map(|to| heap.as_count(*to)).transpose()?.unwrap_or(usize::MAX);
    heap.charge_letters(args[0])?;
    let part: String = letters(heap, args[0])?.chars().take(to).skip(from).collect();
    heap.text(part)
}

/// `(join ", " xs)`, `(string-join xs ", ")`, `(join xs)`
fn join<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let list = args.iter().copied().find(|arg| arg.is_list());
    let between = args.iter().copied().find(|arg| !arg.is_list());
    let Some(list) = list else { return Err(Stop::wrong("expected a list")) };
    let between = match between {
        Some(between) => letters(heap, between)?.to_string(),
        None => String::new(),
    };
    let mut text = String::new();
    for (nth, element) in heap.elements(list)?.into_iter().enumerate() {
        if nth > 0 {
            heap.meter.text(between.len())?;
            text.push_str(&between);
        }
        text.push_str(&inside(heap, element)?);
    }
    heap.text(text)
}

fn split<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let text = letters(heap, args[0])?;
    let by = args.get(1).map(|by| letters(heap, *by)).transpose()?.unwrap_or(" ");
    // Counted first, because a part takes more memory than its letters.
    let (count, bytes) = (parts(text, by).count(), text.len());
    heap.meter.steps(count + bytes / 64)?;
    heap.meter.room(2 * count, bytes)?;
    let text = letters(heap, args[0])?;
    let by = args.get(1).map(|by| letters(heap, *by)).transpose()?.unwrap_or(" ");
    let made: Vec<String> = parts(text, by).map(str::to_string).collect();
    heap.made_texts(made)
}

/// The parts of a text: its characters, its words, or what is between the separators.
fn parts<'t>(text: &'t str, by: &'t str) -> Box<dyn Iterator<Item = &'t str> + 't> {
    match by {
        "" => Box::new(text.char_indices().map(|(at, char)| &text[at..at + char.len_utf8()])),
        r"\s+" | " +" | " " => Box::new(text.split_whitespace()),
        by => Box::new(text.split(by.trim_start_matches('\\'))),
    }
}

fn replace<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let (text, old, new) = (letters(heap, args[0])?, letters(heap, args[1])?, letters(heap, args[2])?);
    if old.is_empty() {
        return Ok(args[0]);
    }
    let (growth, length) = (text.matches(old).count().saturating_mul(new.len()), text.len());
    heap.meter.steps(length / 64)?;
    heap.meter.text(growth)?;
    let replaced = letters(heap, args[0])?.replace(letters(heap, args[1])?, letters(heap, args[2])?);
    heap.text(replaced)
}

fn re_find<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let (pattern, text) = (letters(heap, args[0])?.to_string(), letters(heap, args[1])?.to_string());
    match heap.find_pattern(&pattern, &text)? {
        Some(found) => heap.text(found),
        None => Ok(Value::Nil),
    }
}

/// `%s`, `%d`, `%.2f` and `~a`, `~s`, `~d` take the next value; `~%` and `%n` are a new line.
fn format_text<'w>(heap: &mut Heap<'w>, args: &[Value<'w>]) -> Result<Value<'w>, Stop> {
    let args = if matches!(args[0], Value::Nil | Value::Truth(_)) { &args[1..] } else { args };
    let Some((pattern, values)) = args.split_first() else {
        return Err(Stop::wrong("expected a text, as in (format \"%s\" 1)"));
    };
    let pattern: Vec<char> = heap.as_text(*pattern)?.chars().collect();
    let mut values = values.iter();
    let mut text = String::new();
    let mut at = 0;
    while let Some(char) = pattern.get(at) {
        at += 1;
        if !matches!(char, '%' | '~') {
            text.push(*char);
            continue;
        }
        let digits: String =
            pattern[at..].iter().take_while(|char| matches!(char, '0'..='9' | '.' | '-' | ',')).collect();
        at += digits.chars().count();
        let Some(kind) = pattern.get(at) else {
            text.push(*char);
            break;
        };
        at += 1;
        match (char, kind) {
            ('%', '%') | ('~', '~') => text.push(*char),
            ('%', 'n') | ('~', '%' | '&') => text.push('\n'),
            (_, 'f' | 'F' | '$') => {
                let value = values.next().copied().unwrap_or(Value::Nil);
                let places = digits.rsplit(['.', ',']).next().and_then(|places| places.parse::<usize>().ok());
                match value {
                    Value::Float(float) => text.push_str(&format!("{float:.*}", places.unwrap_or(2).min(12))),
                    other => text.push_str(&inside(heap, other)?),
                }
            }
            (_, 's' | 'd' | 'a' | 'A' | 'S' | 'D') => {
                let value = values.next().copied().unwrap_or(Value::Nil);
                text.push_str(&inside(heap, value)?);
            }
            (_, other) => text.extend([*char, *other]),
        }
    }
    heap.text(text)
}
