//! The README and the pages in `docs/`: the commands they show exist, and their links lead somewhere.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::environment::files_in;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// Every page for users, with its text.
fn pages() -> Vec<(PathBuf, String)> {
    let is_page = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let docs = files_in(&root().join("docs")).into_iter().filter(is_page);
    let all = docs.chain(["README.md", "SECURITY.md", "CONTRIBUTING.md"].map(|name| root().join(name)));
    all.map(|path| (path.clone(), fs::read_to_string(&path).unwrap())).collect()
}

/// The words of a command line, as far as these pages need it: quotes, and an end at a comment, a pipe or a
/// redirection.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut quote, mut is_open) = (None, false);
    for c in line.chars() {
        match (c, quote) {
            ('\'' | '"', None) => (quote, is_open) = (Some(c), push(&mut words, is_open, None)),
            (c, Some(open)) if c == open => quote = None,
            (' ', None) => is_open = false,
            ('#' | '|' | '<' | '>' | '&', None) if !is_open => break,
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

/// The commands to type: the lines of code blocks that begin with a prompt.
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
    let pages = pages();
    let typed: Vec<&str> = pages.iter().flat_map(|(_, text)| typed(text)).collect();
    let typed: Vec<&str> = typed.into_iter().filter(|line| line.starts_with("msg ")).collect();
    assert!(typed.len() > 20, "{typed:?}");
    for line in typed {
        let parsed = ravenry::faces::cli::grammar().try_get_matches_from(words(line));
        assert!(parsed.is_ok(), "`{line}`: {}", parsed.unwrap_err());
    }
}

/// Also in the middle of a sentence.
#[test]
fn every_command_that_is_named_exists() {
    let mut seen = 0;
    for (page, text) in pages() {
        let prose: String = text.split("```").step_by(2).collect();
        for code in prose.split('`').skip(1).step_by(2) {
            let Some(rest) = code.strip_prefix("msg ") else { continue };
            let command = rest.split(['|', ' ', '\n']).next().unwrap();
            let exists = ravenry::faces::cli::grammar().find_subcommand(command).is_some();
            assert!(
                exists || ["help", "…"].contains(&command),
                "{}: `{code}` names no command",
                page.display()
            );
            seen += 1;
        }
    }
    assert!(seen > 40, "only {seen} commands were seen");
}

/// The headings of a page, as links name them.
fn anchors(text: &str) -> Vec<String> {
    let headings =
        text.split("```").step_by(2).flat_map(str::lines).filter_map(|line| line.strip_prefix('#'));
    let anchor = |heading: &str| {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        kept.chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut seen = 0;
    for (page, text) in pages() {
        let prose: String = text.split("```").step_by(2).collect();
        for link in prose.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            if link.starts_with("https:") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            assert!(target.is_file(), "{}: {link}", page.display());
            let is_there =
                || anchors(&fs::read_to_string(&target).unwrap()).iter().any(|known| known == anchor);
            assert!(anchor.is_empty() || is_there(), "{}: {link}", page.display());
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} links were seen");
}

/// ARCHITECTURE.md names files by their path beneath `src/`.
#[test]
fn every_file_that_the_architecture_names_exists() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut seen = 0;
    for path in text.split('`').skip(1).step_by(2) {
        let layer = path.split('/').next().unwrap();
        let is_path = path.contains('/') && path.chars().all(|c| c.is_alphanumeric() || "/._".contains(c));
        if is_path && ["domain", "sys", "harness", "store", "ops", "faces"].contains(&layer) {
            assert!(root().join("src").join(path).exists(), "`{path}` is not there");
            seen += 1;
        }
    }
    assert!(seen > 30, "only {seen} paths were seen");
}

/// The README is for newcomers; the rest is in `docs/`, and the README names every page.
/// The code spans of a page.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    let is_outside = |(at, _): &(usize, &str)| at % 2 == 0;
    let prose = text.split("```").enumerate().filter(is_outside).map(|(_, prose)| prose);
    prose.flat_map(|prose| prose.split('`').skip(1).step_by(2))
}

