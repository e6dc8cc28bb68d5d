//! Programs that run another command given in their arguments.

use std::rc::Rc;

use super::field::{Field, VariableValue};
use super::options::{ProgramOptions, ValueFlags};
use super::parse::name_length;
use super::reader::{ProgramCall, ShellReader, ShellState};

pub fn sudo(reader: &mut ShellReader<'_>, state: &mut ShellState, call: &ProgramCall<'_>) -> Option<String> {
    let takes = ValueFlags {
        short: "ughpCDRTUrt",
        long: "user group host prompt chdir chroot role type other-user close-from command-timeout",
        attached: "",
    };
    let (options, at) = ProgramOptions::leading(call.arguments, takes);
    let mut own = state.clone();
    change_dir(&mut own, options.value("-D --chdir"));
    if options.has("-e --edit") {
        for file in &call.arguments[at..] {
            reader.write(&own, file, super::Extent::File, "sudo -e");
        }
        return None;
    }
    let rest = set_variables(&mut own, &call.arguments[at..]);
    if rest.is_empty() && options.has("-i -s --login --shell") {
        reader.set_opaque();
    }
    run(reader, &mut own, rest)
}

pub fn env(reader: &mut ShellReader<'_>, state: &mut ShellState, call: &ProgramCall<'_>) -> Option<String> {
    let takes = ValueFlags { short: "uCS", long: "unset chdir split-string", attached: "" };
    let (options, at) = ProgramOptions::leading(call.arguments, takes);
    if options.has("-S --split-string") {
        reader.set_opaque();
    }
    let mut own = state.clone();
    change_dir(&mut own, options.value("-C --chdir"));
    let rest = set_variables(&mut own, &call.arguments[at..]);
    run(reader, &mut own, rest)
}

/// Wrappers with only flags before the command.
pub fn wrapper(
    reader: &mut ShellReader<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    let short = match call.name {
        "nice" => "n",
        "ionice" => "cnp",
        "stdbuf" => "ioe",
        "timeout" | "gtimeout" => "ks",
        "time" => "fo",
        "exec" => "a",
        "npx" | "bunx" | "uvx" => "pc",
        "caffeinate" => "tw",
        _ => "",
    };
    let long = "adjustment class classdata input output error kill-after signal format package call from with \
                python";
    let (options, at) = ProgramOptions::leading(call.arguments, ValueFlags { short, long, attached: "" });
    let asks = match call.name {
        "command" => options.has("-v -V"),
        "ionice" => options.has("-p"),
        _ => false,
    };
    if asks {
        return None;
    }
    if call.name == "time" {
        for file in options.values("-o --output") {
            reader.write(state, file, super::Extent::File, "time -o");
        }
    }
    if call.name == "npx" && options.has("-c --call") {
        reader.set_opaque();
    }
    // `timeout 5 …`
    let before = usize::from(matches!(call.name, "timeout" | "gtimeout"));
    let rest = call.arguments.get(at + before..).unwrap_or_default();
    run(reader, state, rest)
}

pub fn shell(reader: &mut ShellReader<'_>, state: &mut ShellState, call: &ProgramCall<'_>) -> Option<String> {
    let takes = ValueFlags { short: "oO", long: "rcfile init-file", attached: "" };
    let (options, at) = ProgramOptions::leading(call.arguments, takes);
    if options.has("-n --version --help") {
        return None;
    }
    let rest = &call.arguments[at..];
    let mut own = state.clone();
    let set_arguments = |own: &mut ShellState, fields: &[Field]| {
        own.arguments = Some(Rc::new(fields.iter().map(VariableValue::of).collect()));
    };
    let script = if options.has("-c") {
        set_arguments(&mut own, rest.get(2..).unwrap_or_default());
        rest.first().filter(|script| script.is_known()).map(|script| script.text.clone())
    } else if rest.is_empty() || options.has("-s") {
        set_arguments(&mut own, rest);
        reader.stdin(state)
    } else {
        None
    };
    let Some(script) = script else {
        reader.set_opaque();
        return None;
    };
    reader.script(&mut own, &script)
}

pub fn eval(reader: &mut ShellReader<'_>, state: &mut ShellState, call: &ProgramCall<'_>) -> Option<String> {
    let is_plain = |field: &Field| field.is_known() && field.pattern.is_none();
    if !call.arguments.iter().all(is_plain) {
        reader.set_opaque();
        return None;
    }
    let texts: Vec<&str> = call.arguments.iter().map(|field| field.text.as_str()).collect();
    reader.script(state, &texts.join(" "))
}

/// `python -m black …` is `black …`; anything else may do anything.
pub fn python(
    reader: &mut ShellReader<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    match call.arguments {
        [flag, module, rest @ ..]
            if flag.text == "-m"
                && ["black", "isort", "ruff", "yapf", "autopep8"].contains(&module.text.as_str()) =>
        {
            reader.call(state, module, rest)
        }
        [only] if matches!(only.text.as_str(), "--version" | "-V" | "--help" | "-h") => None,
        _ => {
            reader.set_opaque();
            None
        }
    }
}

fn run(reader: &mut ShellReader<'_>, state: &mut ShellState, words: &[Field]) -> Option<String> {
    let (name, arguments) = words.split_first()?;
    reader.call(state, name, arguments)
}

pub fn change_dir(state: &mut ShellState, dir: Option<&Field>) {
    if let Some(dir) = dir {
        if dir.is_known() && dir.pattern.is_none() {
            state.enter(&dir.text);
        } else {
            state.go(None);
        }
    }
}

/// Sets the variables of `A=1 B=2 command` and returns the command.
fn set_variables<'a>(state: &mut ShellState, words: &'a [Field]) -> &'a [Field] {
    let mut rest = words;
    while let Some((first, others)) = rest.split_first() {
        let length = name_length(&first.text);
        if length == 0 || first.text.as_bytes().get(length) != Some(&b'=') {
            break;
        }
        let value = first.is_known().then(|| VariableValue::literal(&first.text[length + 1..]));
        state.set(&first.text[..length], value);
        rest = others;
    }
    rest
}
