//! Programs that edit or format files in place.

use super::options::ProgramOptions;
use super::scripts::{self, ScriptEffects};
use crate::domain::shell::Extent;
use crate::domain::shell::field::Field;
use crate::domain::shell::interpreter::{ProgramCall, ShellInterpreter, ShellState};

pub fn sed(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    let mut operands = options.operands.as_slice();
    let has_script = options.has("-e --expression -f --file");
    let mut suffix = options.value("-i --in-place").cloned();
    if options.has("-i") && suffix.is_none() {
        // BSD syntax: `sed -i '' …`, `sed -i .bak …`.
        let is_suffix = |field: &Field| {
            field.text.is_empty()
                || (!has_script
                    && operands.len() > 2
                    && field.text.starts_with('.')
                    && !field.text.contains(['/', ' ']))
        };
        if let Some((first, rest)) = operands.split_first().filter(|(first, _)| is_suffix(first)) {
            suffix = Some(first.clone()).filter(|first| !first.text.is_empty());
            operands = rest;
        }
    }
    // Each expression is a line of its own, and a command may continue on the next line.
    let expressions: Vec<&str> = options
        .values("-e --expression")
        .filter(|text| text.is_known())
        .map(|text| text.text.as_str())
        .collect();
    let mut texts = vec![Some(expressions.join("\n"))];
    texts.extend(options.values("-f --file").map(|file| interpreter.content(state, file)));
    if !has_script && let Some((script, rest)) = operands.split_first() {
        texts.push(text_of(script));
        operands = rest;
    }
    // A script that contains a variable is still only a script; it rarely writes other files.
    for text in texts {
        match text {
            Some(text) => apply(interpreter, state, scripts::sed(&text), name),
            None if options.has("-f --file") => interpreter.set_opaque(),
            None => {}
        }
    }
    if options.has("-i --in-place") {
        write_in_place(interpreter, state, operands, suffix.as_ref(), &format!("{name} -i"));
    }
}

fn text_of(field: &Field) -> Option<String> {
    field.is_known().then(|| field.text.clone())
}

fn apply(interpreter: &mut ShellInterpreter<'_>, state: &ShellState, effects: ScriptEffects, name: &str) {
    for file in effects.files {
        interpreter.write(state, &Field::literal(file), Extent::File, name);
    }
    if effects.is_opaque {
        interpreter.set_opaque();
    }
}

/// Notes writes to the files and to their backups.
fn write_in_place(
    interpreter: &mut ShellInterpreter<'_>,
    state: &ShellState,
    files: &[Field],
    suffix: Option<&Field>,
    by: &str,
) {
    for file in files {
        interpreter.write(state, file, Extent::File, by);
        match suffix {
            Some(suffix) if suffix.text.contains('*') || !suffix.is_known() => interpreter.set_opaque(),
            Some(suffix) => interpreter.write(state, &file.with(&suffix.text), Extent::File, by),
            None => {}
        }
    }
}

pub fn perl(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    if options.has("-v -c") {
        return;
    }
    let mut code = options.values("-e -E");
    let is_harmless = code.all(|code| code.is_known() && scripts::is_harmless_perl(&code.text));
    if !options.has("-e -E") || !is_harmless {
        interpreter.set_opaque();
    }
    if options.has("-i") && options.has("-e -E") {
        write_in_place(interpreter, state, &options.operands, options.value("-i"), &format!("{name} -i"));
    }
}

pub fn awk(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    let mut operands = options.operands.as_slice();
    if options.has("-f --file -e --source") {
        interpreter.set_opaque();
    } else if let Some((program, files)) = operands.split_first() {
        operands = files;
        match text_of(program) {
            Some(program) => apply(interpreter, state, scripts::awk(&program), name),
            None => interpreter.set_opaque(),
        }
    }
    if options.values("-i --include").any(|value| value.text == "inplace") {
        for file in operands.iter().filter(|file| !file.text.contains('=')) {
            interpreter.write(state, file, Extent::File, &format!("{name} -i inplace"));
        }
    }
}

pub fn editor(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    if options.has("-R -h") {
        return;
    }
    for file in options.operands.iter().filter(|file| !file.text.starts_with('+') && file.text != "-") {
        interpreter.write(state, file, Extent::File, name);
    }
}

/// Its long flags start with a single dash.
pub fn clang_format(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    if call.arguments.iter().any(|field| field.text == "-i") {
        if call.arguments.iter().all(|field| field.text.starts_with('-')) {
            interpreter.set_opaque();
        }
        for file in call.arguments.iter().filter(|field| !field.text.starts_with('-')) {
            interpreter.write(state, file, Extent::File, "clang-format -i");
        }
    }
    None
}

pub fn ruff(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    _: &str,
) {
    let Some((command, paths)) = options.operands.split_first() else {
        return;
    };
    let by = match command.text.as_str() {
        "format" if !options.has("--check --diff") => "ruff format",
        "check" if options.has("--fix --fix-only --unsafe-fixes") && !options.has("--diff") => {
            "ruff check --fix"
        }
        _ => return,
    };
    let here = [Field::literal(".")];
    for path in if paths.is_empty() { &here } else { paths } {
        interpreter.write_dir_or_file(state, path, by);
    }
}

/// `yq -i EXPRESSION FILE…`
pub fn yq(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    if !options.has("-i --inplace --in-place") {
        return;
    }
    let is_command = |field: &&Field| matches!(field.text.as_str(), "e" | "ea" | "eval" | "eval-all");
    let operands =
        &options.operands[usize::from(options.operands.first().as_ref().is_some_and(is_command))..];
    let files = if operands.len() > 1 { &operands[1..] } else { operands };
    for file in files {
        interpreter.write(state, file, Extent::File, &format!("{name} -i"));
    }
}

/// `uniq IN OUT`
pub fn second_operand(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    if let Some(file) = options.operands.get(1).filter(|file| file.text != "-") {
        interpreter.write(state, file, Extent::File, name);
    }
}

/// It follows `mod` declarations to other files, so the call is opaque.
pub fn rustfmt(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    if options.has("--check") || options.operands.is_empty() {
        return;
    }
    for file in &options.operands {
        interpreter.write(state, file, Extent::File, name);
    }
    interpreter.set_opaque();
}
