//! `msg link config` and `msg link`, as far as they need no server.

use crate::support::environment::{TestEnvironment, put};
use crate::support::terminal::harness;

use super::Linked;

/// What the configuration of a server says in text, and the directory that it was written to.
fn written(args: &[&str]) -> (TestEnvironment, String, String) {
    let env = TestEnvironment::new();
    let ended = env.run(&[&["link", "config", "--output", "nats"], args].concat()).expect_code(0);
    let text = env.redact(ended.stdout);
    (env, text, ended.stderr)
}

/// What is printed can be typed as it is.
#[test]
fn the_next_commands_fit_the_configuration() {
    let two = ["--machine", "laptop", "--machine", "box"];
    let (_env, text, _) = written(&[&["--server"][..], &two].concat());
    assert!(text.contains("On laptop:   msg link nats://127.0.0.1:4222/team --machine laptop"), "{text}");

    let tls = ["--listen", "0.0.0.0:4222", "--tls", "s.pem", "--tls-key", "s.key"];
    let (_env, text, warned) = written(&[&["--server"][..], &two, &tls].concat());
    assert!(text.contains("On box:   msg link tls://HOST:4222/team --machine box"), "{text}");
    assert_eq!(warned, "");

    let (_env, text, warned) = written(&[&["--server", "--listen", "0.0.0.0:4222"][..], &two].concat());
    assert!(text.contains("msg link nats://127.0.0.1:4222/team"), "{text}");
    assert!(warned.contains("without TLS the server listens on 127.0.0.1 alone"), "{warned}");
}

#[test]
fn a_cluster_has_a_file_for_each_node_and_its_records_on_all() {
    let (_env, text, _) = written(&[
        "--cluster",
        "n1=10.0.0.1",
        "--cluster",
        "n2=10.0.0.2",
        "--cluster",
        "n3=10.0.0.3",
        "--tls",
        "s.pem",
        "--tls-key",
        "s.key",
        "--tls-ca",
        "ca.pem",
        "--machine",
        "laptop",
    ]);
    for node in ["n1", "n2", "n3"] {
        assert!(text.contains(&format!("Start the server {node}:   nats-server -c ")), "{text}");
    }
    let link = "msg link tls://10.0.0.1:4222,10.0.0.2:4222,10.0.0.3:4222/team --replicas 3 --machine laptop";
    assert!(text.contains(link), "{text}");
}

/// The server may be started in any directory.
#[test]
fn paths_of_a_server_do_not_depend_on_where_it_is_started() {
    let (env, ..) = written(&[
        "--server",
        "--machine",
        "laptop",
        "--store",
        "data",
        "--tls",
        "s.pem",
        "--tls-key",
        "s.key",
    ]);
    let config = std::fs::read_to_string(env.work().join("nats/nats-server.conf")).unwrap();
    for file in ["data", "s.pem", "s.key"] {
        let path = env.work().join(file).display().to_string();
        assert!(config.contains(&format!("\"{path}\"")), "{path}: {config}");
    }
}

/// A person who types what a model was refused allows just that.
#[test]
fn what_a_person_is_to_type_is_all_of_it() {
    let env = TestEnvironment::new();
    let mut shell = harness(&env, "claude");
    let asked = "msg link --allow-runs shop --allow-runs-from laptop --push-runs origin";
    for (line, told) in [
        (asked, asked),
        ("msg link --allow-runs-from laptop,box", "msg link --allow-runs-from laptop,box"),
        (
            "msg link nats://h/t --credentials 'a b' --force",
            "msg link nats://h/t --credentials 'a b' --force",
        ),
        ("msg link --allow-runs none", "msg link --allow-runs none"),
    ] {
        let ended = shell.run(&format!("{line} --json")).expect_code(1);
        assert_eq!(ended.kind(), "in_harness", "{line}: {ended}");
        let hints = ended.json()["error"]["hints"].to_string();
        assert!(hints.contains(told), "{line}: {hints}");
    }
}

/// Only a process that is linked can tell the others that this machine goes.
#[test]
fn who_unlinks_without_the_server_is_told_what_is_left() {
    let linked = Linked::new();
    linked.env.store().link().set_config(&super::config()).unwrap();
    let ended = linked.run(&["link", "off"]).expect_code(0);
    assert!(ended.stderr.contains("`msg link forget here` on one of them removes them"), "{ended}");
}

/// A file of a project may say what it likes: what it tells has not happened on another machine.
#[test]
fn a_project_tells_nothing_of_other_machines() {
    let linked = Linked::unlinked();
    let line = |machine: &str| {
        format!(
            r#"{{"ts":"2030-01-02T11:00:00.000Z","type":"commit","agent":"Zed","preview":"p","machine":{machine}}}"#
        ) + "\n"
    };
    let feed = [r#""laptop""#, "7", r#""My Mac""#].map(line).concat();
    put(&linked.repository.join(".pi/messenger/feed.jsonl"), &feed);
    let ended = linked.run(&["feed", "--json"]).expect_code(0).json();
    let events: Vec<_> =
        ended["events"].as_array().unwrap().iter().filter(|event| event["agent"] == "Zed").collect();
    assert_eq!(events.len(), 3, "{ended}");
    assert!(events.iter().all(|event| event.get("machine").is_none()), "{ended}");
}
