//! Shell builtins that change the shell's state, and small commands whose output is predictable.

use std::rc::Rc;

use super::field::{Field, VariableValue};
use super::interpreter::{ProgramCall, ShellInterpreter, ShellState};
use super::programs::options::{ProgramOptions, ValueFlags};
use super::state::join;
use crate::domain::pattern::NormalPath;

/// Maximum size of the `pushd` stack and of the list of doubtful directories; beyond it they are unknown.
const MAX_DIRS: usize = 32;

pub fn cd(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    let options = ProgramOptions::parse(call.arguments, ValueFlags::default());
    let old = state.sure_dir();
    match options.operands.first() {
        None => state.go(interpreter.world.home()),
        Some(field) if field.text == "-" && state.old_dir.is_some() => state.go(state.old_dir.clone()),
        Some(field) if field.text == "-" || !field.is_known() || field.pattern.is_some() => {
            doubt(state, state.places());
            state.go(None);
        }
        Some(field) if field.text.is_empty() => {}
        Some(field) => enter(interpreter, state, &field.text),
    }
    state.moved_from(old);
    None
}

/// Changes to `text` from each possible directory. Where it does not exist, the shell may also stay.
fn enter(interpreter: &mut ShellInterpreter<'_>, state: &mut ShellState, text: &str) {
    let mut doubted = Vec::new();
    for place in state.places() {
        let path = join(place.as_deref(), text);
        if path.is_some_and(|path| !can_enter(interpreter, place.as_deref(), &path, text)) {
            doubted.push(place);
        }
    }
    doubt(state, doubted);
    state.enter(text);
}

/// Notes that the shell may stay in these directories.
fn doubt(state: &mut ShellState, places: Vec<Option<String>>) {
    if !places.is_empty() {
        let doubted = Rc::make_mut(&mut state.doubted);
        doubted.extend(places);
        if doubted.len() > MAX_DIRS {
            *doubted = vec![None];
        }
    }
}

fn can_enter(interpreter: &mut ShellInterpreter<'_>, place: Option<&str>, path: &str, text: &str) -> bool {
    let is_up = !text.starts_with('/') && text.split('/').all(|part| matches!(part, "" | "." | ".."));
    if is_up || interpreter.world.is_dir(path) || interpreter.is_made(path) {
        return true;
    }
    // Inside a directory that the command itself makes, `..` can only be resolved lexically.
    let is_new = place.is_some_and(|place| interpreter.is_made(place));
    is_new && interpreter.world.is_dir(NormalPath::absolute(path).as_str())
}

pub fn pushd(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    let rotates = |field: &Field| field.text.starts_with('+') || field.text.starts_with('-');
    if call.arguments.is_empty() || call.arguments.iter().any(rotates) {
        let old = state.sure_dir();
        state.go(None);
        state.moved_from(old);
        return None;
    }
    if state.dirs.len() >= MAX_DIRS {
        state.dirs = Rc::default();
    }
    let here = state.sure_dir();
    Rc::make_mut(&mut state.dirs).push(here);
    cd(interpreter, state, call)
}

pub fn popd(_: &mut ShellInterpreter<'_>, state: &mut ShellState, call: &ProgramCall<'_>) -> Option<String> {
    let back = Rc::make_mut(&mut state.dirs).pop().flatten();
    let old = state.sure_dir();
    let mut places = vec![back.filter(|_| call.arguments.is_empty())];
    if !state.instead.is_empty() {
        // If a `pushd` failed, the stack has one entry less, or none.
        places.extend(state.instead.iter().chain(state.dirs.iter()).cloned());
    }
    state.go_to_one_of(&places);
    state.moved_from(old);
    None
}

/// `export X=y` and similar.
pub fn declare(
    _: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    for field in call.arguments.iter().filter(|field| !field.text.starts_with('-')) {
        if let Some((name, _)) = field.text.split_once('=') {
            let value = field.after(&format!("{name}=")).filter(Field::is_known);
            state.set(
                name.trim_end_matches('+'),
                value.filter(|_| !name.ends_with('+')).map(|v| VariableValue::literal(v.text)),
            );
        }
    }
    None
}

