//! Tests that `docs/cli.md` matches the program: commands, options, error kinds, exit codes, feed kinds and the keys of
//! objects that can be made without a mesh are compared both ways. Keys of other objects are not.

use std::collections::BTreeSet;

use clap::{Arg, Command};

use super::exit_code::exit_code;
use super::grammar;
use crate::domain::{EventKind, Message, MessageStamp};
use crate::faces::json;
use crate::ops::CommandErrorKind;

const PAGE: &str = include_str!("../../../docs/cli.md");

/// The text below a heading, up to the next heading of the same or a higher level.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, rest) =
        page.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("there is no `{heading}`"));
    let level = heading.split(' ').next().unwrap().len();
    let is_end = |line: &&str| {
        let hashes = line.len() - line.trim_start_matches('#').len();
        (1..=level).contains(&hashes)
    };
    match rest.lines().find(is_end) {
        Some(end) => rest.split(&format!("\n{end}\n")).next().unwrap(),
        None => rest,
    }
}

/// The cells of the rows of a table.
fn rows(section: &str) -> Vec<Vec<String>> {
    let lines = section.lines().filter(|line| line.starts_with("| ")).skip(2);
    lines
        .map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_string()).collect())
        .collect()
}

/// The texts in backticks.
fn codes(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

/// Every command and subcommand, with its name as typed.
fn commands<'a>(command: &'a Command, name: &str, all: &mut Vec<(String, &'a Command)>) {
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        let name = format!("{name} {}", inner.get_name()).trim().to_string();
        all.push((name.clone(), inner));
        commands(inner, &name, all);
    }
}

fn is_own(arg: &&Arg) -> bool {
    !arg.is_global_set() && !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version")
}

/// The options of a command as typed, and the names of its arguments.
fn words_of(command: &Command) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for arg in command.get_arguments().filter(is_own) {
        words.extend(arg.get_long().map(|long| format!("--{long}")));
        words.extend(arg.get_short().map(|short| format!("-{short}")));
        if arg.get_action().takes_values() {
            words.extend(arg.get_value_names().unwrap_or_default().iter().map(|name| bare(name)));
        }
    }
    words
}

fn bare(word: &str) -> String {
    word.trim_matches(['[', ']']).trim_end_matches('…').to_string()
}

#[test]
fn every_command_and_option_is_on_the_page_and_nothing_else() {
    let mut program = grammar();
    program.build();
    let mut all = Vec::new();
    commands(&program, "", &mut all);
    let page = section(PAGE, "## Commands");
    let headings: BTreeSet<&str> = page.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let names: BTreeSet<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(headings, names);
    for (name, command) in &all {
        let text = section(PAGE, &format!("### {name}"));
        let usage = text.split("```").nth(1).unwrap_or_default();
        let words: BTreeSet<String> = usage.split_whitespace().map(bare).collect();
        assert_eq!(words, words_of(command), "`{name}`");
        let aliases: BTreeSet<String> = command.get_visible_aliases().map(String::from).collect();
        let line = text.lines().find(|line| line.starts_with("Alias")).unwrap_or_default();
        assert_eq!(codes(line).into_iter().collect::<BTreeSet<_>>(), aliases, "`{name}`");
    }
}

#[test]
fn every_global_option_is_on_the_page_and_nothing_else() {
    let mut program = grammar();
    program.build();
    let mut options = BTreeSet::new();
    for arg in program.get_arguments() {
        options.extend(arg.get_long().map(|long| format!("--{long}")));
        options.extend(arg.get_short().map(|short| format!("-{short}")));
    }
    let first = |row: &Vec<String>| codes(&row[0]);
    let listed = rows(section(PAGE, "## Global options")).iter().flat_map(first).collect::<Vec<_>>();
    let listed: BTreeSet<String> =
        listed.iter().map(|option| option.split(' ').next().unwrap().to_string()).collect();
    assert_eq!(listed, options);
}

#[test]
fn every_error_kind_is_on_the_page_with_its_exit_code_and_nothing_else() {
    let listed: BTreeSet<(String, String)> =
        rows(section(PAGE, "## Error kinds")).iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let kinds: BTreeSet<(String, String)> = CommandErrorKind::ALL
        .iter()
        .map(|kind| (format!("`{}`", kind.name()), exit_code(*kind).to_string()))
        .collect();
    assert_eq!(listed, kinds);
    let codes: BTreeSet<String> =
        rows(section(PAGE, "## Exit codes")).iter().map(|row| row[0].clone()).collect();
    let used: BTreeSet<String> = kinds.into_iter().map(|(_, code)| code).chain(["0".to_string()]).collect();
    assert_eq!(codes, used);
}

#[test]
fn every_feed_kind_is_on_the_page_and_nothing_else() {
    let listed: BTreeSet<String> =
        rows(section(PAGE, "## Feed kinds")).iter().map(|row| row[0].clone()).collect();
    let kinds: BTreeSet<String> = EventKind::ALL.map(|kind| format!("`{}`", kind.name())).into();
    assert_eq!(listed, kinds);
}

/// Compares the keys of objects that can be made without a mesh.
#[test]
fn the_keys_of_objects_are_on_the_page_and_nothing_else() {
    let stamp = MessageStamp::new(1_794_700_676_113_042, 7);
    let name = |name: &str| crate::domain::AgentName::new(name).unwrap();
    let kind = Some(crate::domain::MessageKind::Question);
    let plain = Message::new(stamp, &name("Alice"), &name("Bob"), "hi");
    let message = Message { kind, expires_at: Some(stamp.timestamp()), ..plain };
    let event = crate::domain::Event {
        at: stamp.timestamp(),
        what: crate::domain::AnyEventKind::Ours(EventKind::Join),
        agent: "Alice".to_string(),
        target: None,
        preview: None,
        message_kind: kind,
        machine: Some(crate::domain::link::MachineName::new("laptop").unwrap()),
    };
    let completion = crate::store::Completion {
        spec: "spec.md".to_string(),
        task: "T-1".to_string(),
        by: "Alice".to_string(),
        at: stamp.timestamp(),
        notes: None,
        evidence: None,
        machine: None,
    };
    let mut told = super::messages::json(&message, "160007");
    let program = crate::domain::AgentName::of_program();
    let notice = Message::new(stamp, &program, &name("Bob"), "hi");
    let laptop = crate::domain::link::MachineName::new("laptop").unwrap();
    let notice = super::messages::json(&notice.into_notice_of(&laptop), "160007");
    told.as_object_mut().unwrap().extend(notice.as_object().unwrap().clone());
    let gone = crate::ops::GoneAgent {
        name: "Alice".to_string(),
        why: crate::store::GoneReason::Left,
        at: stamp.timestamp(),
        by: None,
        unread: 0,
        cwd: None,
    };
    let objects = [
        ("message", told),
        ("gone agent", super::commands::agents::gone_json(&gone)),
        ("event", json::event(&event)),
        ("completion", json::completion(&completion)),
    ];
    let rows = rows(section(PAGE, "## JSON"));
    for (name, object) in objects {
        let keys: BTreeSet<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
        let row = rows.iter().find(|row| row[0] == name).unwrap();
        let listed = codes(&row[1]);
        assert_eq!(listed.iter().map(String::as_str).collect::<BTreeSet<_>>(), keys, "{name}");
    }
}
