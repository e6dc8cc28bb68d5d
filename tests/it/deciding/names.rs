//! Names in a linked mesh.

use insta::assert_snapshot;
use ravenry::store::link_protocol::{LinkAnswer, LinkRequest};

use super::fixture::{Scene, anna, granted, taken, unreachable};

fn join(scene: &Scene, name: &str) -> Vec<String> {
    let host = scene.env.host().to_string();
    ["join", name, "--pid", &host, "--session", "new"].map(str::to_string).to_vec()
}

fn run(scene: &Scene, args: &[String]) -> String {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    scene.env.redact(scene.env.run(&args))
}

#[test]
fn a_name_is_asked_for_with_the_session_that_will_have_it() {
    let scene = Scene::linked(|_| granted());
    let args = join(&scene, "Carol");
    run(&scene, &args);
    assert!(scene.env.names().contains(&"Carol".to_string()));
    let asked = scene.asked();
    let [LinkRequest::TakeName { agent }] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((agent.name.as_str(), agent.session.as_str()), ("Carol", "new"));
    scene.expect_poke();
    // One who is here keeps its name without asking.
    run(&scene, &args);
    assert_eq!(scene.asked().len(), 1);
    scene.env.ok(&["rename", "Dora", "--as", "Carol"]);
    assert_eq!(scene.asked().len(), 2);
    assert!(scene.env.names().contains(&"Dora".to_string()));
}

#[test]
fn a_name_that_another_machine_has_is_taken() {
    let scene = Scene::linked(|_| taken());
    assert_snapshot!(run(&scene, &join(&scene, "Carol")), @r##"
    [exit 1]
    --- stderr
    error: the name Carol is taken by an agent on laptop
    hint: choose another; without a name, `msg join` picks one
    "##);
    assert_snapshot!(scene.env.transcript(&[&["rename", "Carol", "--as", "Alice"]]), @r##"
    $ msg rename Carol --as Alice
    [exit 1]
    --- stderr
    error: the name Carol is taken by an agent on laptop
    hint: choose another; without a name, `msg join` picks one
    "##);
    assert_eq!(scene.env.fails(1, &["rename", "Carol", "--as", "Alice"]), "name_taken");
    assert!(!scene.env.names().contains(&"Carol".to_string()));
    // The mirror says so without asking.
    let asked = scene.asked().len();
    scene.mirror_anna(|_| {});
    assert_eq!(scene.env.fails(1, &["rename", "Anna", "--as", "Alice"]), "name_taken");
    assert_eq!(scene.asked().len(), asked);
}

#[test]
fn one_joins_without_the_server() {
    let mut scene = Scene::linked(|_| unreachable());
    assert_snapshot!(run(&scene, &join(&scene, "Carol")), @r##"
    Joined as Carol. 2 other agents are here: `msg agents`.
    --- stderr
    note: the name Carol is not confirmed by the server yet: other machines do not see you until it is (the server `nats://127.0.0.1:1` is not reached; nothing has changed)
    "##);
    assert!(scene.env.names().contains(&"Carol".to_string()));
    scene.env.ok(&["rename", "Dora", "--as", "Carol"]);
    assert!(scene.env.names().contains(&"Dora".to_string()));
    scene.answer(|_| LinkAnswer::Finished { by: anna() });
    assert_eq!(scene.env.fails(70, &["rename", "Ella", "--as", "Dora"]), "bug");
}

#[test]
fn a_name_of_its_own_making_is_not_asked_for() {
    let scene = Scene::linked(|_| granted());
    let host = scene.env.host().to_string();
    scene.env.ok(&["join", "--pid", &host, "--session", "new"]);
    scene.expect_poke();
    assert_eq!(scene.asked(), []);
    scene.env.ok(&["leave", "--as", "Bob"]);
}
