//! Snapshots of the help texts.

use crate::support::environment::TestEnvironment;
use crate::texts::{one_object, snapshot};

const COMMANDS: [&str; 51] = [
    "join",
    "leave",
    "send",
    "broadcast",
    "reply",
    "inbox",
    "read",
    "show",
    "ack",
    "receipt",
    "history",
    "search",
    "watch",
    "wait",
    "notify",
    "reserve",
    "release",
    "reservations",
    "check",
    "spec",
    "tasks",
    "claim",
    "unclaim",
    "complete",
    "reopen",
    "handoff",
    "delegate",
    "suggest",
    "hook",
    "waiter",
    "mcp",
    "guard",
    "agents",
    "feed",
    "log",
    "statusline",
    "whoami",
    "whois",
    "brief",
    "rename",
    "set-status",
    "evict",
    "config",
    "setup",
    "install",
    "uninstall",
    "doctor",
    "selftest",
    "demo",
    "completions",
    "man",
];

/// The help of a command, which goes to standard output.
fn help(args: &[&str]) -> String {
    let ended = TestEnvironment::new().run(args).expect_code(0);
    assert_eq!(ended.stderr, "", "{args:?}");
    ended.stdout
}

fn check(name: &str, all: &[&[&str]]) {
    let page = |args: &&[&str]| format!("$ msg {}\n{}", args.join(" "), help(args));
    // The parser pads lines that it leaves empty.
    let text: Vec<String> = all.iter().map(page).collect();
    let lines: Vec<&str> = text.iter().flat_map(|page| page.lines().chain([""])).map(str::trim_end).collect();
    snapshot(name, lines.join("\n").trim_end(), &[]);
}

#[test]
fn the_overview() {
    check("help", &[&["help"]]);
    for same in [&["--help"][..], &["-h"]] {
        assert_eq!(help(same), help(&["help"]), "{same:?}");
    }
}

#[test]
fn of_coming_and_going() {
    check("help-join", &[&["join", "--help"]]);
    check("help-come-and-go", &[&["leave", "--help"], &["rename", "--help"], &["set-status", "--help"]]);
}

#[test]
fn of_talking() {
    let pages: [&[&str]; 13] = [
        &["send", "--help"],
        &["broadcast", "--help"],
        &["reply", "--help"],
        &["inbox", "--help"],
        &["read", "--help"],
        &["watch", "--help"],
        &["wait", "--help"],
        &["notify", "--help"],
        &["show", "--help"],
        &["ack", "--help"],
        &["receipt", "--help"],
        &["history", "--help"],
        &["search", "--help"],
    ];
    check("help-talk", &pages);
}

#[test]
fn of_keeping_out_of_each_others_files() {
    let pages: [&[&str]; 8] = [
        &["reserve", "--help"],
        &["release", "--help"],
        &["contest", "--help"],
        &["reservations", "--help"],
        &["check", "--help"],
        &["hook", "--help"],
        &["waiter", "--help"],
        &["mcp", "--help"],
    ];
    check("help-reserve", &pages);
    let pages: [&[&str]; 4] = [
        &["guard", "--help"],
        &["guard", "install", "--help"],
        &["guard", "uninstall", "--help"],
        &["guard", "check", "--help"],
    ];
    check("help-guard", &pages);
}

#[test]
fn of_sharing_out_work() {
    let pages: [&[&str]; 9] = [
        &["spec", "--help"],
        &["tasks", "--help"],
        &["claim", "--help"],
        &["unclaim", "--help"],
        &["complete", "--help"],
        &["reopen", "--help"],
        &["handoff", "--help"],
        &["delegate", "--help"],
        &["suggest", "--help"],
    ];
    check("help-swarm", &pages);
}

#[test]
fn of_looking_around() {
    let pages: [&[&str]; 7] = [
        &["agents", "--help"],
        &["feed", "--help"],
        &["log", "--help"],
        &["statusline", "--help"],
        &["whois", "--help"],
        &["brief", "--help"],
        &["whoami", "--help"],
    ];
    check("help-look-around", &pages);
}

#[test]
fn of_looking_after_it() {
    let pages: [&[&str]; 14] = [
        &["setup", "--help"],
        &["install", "--help"],
        &["uninstall", "--help"],
        &["doctor", "--help"],
        &["evict", "--help"],
        &["config", "--help"],
        &["config", "list", "--help"],
        &["config", "get", "--help"],
        &["config", "set", "--help"],
        &["config", "unset", "--help"],
        &["completions", "--help"],
        &["man", "--help"],
        &["selftest", "--help"],
        &["demo", "--help"],
    ];
    check("help-look-after", &pages);
}

#[test]
fn every_command_has_help_and_shells_complete_it() {
    for command in COMMANDS {
        assert_eq!(help(&["help", command]), help(&[command, "--help"]));
        assert!(help(&[command, "-h"]).contains("Usage: msg"), "{command}");
        assert!(help(&["help"]).contains(&format!("\n  {command} ")), "{command}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = help(&["completions", shell]);
        assert!(script.contains(&format!("msg completions --answer {shell}")), "{script}");
        let offered = help(&["completions", "--answer", "fish", "msg", ""]);
        for command in COMMANDS {
            assert!(offered.contains(&format!("\n{command}\t")), "{command} is not offered");
        }
        let json = one_object("msg completions", &help(&["completions", shell, "--json"]), Some(0));
        assert_eq!(json["script"].as_str().unwrap().trim_end(), script.trim_end());
    }
    assert_eq!(help(&["--version"]), format!("msg {}\n", env!("CARGO_PKG_VERSION")));
}
