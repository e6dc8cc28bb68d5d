//! Paths of repositories in a linked mesh.

use std::fs;

use insta::assert_snapshot;
use ravenry::domain::Reservation;
use ravenry::store::link_protocol::{Holder, LinkAnswer, LinkRequest};

use super::fixture::{Scene, anna, granted, unreachable};

fn held(pattern: &str, wanted: &str) -> LinkAnswer {
    let holder = Holder {
        pattern: Some(pattern.to_string()),
        wanted: Some(wanted.to_string()),
        reason: Some("new login".to_string()),
        ..anna()
    };
    LinkAnswer::Taken { holders: vec![holder] }
}

fn reserved(scene: &Scene, name: &str) -> usize {
    scene.env.registration(name)["reservations"].as_array().map_or(0, Vec::len)
}

#[test]
fn a_path_of_the_repository_is_asked_for_without_its_place_here() {
    let scene = Scene::linked(|_| granted());
    scene.env.ok(&["reserve", "--repo", "src/", "--reason", "login", "--as", "Alice"]);
    let asked = scene.asked();
    let [LinkRequest::TakePaths { agent, repository, reservations }] = asked.as_slice() else {
        panic!("{asked:?}")
    };
    assert_eq!((agent.name.as_str(), repository), ("Alice", &scene.repository()));
    let [Reservation { pattern, reason, root, .. }] = reservations.as_slice() else { panic!() };
    assert_eq!((pattern.as_str(), reason.as_deref()), ("src/", Some("login")));
    assert!(!root.as_ref().unwrap().contains(scene.env.path().to_str().unwrap()));
    assert_eq!(reserved(&scene, "Alice"), 1);
    // It is renewed there, too.
    scene.env.ok(&["reserve", "--repo", "src/", "--as", "Alice"]);
    assert_eq!((scene.asked().len(), reserved(&scene, "Alice")), (2, 1));
    // An agent of this machine is refused without asking.
    assert_eq!(scene.env.fails(1, &["reserve", "--repo", "src/a.rs", "--as", "Bob"]), "reserved");
    assert_eq!(scene.asked().len(), 2);
    scene.env.ok(&["release", "--as", "Alice"]);
    scene.expect_poke();
}

