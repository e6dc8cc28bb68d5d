//! Messages to agents on other machines and from them, and their receipts.

use std::fs;

use ravenry::domain::{AgentName, MessageKind};
use ravenry::store::{AnswerMark, LinkStage, MessageStem, SeenRecord, Via};
use serde_json::{Value, json};

use super::{Linked, agent, at, away, config, name};
use crate::support::running::post;

impl Linked {
    fn queued(&self, to: &str) -> Vec<String> {
        let Ok(dir) = fs::read_dir(self.env.mesh().join("remote/queued").join(to)) else { return Vec::new() };
        dir.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[track_caller]
    fn sent_to(&self, args: &[&str]) -> Vec<String> {
        let answer = self.ok(args);
        answer["sent"]
            .as_array()
            .unwrap()
            .iter()
            .map(|sent| sent["to"].as_str().unwrap().to_string())
            .collect()
    }

    #[track_caller]
    fn receipt(&self, id: &str) -> (String, Value, Value) {
        let receipt = self.ok(&["receipt", id]);
        (receipt["state"].as_str().unwrap().to_string(), receipt["via"].clone(), receipt["reason"].clone())
    }

    fn stem(&self, to: &str) -> MessageStem {
        let queued = self.env.store().remote().queued().unwrap();
        queued.into_iter().find(|queued| queued.to.as_str() == to).unwrap().stem
    }
}

/// What the recipient's machine says became of it.
fn seen(stem: &MessageStem, via: &str, acked: Option<&str>) -> SeenRecord {
    let (answer, acked) = (AnswerMark::None, acked.map(at));
    SeenRecord { stem: stem.clone(), at: at("2030-01-02T12:00:01Z"), via: Via::new(via), answer, acked }
}

/// The text of `send`, whose id is another one each time.
fn without_id(text: &str) -> String {
    let (before, after) = text.split_once(" as ").unwrap();
    format!("{before} as [ID]{}", &after[6..])
}

#[test]
fn a_message_is_queued_and_its_receipt_follows_it() {
    let linked = Linked::new();
    let _link = linked.link_up();
    let sent = linked.ok(&["send", "Anna", "hello"])["sent"][0].clone();
    assert_eq!(
        (&sent["to"], &sent["state"], &sent["machine"], &sent["wake"], &sent["reason"]),
        (&json!("Anna"), &json!("queued"), &json!("laptop"), &json!("none"), &Value::Null)
    );
    let id = sent["short"].as_str().unwrap();
    assert_eq!(linked.queued("Anna").len(), 1);
    linked.nothing_is_left_of("Anna");
    let (state, _, reason) = linked.receipt(id);
    assert_eq!((state.as_str(), reason), ("queued", json!("it is on its way to laptop")));

    let (mesh, stem, anna) = (linked.env.store(), linked.stem("Anna"), name("Anna"));
    mesh.remote().note_stored(&anna, &stem).unwrap();
    let (state, _, reason) = linked.receipt(id);
    assert_eq!((state.as_str(), reason), ("stored", json!("it is safe on the server, for Anna on laptop")));
    mesh.remote().note_delivered(&anna, &stem).unwrap();
    let (state, _, reason) = linked.receipt(id);
    assert_eq!((state.as_str(), reason), ("delivered", json!("it is in the inbox of Anna on laptop")));
    let record = |acked: Option<&str>| seen(&stem, "read", acked);
    mesh.remote().note_seen(&anna, &record(None)).unwrap();
    assert_eq!(linked.receipt(id), ("surfaced".to_string(), json!("read"), Value::Null));
    mesh.remote().note_seen(&anna, &record(Some("2030-01-02T12:00:02Z"))).unwrap();
    assert_eq!(linked.receipt(id).0, "acked");
    linked.nothing_is_left_of("Anna");
}

#[test]
fn a_receipt_says_what_went_wrong() {
    let linked = Linked::new();
    let _link = linked.link_up();
    let ids: Vec<String> = ["refused", "expires"]
        .map(|text| {
            linked.ok(&["send", "Anna", text, "--ttl", "1h"])["sent"][0]["short"]
                .as_str()
                .unwrap()
                .to_string()
        })
        .to_vec();
    let mesh = linked.env.store();
    for queued in mesh.remote().queued().unwrap() {
        let is_refused = linked.queued_message(&queued).text == "refused";
        match is_refused {
            true => mesh.remote().note_refused(&queued.to, &queued.stem).unwrap(),
            false => {
                let seen = seen(&queued.stem, "expired", None);
                mesh.remote().note_seen(&queued.to, &seen).unwrap();
            }
        }
    }
    let (state, _, reason) = linked.receipt(&ids[0]);
    let why = "it could not be delivered to Anna on laptop, because nobody is called that there";
    assert_eq!((state.as_str(), reason), ("gone", json!(why)));
    let (state, _, reason) = linked.receipt(&ids[1]);
    assert_eq!((state.as_str(), reason), ("expired", json!("Anna did not read it in time")));
}

#[test]
fn the_answer_says_that_a_machine_or_the_link_is_away() {
    let linked = Linked::new();
    insta::assert_snapshot!(
        without_id(&linked.text(&["send", "Anna", "one"])),
        @"Sent to Anna on laptop (queued) as [ID]: the link to other machines is down: laptop gets this when it is back."
    );
    linked.state(LinkStage::Unreachable);
    insta::assert_snapshot!(
        without_id(&linked.text(&["send", "Anna", "two"])),
        @"Sent to Anna on laptop (queued) as [ID]: the link to other machines has been down since 11:58: laptop gets this when it is back."
    );
    linked.set(&[away(linked.anna()), linked.otto()]);
    let link = linked.link_up();
    insta::assert_snapshot!(
        without_id(&linked.text(&["send", "Anna", "three", "--hold"])),
        @"Sent to Anna on laptop (queued) as [ID]: laptop has not been reached since 11:30: it gets this when it is back."
    );
    let sent = linked.ok(&["broadcast", "four"])["sent"][0].clone();
    assert_eq!(sent["reason"], "laptop has not been reached since 11:30: it gets this when it is back");
    let (state, _, reason) = linked.receipt(sent["short"].as_str().unwrap());
    assert_eq!((state.as_str(), reason), ("queued", sent["reason"].clone()));
    drop(link);
    assert_eq!(linked.queued("Anna").len(), 4);
    // Its registration went away: its machine decides, and the receipt still knows the message.
    linked.set(&[]);
    let (state, _, reason) = linked.receipt(sent["short"].as_str().unwrap());
    let why = "it is kept here: Anna is on no machine that is known now";
    assert_eq!((state.as_str(), reason), ("queued", json!(why)));
    assert_eq!(linked.fails(&["send", "Anna", "five"])["kind"], "unknown_agent");
}

#[test]
fn a_broadcast_reaches_the_same_repository_on_other_machines() {
    let linked = Linked::new();
    assert_eq!(linked.sent_to(&["broadcast", "sync"]), ["Anna"]);
    assert_eq!(linked.sent_to(&["send", "@all", "sync"]), ["Anna"]);
    let mut everyone = linked.sent_to(&["broadcast", "--everywhere", "sync"]);
    everyone.sort();
    assert_eq!(everyone, ["Anna", "Otto"]);
    assert_eq!(linked.sent_to(&["send", "@harness:claude", "x"]), ["Anna"]);
    assert_eq!(linked.sent_to(&["send", "@branch", "x"]), ["Anna"]);
    let other = ravenry::domain::Agent { git_branch: Some("topic".to_string()), ..linked.anna() };
    linked.set(&[other]);
    assert_eq!(linked.fails(&["send", "@branch", "x"])["kind"], "empty_group");
    // A folder of the same name on this disk says nothing about an agent elsewhere.
    let here = linked.repository.to_str().unwrap().to_string();
    linked.set(&[ravenry::domain::Agent { cwd: here, ..agent("Anna", "laptop", None) }]);
    assert_eq!(linked.sent_to(&["broadcast", "sync"]), Vec::<String>::new());
    assert_eq!(linked.ok(&["broadcast", "sync"])["elsewhere"], 1);
}

#[test]
fn a_spec_is_the_same_in_another_clone() {
    let linked = Linked::unlinked();
    fs::create_dir(linked.repository.join("docs")).unwrap();
    let spec = linked.repository.join("docs/plan.md");
    fs::write(&spec, "# Plan\n\n- [ ] TASK-01: one\n").unwrap();
    linked.ok(&["spec", spec.to_str().unwrap()]);
    let with = |spec: &str| ravenry::domain::Agent { spec: Some(spec.to_string()), ..linked.anna() };
    linked.set(&[with("/home/anna/shop/docs/plan.md")]);
    assert_eq!(linked.sent_to(&["send", "@spec", "x"]), ["Anna"]);
    linked.set(&[with("/home/anna/shop/plan.md")]);
    assert_eq!(linked.fails(&["send", "@spec", "x"])["kind"], "empty_group");
    assert!(
        linked.run(&["tasks", "--spec", spec.to_str().unwrap()]).expect_code(0).stdout.contains("TASK-01")
    );
}

#[test]
fn mail_from_another_machine_is_answered_there() {
    let linked = Linked::new();
    // As the link process delivers it.
    let mesh = linked.env.store();
    let from: AgentName = name("Anna");
    let mut outbox = mesh.outboxes().lock(&name("Carrier")).unwrap();
    let stamp = outbox.stamp().unwrap();
    let question = ravenry::domain::Message {
        kind: Some(MessageKind::Question),
        ..ravenry::domain::Message::new(stamp, &from, &name("Bob"), "may I?")
    };
    outbox.post(stamp, &name("Bob"), question).unwrap().unwrap();
    drop(outbox);
    let read = linked.run(&["read", "--as", "Bob"]).expect_code(0).stdout;
    // The age and the id differ.
    let header = read.lines().next().unwrap().split_once(" ago, ").unwrap().1;
    let header = header.split(", msg reply").next().unwrap();
    insta::assert_snapshot!(header, @"claude on laptop in /home/anna/shop@main, question, wants an answer");
    let history = linked.ok(&["history"]);
    let id = history["messages"][0]["short"].as_str().unwrap().to_string();
    assert_eq!(linked.ok(&["show", &id])["message"]["from"], "Anna");
    assert_eq!(linked.sent_to(&["reply", &id, "yes"]), ["Anna"]);
    let answer = linked.queued_message(&mesh.remote().queued().unwrap()[0]);
    let replied_to = answer.reply_to.as_ref().map(|id| id.as_str());
    assert_eq!((answer.text.as_str(), replied_to.map(str::is_empty)), ("yes", Some(false)));
    assert_eq!(answer.thread.as_deref(), replied_to);
    linked.nothing_is_left_of("Anna");
}

#[test]
fn a_send_does_not_wait_for_a_link_that_can_not_start() {
    let linked = Linked::new();
    linked.env.store().link().set_config(&config()).unwrap();
    assert_eq!(linked.sent_to(&["send", "Anna", "hello"]), ["Anna"]);
    assert_eq!(linked.queued("Anna").len(), 1);
}

/// What an older `msg` would see: directories that it does not know, and nothing that looks like lost mail.
#[test]
fn nothing_looks_orphaned() {
    let linked = Linked::new();
    for text in ["one", "two"] {
        linked.ok(&["send", "Anna,Otto", text]);
    }
    linked.ok(&["agents"]);
    linked.run(&["doctor", "--repair"]);
    for name in ["Anna", "Otto"] {
        linked.nothing_is_left_of(name);
        assert_eq!(linked.queued(name).len(), 2);
    }
    // Mail that is here under that name belongs to nobody here.
    fs::create_dir_all(linked.env.mesh().join("inbox/Anna")).unwrap();
    post(&linked.env.store(), "Anna", "lost");
    let said = linked.run(&["doctor"]).to_string();
    assert!(said.contains("one unread message for Anna"), "{said}");
    let anna = linked.ok(&["whois", "Anna"])["agent"].clone();
    assert_eq!(anna["unread"], 0, "which says nothing about Anna on laptop");
}
