//! What a machine cannot do, whatever it sends: here the laptop is hostile.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::consumer::{AckPolicy, pull, push};
use futures_util::StreamExt;
use ravenry::domain::link::server_config::{ADMIN, inbox_prefix};

use crate::support::config_server::{ConfigServer, MESH, run};
use crate::support::layout::{Layout, key_subject};

/// Three machines; what the others see, and the hostile one.
struct Scene {
    server: ConfigServer,
    laptop: Layout,
    buildbox: Layout,
    desk: Layout,
}

impl Scene {
    async fn new() -> Self {
        let server = ConfigServer::start(&["laptop", "buildbox", "desk"]);
        let laptop = Layout::open(server.connect("laptop").await, "laptop", 1).await.unwrap();
        let buildbox = Layout::open(server.connect("buildbox").await, "buildbox", 1).await.unwrap();
        let desk = Layout::open(server.connect("desk").await, "desk", 1).await.unwrap();
        Self { server, laptop, buildbox, desk }
    }

    /// Sends a request whose answer is to go to that subject.
    async fn answer_to(&self, reply: &str, request: &str, payload: &str) {
        let client = &self.laptop.client;
        let (request, reply) = (request.to_string(), reply.to_string());
        client.publish_with_reply(request, reply, payload.to_string().into()).await.unwrap();
    }

    /// Until the server has done all that the laptop has asked for so far.
    async fn settle(&self) {
        self.laptop.client.flush().await.unwrap();
        self.laptop.context.query_account().await.unwrap();
        self.laptop.bucket.put("probe.settled", "".into()).await.unwrap();
    }
}

#[test]
fn the_lease_of_another_machine_is_not_written() {
    run(async {
        let scene = Scene::new().await;
        let lease = scene.buildbox.write("machine.buildbox", "mine", 0, "600s").await.unwrap();
        for key in ["machine.buildbox", "machine.nobody", "machine", "other.x", "machine.laptop.x"] {
            scene.laptop.write(key, "forged", 0, "600s").await.unwrap_err();
            scene.laptop.bucket.put(key, "forged".into()).await.unwrap_err();
            scene.laptop.bucket.delete(key).await.unwrap_err();
            scene.laptop.bucket.purge(key).await.unwrap_err();
        }
        let kept = scene.desk.bucket.entry("machine.buildbox").await.unwrap().unwrap();
        assert_eq!((kept.revision, &kept.value[..]), (lease, &b"mine"[..]));
        scene.laptop.write("machine.laptop", "mine", 0, "600s").await.unwrap();
    });
}

#[test]
fn nothing_is_sent_in_the_name_of_another_machine() {
    run(async {
        let scene = Scene::new().await;
        scene.laptop.send("desk", "buildbox", "forged").await.unwrap_err();
        scene.laptop.send("laptop", "buildbox", "forged").await.unwrap_err();
        for subject in
            ["feed.buildbox", "dead.buildbox", "presence.buildbox", "inbox.desk", "inbox.desk.laptop.x"]
        {
            let subject = format!("mesh.{MESH}.{subject}");
            scene.laptop.publish(&subject, HeaderMap::new(), "forged").await.unwrap_err();
        }
        for stream in [&scene.desk.inbox, &scene.desk.feed, &scene.desk.dead] {
            assert_eq!(scene.desk.count(stream).await, 0);
        }
        scene.laptop.send("desk", "laptop", "true").await.unwrap();
    });
}

