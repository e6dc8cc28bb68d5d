//! Programs that apply patches: the patch says which files they write.

use super::Extent;
use super::field::Field;
use super::options::{ProgramOptions, ValueFlags};
use super::reader::{ProgramCall, ShellReader, ShellState};
use super::wrappers::change_dir;
use crate::domain::patch::{apply_patch_paths, diff_paths};

pub fn patch(reader: &mut ShellReader<'_>, state: &mut ShellState, call: &ProgramCall<'_>) -> Option<String> {
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
        reader.write(&own, file, Extent::File, call.name);
    }
    if options.has("-o --output") {
        return None;
    }
    if let Some(file) = options.operands.first() {
        reader.write(&own, file, Extent::File, call.name);
        return None;
    }
    // A relative patch file is looked up in the directory after `-d`.
    let text = match options.value("-i --input").filter(|file| file.text != "-") {
        Some(file) => reader.content(&own, file),
        None => reader.stdin(state),
    };
    let Some(text) = text else {
        reader.write(&own, &Field::literal("."), Extent::Tree, call.name);
        return None;
    };
    match options.value("-p --strip") {
        Some(strip) => match strip.text.parse() {
            Ok(strip) => write_all(reader, &own, diff_paths(&text, strip), call.name),
            Err(_) => reader.set_opaque(),
        },
        None => write_unstripped(reader, &own, &text, call.name),
    }
    None
}

/// Without `-p`, `patch` uses the whole name if its directory exists, otherwise its last component.
fn write_unstripped(reader: &mut ShellReader<'_>, state: &ShellState, text: &str, by: &str) {
    for path in diff_paths(text, 0) {
        // Each needs a look-up.
        if !reader.spend(1) {
            return;
        }
        let path = Field::literal(path);
        match path.text.rsplit_once('/') {
            Some((dir, base)) if !reader.is_dir(state, &Field::literal(dir)) => {
                reader.write(state, &Field::literal(base), Extent::File, by);
            }
            _ => reader.write(state, &path, Extent::File, by),
        }
    }
}

pub fn write_all(reader: &mut ShellReader<'_>, state: &ShellState, paths: Vec<String>, by: &str) {
    for path in paths {
        reader.write(state, &Field::literal(path), Extent::File, by);
    }
}

pub fn apply_patch(
    reader: &mut ShellReader<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    let text = match call.arguments.first() {
        Some(field) if field.is_known() => Some(field.text.clone()),
        Some(_) => None,
        None => reader.stdin(state),
    };
    match text {
        Some(text) => write_all(reader, state, apply_patch_paths(&text), "apply_patch"),
        None => reader.set_opaque(),
    }
    None
}
