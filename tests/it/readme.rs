//! What the README tells people to type can be typed.

use std::fs;
use std::path::Path;

fn readme() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap()
}

/// The words of a command line, as far as a README needs it: quotes, and an end at a comment, a pipe or a redirection.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut quote, mut is_open) = (None, false);
    for c in line.chars() {
        match (c, quote) {
            ('\'' | '"', None) => (quote, is_open) = (Some(c), push(&mut words, is_open, None)),
            (c, Some(open)) if c == open => quote = None,
            (' ', None) => is_open = false,
            ('#' | '|' | '>' | '&', None) if !is_open => break,
            (c, _) => is_open = push(&mut words, is_open, Some(c)),
        }
    }
    words
}

/// Adds to the last word, or begins another one.
fn push(words: &mut Vec<String>, is_open: bool, c: Option<char>) -> bool {
    if !is_open {
        words.push(String::new());
    }
    words.last_mut().unwrap().extend(c);
    true
}

/// What is typed: the lines of code blocks that begin with a prompt.
fn typed(text: &str) -> Vec<&str> {
    let (mut typed, mut in_block) = (Vec::new(), false);
    for line in text.lines().map(str::trim_start) {
        if line.starts_with("```") {
            in_block = !in_block;
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| in_block) {
            typed.push(command);
        }
    }
    assert!(!in_block, "a block has no end");
    typed
}

#[test]
fn every_command_line_is_understood() {
    let text = readme();
    let typed: Vec<&str> = typed(&text).into_iter().filter(|line| line.starts_with("msg ")).collect();
    assert!(typed.len() > 20, "{typed:?}");
    for line in typed {
        let parsed = ravenry::faces::cli::grammar().try_get_matches_from(words(line));
        assert!(parsed.is_ok(), "`{line}`: {}", parsed.unwrap_err());
    }
}

/// Also in the middle of a sentence.
#[test]
fn every_command_that_is_named_exists() {
    let text = readme();
    let mut seen = 0;
    let prose: String = text.split("```").step_by(2).collect();
    for code in prose.split('`').skip(1).step_by(2) {
        let Some(rest) = code.strip_prefix("msg ") else { continue };
        let command = rest.split(['|', ' ', '\n']).next().unwrap();
        let exists = ravenry::faces::cli::grammar().find_subcommand(command).is_some();
        assert!(exists || command == "help", "`{code}` names no command");
        seen += 1;
    }
    assert!(seen > 15, "only {seen} commands were seen");
}

/// Whoever goes through the table of commands finds all of them.
#[test]
fn every_command_is_in_the_overview() {
    let text = readme();
    let overview = text.split("\n## Commands\n").nth(1).unwrap().split("\n## ").next().unwrap();
    // What harnesses call, and nobody types.
    let for_harnesses = ["hook", "waiter", "mcp", "help"];
    for command in ravenry::faces::cli::grammar().get_subcommands() {
        let name = command.get_name();
        let is_listed = overview.contains(&format!("`{name}`"));
        assert!(is_listed || for_harnesses.contains(&name), "`{name}` is not in the overview of the README");
    }
}

#[test]
fn the_two_commands_and_the_pictures_are_there() {
    let text = readme();
    for command in ["cargo run --locked -- demo", "cargo test --locked"] {
        assert!(text.contains(command), "{command}");
    }
    for picture in text.split("](docs/").skip(1).map(|rest| rest.split(')').next().unwrap()) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(picture);
        assert!(path.is_file(), "{}", path.display());
    }
}

#[test]
fn the_words_of_a_line() {
    assert_eq!(words("msg send A \"b c\"  # d"), ["msg", "send", "A", "b c"]);
    assert_eq!(
        words("msg config set wake '{\"paste\": true}'"),
        ["msg", "config", "set", "wake", "{\"paste\": true}"]
    );
    assert_eq!(words("msg completions bash > ~/x"), ["msg", "completions", "bash"]);
    assert_eq!(words("msg set-status ''"), ["msg", "set-status", ""]);
}
