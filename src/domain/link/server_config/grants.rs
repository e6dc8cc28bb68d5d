//! What a machine may use of the account of its mesh. Nothing else crosses the border of its own account.

use super::inbox_prefix;

/// What a request to a subject is answered with.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Answer {
    /// Nothing, or one answer.
    Single,
    /// As many as there are: messages of a consumer, and values of a bucket.
    Stream,
}

/// A subject of the mesh, and the part of the configuration that it belongs to.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct MeshSubject {
    pub subject: String,
    pub answer: Answer,
}

/// Grants with a comment.
pub(super) struct Group {
    pub why: &'static str,
    pub grants: Vec<MeshSubject>,
}

/// What all machines of a mesh may do.
pub(super) fn shared(mesh: &str) -> Vec<Group> {
    let bucket = format!("KV_mesh_{mesh}");
    let feed = format!("MESH_{mesh}_FEED");
    let streams = [bucket.clone(), format!("MESH_{mesh}_INBOX"), format!("MESH_{mesh}_DEAD"), feed.clone()];
    let mut ask = vec![single("$JS.API.INFO"), single("$JS.API.STREAM.NAMES")];
    for stream in &streams {
        ask.push(single(format!("$JS.API.STREAM.INFO.{stream}")));
        ask.push(single(format!("$JS.API.STREAM.CREATE.{stream}")));
    }
    let keys = ["name", "task", "done", "paths", "probe"];
    let mut read = vec![
        single(format!("$JS.API.STREAM.MSG.GET.{bucket}")),
        many(format!("$JS.API.DIRECT.GET.{bucket}")),
        many(format!("$JS.API.DIRECT.GET.{bucket}.>")),
    ];
    for stream in [&bucket, &feed] {
        read.extend([
            single(format!("$JS.API.CONSUMER.CREATE.{stream}")),
            single(format!("$JS.API.CONSUMER.CREATE.{stream}.>")),
            single(format!("$JS.API.CONSUMER.INFO.{stream}.*")),
            many(format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.*")),
            single(format!("$JS.ACK.{stream}.>")),
            single(format!("$JS.FC.{stream}.>")),
        ]);
    }
    vec![
        Group {
            why: "Ask for the streams of the mesh, and create what is not there. Nobody but the admin changes or deletes one.",
            grants: ask,
        },
        Group {
            why: "Write what is decided by compare-and-swap: names, tasks and repository paths.",
            grants: keys.iter().map(|key| single(format!("$KV.mesh_{mesh}.{key}.>"))).collect(),
        },
        Group { why: "Read and watch the bucket and the feed.", grants: read },
    ]
}

/// What this machine alone may do.
pub(super) fn own(mesh: &str, machine: &str) -> Vec<Group> {
    let inbox = format!("MESH_{mesh}_INBOX");
    let dead = format!("MESH_{mesh}_DEAD");
    let consumer = |stream: &str, name: String, filter: String| {
        [
            // The server refuses a consumer whose filter is not the one in the subject.
            single(format!("$JS.API.CONSUMER.CREATE.{stream}.{name}.{filter}")),
            single(format!("$JS.API.CONSUMER.INFO.{stream}.{name}")),
            // After a crash it is replaced: only so do messages come again at once, and in order.
            single(format!("$JS.API.CONSUMER.DELETE.{stream}.{name}")),
            many(format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{name}")),
            single(format!("$JS.ACK.{stream}.{name}.>")),
        ]
    };
    vec![
        Group { why: "Its own lease.", grants: vec![single(format!("$KV.mesh_{mesh}.machine.{machine}"))] },
        Group {
            why: "Send, with its own name as the sender.",
            grants: vec![
                single(format!("mesh.{mesh}.inbox.*.{machine}")),
                single(format!("mesh.{mesh}.feed.{machine}")),
                single(format!("mesh.{mesh}.dead.{machine}")),
            ],
        },
        Group {
            why: "Read its own messages, and those that it has given up.",
            grants: consumer(&inbox, format!("inbox_{machine}"), format!("mesh.{mesh}.inbox.{machine}.>"))
                .into_iter()
                .chain(consumer(&dead, format!("dead_{machine}"), format!("mesh.{mesh}.dead.{machine}")))
                .collect(),
        },
    ]
}

/// The subject that a machine says on that it is there. It exports it, and each other machine imports it.
pub(super) fn presence(mesh: &str, machine: &str) -> String {
    format!("mesh.{mesh}.presence.{machine}")
}

/// Where consumers that push deliver to: watches of the bucket.
pub(super) fn inbox(machine: &str) -> String {
    format!("{}.>", inbox_prefix(machine))
}

fn single(subject: impl Into<String>) -> MeshSubject {
    MeshSubject { subject: subject.into(), answer: Answer::Single }
}

fn many(subject: impl Into<String>) -> MeshSubject {
    MeshSubject { subject: subject.into(), answer: Answer::Stream }
}