/// The server sends answers without asking whether the one who named the reply subject may publish there.
#[test]
fn an_answer_of_the_server_is_not_a_message_of_another_machine() {
    run(async {
        let scene = Scene::new().await;
        let lease = scene.buildbox.write("machine.buildbox", "mine", 0, "600s").await.unwrap();
        scene.laptop.bucket.put("task.t", "forged".into()).await.unwrap();
        let feed = format!("mesh.{MESH}.feed.laptop");
        scene.laptop.publish(&feed, HeaderMap::new(), "forged").await.unwrap();
        let config = pull::Config {
            name: Some("oracle".to_string()),
            ack_policy: AckPolicy::None,
            ..Default::default()
        };
        scene.laptop.feed.create_consumer(config).await.unwrap();

        let inbox = format!("mesh.{MESH}.inbox.desk.buildbox");
        let bucket = format!("KV_mesh_{MESH}");
        for reply in [inbox.clone(), key_subject("machine.buildbox"), format!("mesh.{MESH}.feed.buildbox")] {
            for (request, payload) in [
                (key_subject("task.u"), "x"),
                (feed.clone(), "x"),
                (format!("$JS.API.DIRECT.GET.{bucket}.{}", key_subject("task.t")), ""),
                (format!("$JS.API.DIRECT.GET.{bucket}"), "{\"seq\":1,\"batch\":2}"),
                (format!("$JS.API.STREAM.MSG.GET.{bucket}"), "{\"seq\":1}"),
                (
                    format!("$JS.API.CONSUMER.MSG.NEXT.MESH_{MESH}_FEED.oracle"),
                    "{\"batch\":1,\"expires\":100000000}",
                ),
                ("$JS.API.INFO".to_string(), ""),
            ] {
                scene.answer_to(&reply, &request, payload).await;
            }
        }
        // Nor does a consumer push there.
        for (name, deliver_subject) in
            [("push_a", inbox.clone()), ("push_b", key_subject("machine.buildbox"))]
        {
            let config = push::Config {
                name: Some(name.to_string()),
                deliver_subject,
                ack_policy: AckPolicy::None,
                ..Default::default()
            };
            scene.laptop.feed.create_consumer(config).await.unwrap();
        }
        scene.settle().await;
        // A message that was sent after all of it has arrived, alone.
        let consumer = scene.desk.inbox_consumer().await;
        let mut messages = consumer.messages().await.unwrap();
        scene.buildbox.send("desk", "buildbox", "true").await.unwrap();
        let message = messages.next().await.unwrap().unwrap();
        assert_eq!(message.payload, "true");
        message.double_ack().await.unwrap();
        assert_eq!(scene.desk.inbox.get_info().await.unwrap().state.last_sequence, 1);
        let kept = scene.desk.bucket.entry("machine.buildbox").await.unwrap().unwrap();
        assert_eq!((kept.revision, &kept.value[..]), (lease, &b"mine"[..]));
        let feed =
            scene.desk.feed.get_last_raw_message_by_subject(&format!("mesh.{MESH}.feed.buildbox")).await;
        assert!(feed.is_err(), "{feed:?}");

        // In the account of the mesh itself it is one. So no machine is in there.
        let admin = scene.server.connect(ADMIN).await;
        let request = format!("$JS.API.DIRECT.GET.{bucket}.{}", key_subject("task.t"));
        admin.publish_with_reply(request, inbox, "".into()).await.unwrap();
        assert_eq!(messages.next().await.unwrap().unwrap().payload, "forged");
    });
}

