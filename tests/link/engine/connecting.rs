//! Whether a server can be used is found out at once, and said so that a person can act on it.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use ravenry::sys::nats::{
    ConnectOptions, Credentials, DeniedAction, Nats, NatsError, SyncPolicy, TlsProblem, durability,
};

use super::{A, B, bytes, machine, options};
use crate::support::impostor::{OLD, impostor};
use crate::support::ports::free_port;
use crate::support::server::{PATIENCE, Server};

fn secret(server: &Server, name: &str, text: &str, mode: u32) -> PathBuf {
    let path = server.dir().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path
}

async fn failed(options: ConnectOptions) -> NatsError {
    Nats::connect(options).await.map(drop).unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_is_described() {
    let server = Server::start();
    for host in ["127.0.0.1", "localhost"] {
        let options = ConnectOptions::new(vec![format!("nats://{host}:{}", server.port)], "m", A);
        let nats = Nats::connect(options).await.unwrap();
        nats.prepare().await.unwrap();
        let facts = nats.server_facts();
        assert!(facts.api_level >= 1 && facts.version.starts_with("2."), "{facts:?}");
        assert_eq!((facts.name, facts.cluster, facts.tls), (server.name(), None, false));
        let offset = facts.clock_offset.unwrap();
        assert!(offset.abs().as_secs() < 5, "{offset}");
        assert!(nats.is_connected());
        nats.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_exists_is_left_as_it_is() {
    let server = Server::start();
    drop(machine(&server, A).await);
    let mut other = options(&server, B);
    other.inbox_bytes = 1 << 20;
    let b = Nats::connect(other).await.unwrap();
    b.prepare().await.unwrap();
    let raw = async_nats::jetstream::new(async_nats::connect(server.url()).await.unwrap());
    assert_eq!(raw.get_stream("MESH_m_INBOX").await.unwrap().cached_info().config.max_bytes, 1 << 30);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_there() {
    let port = free_port();
    let refused = failed(ConnectOptions::new(vec![format!("nats://127.0.0.1:{port}")], "m", A)).await;
    assert!(matches!(&refused, NatsError::Unreachable { why, .. } if why.contains("refused")), "{refused}");
    assert!(refused.to_string().contains(&port.to_string()));
    let unknown =
        failed(ConnectOptions::new(vec!["nats://no-such-host.invalid:4222".to_owned()], "m", A)).await;
    assert!(matches!(&unknown, NatsError::Unreachable { why, .. } if why.contains("name")), "{unknown}");
    // It takes the connection and says nothing.
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let mut options = ConnectOptions::new(
        vec![format!("nats://127.0.0.1:{}", silent.local_addr().unwrap().port())],
        "m",
        A,
    );
    options.timeout = Duration::from_millis(300);
    let silent = failed(options).await;
    assert!(matches!(&silent, NatsError::Unreachable { why, .. } if why.contains("300ms")), "{silent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_not_a_missing_server() {
    let server = Server::with("accounts { T { jetstream: enabled, users: [{user: bob, password: right}] } }");
    let with = |credentials| {
        let mut options = options(&server, A);
        options.credentials = credentials;
        options
    };
    let none = failed(with(Credentials::None)).await;
    assert!(
        matches!(&none, NatsError::WrongCredentials { why, .. } if why.contains("none are set")),
        "{none}"
    );
    let wrong = Credentials::UserFile(secret(&server, "wrong", "bob\nwrong\n", 0o600));
    let wrong = failed(with(wrong)).await;
    assert!(matches!(wrong, NatsError::WrongCredentials { .. }), "{wrong}");
    let path = secret(&server, "open", "bob\nright\n", 0o644);
    let open = failed(with(Credentials::UserFile(path.clone()))).await;
    assert_eq!(open, NatsError::CredentialsOpen { path: path.clone(), mode: 0o644 });
    let garbage = Credentials::CredsFile(secret(&server, "garbage", "what?", 0o600));
    assert!(matches!(failed(with(garbage)).await, NatsError::CredentialsUnreadable { .. }));
    let missing = Credentials::CredsFile(server.dir().join("missing"));
    assert!(matches!(failed(with(missing)).await, NatsError::CredentialsUnreadable { .. }));
    for right in ["bob\nright\n", "bob:right\n"] {
        let right = Credentials::UserFile(secret(&server, "right", right, 0o600));
        Nats::connect(with(right)).await.unwrap().prepare().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_or_an_account_without_jetstream_is_told() {
    let server = Server::start();
    server.configure(|text| {
        text.lines().filter(|line| !line.starts_with("jetstream")).collect::<Vec<_>>().join("\n")
    });
    let mut server = server;
    server.restart();
    let error = failed(options(&server, A)).await;
    assert_eq!(error, NatsError::NoJetStream { what: "the server".to_owned() });

    let server = Server::with("accounts { T { users: [{user: bob, password: right}] } }");
    let mut options = options(&server, A);
    options.credentials = Credentials::UserFile(secret(&server, "right", "bob:right", 0o600));
    let error = failed(options).await;
    assert_eq!(error, NatsError::NoJetStream { what: "the account of this user".to_owned() });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_permission_is_named_at_once() {
    let server = Server::with(
        "accounts { T { jetstream: enabled, users: [
            {user: admin, password: a},
            {user: bob, password: b, permissions: {
                publish: {allow: [\"$JS.API.INFO\", \"$JS.API.STREAM.INFO.>\", \"$JS.API.CONSUMER.>\"]},
                subscribe: {allow: [\"_INBOX_bbbbbbbb.>\"]}}},
            {user: deaf, password: d, permissions: {subscribe: {deny: [\"_INBOX_aaaaaaaa.>\"]}}}] } }",
    );
    let with = |machine: &str, user: &str| {
        let mut options = options(&server, machine);
        options.credentials = Credentials::UserFile(secret(&server, user, user, 0o600));
        // Waiting for it would fail the test.
        options.timeout = PATIENCE;
        options
    };
    let denied = |action, subject: &str| NatsError::PermissionMissing { action, subject: subject.to_owned() };
    let admin = Nats::connect(with(A, "admin:a")).await.unwrap();
    let bob = Nats::connect(with(B, "bob:b")).await.unwrap();
    let error = bob.prepare().await.unwrap_err();
    assert_eq!(error, denied(DeniedAction::Publish, "$JS.API.STREAM.CREATE.KV_mesh_m"));
    admin.prepare().await.unwrap();
    bob.prepare().await.unwrap();
    let error = bob.publish(A, "1", bytes("1")).await.unwrap_err();
    assert_eq!(error, denied(DeniedAction::Publish, "mesh.m.inbox.aaaaaaaa.bbbbbbbb"));
    let error = bob.create("name.x", bytes("1"), None).await.unwrap_err();
    assert_eq!(error, denied(DeniedAction::Publish, "$KV.mesh_m.name.x"));
    let error = bob.hear_presence().await.map(drop).unwrap_err();
    assert_eq!(error, denied(DeniedAction::Subscribe, "mesh.m.presence.*"));
    // Without answers nothing works, and that is said as well.
    let error = failed(with(A, "deaf:d")).await;
    assert!(
        matches!(&error, NatsError::PermissionMissing { action: DeniedAction::Subscribe, subject } if subject.starts_with("_INBOX_aaaaaaaa.")),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_too_old_is_refused() {
    let port = impostor(OLD);
    let error = failed(ConnectOptions::new(vec![format!("nats://127.0.0.1:{port}")], "m", A)).await;
    assert_eq!(error.to_string(), "the server has version 2.9.10, but version 2.11 is needed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_is_not_used_where_tls_is_required() {
    let server = Server::start();
    let options = ConnectOptions::new(vec![format!("tls://127.0.0.1:{}", server.port)], "m", A);
    let error = failed(options).await;
    assert!(matches!(&error, NatsError::Tls { problem: TlsProblem::NotOffered, .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_whose_keys_cannot_expire_is_refused() {
    let server = Server::start();
    let raw = async_nats::jetstream::new(async_nats::connect(server.url()).await.unwrap());
    let config = async_nats::jetstream::kv::Config { bucket: "mesh_m".to_owned(), ..Default::default() };
    raw.create_key_value(config).await.unwrap();
    let nats = Nats::connect(options(&server, A)).await.unwrap();
    let error = nats.prepare().await.unwrap_err();
    assert!(matches!(error, NatsError::TtlNotHonoured { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_too_large_is_not_sent() {
    let server = Server::with("max_payload: 1000");
    let a = machine(&server, A).await;
    let error = a.publish(B, "1", bytes(&"x".repeat(2000))).await.unwrap_err();
    assert_eq!(error, NatsError::TooLarge { size: 2000, limit: 1000 });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_monitoring_port_tells_when_the_disk_is_written() {
    let port = free_port();
    let _server = Server::with(&format!("http: \"127.0.0.1:{port}\""));
    assert_eq!(
        durability(&format!("http://127.0.0.1:{port}/")).await,
        SyncPolicy::Interval(Duration::from_secs(120))
    );
    assert_eq!(durability(&format!("http://127.0.0.1:{}", free_port())).await, SyncPolicy::Unknown);
}
