//! Completion scripts that ask `msg` for names of agents, patterns and ids.
//!
//! The generator of scripts knows no such values. In zsh and for options in fish, hints that nothing else here uses mark
//! the places, and are replaced afterwards; for bash and for arguments in fish, a part is added. Patterns are words of
//! peers: no shell may evaluate them.

use std::collections::BTreeSet;

use clap::{Arg, Command, ValueHint};
use clap_complete::{Shell, generate};

use crate::faces::cli::grammar;

/// An argument that names something in the mesh.
struct LiveArgument {
    command: &'static str,
    subcommand: Option<&'static str>,
    /// The id of the argument.
    id: &'static str,
    /// The value of `--values`.
    values: &'static str,
    place: ArgumentPlace,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum ArgumentPlace {
    /// After so many other arguments.
    After(usize),
    Option(&'static str),
}

const fn first(command: &'static str, id: &'static str, values: &'static str) -> LiveArgument {
    LiveArgument { command, subcommand: None, id, values, place: ArgumentPlace::After(0) }
}

const fn option(command: &'static str, id: &'static str, long: &'static str) -> LiveArgument {
    LiveArgument { command, subcommand: None, id, values: "agents", place: ArgumentPlace::Option(long) }
}

const fn of_run(subcommand: &'static str) -> LiveArgument {
    LiveArgument { subcommand: Some(subcommand), ..first("runs", "id", "runs") }
}

const LIVE: [LiveArgument; 21] = [
    first("topics", "name", "agents"),
    first("brief", "name", "agents"),
    first("whois", "name", "agents"),
    first("evict", "name", "agents"),
    first("history", "name", "agents"),
    first("send", "to", "agents"),
    first("contest", "pattern", "reservations"),
    LiveArgument { place: ArgumentPlace::After(1), ..first("handoff", "name", "agents") },
    LiveArgument { subcommand: Some("dismiss"), ..first("overlaps", "id", "predictions") },
    of_run("show"),
    of_run("log"),
    of_run("stop"),
    of_run("retry"),
    of_run("resume"),
    of_run("open"),
    of_run("diff"),
    of_run("merge"),
    of_run("pr"),
    of_run("discard"),
    option("release", "from", "--from"),
    option("delegate", "to", "--to"),
];

/// What is looked up: the hint that marks it, and what the generators write for that hint in zsh and fish.
const MARKS: [(&str, ValueHint, &str, &str); 4] = [
    ("agents", ValueHint::Username, ":_users", "__fish_complete_users"),
    ("reservations", ValueHint::Hostname, ":_hosts", "__fish_print_hostnames"),
    ("predictions", ValueHint::Url, ":_urls", "__fish_complete_urls"),
    ("runs", ValueHint::EmailAddress, ":_email_addresses", "__fish_complete_email_addresses"),
];

pub(super) fn script(shell: Shell) -> String {
    let mut program = grammar();
    program.build();
    let program = LIVE.iter().fold(program, mark);
    let with_value = options_with_value(&program);
    let script = generated(shell, program);
    match shell {
        Shell::Bash => format!("{script}\n{}", bash_part(&with_value)),
        Shell::Fish => format!("{}\n{}", marks_replaced(&script, fish_lookup), fish_part()),
        Shell::Zsh => with_zsh_functions(&marks_replaced(&script, |values| format!(":_msg_{values}"))),
        _ => script,
    }
}

fn generated(shell: Shell, mut program: Command) -> String {
    let mut script = Vec::new();
    generate(shell, &mut program, "msg", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

fn mark(program: Command, live: &LiveArgument) -> Command {
    let hint = MARKS.iter().find(|mark| mark.0 == live.values).map_or(ValueHint::Other, |mark| mark.1);
    let hinted = |command: Command| command.mut_arg(live.id, |arg| arg.value_hint(hint));
    program.mut_subcommand(live.command, |command| match live.subcommand {
        Some(inner) => command.mut_subcommand(inner, hinted),
        None => hinted(command),
    })
}

/// The script with lookups in the place of marks. Only one of the two kinds of marks is in it.
fn marks_replaced(script: &str, lookup: impl Fn(&str) -> String) -> String {
    MARKS.iter().fold(script.to_string(), |script, (values, _, in_zsh, in_fish)| {
        script.replace(in_zsh, &lookup(values)).replace(in_fish, &lookup(values))
    })
}

fn fish_lookup(values: &str) -> String {
    format!("msg completions --values {values} 2>/dev/null")
}

/// Arguments; fish quotes what it inserts.
fn fish_part() -> String {
    let arguments = LIVE.iter().filter(|live| matches!(live.place, ArgumentPlace::After(_)));
    let line = |live: &LiveArgument| {
        let inner = live
            .subcommand
            .map_or(String::new(), |inner| format!("; and __fish_seen_subcommand_from {inner}"));
        let (command, lookup) = (live.command, fish_lookup(live.values));
        format!("complete -c msg -n \"__fish_msg_using_subcommand {command}{inner}\" -f -a \"({lookup})\"\n")
    };
    arguments.map(line).collect()
}

/// `compadd` quotes what it inserts.
fn with_zsh_functions(script: &str) -> String {
    let function = |(values, ..): &(&str, ValueHint, &str, &str)| {
        format!(
            "_msg_{values}() {{\n    compadd -- ${{(f)\"$(msg completions --values {values} 2>/dev/null)\"}}\n}}\n\n"
        )
    };
    let functions: String = MARKS.iter().map(function).collect();
    match script.find("\n_msg() {") {
        Some(at) => format!("{}\n{functions}{}", &script[..at], &script[at..]),
        None => script.to_string(),
    }
}

/// The options whose value is the next word, as patterns of bash: those of the program, and of the commands that have an
/// argument to look up.
fn options_with_value(program: &Command) -> Vec<String> {
    let of_program = program.get_arguments().flat_map(before_value).map(|option| format!("*\" {option}\""));
    let names: BTreeSet<&str> = LIVE.iter().map(|live| live.command).collect();
    let commands = names.iter().filter_map(|name| program.find_subcommand(name));
    let of_commands = commands.flat_map(|command| {
        let all = std::iter::once(command).chain(command.get_subcommands()).flat_map(Command::get_arguments);
        let own = all.filter(|arg| !arg.is_global_set()).flat_map(before_value);
        own.map(move |option| format!("\"{} {option}\"", command.get_name()))
    });
    of_program.chain(of_commands.collect::<BTreeSet<_>>()).collect()
}

/// The names of an option, if its value is the next word.
fn before_value(arg: &Arg) -> Vec<String> {
    if arg.is_positional() || !arg.get_action().takes_values() || arg.is_require_equals_set() {
        return Vec::new();
    }
    let long = arg.get_long().map(|long| format!("--{long}"));
    long.into_iter().chain(arg.get_short().map(|short| format!("-{short}"))).collect()
}

/// A function around the generated one. Words are compared and quoted, never evaluated, as `compgen -W` would.
fn bash_part(with_value: &[String]) -> String {
    let case = |live: &LiveArgument| {
        let inner = live.subcommand.map_or(String::new(), |inner| format!(" {inner}"));
        let pattern = match live.place {
            ArgumentPlace::After(others) => format!("\"{}{inner}\"{}", live.command, "\" \"*".repeat(others)),
            ArgumentPlace::Option(long) => format!("\"{} {long}\"", live.command),
        };
        (
            matches!(live.place, ArgumentPlace::Option(_)),
            format!("        {pattern}) values={} ;;\n", live.values),
        )
    };
    let cases = |of_options: bool| -> String {
        let all = LIVE.iter().map(case).filter(|(is_option, _)| *is_option == of_options);
        all.map(|(_, line)| line).collect()
    };
    BASH.replace("@with_value", &with_value.join(" | "))
        .replace("@options\n", &cases(true))
        .replace("@arguments\n", &cases(false))
}

const BASH: &str = r#"_msg_live() {
    _msg "$@"
    local current="${COMP_WORDS[COMP_CWORD]}" command="" words="" option="" values="" word quoted
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [[ -n $option ]]; then
            # Bash takes `--option=value` apart.
            [[ $word != "=" ]] && option=""
            continue
        fi
        case "$command $word" in
        @with_value) option="$word" ;;
        esac
        [[ $word == -* ]] && continue
        command="${command:-$word}"
        words="${words:+$words }$word"
    done
    case "$command $option" in
@options
    esac
    if [[ -z $option && $current != -* ]]; then
        case "$words" in
@arguments
        esac
    fi
    [[ -z $values ]] && return 0
    COMPREPLY=()
    while IFS= read -r word; do
        printf -v quoted '%q' "$word"
        # What was inserted before is quoted, what was typed may not be.
        [[ $word == "$current"* || $quoted == "$current"* ]] && COMPREPLY+=("$quoted")
    done < <(msg completions --values "$values" 2>/dev/null)
    return 0
}

complete -F _msg_live -o nosort -o bashdefault -o default msg 2>/dev/null || complete -F _msg_live -o bashdefault -o default msg
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_in_every_script() {
        let (zsh, fish) = (script(Shell::Zsh), script(Shell::Fish));
        let count = |text: &str, part: &str| text.matches(part).count();
        for (values, _, in_zsh, in_fish) in &MARKS {
            let places = LIVE.iter().filter(|live| live.values == *values).count();
            assert_eq!(count(&zsh, &format!(":_msg_{values}'")), places, "{values} in zsh");
            assert_eq!(count(&zsh, &format!("\n_msg_{values}() {{")), 1, "{values} in zsh");
            assert_eq!(
                count(&fish, &format!("(msg completions --values {values} 2>/dev/null)")),
                places,
                "{values} in fish"
            );
            assert!(!zsh.contains(in_zsh) && !fish.contains(in_fish));
        }
        assert!(!script(Shell::Elvish).is_empty());
    }

    /// The generators would write the same for arguments that are no agents.
    #[test]
    fn nothing_else_has_these_hints() {
        let plain = generated(Shell::Zsh, grammar());
        assert!(MARKS.iter().all(|(_, _, in_zsh, _)| !plain.contains(in_zsh)));
    }
}
