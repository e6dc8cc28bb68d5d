//! The man pages, as `cargo run --example man` writes them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The names of the expected pages.
fn expected(command: &clap::Command, name: &str, pages: &mut BTreeSet<String>) {
    pages.insert(format!("{name}.1"));
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
        expected(command, &format!("{name}-{}", command.get_name()), pages);
    }
}

/// The complaints of a formatter; `None` if it is not installed.
fn complaints(program: &str, args: &[&str], page: &Path) -> Option<String> {
    let output = Command::new(program).args(args).arg(page).output().ok()?;
    Some(String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn every_command_has_a_page_that_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    clap_mangen::generate_to(ravenry::faces::cli::grammar(), dir.path()).unwrap();
    let pages: BTreeSet<String> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut command = ravenry::faces::cli::grammar();
    command.build();
    let mut should_be = BTreeSet::new();
    expected(&command, "msg", &mut should_be);
    assert!(should_be.contains("msg-selftest.1") && should_be.contains("msg-config-set.1"));
    assert_eq!(pages, should_be);
    for name in &pages {
        let path = dir.path().join(name);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{name}: {text}");
        assert!(!text.contains("--role"), "{name} tells of what is hidden");
        let formatters: [(&str, &[&str]); 2] =
            [("groff", &["-k", "-man", "-Tutf8", "-ww", "-z"]), ("mandoc", &["-Tlint", "-Werror"])];
        for (program, args) in formatters {
            match complaints(program, args, &path) {
                Some(said) => assert_eq!(said, "", "{program} complains about {name}"),
                None => crate::support::skip::skip(&format!("{program} is missing")),
            }
        }
    }
    let join = fs::read_to_string(dir.path().join("msg-join.1")).unwrap();
    assert!(join.contains("Examples:"), "{join}");
}
