//! Claims of a linked mesh.

use insta::assert_snapshot;
use ravenry::store::link_protocol::{Holder, LinkAnswer, LinkRequest};

use super::fixture::{Scene, anna, claimed, done, granted, taken, task_of, unreachable};

#[test]
fn a_granted_task_is_claimed_and_asked_for_by_its_place_in_the_repository() {
    let scene = Scene::linked(|_| granted());
    scene.env.ok(&["claim", "T-1", "--reason", "forms", "--as", "Alice"]);
    assert_eq!(scene.claims(), [("T-1".to_string(), "Alice".to_string())]);
    let asked = scene.asked();
    let [LinkRequest::TakeTask { agent, key, reason }] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((agent.name.as_str(), agent.session.as_str()), ("Alice", "session of Alice"));
    assert_eq!((key, reason.as_deref()), (&scene.key("T-1"), Some("forms")));
    // It has it already, so nothing is asked.
    scene.env.ok(&["claim", "T-1", "--as", "Alice"]);
    assert_eq!(scene.asked().len(), 1);
    // And between agents of one machine nobody is asked either.
    assert_eq!(scene.env.fails(1, &["claim", "T-1", "--as", "Bob"]), "already_claimed");
    assert_eq!(scene.asked().len(), 1);
}

#[test]
fn a_task_that_another_machine_has_is_refused_and_waited_for() {
    let scene = Scene::linked(|_| taken());
    let ended = scene.env.run(&["claim", "T-1", "--as", "Alice", "--json"]).expect_code(1);
    let error = &ended.json()["error"];
    assert_eq!((&error["kind"], &error["agent"]), (&"already_claimed".into(), &"Anna".into()));
    assert_eq!(error["machine"], "laptop");
    assert_eq!(scene.claims(), []);
    assert_eq!(scene.env.registration("Alice")["waitsForTasks"].as_array().map(Vec::len), Some(1));
    assert_snapshot!(scene.env.transcript(&[&["claim", "T-1", "--as", "Alice"]]), @r##"
    $ msg claim T-1 --as Alice
    [exit 1]
    --- stderr
    error: `T-1` is claimed by Anna on laptop (5min ago)
    hint: take the next ready task with `msg claim --next`; you will get a message when this one is free
    "##);
}

#[test]
fn a_task_that_another_machine_finished_is_done() {
    let scene = Scene::linked(|_| LinkAnswer::Finished { by: anna() });
    assert_snapshot!(scene.env.transcript(&[&["claim", "T-1", "--as", "Alice"]]), @r##"
    $ msg claim T-1 --as Alice
    [exit 1]
    --- stderr
    error: `T-1` is already done (Anna on laptop, 5min ago)
    hint: `msg claim --next` takes the next ready task
    "##);
    assert_eq!(scene.env.fails(1, &["claim", "T-1", "--as", "Alice"]), "already_completed");
    assert_eq!(scene.claims(), []);
}

#[test]
fn next_goes_on_where_the_mirror_is_behind() {
    let scene = Scene::linked(|request| match task_of(request) {
        Some("T-1") => LinkAnswer::Finished { by: anna() },
        Some("T-2") => taken(),
        _ => granted(),
    });
    // T-1 is done elsewhere, so T-3 is ready.
    scene.env.ok(&["claim", "--next", "--as", "Alice"]);
    assert_eq!(scene.claims(), [("T-3".to_string(), "Alice".to_string())]);
    let asked: Vec<_> = scene.asked().iter().filter_map(|one| task_of(one).map(str::to_string)).collect();
    assert_eq!(asked, ["T-1", "T-2", "T-3"]);
    assert_eq!(scene.env.fails(1, &["claim", "--next", "--as", "Bob"]), "nothing_ready");
}

#[test]
fn nothing_is_claimed_while_the_server_is_not_reached() {
    let mut scene = Scene::linked(|_| unreachable());
    assert_snapshot!(scene.env.transcript(&[&["claim", "--next", "--as", "Alice"]]), @r##"
    $ msg claim --next --as Alice
    [exit 5]
    --- stderr
    error: the server `nats://127.0.0.1:1` is not reached; nothing has changed
    hint: `msg link status` shows the state of the link; commands that concern only this machine work without the server
    "##);
    assert_eq!(scene.env.fails(5, &["claim", "T-1", "--as", "Alice"]), "not_linked");
    assert_eq!(scene.claims(), []);
    // The server may have decided. The same command asks again.
    scene.answer(|_| match unreachable() {
        LinkAnswer::Unreachable { problem } => LinkAnswer::Unknown { problem },
        other => other,
    });
    assert_eq!(scene.env.fails(5, &["claim", "T-1", "--as", "Alice"]), "not_linked");
    assert_eq!(scene.claims(), []);
}

#[test]
fn without_a_link_process_a_plain_build_says_what_is_missing() {
    let scene = Scene::without_process();
    let kind = if cfg!(feature = "link") { return } else { "not_built_in" };
    assert_eq!(scene.env.fails(1, &["claim", "T-1", "--as", "Alice"]), kind);
    assert_eq!(scene.claims(), []);
}

#[test]
fn a_claim_that_fails_after_the_grant_is_given_back() {
    let scene = Scene::linked(|_| granted());
    scene.env.ok(&["reserve", "src/", "--as", "Bob", "--no-repo"]);
    let kind = scene.env.fails(1, &["claim", "T-1", "--reserve", "src/a.rs", "--as", "Alice"]);
    assert_eq!(kind, "reserved");
    scene.expect_poke();
    assert_eq!(scene.claims(), []);
}

#[test]
fn a_task_of_no_repository_is_known_here_alone() {
    let scene = Scene::linked(|_| granted());
    let text = scene.env.transcript(&[&["claim", "X-1", "--adhoc", "--spec", "../spec.md", "--as", "Alice"]]);
    assert!(text.contains("no such file"), "{text}");
    std::fs::write(scene.env.path().join("spec.md"), "- [ ] X-1: x\n").unwrap();
    assert_snapshot!(
        scene.env.transcript(&[&["claim", "X-1", "--spec", "../spec.md", "--as", "Alice"]]), @r##"
    $ msg claim X-1 --spec ../spec.md --as Alice
    X-1 is yours. x
    --- stderr
    note: only this machine knows that `X-1` is claimed: its spec is in no git repository that other machines recognise by its first commit
    "##);
    assert_eq!(scene.asked(), []);
}

#[test]
fn the_board_shows_what_other_machines_do() {
    let scene = Scene::linked(|_| granted());
    scene.mirror_tasks(&[("T-1", done()), ("T-2", claimed())]);
    assert_snapshot!(scene.env.transcript(&[&["tasks", "--as", "Alice"]]), @r##"
    $ msg tasks --as Alice
    [DIR]/work/docs/spec.md  ██████░░░░░░░░░░░░░░  1 of 3 done, 1 claimed, 1 ready, 0 blocked
    T-1  done     Anna on laptop, only said  the form
    T-2  claimed  Anna on laptop for 5min    the session
    T-3  ready                               the glue
    "##);
    let listed = scene.env.ok(&["tasks", "--as", "Alice"]);
    let row = |number: usize| {
        let task = &listed["tasks"][number];
        (task["state"].as_str().unwrap().to_string(), task["machine"].as_str().map(str::to_string))
    };
    let laptop = || Some("laptop".to_string());
    assert_eq!(row(0), ("done".to_string(), laptop()));
    assert_eq!(row(1), ("claimed".to_string(), laptop()));
    assert_eq!(row(2), ("open".to_string(), None));
    assert!(listed["tasks"][2].get("machine").is_none());
    scene.env.ok(&["claim", "--next", "--as", "Alice"]);
    assert_eq!(scene.claims(), [("T-3".to_string(), "Alice".to_string())]);
}

#[test]
fn what_is_known_here_comes_before_the_mirror() {
    let scene = Scene::linked(|_| granted());
    scene.env.ok(&["claim", "T-1", "--as", "Alice"]);
    scene.mirror_tasks(&[("T-1", claimed())]);
    let listed = scene.env.ok(&["tasks", "--as", "Bob"]);
    assert_eq!(listed["tasks"][0]["agent"], "Alice");
    assert!(listed["tasks"][0].get("machine").is_none());
}

#[test]
fn giving_a_task_back_tells_the_link_process() {
    let scene = Scene::linked(|_| granted());
    scene.env.ok(&["claim", "T-1", "--as", "Alice"]);
    scene.env.ok(&["unclaim", "T-1", "--as", "Alice"]);
    scene.expect_poke();
    assert_eq!(scene.claims(), []);
}

#[test]
fn a_task_is_not_handed_to_another_machine() {
    let scene = Scene::linked(|_| granted());
    scene.env.ok(&["claim", "T-1", "--as", "Alice"]);
    scene.mirror_anna(|_| {});
    assert_snapshot!(scene.env.transcript(&[&["handoff", "T-1", "Anna", "--as", "Alice"]]), @r##"
    $ msg handoff T-1 Anna --as Alice
    [exit 1]
    --- stderr
    error: Anna is on laptop: a task can't be handed to another machine
    hint: give it back with `msg unclaim T-1`
    hint: then ask: `msg send Anna "…"`
    "##);
    assert_eq!(scene.claims(), [("T-1".to_string(), "Alice".to_string())]);
    scene.env.ok(&["handoff", "T-1", "Bob", "--as", "Alice"]);
    scene.expect_poke();
}

#[test]
fn an_unlinked_mesh_asks_nobody() {
    let scene = Scene::unlinked();
    scene.env.ok(&["claim", "--next", "--as", "Alice"]);
    scene.env.ok(&["complete", "T-1", "--as", "Alice"]);
    scene.env.ok(&["reserve", "--repo", "src/", "--as", "Alice"]);
    assert!(!scene.env.mesh().join("link").exists());
    assert!(!scene.env.mesh().join("remote").join("tasks").exists());
}

#[test]
fn who_waits_is_told_when_the_other_machine_gave_it_up() {
    let scene = Scene::linked(|_| LinkAnswer::Taken { holders: vec![Holder { reason: None, ..anna() }] });
    scene.mirror_tasks(&[("T-1", claimed())]);
    assert_eq!(scene.env.fails(1, &["claim", "T-1", "--as", "Alice"]), "already_claimed");
    let text = |scene: &Scene| scene.env.run(&["read", "--as", "Alice"]).stdout;
    assert!(!text(&scene).contains("T-1"));
    scene.mirror_tasks(&[]);
    let told = text(&scene);
    assert!(told.contains("`T-1` is free: Anna no longer works on it"), "{told}");
}
