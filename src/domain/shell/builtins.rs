//! Commands that change what the shell knows, and small ones whose output can be told.

use std::rc::Rc;

use super::field::{Field, Value};
use super::options::{Options, Takes};
use super::reader::{Call, Reader, State};

/// With more of them than this, `popd` goes where nobody knows.
const MAX_DIRS: usize = 32;

pub fn cd(reader: &mut Reader<'_>, state: &mut State, call: &Call<'_>) -> Option<String> {
    let options = Options::parse(call.arguments, Takes::default());
    state.dir = match options.operands.first() {
        None => reader.world.home(),
        Some(field) if field.text == "-" || !field.is_known() || field.pattern.is_some() => None,
        Some(field) if field.text.is_empty() => state.dir.take(),
        Some(field) => state.path(&field.text),
    };
    None
}

pub fn pushd(reader: &mut Reader<'_>, state: &mut State, call: &Call<'_>) -> Option<String> {
    let rotates = |field: &Field| field.text.starts_with('+') || field.text.starts_with('-');
    if call.arguments.is_empty() || call.arguments.iter().any(rotates) {
        state.dir = None;
        return None;
    }
    if state.dirs.len() >= MAX_DIRS {
        state.dirs = Rc::default();
    }
    Rc::make_mut(&mut state.dirs).push(state.dir.clone());
    cd(reader, state, call)
}

pub fn popd(_: &mut Reader<'_>, state: &mut State, call: &Call<'_>) -> Option<String> {
    let back = Rc::make_mut(&mut state.dirs).pop().flatten();
    state.dir = back.filter(|_| call.arguments.is_empty());
    None
}

/// `export X=y` and its like.
pub fn declare(_: &mut Reader<'_>, state: &mut State, call: &Call<'_>) -> Option<String> {
    for field in call.arguments.iter().filter(|field| !field.text.starts_with('-')) {
        if let Some((name, _)) = field.text.split_once('=') {
            let value = field.after(&format!("{name}=")).filter(Field::is_known);
            state.set(
                name.trim_end_matches('+'),
                value.filter(|_| !name.ends_with('+')).map(|v| Value::literal(v.text)),
            );
        }
    }
    None
}

/// What these set isn't known: `read x`, `let x=1`.
pub fn forget(_: &mut Reader<'_>, state: &mut State, call: &Call<'_>) -> Option<String> {
    for field in call.arguments.iter().filter(|field| !field.text.starts_with('-')) {
        let name = field.text.split(['=', '+', '-', '*', '[']).next().unwrap_or_default();
        if !name.is_empty() {
            state.set(name, None);
        }
    }
    None
}

pub fn unset(_: &mut Reader<'_>, state: &mut State, call: &Call<'_>) -> Option<String> {
    let takes_functions = call.arguments.iter().any(|field| field.text == "-f");
    for field in call.arguments.iter().filter(|field| !field.text.starts_with('-') && !takes_functions) {
        // Whatever names one element leaves the others as they are.
        let is_whole = field.is_known() && !field.text.contains('[');
        state.set(field.text.split('[').next().unwrap_or_default(), is_whole.then(|| Value::literal("")));
    }
    None
}

/// `set -- a b` sets `$1` and `$2`.
pub fn set(_: &mut Reader<'_>, state: &mut State, call: &Call<'_>) -> Option<String> {
    let dashes = call.arguments.iter().position(|field| field.text == "--");
    let first = dashes.map(|at| at + 1).or_else(|| {
        let at = call.arguments.iter().position(|field| !field.text.starts_with(['-', '+']))?;
        // The value of `-o pipefail`.
        let is_option = at > 0 && call.arguments[at - 1].text.ends_with('o');
        (!is_option).then_some(at)
    });
    if let Some(first) = first {
        state.arguments = Some(Rc::new(call.arguments[first..].iter().map(Value::of).collect()));
    }
    None
}

pub fn shift(_: &mut Reader<'_>, state: &mut State, call: &Call<'_>) -> Option<String> {
    let count = call.arguments.first().map_or(Ok(1), |field| field.text.parse::<usize>());
    state.arguments = match (count, state.arguments.take()) {
        (Ok(count), Some(arguments)) => Some(Rc::new(arguments.iter().skip(count).cloned().collect())),
        _ => None,
    };
    None
}

pub fn leave(_: &mut Reader<'_>, state: &mut State, _: &Call<'_>) -> Option<String> {
    state.is_over = true;
    None
}

/// `trap 'rm -f x' EXIT`: it is run some time.
pub fn trap(reader: &mut Reader<'_>, state: &mut State, call: &Call<'_>) -> Option<String> {
    let arguments: Vec<&Field> = call.arguments.iter().filter(|field| field.text != "--").collect();
    if let [script, _, ..] = arguments.as_slice()
        && !script.text.starts_with('-')
    {
        if script.is_known() {
            reader.script(&mut state.clone(), &script.text);
        } else {
            reader.set_opaque();
        }
    }
    None
}

pub fn echo(_: &mut Reader<'_>, _: &mut State, call: &Call<'_>) -> Option<String> {
    let words = match call.arguments {
        [first, rest @ ..] if first.text == "-n" => rest,
        [first, ..] if first.text.starts_with('-') => return None,
        words => words,
    };
    Some(format!("{}\n", known_texts(words)?.join(" ")))
}

pub fn printf(_: &mut Reader<'_>, state: &mut State, call: &Call<'_>) -> Option<String> {
    if let [flag, name, ..] = call.arguments
        && flag.text == "-v"
    {
        state.set(&name.text, None);
        return None;
    }
    let texts = known_texts(call.arguments)?;
    match texts.as_slice() {
        ["%s", text] => Some(text.to_string()),
        ["%s\\n", lines @ ..] => Some(lines.iter().map(|line| format!("{line}\n")).collect()),
        [text] if !text.contains('%') => Some(text.replace("\\n", "\n")).filter(|text| !text.contains('\\')),
        _ => None,
    }
}

pub fn cat(reader: &mut Reader<'_>, state: &mut State, call: &Call<'_>) -> Option<String> {
    match call.arguments {
        [] => reader.stdin(state),
        [only] if only.text == "-" => reader.stdin(state),
        [only] if !only.text.starts_with('-') && reader.is_piped => reader.content(state, only),
        _ => None,
    }
}

pub fn pwd(_: &mut Reader<'_>, state: &mut State, _: &Call<'_>) -> Option<String> {
    state.dir.clone()
}

/// `dirname` and `basename`.
pub fn part(_: &mut Reader<'_>, _: &mut State, call: &Call<'_>) -> Option<String> {
    let texts = known_texts(call.arguments)?;
    match (call.name, texts.as_slice()) {
        ("dirname", [path]) => {
            let path = path.trim_end_matches('/');
            let dir = path.rsplit_once('/').map_or(".", |(dir, _)| dir);
            Some(if dir.is_empty() { "/".to_string() } else { dir.to_string() })
        }
        ("basename", [path, suffix @ ..]) if suffix.len() < 2 && !path.starts_with('-') => {
            let base = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let suffix = suffix.first().copied().unwrap_or_default();
            Some(base.strip_suffix(suffix).filter(|base| !base.is_empty()).unwrap_or(base).to_string())
        }
        _ => None,
    }
}

fn known_texts(fields: &[Field]) -> Option<Vec<&str>> {
    let is_plain = |field: &Field| field.is_known() && field.pattern.is_none();
    fields.iter().all(is_plain).then(|| fields.iter().map(|field| field.text.as_str()).collect())
}
