//! Programs that run others on files they find or are given: `find`, `fd`, `xargs`.

use super::options::{ProgramOptions, ValueFlags};
use crate::domain::shell::Extent;
use crate::domain::shell::field::{Field, FieldChar};
use crate::domain::shell::interpreter::{BYTES_PER_STEP, ProgramCall, ShellInterpreter, ShellState};
use crate::domain::shell::runs::OutcomeEvidence;

/// Tests of `find` with which its result is no longer "all files with this name".
const NOT_PLAIN: [&str; 9] = ["-o", "-or", "!", "-not", "(", ")", ",", "-path", "-regex"];

pub fn find(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    let is_option = |field: &&Field| matches!(field.text.as_str(), "-H" | "-L" | "-P");
    let arguments = &call.arguments[call.arguments.iter().take_while(is_option).count()..];
    let begins =
        |field: &Field| field.text.starts_with('-') || matches!(field.text.as_str(), "(" | "!" | ")");
    let tests = arguments.iter().position(begins).unwrap_or(arguments.len());
    let (paths, tests) = arguments.split_at(tests);
    let here = [Field::literal(".")];
    let paths = if paths.is_empty() { &here } else { paths };
    let found = found(paths, tests);
    let mut at = 0;
    while let Some(test) = tests.get(at) {
        at += 1;
        match test.text.as_str() {
            "-delete" if interpreter.spend(found.len()) => {
                found.iter().for_each(|one| interpreter.write(state, one, Extent::File, "find -delete"));
            }
            "-fprint" | "-fprint0" | "-fprintf" | "-fls" => {
                if let Some(file) = tests.get(at) {
                    interpreter.write(state, file, Extent::File, &format!("find {}", test.text));
                }
                at += 1;
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let rest = &tests[at..];
                let is_end = |field: &Field| matches!(field.text.as_str(), ";" | "+");
                let length = rest.iter().position(is_end).unwrap_or(rest.len());
                if test.text.ends_with("dir") {
                    run_beside_each(interpreter, state, &rest[..length], paths);
                } else {
                    run_on_each(interpreter, state, &rest[..length], &found);
                }
                at += length + 1;
            }
            "-name" | "-iname" | "-path" | "-type" | "-newer" => at += 1,
            _ => {}
        }
    }
    None
}

/// What `find` may find, one field per path.
fn found(paths: &[Field], tests: &[Field]) -> Vec<Field> {
    let tests = without_exceptions(tests);
    let is_plain = !tests.iter().any(|test| NOT_PLAIN.contains(&test.text.as_str()));
    let names: Vec<&Field> =
        tests.windows(2).filter(|pair| pair[0].text == "-name").map(|pair| pair[1]).collect();
    let name = match names.as_slice() {
        [name] if is_plain && name.is_known() && !name.text.contains('/') => Some(name.text.as_str()),
        _ => None,
    };
    let is_one_dir = tests.windows(2).any(|pair| pair[0].text == "-maxdepth" && pair[1].text == "1");
    let each = |path: &Field| {
        let path = path.clone();
        match name {
            Some(name) if path.pattern.is_none() => {
                let separator = if path.text.ends_with('/') { "" } else { "/" };
                let middle = if is_one_dir { separator.to_string() } else { format!("{separator}**/") };
                let mut letters: Vec<FieldChar> =
                    path.text.chars().map(|c| FieldChar { c, is_quoted: true }).collect();
                letters.extend(middle.chars().chain(name.chars()).map(|c| FieldChar { c, is_quoted: false }));
                Field::new(&letters)
            }
            _ => Field { is_below: true, ..path },
        }
    };
    paths.iter().map(each).collect()
}

/// Removes tests such as `-not -path './target/*'`: they only reduce what is found.
fn without_exceptions(tests: &[Field]) -> Vec<&Field> {
    const NARROW: [&str; 7] = ["-path", "-ipath", "-wholename", "-name", "-iname", "-type", "-newer"];
    let mut kept = Vec::new();
    let mut rest = tests;
    while let [first, others @ ..] = rest {
        rest = match others {
            [test, _, after @ ..]
                if matches!(first.text.as_str(), "!" | "-not") && NARROW.contains(&test.text.as_str()) =>
            {
                after
            }
            _ => {
                kept.push(first);
                others
            }
        };
    }
    kept
}

