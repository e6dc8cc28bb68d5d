//! What machines say of their agents: soon, cheaply, and nobody for the agents of another.

use ravenry::domain::link::name_token;
use ravenry::domain::link::server_config::ServerPlan;
use ravenry::domain::{ActivityChange, ActivityDelta, AgentName};
use serde_json::{Value, json};

use super::mail::{two, two_for};
use crate::environment::wait_until;
use crate::support::config_server::{ConfigServer, MESH, plan, run};
use crate::support::ground;
use crate::support::machine::{Machine, SHORT_LEASE};
use crate::support::server::Server;

/// An agent does something, as its hooks would note it.
fn act(machine: &Machine, name: &str, activity: Option<&str>) {
    let activity = match activity {
        Some(text) => ActivityChange::Set(text.to_string()),
        None => ActivityChange::Clear,
    };
    let delta = ActivityDelta { activity, ..ActivityDelta::default() };
    assert!(machine.env.store().activity().append(&AgentName::new(name).unwrap(), delta).unwrap());
}

fn activity_of(machine: &Machine, name: &str) -> Value {
    machine.agent(name).map_or(Value::Null, |agent| agent["activity"].clone())
}

#[track_caller]
fn wait_for_activity(machine: &Machine, name: &str, activity: &Value) {
    wait_until(&format!("{} sees {name} at {activity}", machine.name), || {
        activity_of(machine, name) == *activity
    });
}

/// The number of the last change of an agent's record on the server.
fn revision(server: &Server, name: &str) -> u64 {
    let subject = format!("$KV.mesh_team.{}", name_token(&AgentName::new(name).unwrap()));
    run(async {
        let client = async_nats::connect(server.url()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let stream = context.get_stream("KV_mesh_team").await.unwrap();
        stream.get_last_raw_message_by_subject(&subject).await.unwrap().sequence
    })
}

#[test]
fn what_an_agent_does_is_seen_elsewhere_and_its_record_rests() {
    let server = Server::start();
    let (a, b) = two(&server);
    wait_until("Anna is heard", || b.agent("Anna").is_some_and(|anna| anna["heardAt"].is_string()));
    assert_eq!(b.agent("Anna").unwrap()["presence"], "active");
    let before = revision(&server, "Anna");
    for file in ["src/a.rs", "src/b.rs"] {
        let activity = format!("editing {file}");
        act(&a, "Anna", Some(&activity));
        wait_for_activity(&b, "Anna", &json!(activity));
    }
    // What is outside of her work tree concerns nobody there.
    act(&a, "Anna", Some("editing /home/anna/.ssh/config"));
    wait_for_activity(&b, "Anna", &json!("editing …"));
    act(&a, "Anna", None);
    wait_for_activity(&b, "Anna", &Value::Null);
    assert_eq!(revision(&server, "Anna"), before, "her record was written for a sign of life");
    let text = b.run(&["whois", "Anna"]).expect_code(0).stdout;
    assert!(text.contains("Anna on laptop") && text.contains("active"), "{text}");
}

#[test]
fn what_is_lost_only_makes_it_older() {
    let server = Server::start();
    let (a, b) = two_for(&server, SHORT_LEASE);
    act(&a, "Anna", Some("editing src/a.rs"));
    wait_for_activity(&b, "Anna", &json!("editing src/a.rs"));
    a.network.cut();
    wait_until("laptop is away", || b.agent("Anna").unwrap()["presence"] == "unreachable");
    let away = b.agent("Anna").unwrap();
    assert_eq!(away["activity"], "editing src/a.rs", "what is known of her is kept");
    act(&a, "Anna", Some("editing src/b.rs"));
    a.network.heal();
    wait_for_activity(&b, "Anna", &json!("editing src/b.rs"));
    wait_until("laptop is back", || b.agent("Anna").unwrap()["presence"] == "active");
    assert!(b.agent("Anna").unwrap()["heardAt"].as_str() > away["heardAt"].as_str());
}

#[test]
fn who_starts_again_hears_the_others() {
    let server = Server::start();
    let (a, b) = two(&server);
    for (victim, activity) in [(&b, "one"), (&a, "two"), (&b, "three")] {
        victim.kill_link();
        act(&a, "Anna", Some(activity));
        // The next command on that machine starts it again.
        wait_until(&format!("buildbox sees {activity}"), || {
            a.ok(&["agents"]);
            activity_of(&b, "Anna") == activity
        });
    }
    // A machine that comes later, too.
    let c = Machine::linked("desk", server.port);
    c.join("Carol");
    wait_for_activity(&c, "Anna", &json!("three"));
    a.run(&["leave", "--as", "Anna"]).expect_code(0);
    c.wait_without("Anna");
    let presence = c.env.mesh().join("remote/presence/laptop.jsonl");
    wait_until("nothing is left of laptop", || !presence.exists());
}

/// A server with the generated configuration, and with room for the streams of the mesh.
pub fn roomy(machines: &[&str]) -> ConfigServer {
    let dir = ground::directory("ravenry-nats-");
    let plan = ServerPlan { max_file_store_gib: 8, ..plan(dir.path(), machines) };
    ConfigServer::start_planned(dir, plan)
}

/// A machine that is linked as the generated configuration wants it.
pub fn linked_as_user(server: &ConfigServer, name: &'static str) -> Machine {
    let machine = Machine::new(name, server.nodes[0].client_port);
    let credentials = server.dir.path().join(format!("{name}.user"));
    let url = format!("nats://127.0.0.1:{}/{MESH}", machine.network.port);
    let credentials = credentials.to_str().unwrap();
    machine.ok(&["link", &url, "--machine", name, "--credentials", credentials]);
    machine
}

#[test]
fn a_hostile_machine_speaks_for_its_own_agents_alone() {
    let server = roomy(&["laptop", "buildbox", "desk"]);
    let [laptop, buildbox, desk] = ["laptop", "buildbox", "desk"].map(|name| linked_as_user(&server, name));
    laptop.join("Anna");
    buildbox.join("Bob");
    desk.join("Carol");
    for name in ["Anna", "Bob"] {
        wait_until(&format!("{name} is heard"), || {
            desk.agent(name).is_some_and(|agent| agent["heardAt"].is_string())
        });
    }
    // Somebody with the credentials of laptop speaks for Bob: as laptop, and as buildbox.
    let said = |name: &str, activity: &str| json!({ "name": name, "session": format!("session-{name}"), "quietMillis": 0, "activity": activity });
    let report = |agents: Vec<Value>| json!({ "version": 1, "agents": agents }).to_string();
    let forged = report(vec![said("Bob", "forged"), said("Anna", "forged")]);
    let last = report(vec![said("Bob", "forged"), said("Anna", "true")]);
    // What the real one says of Anna follows within seconds, so it is said again until it is seen.
    wait_until("desk sees Anna at \"true\"", || {
        run(async {
            let client = server.connect("laptop").await;
            for (machine, text) in [("buildbox", &forged), ("laptop", &last)] {
                let subject = format!("mesh.{MESH}.presence.{machine}");
                client.publish(subject, text.clone().into()).await.unwrap();
            }
            client.flush().await.unwrap();
        });
        activity_of(&desk, "Anna") == "true"
    });
    assert_eq!(activity_of(&desk, "Bob"), Value::Null);
    // The real ones go on.
    act(&buildbox, "Bob", Some("testing"));
    wait_for_activity(&desk, "Bob", &json!("testing"));
}