/// Whether one of the files defines what the page calls `Type::item`, `module::function` or `function`.
fn is_defined(name: &str, sources: &[(PathBuf, String)]) -> bool {
    let has_item = |text: &str, item: &str| {
        let lines = || text.lines().map(str::trim_start);
        let is_variant = || lines().any(|line| line.split([',', '(', ' ']).next() == Some(item));
        let forms = [format!("fn {item}("), format!("fn {item}<"), format!("pub {item}: ")];
        forms.iter().any(|form| text.contains(form)) || is_variant()
    };
    let Some((owner, item)) = name.rsplit_once("::") else {
        return sources.iter().any(|(_, text)| has_item(text, name));
    };
    let owner = owner.rsplit("::").next().unwrap_or(owner);
    sources.iter().any(|(path, text)| {
        let stem = path.file_stem().filter(|stem| *stem != "mod");
        let module = stem.or_else(|| path.parent()?.file_name());
        let is_type = || text.contains(&format!(" {owner} {{")) || text.contains(&format!(" {owner}<"));
        let is_reexported = || text.contains(" use ") && text.contains(item);
        let is_in_module =
            || has_item(text, item) || is_reexported() || text.contains(&format!("mod {item};"));
        (module.is_some_and(|module| module == owner) && is_in_module())
            || (is_type() && has_item(text, item))
    })
}

#[test]
fn every_function_that_the_walk_names_exists() {
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let files = ["src", "tests"].into_iter().flat_map(|dir| files_in(&root().join(dir))).filter(is_rust);
    let sources: Vec<(PathBuf, String)> =
        files.map(|path| (path.clone(), fs::read_to_string(&path).unwrap())).collect();
    let mut named = 0;
    for page in ["docs/walk.md", "ARCHITECTURE.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let is_name = |span: &&str| {
            let is_path = span.contains("::") && !span.starts_with("std::");
            is_path && span.chars().all(|c| c.is_alphanumeric() || "_:".contains(c))
        };
        for name in spans(&text).filter(is_name) {
            assert!(is_defined(name, &sources), "{page} names `{name}`, which does not exist");
            named += 1;
        }
    }
    assert!(named > 40, "only {named} names were found");
    assert!(!is_defined("Mesh::brew_tea", &sources) && !is_defined("teapot::run", &sources));
}

#[test]
fn the_readme_is_short_and_names_every_page() {
    let text = readme();
    assert!(text.lines().count() <= 150, "{} lines", text.lines().count());
    for (page, _) in pages() {
        let name = page.strip_prefix(root()).unwrap().display().to_string();
        assert!(name == "README.md" || text.contains(&format!("]({name})")), "{name} is not linked");
    }
}

/// The table of commands is complete.
#[test]
fn every_command_is_in_the_overview() {
    let text = readme();
    let overview = text.split("\n## Commands\n").nth(1).unwrap().split("\n## ").next().unwrap();
    // Called by harnesses, never typed.
    let for_harnesses = ["hook", "waiter", "mcp", "help"];
    for command in ravenry::faces::cli::grammar().get_subcommands() {
        let name = command.get_name();
        let rows = overview.lines().filter(|line| line.starts_with('|'));
        let times: usize = rows.map(|row| row.matches(&format!("`{name}`")).count()).sum();
        let is_right = times == 1 || (times == 0 && for_harnesses.contains(&name));
        assert!(is_right, "`{name}` is {times} times in the overview of the README");
    }
}

#[test]
fn the_two_commands_and_a_picture_are_there() {
    let text = readme();
    for command in ["cargo run --locked -- demo", "cargo test --locked"] {
        assert!(text.contains(command), "{command}");
    }
    assert!(text.contains("![") && text.contains("](docs/demo.svg)"));
}

#[test]
fn the_words_of_a_line() {
    assert_eq!(words("msg send A \"b c\"  # d"), ["msg", "send", "A", "b c"]);
    assert_eq!(
        words("msg config set wake '{\"paste\": true}'"),
        ["msg", "config", "set", "wake", "{\"paste\": true}"]
    );
    assert_eq!(words("msg completions bash > ~/x"), ["msg", "completions", "bash"]);
    assert_eq!(words("msg hook codex PreToolUse < x"), ["msg", "hook", "codex", "PreToolUse"]);
    assert_eq!(words("msg set-status ''"), ["msg", "set-status", ""]);
}