fn run_on_each(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    command: &[Field],
    found: &[Field],
) {
    for one in found {
        if !interpreter.spend(1 + command.len() / 64) {
            return;
        }
        let words: Vec<Field> = command.iter().map(|word| word.replace("{}", one)).collect();
        if let Some((name, arguments)) = words.split_first() {
            interpreter.with_evidence(OutcomeEvidence::NOTHING, |interpreter| {
                interpreter.call(&mut state.clone(), name, arguments)
            });
        }
    }
}

/// `-execdir` runs in the directory of each file found, anywhere below `paths`.
fn run_beside_each(
    interpreter: &mut ShellInterpreter<'_>,
    state: &ShellState,
    command: &[Field],
    paths: &[Field],
) {
    let mut own = state.clone();
    own.go(None);
    let unknown = interpreter.unknown;
    run_on_each(interpreter, &mut own, command, &[Field::unknown()]);
    if interpreter.unknown > unknown && interpreter.spend(paths.len()) {
        for path in paths {
            interpreter.write(state, path, Extent::Tree, "find -execdir");
        }
    }
}

/// The files it finds are unknown, but the command it runs on them is known.
pub fn fd(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    let runs = |field: &Field| matches!(field.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch");
    let at = call.arguments.iter().position(runs)?;
    run_on_unknown(interpreter, state, &call.arguments[at + 1..], Some("{}"));
    None
}

pub fn xargs(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    let takes = ValueFlags {
        short: "adEILnPsJR",
        long: "arg-file delimiter max-args max-procs max-chars max-lines process-slot-var",
        attached: "ile",
    };
    let (options, at) = ProgramOptions::leading(call.arguments, takes);
    let command = &call.arguments[at..];
    let mark = options.value("-I -i --replace -J").map(|mark| mark.text.clone());
    let mark = mark.or_else(|| options.has("-i --replace").then(|| "{}".to_string()));
    let text =
        if options.has("-a --arg-file -0 --null -d --delimiter") { None } else { interpreter.stdin(state) };
    // `xargs` interprets quotes; treat such input as unknown.
    let Some(text) = text.filter(|text| !text.contains(['\'', '"', '\\'])) else {
        run_on_unknown(interpreter, state, command, mark.as_deref());
        return None;
    };
    if let Some(mark) = mark {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let found: Vec<Field> = lines.map(Field::literal).collect();
        let length: usize = command.iter().map(|word| word.text.len()).sum();
        for one in &found {
            if !interpreter.spend(length / BYTES_PER_STEP) {
                break;
            }
            let words: Vec<Field> = command.iter().map(|word| word.replace(&mark, one)).collect();
            run(interpreter, state, &words);
        }
    } else {
        let words: Vec<Field> =
            command.iter().cloned().chain(text.split_ascii_whitespace().map(Field::literal)).collect();
        run(interpreter, state, &words);
    }
    None
}

fn run_on_unknown(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    command: &[Field],
    mark: Option<&str>,
) {
    let unknown = Field::unknown();
    let has_mark = mark.is_some_and(|mark| command.iter().any(|word| word.text.contains(mark)));
    let mut words: Vec<Field> = match mark {
        Some(mark) => command.iter().map(|word| word.replace(mark, &unknown)).collect(),
        None => command.to_vec(),
    };
    if !has_mark {
        words.push(unknown);
    }
    if command.is_empty() {
        return;
    }
    run(interpreter, state, &words);
}

fn run(interpreter: &mut ShellInterpreter<'_>, state: &mut ShellState, words: &[Field]) {
    if !interpreter.spend(1) {
        return;
    }
    if let Some((name, arguments)) = words.split_first() {
        interpreter.with_evidence(OutcomeEvidence::NOTHING, |interpreter| {
            interpreter.call(&mut state.clone(), name, arguments)
        });
    }
}
