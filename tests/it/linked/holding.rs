//! Paths that an agent on another machine holds.

use ravenry::domain::hook::HookAnswer;
use serde_json::json;

use super::{Linked, holding};
use crate::support::environment::put;
use crate::support::hook_call::{Call, session_of};

impl Linked {
    fn edit(&self, path: &str) -> HookAnswer {
        let call = Call::edit(&self.env, &session_of("Bob"), path).with("/cwd", json!(self.repository));
        call.with("/tool_input/file_path", json!(self.repository.join(path))).answer(&self.env)
    }
}

#[test]
fn an_edit_is_refused_with_the_machine_and_without_a_contest() {
    let linked = Linked::new();
    assert_eq!(linked.edit("src/a.rs"), HookAnswer::Silence);
    linked.set(&[holding(linked.anna(), "src/"), linked.otto()]);
    let HookAnswer::Deny(text) = linked.edit("src/a.rs") else { panic!("it is let through") };
    insta::assert_snapshot!(
        linked.env.redact(text),
        @"`src/a.rs` is reserved (`src/`, for 10min, in every work tree of this repository) by Anna on laptop, who says: “new login”. Work on something else, or ask with `msg send Anna \"…\"`; you should get a message when it is free."
    );
    assert_eq!(linked.edit("docs/a.md"), HookAnswer::Silence);
    // Of another repository.
    linked.set(&[holding(linked.otto(), "src/")]);
    assert_eq!(linked.edit("src/a.rs"), HookAnswer::Silence);
    linked.nothing_is_left_of("Anna");
}

#[test]
fn a_session_begins_with_who_is_elsewhere_and_what_they_hold() {
    let linked = Linked::new();
    linked.set(&[holding(linked.anna(), "src/"), linked.otto()]);
    let call = Call::new(&linked.env, "claude/SessionStart", &session_of("Bob"));
    let text = call.with("/cwd", json!(linked.repository)).context(&linked.env);
    for part in [
        "side by side on this machine and others",
        "Anna on laptop (claude)",
        "Otto on tower (claude)",
        "`src/` (Anna on laptop, in every work tree)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// What a shell command changed is noticed afterwards, and the holder is told, wherever it is.
#[test]
fn a_holder_elsewhere_is_told_what_a_shell_command_changed() {
    let linked = Linked::new();
    linked.set(&[holding(linked.anna(), "src/")]);
    let bash = |event: &str| {
        let call = Call::bash(&linked.env, event, &session_of("Bob"), "./build");
        call.with("/cwd", json!(linked.repository)).answer(&linked.env)
    };
    bash("PreToolUse");
    put(&linked.repository.join("src/a.rs"), "fn main() { changed() }\n");
    bash("PostToolUse");
    let queued = linked.env.store().remote().queued().unwrap();
    assert_eq!(queued.len(), 1, "one notice");
    let text = linked.queued_message(&queued[0]).text;
    assert!(text.contains("src/a.rs"), "{text}");
    linked.nothing_is_left_of("Anna");
}

#[test]
fn check_and_reserve_name_the_machine() {
    let linked = Linked::new();
    linked.set(&[holding(linked.anna(), "src/"), linked.otto()]);
    let checked = linked.run(&["check", "src/a.rs", "--as", "Bob", "--json"]).expect_code(1).json();
    assert_eq!(checked["paths"][0]["machine"], "laptop");
    let error = linked.fails(&["reserve", "src/a.rs"]);
    assert_eq!((&error["kind"], &error["conflicts"][0]["machine"]), (&json!("reserved"), &json!("laptop")));
    insta::assert_snapshot!(
        error["message"].as_str().unwrap(),
        @"Anna on laptop holds `src/` in every work tree of this repository (10min), which covers `src/a.rs`: “new login”"
    );
    linked.ok(&["reserve", "docs/"]);
    // It is told when the path is free: Bob has it, and the mirror changes.
    linked.set(&[linked.anna()]);
    let told = linked.run(&["read", "--as", "Bob"]).expect_code(0).stdout;
    assert!(told.contains("`src/a.rs` is free: Anna no longer holds it"), "{told}");
}

#[test]
fn nothing_is_taken_from_an_agent_elsewhere() {
    let linked = Linked::new();
    linked.set(&[holding(linked.anna(), "src/")]);
    for args in [&["contest", "src/"][..], &["release", "src/", "--from", "Anna"]] {
        let error = linked.fails(args);
        assert_eq!(
            (&error["kind"], &error["message"], &error["hints"][0]),
            (
                &json!("remote_agent"),
                &json!("Anna is on laptop: nothing can be taken from it here"),
                &json!("ask: `msg send Anna \"…\"`")
            )
        );
    }
}

#[test]
fn an_expired_path_elsewhere_is_nobodys_to_write() {
    let linked = Linked::new();
    let mut anna = holding(linked.anna(), "src/");
    anna.reservations[0].expires_at = Some(super::at("2030-01-02T11:59:00Z"));
    linked.set(&[anna]);
    linked.ok(&["reserve", "src/a.rs"]);
    linked.ok(&["release", "src/a.rs"]);
    linked.run(&["doctor", "--repair"]);
    linked.nothing_is_left_of("Anna");
}