#[test]
fn the_messages_of_another_machine_are_not_read() {
    run(async {
        let scene = Scene::new().await;
        let mut consumer = scene.desk.inbox_consumer().await;
        let name = format!("MESH_{MESH}_INBOX");
        let inbox = &scene.laptop.inbox;
        inbox.get_consumer::<pull::Config>("inbox_desk").await.unwrap_err();
        let config = |durable: &str, filter: &str| pull::Config {
            durable_name: Some(durable.to_string()),
            filter_subject: filter.to_string(),
            ..Default::default()
        };
        let of_desk = format!("mesh.{MESH}.inbox.desk.*");
        let all = format!("mesh.{MESH}.inbox.>");
        for (durable, filter) in [
            ("inbox_desk", &*of_desk),
            ("inbox_laptop", &*of_desk),
            ("inbox_laptop", &*all),
            ("inbox_laptop", ""),
            ("x", &*all),
        ] {
            inbox.create_consumer(config(durable, filter)).await.unwrap_err();
        }
        // A subject that is allowed, around a filter that is not.
        let subject = format!("CONSUMER.CREATE.{name}.inbox_laptop.mesh.{MESH}.inbox.laptop.*");
        let request = serde_json::json!({ "stream_name": name, "config": {
            "name": "inbox_laptop", "durable_name": "inbox_laptop", "filter_subject": all, "ack_policy": "explicit",
            "deliver_policy": "all", "replay_policy": "instant" } });
        let answer: serde_json::Value = scene.laptop.context.request(subject, &request).await.unwrap();
        assert_eq!(answer["error"]["err_code"], 10131, "{answer}");
        // With its filters in a list, no filter is in the subject.
        let listed = pull::Config {
            durable_name: Some("inbox_laptop".to_string()),
            filter_subjects: vec![format!("mesh.{MESH}.inbox.laptop.*"), of_desk],
            ..Default::default()
        };
        inbox.create_consumer(listed).await.unwrap_err();

        // Nor on their way, nor out of the stream.
        for subject in [">", "mesh.>", "$JS.>", "_INBOX_desk.>", "$KV.>"] {
            let mut tap = scene.laptop.client.subscribe(subject).await.unwrap();
            scene.settle().await;
            scene.buildbox.send("desk", "buildbox", "private").await.unwrap();
            scene.settle().await;
            tap.unsubscribe().await.unwrap();
            while let Some(seen) = tap.next().await {
                assert!(!seen.payload.starts_with(b"private"), "{subject} saw {}", seen.subject);
            }
        }
        inbox.get_raw_message(1).await.unwrap_err();
        inbox.direct_get(1).await.unwrap_err();
        for request in
            [format!("CONSUMER.MSG.NEXT.{name}.inbox_desk"), format!("CONSUMER.INFO.{name}.inbox_desk")]
        {
            let refused: Result<serde_json::Value, _> = scene.laptop.context.request(request, &1).await;
            refused.unwrap_err();
        }
        assert_eq!(consumer.info().await.unwrap().num_pending, 5);
        assert_eq!(consumer.info().await.unwrap().num_ack_pending, 0);
    });
}

#[test]
fn the_message_of_another_machine_is_not_acknowledged() {
    run(async {
        let scene = Scene::new().await;
        let consumer = scene.desk.inbox_consumer().await;
        scene.buildbox.send("desk", "buildbox", "keep me").await.unwrap();
        let message = consumer.messages().await.unwrap().next().await.unwrap().unwrap();
        let ack = message.reply.clone().unwrap();
        assert!(ack.starts_with(&format!("$JS.ACK.MESH_{MESH}_INBOX.inbox_desk.")), "{ack}");
        for word in ["+ACK", "+TERM", "-NAK"] {
            let refused = scene.laptop.client.request(ack.clone(), word.into()).await;
            refused.unwrap_err();
        }
        assert_eq!(scene.desk.count(&scene.desk.inbox).await, 1);
        message.double_ack().await.unwrap();
        assert_eq!(scene.desk.count(&scene.desk.inbox).await, 0);
    });
}

#[test]
fn streams_are_neither_deleted_nor_emptied_nor_changed() {
    run(async {
        let scene = Scene::new().await;
        scene.buildbox.send("desk", "buildbox", "keep me").await.unwrap();
        scene.buildbox.bucket.put("name.a", "keep me".into()).await.unwrap();
        scene.desk.inbox_consumer().await;
        let context = &scene.laptop.context;
        let streams = ["INBOX", "DEAD", "FEED"].map(|name| format!("MESH_{MESH}_{name}"));
        for name in streams.into_iter().chain([format!("KV_mesh_{MESH}")]) {
            assert!(context.delete_stream(&name).await.is_err(), "{name}");
            let stream = context.get_stream(&name).await.unwrap();
            stream.purge().await.unwrap_err();
            stream.delete_message(1).await.unwrap_err();
            let mut config = stream.cached_info().config.clone();
            config.max_messages = 1;
            context.update_stream(&config).await.unwrap_err();
            // One that is there is not replaced.
            context.create_stream(config).await.unwrap_err();
        }
        assert!(scene.laptop.inbox.delete_consumer("inbox_desk").await.is_err());
        // A message that would take the place of all others.
        let mut all = HeaderMap::new();
        all.insert("Nats-Rollup", "all");
        let subject = format!("mesh.{MESH}.inbox.desk.laptop");
        scene.laptop.publish(&subject, all, "alone").await.unwrap_err();
        assert_eq!(scene.desk.count(&scene.desk.inbox).await, 1);
        assert!(scene.desk.bucket.get("name.a").await.unwrap().is_some());
        // The admin can, and another stream is nobody's.
        let other = async_nats::jetstream::stream::Config { name: "OTHER".to_string(), ..Default::default() };
        context.create_stream(other).await.unwrap_err();
        let admin = async_nats::jetstream::new(scene.server.connect(ADMIN).await);
        admin.delete_stream(format!("MESH_{MESH}_DEAD")).await.unwrap();
    });
}

