//! Which commands of `msg` an agent may run without asking its user, and which need an answer each time.
//!
//! What an agent may run is listed, word by word, and everything else is asked about: a rule that allows `msg` and asks
//! about `msg run` could be evaded by `msg --json run` or `msg "run"`.

/// First words of what may run without asking. The commands for people are left out, and so is what starts programs or
/// changes a work tree.
pub const UNASKED_COMMANDS: &[&str] = &[
    "--help",
    "--version",
    "ack",
    "agents",
    "brief",
    "broadcast",
    "check",
    "claim",
    "complete",
    "completions",
    "config",
    "contest",
    "delegate",
    "doctor",
    "evict",
    "feed",
    "guard",
    "handoff",
    "help",
    "history",
    "inbox",
    "join",
    "know",
    "knowledge",
    "learn",
    "leave",
    "list",
    "log",
    "look",
    "ls",
    "overlaps",
    "read",
    "receipt",
    "record",
    "release",
    "rename",
    "reopen",
    "reply",
    "reservations",
    "reserve",
    "runs diff",
    "runs log",
    "runs show",
    "runs stop",
    "search",
    "send",
    "set-status",
    "show",
    "spec",
    "statusline",
    "suggest",
    "swarm",
    "tasks",
    "topics",
    "tui",
    "unclaim",
    "wait",
    "watch",
    "whoami",
    "whois",
    "workers",
];

/// What may run without asking exactly as it is here, and with nothing after it.
pub const UNASKED_LINES: &[&str] = &[
    "budget",
    "budget --json",
    "runs",
    "runs --all",
    "runs --all --json",
    "runs --bill",
    "runs --bill --json",
    "runs --json",
];

/// First words of what the user is asked about, also where a wider rule of theirs allows `msg`: what starts workers,
/// speaks for a person, or changes a work tree.
pub const ASKED_COMMANDS: &[&str] = &[
    "batch",
    "budget set",
    "chain",
    "crew",
    "down",
    "mode",
    "run",
    "runs discard",
    "runs gc",
    "runs merge",
    "runs open",
    "runs pr",
    "runs resume",
    "runs retry",
    "tell",
    "up",
];

/// A flag that makes a permitted command one that is asked about, because it runs a program.
pub const ASKED_FLAG: (&str, &str) = ("complete", "--verify");

/// The tool of our MCP server that is asked about.
pub const ASKED_TOOL: &str = "run";

/// Flags that run programs, whatever the command is.
const PROGRAM_FLAGS: [&str; 2] = ["--exec", ASKED_FLAG.1];

/// Whether a call of `msg` with these words may run without asking.
pub fn is_unasked(words: &[String]) -> bool {
    let runs_program = |word: &String| {
        let flag = word.split('=').next().unwrap_or_default();
        PROGRAM_FLAGS.contains(&flag)
    };
    let is_listed = |command: &&str| {
        let mut given = words.iter();
        command.split(' ').all(|word| given.next().is_some_and(|given| given == word))
    };
    let is_line = UNASKED_LINES.iter().any(|line| line.split(' ').eq(words.iter().map(String::as_str)));
    (is_line || UNASKED_COMMANDS.iter().any(is_listed)) && !words.iter().any(runs_program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listed_is_asked_about() {
        let check = |line: &str| is_unasked(&line.split(' ').map(str::to_string).collect::<Vec<_>>());
        for line in [
            "send Bo run",
            "whoami --json",
            "runs",
            "runs --json",
            "runs --bill",
            "budget",
            "runs show k3",
            "runs stop k3",
            "complete t1",
            "--help",
        ] {
            assert!(check(line), "{line}");
        }
        for line in [
            "",
            "run scout look",
            "--json run scout look",
            "--json whoami",
            "runs merge k3",
            "runs --json merge k3",
            "runs resume k3",
            "mode build",
            "tell Bo yes",
            "complete t1 --verify",
            "watch --exec=x",
            "hook x Stop",
            "install",
            "Send Bo x",
        ] {
            assert!(!check(line), "{line}");
        }
        let is_in_both = |asked: &&&str| UNASKED_COMMANDS.contains(asked);
        assert_eq!(ASKED_COMMANDS.iter().find(is_in_both), None);
    }
}
