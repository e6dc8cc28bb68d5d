//! An MCP server, as one of the session's own processes, wakes it where nothing else can. The test process plays Claude
//! Code.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::hooks::posting::Scene;
use crate::hooks::waking::send;
use crate::support::environment::{TestEnvironment, put_old, wait_until};
use crate::support::hook_fixture::in_shell;
use crate::support::mcp_client::{Client, greeting};

/// Bob's server, once it is registered.
fn server(scene: &Scene) -> Client {
    let mut command = scene.env.msg();
    command.args(["mcp", "--as", "Bob"]);
    let client = Client::greeted(command);
    attended(&scene.env);
    client
}

#[track_caller]
fn attended(env: &TestEnvironment) {
    wait_until("its server says that it is there", || !marks(env, "server").is_empty());
}

fn marks(env: &TestEnvironment, kind: &str) -> Vec<std::path::PathBuf> {
    let files = fs::read_dir(env.mesh().join("hooks")).into_iter().flatten().flatten();
    let paths = files.map(|file| file.path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == kind)).collect()
}

/// Bob acts without asking: a post from outside would raise a dialog.
fn unasked() -> Scene {
    let scene = Scene::new();
    scene.listen();
    scene.prompt("go on");
    scene.stop("bypassPermissions");
    assert_eq!(send(&scene.env, &["nobody is beside him", "--importance", "low"]), "none");
    scene
}

#[track_caller]
fn hears(scene: &Scene, times: usize) {
    wait_until("he is woken", || scene.heard().len() >= times);
    assert_eq!(scene.heard().len(), times);
}

#[test]
fn it_wakes_where_others_would_raise_a_dialog() {
    let scene = unasked();
    assert_eq!(send(&scene.env, &["hello?"]), "prompt");
    let _server = server(&scene);
    hears(&scene, 1);
    let said = scene.heard()[0]["message"]["content"].as_str().unwrap().to_string();
    assert!(said.starts_with("[msg] You have mail"), "{said}");
    assert_eq!(send(&scene.env, &["he is on his way"]), "hook");
    scene.prompt(&said);
    scene.stop("bypassPermissions");
    let sent = scene.env.ok(&["send", "Bob", "once more", "--as", "Alice"]);
    assert_eq!(sent["sent"][0]["wake"], "server");
    let receipt = scene.env.ok(&["receipt", sent["sent"][0]["id"].as_str().unwrap(), "--as", "Alice"]);
    assert_eq!(receipt["wake"], "server");
    hears(&scene, 2);
    assert_eq!(scene.turns(), 2);
    // Claude Code drops a text that one process sends twice.
    let [first, second] = scene.heard().try_into().unwrap();
    assert_ne!(first, second);
}

/// Nobody sends anything, and nobody else notices that the holder is dead.
#[test]
fn it_wakes_when_what_was_waited_for_is_free() {
    let scene = unasked();
    let carol = scene.env.join("Carol");
    scene.env.ok(&["read", "--as", "Bob"]);
    scene.env.ok(&["reserve", "src/", "--as", "Carol"]);
    assert_eq!(scene.env.fails(1, &["reserve", "src/x", "--as", "Bob"]), "reserved");
    let _server = server(&scene);
    scene.env.kill(carol);
    hears(&scene, 1);
    let read = scene.env.ok(&["read", "--as", "Bob"]);
    let text = read["messages"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("`src/x` is free: Carol no longer holds it."), "{text}");
}

/// Waking is left to senders that can do it, unless they fail to.
#[test]
fn where_senders_can_wake_they_do() {
    let scene = Scene::new();
    scene.listen();
    let _server = server(&scene);
    assert_eq!(send(&scene.env, &["hello?"]), "socket");
    hears(&scene, 1);
    let said = scene.heard()[0]["message"]["content"].as_str().unwrap().to_string();
    scene.prompt(&said);
    scene.stop("default");
    // As left by a sender that was killed between delivering and waking.
    scene.env.drop_mail("Bob", "1794743708487-aaaaaa");
    hears(&scene, 2);
}

/// Only the first wakes: the server or one of the senders.
#[test]
fn of_all_who_could_wake_one_does() {
    let scene = Scene::new();
    scene.listen();
    let _server = server(&scene);
    let begin = |n: usize| {
        let mut command = scene.env.msg();
        command.args(["send", "Bob", &format!("letter {n}"), "--as", "Alice"]).stdout(Stdio::null());
        command.spawn().unwrap()
    };
    let sending: Vec<Child> = (0..20).map(begin).collect();
    sending.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    hears(&scene, 1);
    assert_eq!(scene.turns(), 1);
    let said = scene.heard()[0]["message"]["content"].as_str().unwrap().to_string();
    scene.prompt(&said);
    scene.stop("default");
    assert_eq!(scene.heard().len(), 1);
}