/// Limit markers need roll-ups, so a machine can empty the bucket. Nobody's old revision becomes valid by that.
#[test]
fn whoever_empties_the_bucket_gets_nobodys_revision() {
    run(async {
        let scene = Scene::new().await;
        let lease = scene.buildbox.write("machine.buildbox", "mine", 0, "600s").await.unwrap();
        let task = scene.buildbox.bucket.create("task.t", "mine".into()).await.unwrap();
        let mut all = HeaderMap::new();
        all.insert("Nats-Rollup", "all");
        scene.laptop.publish(&key_subject("probe.x"), all, "alone").await.unwrap();
        assert_eq!(scene.desk.bucket.get("task.t").await.unwrap(), None);
        scene.buildbox.write("machine.buildbox", "mine", lease, "600s").await.unwrap_err();
        let taken = scene.desk.bucket.create("task.t", "taken".into()).await.unwrap();
        assert!(taken > task);
        scene.buildbox.bucket.update("task.t", "late".into(), task).await.unwrap_err();
    });
}

#[test]
fn presence_is_not_forged() {
    run(async {
        let scene = Scene::new().await;
        let mut presence = scene.desk.client.subscribe(format!("mesh.{MESH}.presence.*")).await.unwrap();
        scene.desk.client.flush().await.unwrap();
        scene.desk.context.query_account().await.unwrap();
        let publish = async |machine: &str, text: &'static str| {
            scene
                .laptop
                .client
                .publish(format!("mesh.{MESH}.presence.{machine}"), text.into())
                .await
                .unwrap();
        };
        publish("buildbox", "forged").await;
        publish("desk", "forged").await;
        scene.answer_to(&format!("mesh.{MESH}.presence.buildbox"), "$JS.API.INFO", "").await;
        publish("laptop", "true").await;
        let seen = tokio::time::timeout(Duration::from_secs(30), presence.next()).await.unwrap().unwrap();
        assert_eq!(
            (seen.subject.as_str(), &seen.payload[..]),
            (&*format!("mesh.{MESH}.presence.laptop"), &b"true"[..])
        );
    });
}

#[test]
fn what_another_machine_watches_is_not_seen() {
    run(async {
        let scene = Scene::new().await;
        scene.buildbox.bucket.put("name.a", "seen".into()).await.unwrap();
        // The desk listens where a consumer pushes to the laptop.
        let target = format!("{}.watch", inbox_prefix("laptop"));
        let mut own = scene.desk.client.subscribe(target.clone()).await.unwrap();
        scene.desk.context.query_account().await.unwrap();
        let config = push::Config {
            deliver_subject: target.clone(),
            ack_policy: AckPolicy::None,
            ..Default::default()
        };
        let bucket = scene.laptop.context.get_stream(format!("KV_mesh_{MESH}")).await.unwrap();
        let consumer = bucket.create_consumer(config).await.unwrap();
        let mut messages = consumer.messages().await.unwrap();
        assert_eq!(messages.next().await.unwrap().unwrap().payload, "seen");
        scene.desk.context.query_account().await.unwrap();
        own.unsubscribe().await.unwrap();
        assert!(own.next().await.is_none());
    });
}
