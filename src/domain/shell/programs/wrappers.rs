//! Programs that run another command given in their arguments.

use std::rc::Rc;

use super::options::{ProgramOptions, ValueFlags};
use crate::domain::shell::field::{Field, VariableValue};
use crate::domain::shell::interpreter::{ProgramCall, ShellInterpreter, ShellState};
use crate::domain::shell::parser::lists::name_length;

pub fn sudo(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
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
            interpreter.write(&own, file, crate::domain::shell::Extent::File, "sudo -e");
        }
        return None;
    }
    let rest = set_variables(&mut own, &call.arguments[at..]);
    if rest.is_empty() && options.has("-i -s --login --shell") {
        interpreter.set_opaque();
    }
    run(interpreter, &mut own, rest)
}

pub fn env(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    let takes = ValueFlags { short: "uCS", long: "unset chdir split-string", attached: "" };
    let (options, at) = ProgramOptions::leading(call.arguments, takes);
    if options.has("-S --split-string") {
        interpreter.set_opaque();
    }
    let mut own = state.clone();
    change_dir(&mut own, options.value("-C --chdir"));
    let rest = set_variables(&mut own, &call.arguments[at..]);
    run(interpreter, &mut own, rest)
}

/// Wrappers with only flags before the command.
pub fn wrapper(
    interpreter: &mut ShellInterpreter<'_>,
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
            interpreter.write(state, file, crate::domain::shell::Extent::File, "time -o");
        }
    }
    if call.name == "npx" && options.has("-c --call") {
        interpreter.set_opaque();
    }
    // `timeout 5 …`
    let before = usize::from(matches!(call.name, "timeout" | "gtimeout"));
    let rest = call.arguments.get(at + before..).unwrap_or_default();
    run(interpreter, state, rest)
}

pub fn shell(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
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
        interpreter.stdin(state)
    } else {
        None
    };
    let Some(script) = script else {
        interpreter.set_opaque();
        return None;
    };
    interpreter.script(&mut own, &script)
}

pub fn eval(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    let is_plain = |field: &Field| field.is_known() && field.pattern.is_none();
    if !call.arguments.iter().all(is_plain) {
        interpreter.set_opaque();
        return None;
    }
    let texts: Vec<&str> = call.arguments.iter().map(|field| field.text.as_str()).collect();
    interpreter.script(state, &texts.join(" "))
}

/// `python -m black …` is `black …`; anything else may do anything.
pub fn python(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    match call.arguments {
        [flag, module, rest @ ..]
            if flag.text == "-m"
                && ["black", "isort", "ruff", "yapf", "autopep8"].contains(&module.text.as_str()) =>
        {
            interpreter.call(state, module, rest)
        }
        [only] if matches!(only.text.as_str(), "--version" | "-V" | "--help" | "-h") => None,
        _ => {
            interpreter.set_opaque();
            None
        }
    }
}

fn run(interpreter: &mut ShellInterpreter<'_>, state: &mut ShellState, words: &[Field]) -> Option<String> {
    let (name, arguments) = words.split_first()?;
    interpreter.call(state, name, arguments)
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