/// `read x`, `let x=1` and similar: the value they set is unknown.
pub fn forget(
    _: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    for field in call.arguments.iter().filter(|field| !field.text.starts_with('-')) {
        let name = field.text.split(['=', '+', '-', '*', '[']).next().unwrap_or_default();
        if !name.is_empty() {
            state.set(name, None);
        }
    }
    None
}

pub fn unset(_: &mut ShellInterpreter<'_>, state: &mut ShellState, call: &ProgramCall<'_>) -> Option<String> {
    let takes_functions = call.arguments.iter().any(|field| field.text == "-f");
    for field in call.arguments.iter().filter(|field| !field.text.starts_with('-') && !takes_functions) {
        // `unset a[1]` leaves the other elements, so the value is unknown.
        let is_whole = field.is_known() && !field.text.contains('[');
        state.set(
            field.text.split('[').next().unwrap_or_default(),
            is_whole.then(|| VariableValue::literal("")),
        );
    }
    None
}

/// `set -- a b` sets `$1` and `$2`.
pub fn set(_: &mut ShellInterpreter<'_>, state: &mut ShellState, call: &ProgramCall<'_>) -> Option<String> {
    let dashes = call.arguments.iter().position(|field| field.text == "--");
    let first = dashes.map(|at| at + 1).or_else(|| {
        let at = call.arguments.iter().position(|field| !field.text.starts_with(['-', '+']))?;
        // The value of `-o pipefail`.
        let is_option = at > 0 && call.arguments[at - 1].text.ends_with('o');
        (!is_option).then_some(at)
    });
    if let Some(first) = first {
        state.arguments = Some(Rc::new(call.arguments[first..].iter().map(VariableValue::of).collect()));
    }
    None
}

pub fn shift(_: &mut ShellInterpreter<'_>, state: &mut ShellState, call: &ProgramCall<'_>) -> Option<String> {
    let count = call.arguments.first().map_or(Ok(1), |field| field.text.parse::<usize>());
    state.arguments = match (count, state.arguments.take()) {
        (Ok(count), Some(arguments)) => Some(Rc::new(arguments.iter().skip(count).cloned().collect())),
        _ => None,
    };
    None
}

pub fn leave(_: &mut ShellInterpreter<'_>, state: &mut ShellState, _: &ProgramCall<'_>) -> Option<String> {
    state.is_over = true;
    None
}

/// `trap 'rm -f x' EXIT`: the script runs at some later time.
pub fn trap(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    let arguments: Vec<&Field> = call.arguments.iter().filter(|field| field.text != "--").collect();
    if let [script, _, ..] = arguments.as_slice()
        && !script.text.starts_with('-')
    {
        if script.is_known() {
            let follow =
                |interpreter: &mut ShellInterpreter<'_>| interpreter.script(&mut state.clone(), &script.text);
            interpreter.with_evidence(super::OutcomeEvidence::NOTHING, follow);
        } else {
            interpreter.set_opaque();
        }
    }
    None
}

pub fn echo(_: &mut ShellInterpreter<'_>, _: &mut ShellState, call: &ProgramCall<'_>) -> Option<String> {
    let words = match call.arguments {
        [first, rest @ ..] if first.text == "-n" => rest,
        [first, ..] if first.text.starts_with('-') => return None,
        words => words,
    };
    Some(format!("{}\n", known_texts(words)?.join(" ")))
}

pub fn printf(
    _: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
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

pub fn cat(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    match call.arguments {
        [] => interpreter.stdin(state),
        [only] if only.text == "-" => interpreter.stdin(state),
        [only] if !only.text.starts_with('-') && interpreter.is_piped => interpreter.content(state, only),
        _ => None,
    }
}

pub fn pwd(_: &mut ShellInterpreter<'_>, state: &mut ShellState, _: &ProgramCall<'_>) -> Option<String> {
    state.sure_dir()
}

/// `dirname` and `basename`.
pub fn part(_: &mut ShellInterpreter<'_>, _: &mut ShellState, call: &ProgramCall<'_>) -> Option<String> {
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