#[test]
fn what_another_machine_holds_is_refused_and_waited_for() {
    let scene = Scene::linked(|_| held("src/", "src/a.rs"));
    let reserve = ["reserve", "--repo", "src/a.rs", "--as", "Alice"];
    assert_snapshot!(scene.env.transcript(&[&reserve]), @r##"
    $ msg reserve --repo src/a.rs --as Alice
    [exit 1]
    --- stderr
    error: Anna on laptop holds `src/` in every work tree of this repository (5min), which overlaps `src/a.rs`: “new login”
    hint: ask: `msg send Anna "…"`; you get a message when it is free
    "##);
    let ended = scene.env.run(&[&reserve[..], &["--json"]].concat()).expect_code(1).json();
    let row = &ended["error"]["conflicts"][0];
    assert_eq!((&row["machine"], &row["holder"]), (&"laptop".into(), &"Anna".into()), "{ended}");
    assert_eq!((&row["pattern"], &row["wanted"]), (&"src/".into(), &"src/a.rs".into()));
    assert_eq!(reserved(&scene, "Alice"), 0);
    assert_eq!(scene.env.registration("Alice")["waitsFor"][0]["pattern"], "src/a.rs");
    // In this work tree it can be had.
    scene.env.ok(&["reserve", "src/a.rs", "--as", "Alice"]);
}

#[test]
fn nothing_is_reserved_everywhere_while_the_server_is_not_reached() {
    let scene = Scene::linked(|_| unreachable());
    assert_snapshot!(scene.env.transcript(&[&["reserve", "--repo", "src/", "--as", "Alice"]]), @r##"
    $ msg reserve --repo src/ --as Alice
    [exit 5]
    --- stderr
    error: the server `nats://127.0.0.1:1` is not reached; nothing has changed
    hint: `msg link status` shows the state of the link; commands that concern only this machine work without the server
    hint: without `--repo` (or with `--no-repo`) it can be reserved on this machine alone
    "##);
    assert_eq!(scene.env.fails(5, &["reserve", "--repo", "src/", "--as", "Alice"]), "not_linked");
    assert_eq!(reserved(&scene, "Alice"), 0);
    scene.env.ok(&["reserve", "src/", "--as", "Alice"]);
}

#[test]
fn the_configuration_may_make_it_the_rule() {
    let scene = Scene::linked(|_| granted());
    scene.configure(true);
    let taken = scene.env.ok(&["reserve", "src/", "@port:3000", "--as", "Alice"]);
    let reach = |number: usize| taken["reservations"][number]["reach"].as_str().map(str::to_string);
    assert_eq!(reach(0).as_deref(), Some("repository"), "{taken}");
    assert_ne!(reach(1).as_deref(), Some("repository"));
    assert_eq!(scene.asked().len(), 1);
    let here = scene.env.ok(&["reserve", "--no-repo", "docs/", "--as", "Alice"]);
    assert_ne!(here["reservations"][0]["reach"], "repository");
    scene.env.ok(&["reserve", "@build", "--as", "Alice"]);
    // Outside of a repository it is a path of this machine.
    let plain = scene.env.path().join("plain");
    fs::create_dir(&plain).unwrap();
    let mut command = scene.env.msg();
    command.args(["reserve", "x", "--as", "Alice"]).current_dir(&plain);
    crate::support::environment::end(&mut command).expect_code(0);
    assert_eq!(scene.asked().len(), 1);
    assert_eq!(scene.env.fails(2, &["reserve", "--no-repo", "--repo", "x", "--as", "Alice"]), "usage");
}

#[test]
fn the_rule_names_its_way_out() {
    let scene = Scene::linked(|_| unreachable());
    scene.configure(true);
    assert_snapshot!(scene.env.transcript(&[&["reserve", "src/", "--as", "Alice"]]), @r##"
    $ msg reserve src/ --as Alice
    [exit 5]
    --- stderr
    error: the server `nats://127.0.0.1:1` is not reached; nothing has changed
    hint: `msg link status` shows the state of the link; commands that concern only this machine work without the server
    hint: with `--no-repo` it is reserved in this work tree, on this machine alone
    "##);
    assert_eq!(reserved(&scene, "Alice"), 0);
}

#[test]
fn nothing_is_taken_from_an_agent_on_another_machine() {
    let scene = Scene::linked(|_| granted());
    scene.env.ok(&["reserve", "--repo", "src/", "--as", "Bob"]);
    scene.mirror_anna(|_| {});
    scene.env.ok(&["release", "--as", "Bob"]);
    assert_snapshot!(
        scene.env.transcript(&[
            &["contest", "src/", "--as", "Alice"],
            &["reserve", "src/", "--as", "Alice"],
            &["release", "src/", "--from", "Anna", "--as", "Alice"],
            &["evict", "Anna", "--as", "Alice"],
        ]), @r##"
    $ msg contest src/ --as Alice
    [exit 1]
    --- stderr
    error: Anna is on laptop: nothing can be taken from it here
    hint: ask: `msg send Anna "…"`

    $ msg reserve src/ --as Alice
    [exit 1]
    --- stderr
    error: Anna on laptop holds `src/` in every work tree of this repository (0s)
    hint: ask: `msg send Anna "…"`; you get a message when it is free

    $ msg release src/ --from Anna --as Alice
    [exit 1]
    --- stderr
    error: Anna is on laptop: nothing can be taken from it here
    hint: ask: `msg send Anna "…"`

    $ msg evict Anna --as Alice
    [exit 1]
    --- stderr
    error: Anna is on laptop
    hint: run `msg evict Anna` there
    "##);
}
