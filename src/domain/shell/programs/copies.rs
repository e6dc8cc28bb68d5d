//! Programs that copy, move, link or create files, or change their mode or owner.

use super::options::{ProgramOptions, ValueFlags};
use crate::domain::shell::Extent;
use crate::domain::shell::field::{Field, FieldChar};
use crate::domain::shell::interpreter::{ProgramCall, ShellInterpreter, ShellState};
use crate::domain::shell::links::LinkKind;

pub fn cp(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    let flag = options.given("-r -R -a --recursive --archive");
    let by = flag.map_or_else(|| name.to_string(), |flag| format!("{name} {flag}"));
    let extent = if flag.is_some() { Extent::Tree } else { Extent::File };
    let made = write_targets(interpreter, state, options, extent, &by);
    if options.has("-l --link -s --symbolic-link") {
        let is_symbolic = options.has("-s --symbolic-link");
        let kind = if is_symbolic { LinkKind::Symbolic } else { LinkKind::Hard };
        for (source, link) in made {
            add_link(interpreter, state, (&source, &link), kind);
        }
    }
}

pub fn mv(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    for source in sources(options) {
        interpreter.write(state, source, Extent::Tree, name);
    }
    write_targets(interpreter, state, options, Extent::Tree, name);
}

pub fn ln(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    // With `-r` the target is relative to the working directory, like that of a hard link.
    let is_symbolic = options.has("-s --symbolic") && !options.has("-r --relative");
    let kind = if is_symbolic { LinkKind::Symbolic } else { LinkKind::Hard };
    if let ([only], None) = (options.operands.as_slice(), options.value("-t --target-directory")) {
        match only.base() {
            Some(base) => {
                interpreter.write(state, &base, Extent::File, name);
                add_link(interpreter, state, (only, &base), kind);
            }
            None => interpreter.set_opaque(),
        }
        return;
    }
    for (source, link) in write_targets(interpreter, state, options, Extent::File, name) {
        add_link(interpreter, state, (&source, &link), kind);
    }
}

/// Follows the creation of a link, as (target, link).
fn add_link(
    interpreter: &mut ShellInterpreter<'_>,
    state: &ShellState,
    (target, link): (&Field, &Field),
    kind: LinkKind,
) {
    if !interpreter.links.add(state, target, link, kind) {
        interpreter.set_opaque();
    }
}

pub fn install(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    if options.has("-d --directory") {
        mkdir(interpreter, state, options, "install -d");
        return;
    }
    write_targets(interpreter, state, options, Extent::File, name);
}

pub fn mkdir(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    by: &str,
) {
    for dir in &options.operands {
        interpreter.write(state, dir, Extent::File, by);
        interpreter.make(state, dir);
    }
}

fn sources(options: &ProgramOptions) -> &[Field] {
    match options.operands.split_last() {
        Some((_, sources)) if !options.has("-t --target-directory") => sources,
        _ => &options.operands,
    }
}

/// Notes writes to the targets given by the last operand or `-t`. Returns each source with its target.
fn write_targets(
    interpreter: &mut ShellInterpreter<'_>,
    state: &ShellState,
    options: &ProgramOptions,
    extent: Extent,
    by: &str,
) -> Vec<(Field, Field)> {
    let mut made = Vec::new();
    let sources = sources(options);
    let given = options.value("-t --target-directory");
    let Some(target) = given.or(options.operands.last()).filter(|_| !sources.is_empty()) else {
        return made;
    };
    let is_name = options.has("-T --no-target-directory -n --no-dereference") && by.starts_with("ln")
        || options.has("-T --no-target-directory");
    let may_be_many = target.pattern.is_none() && sources.iter().any(|source| source.pattern.is_some());
    let is_dir = given.is_some() || sources.len() > 1 || interpreter.is_dir(state, target);
    if is_name || !is_dir {
        interpreter.write(state, target, extent, by);
        made.extend(sources.first().map(|source| (source.clone(), target.clone())));
        // A glob that matches several files needs a directory as target.
        if is_name || !may_be_many {
            return made;
        }
    }
    for source in sources {
        let name = if options.has("--parents") { Some(source.clone()) } else { source.base() };
        match name {
            Some(base) => {
                let target = target.join(&base);
                interpreter.write(state, &target, extent, by);
                made.push((source.clone(), target));
            }
            // `cp -r src/. there`
            None => interpreter.write(state, target, Extent::Tree, by),
        }
    }
    made
}

