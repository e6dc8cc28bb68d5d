//! `msg man`: the pages that it writes, and what it shows where.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::environment::{TestEnvironment, end, put, put_program};

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
    let env = TestEnvironment::new();
    let dir = env.path().join("share/man/man1");
    let dir_text = dir.display().to_string();
    // Those of another version are replaced.
    put(&dir.join("msg-join.1"), "old");
    let answer = env.ok(&["man", "--dir", &dir_text]);
    let pages: BTreeSet<String> =
        fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(answer["files"].as_array().unwrap().len(), pages.len());
    let mut command = ravenry::faces::cli::grammar();
    command.build();
    let mut should_be = BTreeSet::new();
    expected(&command, "msg", &mut should_be);
    assert!(should_be.contains("msg-selftest.1") && should_be.contains("msg-config-set.1"));
    assert_eq!(pages, should_be);
    for name in &pages {
        let path = dir.join(name);
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
    let join = fs::read_to_string(dir.join("msg-join.1")).unwrap();
    assert!(join.contains("Examples:"), "{join}");
    let roff = env.run(&["man", "join", "--roff"]).expect_code(0).stdout;
    assert_eq!(roff.trim_end(), join.trim_end());
    assert_eq!(env.fails(2, &["man", "--dir", &format!("{dir_text}/msg-join.1")]), "invalid_value");
    // A relative directory is one below this.
    env.ok(&["man", "--dir", "pages"]);
    assert!(env.work().join("pages/msg-join.1").exists());
}

/// In a pipe it is a text to read, the same as the help.
#[test]
fn a_page_in_a_pipe_is_the_help() {
    let env = TestEnvironment::new();
    for command in [&["join"][..], &["knowledge", "publish"], &["config", "set"], &["ls"], &[]] {
        let page = env.run(&[&["man"][..], command].concat()).expect_code(0).stdout;
        let help = env.run(&[command, &["--help"]].concat()).expect_code(0).stdout;
        // The overview of `msg` names the command `help`.
        let lines =
            |text: &str| -> Vec<String> { text.lines().map(|line| line.trim_end().to_string()).collect() };
        assert_eq!(lines(&page), lines(&help), "{command:?}");
    }
    let page = env.ok(&["man", "knowledge", "publish"]);
    assert_eq!(page["page"], "msg-knowledge-publish.1");
    assert!(page["text"].as_str().unwrap().contains("msg knowledge publish"), "{page}");
}

#[test]
fn an_unknown_command_has_no_page() {
    let env = TestEnvironment::new();
    for (words, said) in [
        (&["jion"][..], "there is no command `jion`"),
        (&["knowledge", "publsh"], "`msg knowledge` has no command `publsh`"),
        (&["set-status", "x"], "`msg set-status` has no commands, so there is no page for `x`"),
    ] {
        let ended = env.run(&[&["man"][..], words].concat()).expect_code(2);
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
    }
    let said = env.run(&["man", "knowledge", "publsh"]).stderr;
    assert!(said.contains("did you mean `publish`?"), "{said}");
}

/// A person at a terminal gets `man`; without it, a pager; without that, the text.
#[test]
fn on_a_terminal_it_opens_in_man_or_in_a_pager() {
    if !cfg!(target_os = "linux") {
        return crate::support::skip::skip("`man` is called otherwise here");
    }
    let env = TestEnvironment::new();
    let bin = env.path().join("programs");
    fs::create_dir(&bin).unwrap();
    let program = |name: &str, script: &str| put_program(&bin.join(name), &format!("#!/bin/sh\n{script}\n"));
    let shown = |pager: Option<&str>| {
        let msg = env.msg();
        let mut command = Command::new("script");
        command.args(["-qec", &format!("{} man join", msg.get_program().display()), "/dev/null"]);
        let variables = msg.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
        command.env_clear().envs(variables.collect::<Vec<_>>());
        command.env("PATH", format!("{}:/nowhere", bin.display())).env("SHELL", "/bin/sh");
        command.envs(pager.map(|pager| ("PAGER", pager)));
        command.stdin(std::process::Stdio::null());
        end(&mut command).expect_code(0).stdout
    };
    if Command::new("script").arg("--version").output().is_err() {
        return crate::support::skip::skip("`script` of util-linux is missing");
    }
    let real = |name: &str| {
        let found = end(Command::new("sh").args(["-c", &format!("command -v {name}")])).expect_code(0);
        found.stdout.trim().to_string()
    };
    for name in ["sh", "head", "sed"] {
        program(name, &format!("exec {} \"$@\"", real(name)));
    }
    program("script", &format!("exec {} \"$@\"", real("script")));
    assert!(shown(None).contains("Usage: msg join"), "nothing but the text");
    assert!(shown(Some("sed s/Usage/PAGED/")).contains("PAGED: msg join"), "the pager");
    program("man", "echo \"called with $*\"; head -n 3");
    let page = shown(None);
    assert!(page.contains("called with -l -") && page.contains(".TH msg-join 1"), "{page}");
    program("man", "exit 3");
    assert!(shown(Some("sed s/Usage/PAGED/")).contains("PAGED: msg join"), "a man that does not work");
}
