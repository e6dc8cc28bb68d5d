//! The server takes the configurations, and lets in who has a password.

use async_nats::{ConnectErrorKind, ConnectOptions};
use ravenry::domain::link::server_config::{ADMIN, cluster, server};

use crate::support::config_server::{ConfigServer, addresses, check, plan, run, write};
use crate::support::ground;
use crate::support::tls::{Authority, Wanted};

#[test]
fn every_configuration_is_accepted() {
    let tls = ground::directory("ravenry-tls-");
    let good =
        Authority::new("ours").sign(tls.path(), "server", &Wanted { host: "localhost", expired: false });
    for (with_tls, verify, hashed, sync, machines) in [
        (false, false, true, true, vec!["laptop"]),
        (false, false, false, false, vec!["laptop", "buildbox"]),
        (true, false, true, true, vec!["a", "B_2", "0", "-"]),
        (true, true, true, true, vec!["1234567890", "true", "1k"]),
    ] {
        let dir = ground::directory("ravenry-nats-");
        let mut plan = plan(dir.path(), &machines);
        plan.is_durable = sync;
        plan.store_dir = dir.path().join("a \"b\" \\c $HOME").to_str().unwrap().to_string();
        if with_tls {
            plan.tls = Some(good.clone());
            plan.tls.as_mut().unwrap().must_verify_clients = verify;
        }
        if !hashed {
            plan.admin.hash = None;
            plan.machines.iter_mut().for_each(|machine| machine.password.hash = None);
        }
        let mut nodes = addresses(dir.path());
        nodes[0].store_dir = None;
        let one = server(&plan).unwrap();
        let mut three = cluster(&plan, &nodes, "between-us").unwrap();
        three.files.retain(|file| file.name.ends_with(".conf"));
        let mut configs = write(dir.path(), &one);
        configs.extend(write(dir.path(), &three));
        assert_eq!(configs.len(), 4);
        for config in configs {
            let said = check(&config);
            assert!(said.status.success(), "{config:?}: {}", String::from_utf8_lossy(&said.stderr));
        }
    }
}

#[test]
fn a_password_in_the_clear_lets_in_as_well() {
    let dir = ground::directory("ravenry-nats-");
    let mut plan = plan(dir.path(), &["laptop"]);
    plan.machines[0].password.hash = None;
    let server = ConfigServer::start_planned(dir, plan);
    run(async { server.connect("laptop").await });
}

#[test]
fn who_has_no_password_is_refused() {
    let server = ConfigServer::start(&["laptop", "buildbox"]);
    let url = format!("nats://127.0.0.1:{}", server.nodes[0].client_port);
    let other = server.plan.machines[1].password.plain.clone();
    let hash = server.plan.machines[0].password.hash.clone().unwrap();
    run(async {
        for (user, password) in [
            ("laptop", "wrong"),
            ("laptop", ""),
            ("laptop", &other),
            ("laptop", &hash),
            (ADMIN, &other),
            ("nobody", &other),
            ("routes", "between-us"),
        ] {
            let options = ConnectOptions::with_user_and_password(user.to_string(), password.to_string());
            let refused = options.connect(&url).await.unwrap_err();
            assert_eq!(refused.kind(), ConnectErrorKind::AuthorizationViolation, "{user}: {refused}");
        }
        let refused = async_nats::connect(&url).await.unwrap_err();
        assert_eq!(refused.kind(), ConnectErrorKind::AuthorizationViolation);
        server.connect("laptop").await;
        server.connect(ADMIN).await;
    });
}

#[test]
fn the_monitoring_page_says_that_writes_are_durable() {
    let server = ConfigServer::start(&["laptop"]);
    let page = server.nodes[0].monitor("/jsz?config=1").unwrap();
    assert!(page.contains("\"sync_always\": true"), "{page}");
}