#[test]
fn who_waits_beside_it_comes_first() {
    let scene = unasked();
    let _server = server(&scene);
    scene.env.store().session_states().begin_waiting(&Scene::session()).unwrap();
    assert_eq!(send(&scene.env, &["hello?"]), "rewake");
    scene.env.ok(&["agents"]);
    assert_eq!(scene.heard(), [] as [Value; 0]);
    // If the waiter dies, the server wakes the session.
    marks(&scene.env, "waiter").iter().for_each(|path| fs::remove_file(path).unwrap());
    hears(&scene, 1);
}

#[test]
fn what_its_user_does_not_want_is_not_done() {
    let scene = unasked();
    let _server = server(&scene);
    let settings = scene.env.home().join(".claude/settings.json");
    put_old(&settings, r#"{"crossSessionInbound": "hold"}"#);
    assert_eq!(send(&scene.env, &["the user holds it"]), "prompt");
    scene.env.ok(&["config", "set", "wake", "false"]);
    put_old(&settings, "{}");
    assert_eq!(send(&scene.env, &["nobody is to be woken"]), "none");
    assert_eq!(scene.heard(), [] as [Value; 0]);
    scene.env.ok(&["config", "set", "wake", "true"]);
    hears(&scene, 1);
}

#[test]
fn a_server_that_is_gone_wakes_nobody() {
    let scene = unasked();
    server(&scene).end().expect_code(0);
    assert_eq!(send(&scene.env, &["hello?"]), "prompt");
    assert_eq!(scene.heard(), [] as [Value; 0]);
    assert_eq!(scene.turns(), 0);
}

/// `msg mcp` in a Claude Code with these arguments, and a client of this name. Its agent is idle.
fn resting(env: &TestEnvironment, options: &[&str], name: &str) -> (Client, String, Value) {
    env.join("Alice");
    let mut msg = env.msg();
    msg.arg("mcp");
    let mut command: Command = in_shell("\"$1\" mcp", "claude", &msg);
    command.args(options);
    let mut client = Client::start(command);
    let mut hello = greeting("2025-11-25");
    hello["clientInfo"]["name"] = name.into();
    let result = client.request("initialize", hello);
    client.notify("notifications/initialized", json!({}));
    let me = client.name();
    let session = env.registration(&me)["sessionId"].as_str().unwrap().to_string();
    env.store().session_states().set_idle(&ravenry::domain::SessionId::new(session).unwrap()).unwrap();
    attended(env);
    (client, me, result["capabilities"].clone())
}

const OPTION: &str = "--dangerously-load-development-channels";

fn is_channel(message: &Value) -> bool {
    message["method"] == "notifications/claude/channel"
}

#[test]
fn a_channel_that_its_user_opened_is_the_other_way() {
    let env = TestEnvironment::new();
    let (mut client, me, capabilities) = resting(&env, &[OPTION, "server:ravenry"], "claude-code");
    assert_eq!(capabilities["experimental"], json!({ "claude/channel": {} }));
    wait_until("its channel is known", || {
        fs::read_to_string(&marks(&env, "server")[0]).is_ok_and(|text| text.contains("\"hasChannel\": true"))
    });
    let sent = env.ok(&["send", &me, "the words of a peer", "--as", "Alice"]);
    assert_eq!(sent["sent"][0]["wake"], "server");
    let told = client.wait_for("word of it", is_channel);
    let content = told["params"]["content"].as_str().unwrap();
    assert!(content.starts_with("[msg] You have mail"), "{told}");
    assert_eq!(told["params"].as_object().unwrap().len(), 1, "{told}");
    assert_eq!(env.ok(&["send", &me, "another", "--as", "Alice"])["sent"][0]["wake"], "hook");
    client.ok("agents", json!({}));
    assert!(client.take_kept(is_channel).is_none(), "once is enough");
}

#[test]
fn where_nobody_opened_a_channel_nothing_is_said() {
    for (options, name) in [
        (&[][..], "claude-code"),
        (&[OPTION, "server:other"], "claude-code"),
        (&[OPTION, "server:ravenry"], "by-hand"),
    ] {
        let env = TestEnvironment::new();
        let (mut client, me, capabilities) = resting(&env, options, name);
        assert_eq!(capabilities.get("experimental").is_some(), name == "claude-code", "{capabilities}");
        assert_eq!(env.ok(&["send", &me, "hello?", "--as", "Alice"])["sent"][0]["wake"], "prompt");
        client.ok("agents", json!({}));
        assert!(client.take_kept(is_channel).is_none());
        assert_eq!(client.ok("inbox", json!({})).short_id(), ["hello?"]);
        assert!(client.take_kept(is_channel).is_none());
    }
}
