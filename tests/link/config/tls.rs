//! TLS with the generated configurations, and the certificates that are refused.

use std::path::PathBuf;

use async_nats::{Client, ConnectError, ConnectErrorKind};
use ravenry::domain::link::server_config::TlsFiles;

use crate::environment::wait_until;
use crate::support::config_server::{ConfigServer, plan, run, speak};
use crate::support::ground;
use crate::support::layout::Layout;
use crate::support::tls::{Authority, Wanted};

const GOOD: Wanted<'_> = Wanted { host: "localhost", expired: false };

/// A server whose certificate is made by `authority`; the client trusts that of `trusted`.
fn start(authority: &Authority, wanted: &Wanted<'_>, must_verify_clients: bool) -> ConfigServer {
    let dir = ground::directory("ravenry-nats-");
    let mut plan = plan(dir.path(), &["laptop"]);
    plan.tls = Some(TlsFiles { must_verify_clients, ..authority.sign(dir.path(), "server", wanted) });
    ConfigServer::start_planned(dir, plan)
}

/// Connects as the laptop, and trusts that authority alone.
async fn connect(
    server: &ConfigServer,
    trusted: &Authority,
    client: Option<&TlsFiles>,
) -> Result<Client, ConnectError> {
    let root = server.dir.path().join("trusted.pem");
    std::fs::write(&root, &trusted.pem).unwrap();
    let mut options = server.options("laptop").require_tls(true).add_root_certificates(root);
    if let Some(files) = client {
        options =
            options.add_client_certificate(PathBuf::from(&files.certificate), PathBuf::from(&files.key));
    }
    options.connect(format!("tls://localhost:{}", server.nodes[0].client_port)).await
}

#[test]
fn a_machine_works_over_tls() {
    let ours = Authority::new("ours");
    let server = start(&ours, &GOOD, false);
    run(async {
        let client = connect(&server, &ours, None).await.unwrap();
        let laptop = Layout::open(client, "laptop", 1).await.unwrap();
        laptop.write("machine.laptop", "here", 0, "600s").await.unwrap();
    });
}

#[test]
fn a_bad_certificate_of_the_server_is_refused() {
    let (ours, unknown) = (Authority::new("ours"), Authority::new("unknown"));
    // Its name is that of ours, and its key is not.
    let impostor = Authority::new("ours");
    for (signer, wanted, said) in [
        (&ours, Wanted { host: "localhost", expired: true }, "expired"),
        (&ours, Wanted { host: "elsewhere.example", expired: false }, "not valid for name"),
        (&unknown, GOOD, "UnknownIssuer"),
        (&impostor, GOOD, "BadSignature"),
    ] {
        let server = start(signer, &wanted, false);
        let refused = run(connect(&server, &ours, None)).unwrap_err();
        let text = format!("{refused} {refused:?}");
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn a_server_with_tls_takes_nobody_without() {
    let ours = Authority::new("ours");
    let server = start(&ours, &GOOD, false);
    // async-nats would change to TLS by itself: this one does not.
    let plain = speak(
        server.nodes[0].client_port,
        "CONNECT {\"user\":\"laptop\",\"pass\":\"x\",\"verbose\":false,\"tls_required\":false}\r\nPING\r\n",
    );
    assert!(plain.starts_with("INFO ") && plain.contains("\"tls_required\":true"), "{plain}");
    assert!(!plain.contains("PONG"), "{plain}");
}

#[test]
fn a_client_needs_a_certificate_where_that_is_asked_for() {
    let (ours, unknown) = (Authority::new("ours"), Authority::new("unknown"));
    let server = start(&ours, &GOOD, true);
    let dir = server.dir.path();
    let good = ours.sign(dir, "good", &Wanted { host: "laptop", expired: false });
    let expired = ours.sign(dir, "expired", &Wanted { host: "laptop", expired: true });
    let foreign = unknown.sign(dir, "foreign", &Wanted { host: "laptop", expired: false });
    run(async {
        connect(&server, &ours, Some(&good)).await.unwrap();
        for bad in [None, Some(&expired), Some(&foreign)] {
            let refused = connect(&server, &ours, bad).await.unwrap_err();
            assert_ne!(refused.kind(), ConnectErrorKind::TimedOut, "{refused:?}");
        }
        connect(&server, &ours, Some(&good)).await.unwrap();
    });
}

/// They are healthy when they have found each other.
#[test]
fn the_nodes_of_a_cluster_find_each_other_over_tls() {
    let ours = Authority::new("ours");
    let dir = ground::directory("ravenry-nats-");
    let mut plan = plan(dir.path(), &["laptop"]);
    plan.tls = Some(ours.sign(dir.path(), "node", &Wanted { host: "127.0.0.1", expired: false }));
    let server = ConfigServer::start_planned_cluster(dir, plan);
    wait_until("the first one has a route to each of the others", || {
        let routes = server.nodes[0].monitor("/routez").unwrap_or_default();
        routes.contains("\"two\"") && routes.contains("\"three\"")
    });
    // Who speaks in the clear there is told nothing; without TLS a node greets.
    let said = speak(server.nodes[0].cluster_port, "CONNECT {}\r\n");
    assert!(!said.contains("INFO"), "{said}");
}

#[test]
fn a_certificate_does_not_replace_the_password() {
    let ours = Authority::new("ours");
    let mut server = start(&ours, &GOOD, true);
    let good = ours.sign(server.dir.path(), "good", &Wanted { host: "laptop", expired: false });
    server.plan.machines[0].password.plain = "wrong".to_string();
    let refused = run(connect(&server, &ours, Some(&good))).unwrap_err();
    assert_eq!(refused.kind(), ConnectErrorKind::AuthorizationViolation, "{refused:?}");
}
