//! Completions of a linked mesh: the claim at the server counts.

use insta::assert_snapshot;
use ravenry::store::link_protocol::{Holder, LinkAnswer, LinkRequest};
use ravenry::sys::test_switches::CRASH_AT;

use super::fixture::{Scene, anna, done, granted, taken, task_of, unreachable};

/// Alice has T-1.
fn claimed_by_alice() -> Scene {
    let scene = Scene::linked(|_| granted());
    scene.env.ok(&["claim", "T-1", "--as", "Alice"]);
    scene
}

#[test]
fn a_task_is_completed_at_the_server_first() {
    let mut scene = claimed_by_alice();
    scene.answer(|_| granted());
    let done = scene.env.ok(&["complete", "--notes", "all of it", "--as", "Alice"]);
    assert_eq!(done["completion"]["task"], "T-1", "{done}");
    assert_eq!(scene.completed(), ["T-1"]);
    let asked = scene.asked();
    let [LinkRequest::CompleteTask { key, notes, .. }] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((key, notes.as_deref()), (&scene.key("T-1"), Some("all of it")));
    // Again: it is known here.
    scene.env.ok(&["complete", "T-1", "--as", "Alice"]);
    assert_eq!(scene.asked().len(), 1);
}

#[test]
fn a_lost_claim_completes_nothing() {
    let mut scene = claimed_by_alice();
    scene.answer(|_| taken());
    assert_snapshot!(scene.env.transcript(&[&["complete", "T-1", "--as", "Alice"]]), @r##"
    $ msg complete T-1 --as Alice
    [exit 1]
    --- stderr
    error: `T-1` is not yours any more: this machine did not reach the server for longer than its lease, and Anna on laptop has claimed it since (5min ago)
    hint: your work is not lost: your changes are still in your work tree
    hint: agree on who goes on: `msg send Anna "…"`
    "##);
    assert_eq!(scene.env.fails(1, &["complete", "T-1", "--as", "Alice"]), "not_yours");
    scene.answer(|_| LinkAnswer::Finished { by: anna() });
    assert_snapshot!(scene.env.transcript(&[&["complete", "T-1", "--as", "Alice"]]), @r##"
    $ msg complete T-1 --as Alice
    [exit 1]
    --- stderr
    error: `T-1` is already done (Anna on laptop, 5min ago)
    hint: your changes are still in your work tree: compare them with what was done there
    hint: ask: `msg send Anna "…"`
    "##);
    assert_eq!(scene.env.fails(1, &["complete", "T-1", "--as", "Alice"]), "already_completed");
    assert_eq!(scene.completed(), [""; 0]);
}

#[test]
fn nothing_is_completed_while_the_server_is_not_reached() {
    let mut scene = claimed_by_alice();
    scene.answer(|_| unreachable());
    assert_snapshot!(scene.env.transcript(&[&["complete", "T-1", "--as", "Alice"]]), @r##"
    $ msg complete T-1 --as Alice
    [exit 5]
    --- stderr
    error: the server `nats://127.0.0.1:1` is not reached; nothing has changed
    hint: `msg link status` shows the state of the link; commands that concern only this machine work without the server
    hint: `T-1` is not completed: run this again when the server is reached
    "##);
    assert_eq!(scene.env.fails(5, &["complete", "T-1", "--as", "Alice"]), "not_linked");
    assert_eq!(scene.completed(), [""; 0]);
    assert_eq!(scene.claims().len(), 1);
}

/// The server has decided, and the command dies before it writes, at each step. It is repeated.
#[test]
fn a_completion_that_was_cut_short_is_repeated() {
    for step in 1.. {
        let mut scene = claimed_by_alice();
        let mut is_done = false;
        scene.answer(move |request| match request {
            LinkRequest::CompleteTask { .. } if is_done => {
                let by = Holder { agent: "Alice".to_string(), machine: "desk".to_string(), ..anna() };
                LinkAnswer::Finished { by }
            }
            LinkRequest::CompleteTask { .. } => {
                is_done = true;
                granted()
            }
            _ => granted(),
        });
        let args = ["complete", "T-1", "--as", "Alice"];
        let ended = scene.env.run_with(&args, &[(CRASH_AT, &step.to_string())]);
        if ended.signal != Some(9) {
            ended.expect_code(0);
            assert!(step > 2, "it writes");
            return;
        }
        scene.env.ok(&args);
        assert_eq!((scene.completed(), scene.claims()), (vec!["T-1".to_string()], vec![]), "step {step}");
    }
}

#[test]
fn a_claim_that_was_cut_short_is_repeated() {
    for step in 1.. {
        let scene = Scene::linked(|_| granted());
        let args = ["claim", "T-1", "--as", "Alice"];
        let ended = scene.env.run_with(&args, &[(CRASH_AT, &step.to_string())]);
        if ended.signal != Some(9) {
            ended.expect_code(0);
            assert!(step > 2, "it writes");
            return;
        }
        scene.env.ok(&args);
        assert_eq!(scene.claims(), [("T-1".to_string(), "Alice".to_string())], "step {step}");
    }
}

#[test]
fn what_another_machine_completed_is_opened_again_at_the_server() {
    let scene = Scene::linked(|_| granted());
    scene.mirror_tasks(&[("T-1", done())]);
    assert_eq!(scene.env.fails(1, &["complete", "T-1", "--as", "Alice"]), "already_completed");
    assert_eq!(scene.asked(), []);
    let reopened = scene.env.ok(&["reopen", "T-1", "--reason", "it fails", "--as", "Alice"]);
    assert_eq!(reopened["reopened"]["completion"]["completedBy"], "Anna", "{reopened}");
    assert!(matches!(scene.asked().as_slice(), [LinkRequest::ReopenTask { .. }]));
    assert_eq!(task_of(&scene.asked()[0]), Some("T-1"));
}

#[test]
fn a_task_that_is_done_here_is_opened_again_only_if_the_server_agrees() {
    let mut scene = claimed_by_alice();
    scene.env.ok(&["complete", "T-1", "--as", "Alice"]);
    let args = ["reopen", "T-1", "--reason", "it fails", "--as", "Alice"];
    scene.answer(|_| unreachable());
    assert_eq!(scene.env.fails(5, &args), "not_linked");
    assert_eq!(scene.completed(), ["T-1"]);
    scene.answer(|_| granted());
    scene.env.ok(&args);
    assert_eq!(scene.completed(), [""; 0]);
}
