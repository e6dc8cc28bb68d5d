//! Programs that apply patches: the patch says which files they write.

use super::options::{ProgramOptions, ValueFlags};
use super::wrappers::change_dir;
use crate::domain::patch::{apply_patch_paths, diff_paths};
use crate::domain::shell::Extent;
use crate::domain::shell::field::Field;
use crate::domain::shell::interpreter::{ProgramCall, ShellInterpreter, ShellState};

pub fn patch(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    let takes = ValueFlags {
        short: "pdiorBDFgVYz",
        long: "strip directory input output reject-file prefix ifdef fuzz get suffix",
        attached: "",
    };
    let options = ProgramOptions::parse(call.arguments, takes);
    if options.has("--dry-run --version --help -v -C --check") {
        return None;
    }
    let mut own = state.clone();
    change_dir(&mut own, options.value("-d --directory"));
    for file in options.values("-o --output -r --reject-file") {
        interpreter.write(&own, file, Extent::File, call.name);
    }
    if options.has("-o --output") {
        return None;
    }
    if let Some(file) = options.operands.first() {
        interpreter.write(&own, file, Extent::File, call.name);
        return None;
    }
    // A relative patch file is looked up in the directory after `-d`.
    let text = match options.value("-i --input").filter(|file| file.text != "-") {
        Some(file) => interpreter.content(&own, file),
        None => interpreter.stdin(state),
    };
    let Some(text) = text else {
        interpreter.write(&own, &Field::literal("."), Extent::Tree, call.name);
        return None;
    };
    match options.value("-p --strip") {
        Some(strip) => match strip.text.parse() {
            Ok(strip) => write_all(interpreter, &own, diff_paths(&text, strip), call.name),
            Err(_) => interpreter.set_opaque(),
        },
        None => write_unstripped(interpreter, &own, &text, call.name),
    }
    None
}

/// Without `-p`, `patch` uses the whole name if its directory exists, otherwise its last component.
fn write_unstripped(interpreter: &mut ShellInterpreter<'_>, state: &ShellState, text: &str, by: &str) {
    for path in diff_paths(text, 0) {
        // Each needs a look-up.
        if !interpreter.spend(1) {
            return;
        }
        let path = Field::literal(path);
        match path.text.rsplit_once('/') {
            Some((dir, base)) if !interpreter.is_dir(state, &Field::literal(dir)) => {
                interpreter.write(state, &Field::literal(base), Extent::File, by);
            }
            _ => interpreter.write(state, &path, Extent::File, by),
        }
    }
}

pub fn write_all(interpreter: &mut ShellInterpreter<'_>, state: &ShellState, paths: Vec<String>, by: &str) {
    for path in paths {
        interpreter.write(state, &Field::literal(path), Extent::File, by);
    }
}

pub fn apply_patch(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    let text = match call.arguments.first() {
        Some(field) if field.is_known() => Some(field.text.clone()),
        Some(_) => None,
        None => interpreter.stdin(state),
    };
    match text {
        Some(text) => write_all(interpreter, state, apply_patch_paths(&text), "apply_patch"),
        None => interpreter.set_opaque(),
    }
    None
}