pub fn rsync(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    if options.has("-n --dry-run --list-only") {
        return;
    }
    if let Some(log) = options.value("--log-file") {
        interpreter.write(state, log, Extent::File, name);
    }
    let Some((target, sources)) = options.operands.split_last().filter(|(_, sources)| !sources.is_empty())
    else {
        return;
    };
    if options.has("--remove-source-files") {
        for source in sources.iter().filter(|source| !is_remote(source)) {
            interpreter.write(state, source, Extent::Tree, name);
        }
    }
    if !is_remote(target) {
        interpreter.write(state, target, Extent::Tree, name);
    }
}

pub fn scp(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    if let Some((target, sources)) = options.operands.split_last()
        && !sources.is_empty()
        && !is_remote(target)
    {
        interpreter.write_dir_or_file(state, target, name);
    }
}

/// Whether it has the form `host:path`.
fn is_remote(field: &Field) -> bool {
    let host = field.text.split('/').next().unwrap_or_default();
    host.contains(':')
}

/// The mode may look like a flag: `chmod -x file`.
pub fn chmod(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    let is_mode = |field: &Field| {
        field.text.len() > 1
            && field.text.starts_with('-')
            && field.text[1..].chars().all(|c| "rwxXstugo".contains(c))
    };
    let mut arguments = call.arguments.to_vec();
    let modes = arguments.len();
    arguments.retain(|field| !is_mode(field));
    let has_mode = arguments.len() < modes;
    let options =
        ProgramOptions::parse(&arguments, ValueFlags { long: "reference", ..ValueFlags::default() });
    let first = usize::from(!has_mode && !options.has("--reference"));
    change(interpreter, state, &options, first, call.name);
    None
}

pub fn chown(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    change(interpreter, state, options, usize::from(!options.has("--reference")), name);
}

fn change(
    interpreter: &mut ShellInterpreter<'_>,
    state: &ShellState,
    options: &ProgramOptions,
    first: usize,
    name: &str,
) {
    let flag = options.given("-R --recursive");
    let by = flag.map_or_else(|| name.to_string(), |flag| format!("{name} {flag}"));
    let extent = if flag.is_some() { Extent::Tree } else { Extent::File };
    for file in options.operands.iter().skip(first) {
        interpreter.write(state, file, extent, &by);
    }
}

pub fn dd(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    for file in call.arguments.iter().filter_map(|field| field.after("of=")) {
        interpreter.write(state, &file, Extent::File, "dd");
    }
    None
}

/// `mktemp DIR/name.XXXX`. Files in the usual temporary directory do not matter.
pub fn mktemp(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    if options.has("-u --dry-run") {
        return;
    }
    let dir = options.value("-p --tmpdir").filter(|dir| !dir.text.is_empty());
    let template = options.operands.first();
    if dir.is_none() && (template.is_none() || options.has("-t --tmpdir")) {
        if state.variables.contains_key("TMPDIR") {
            interpreter.set_opaque();
        }
        return;
    }
    let template = template.map_or("tmp.XXXXXXXXXX", |template| template.text.as_str());
    let suffix = options.value("--suffix").map_or("", |suffix| suffix.text.as_str());
    let text = match dir {
        Some(dir) => format!("{}/{template}{suffix}", dir.text.trim_end_matches('/')),
        None => format!("{template}{suffix}"),
    };
    let base = text.rfind('/').map_or(0, |slash| slash + 1);
    let end = text[..text.len() - suffix.len()].rfind("XXX").filter(|at| *at >= base).map(|at| at + 3);
    let start = end.map(|end| base + text[base..end].trim_end_matches('X').len());
    let quoted = |part: &str| part.chars().map(|c| FieldChar { c, is_quoted: true }).collect::<Vec<_>>();
    let file = match start.zip(end) {
        Some((start, end)) => {
            let mut letters = quoted(&text[..start]);
            letters.push(FieldChar { c: '*', is_quoted: false });
            letters.extend(quoted(&text[end..]));
            Field::new(&letters)
        }
        None => Field::literal(text),
    };
    interpreter.write(state, &file, Extent::File, name);
}
