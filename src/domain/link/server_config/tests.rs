//! What a plan becomes, and which plans are refused. `tests/link/config` shows what the server makes of it.

use super::*;

fn plan(machines: &[&str]) -> ServerPlan {
    let password = |text: &str| Password { plain: text.to_string(), hash: None };
    ServerPlan {
        mesh: "team".to_string(),
        machines: machines
            .iter()
            .map(|id| MachineUser { id: id.to_string(), password: password(&format!("secret-of-{id}")) })
            .collect(),
        admin: password("secret-of-admin"),
        listen: Listen { host: "127.0.0.1".to_string(), port: 4222 },
        monitor_port: 8222,
        store_dir: "/var/lib/ravenry \"nats\"".to_string(),
        max_file_store_gib: 10,
        tls: None,
        is_durable: true,
    }
}

fn nodes(host: &str) -> Vec<NodeAddress> {
    ["one", "two", "three"]
        .map(|name| NodeAddress {
            name: name.to_string(),
            host: host.to_string(),
            client_port: 4222,
            cluster_port: 6222,
            monitor_port: 8222,
            store_dir: None,
        })
        .to_vec()
}

fn main_text(files: &ConfigFiles) -> &str {
    &files.files[0].text
}

#[test]
fn a_server_and_a_file_for_each_machine() {
    let files = server(&plan(&["laptop", "buildbox"])).unwrap();
    let names: Vec<_> = files.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["nats-server.conf", "laptop.user", "buildbox.user", "admin.user"]);
    assert_eq!(files.files[1].text, "laptop\nsecret-of-laptop\n");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("nats-server", main_text(&files)));
}

#[test]
fn names_that_would_break_out_are_refused() {
    for id in ["", "a.b", "*", ">", "a b", "a\"", "a\nb", "ä", "$SYS", &"x".repeat(65)] {
        let token = ServerConfigError::Token { what: "machine", text: id.to_string() };
        assert_eq!(server(&plan(&[id])).unwrap_err(), token);
        let mesh = ServerPlan { mesh: id.to_string(), ..plan(&["a"]) };
        assert!(matches!(server(&mesh).unwrap_err(), ServerConfigError::Token { what: "mesh", .. }));
    }
    assert_eq!(server(&plan(&["admin"])).unwrap_err(), ServerConfigError::Reserved);
    assert_eq!(server(&plan(&[])).unwrap_err(), ServerConfigError::NoMachine);
    let twice = ServerConfigError::Twice { what: "machine", name: "a".to_string() };
    assert_eq!(server(&plan(&["a", "b", "a"])).unwrap_err(), twice);
    let path = ServerPlan { store_dir: "/x\ny".to_string(), ..plan(&["a"]) };
    assert!(matches!(server(&path).unwrap_err(), ServerConfigError::Text { what: "directory", .. }));
}

#[test]
fn without_tls_nothing_but_the_machine_itself_is_served() {
    let open = Listen { host: "0.0.0.0".to_string(), port: 4222 };
    let files = server(&ServerPlan { listen: open.clone(), ..plan(&["a"]) }).unwrap();
    assert!(main_text(&files).contains("\nlisten: \"127.0.0.1:4222\"\n"), "{}", main_text(&files));
    let tls = TlsFiles {
        certificate: "/c".to_string(),
        key: "/k".to_string(),
        authority: None,
        must_verify_clients: false,
    };
    let files = server(&ServerPlan { listen: open, tls: Some(tls), ..plan(&["a"]) }).unwrap();
    assert!(main_text(&files).contains("\nlisten: \"0.0.0.0:4222\"\n"), "{}", main_text(&files));
    let cluster = |host: &str| cluster(&plan(&["a"]), &nodes(host), "routes");
    assert_eq!(cluster("192.0.2.1").unwrap_err(), ServerConfigError::ClusterWithoutTls);
    assert!(cluster("127.0.0.1").is_ok());
}

#[test]
fn a_cluster_has_three_nodes_or_five() {
    for count in [0, 1, 2, 4, 6] {
        let all = [nodes("::1"), nodes("::1")].concat();
        let refused = cluster(&plan(&["a"]), &all[..count], "routes").unwrap_err();
        assert_eq!(refused, ServerConfigError::NodeCount(count));
    }
}

#[test]
fn a_secret_is_not_printed_with_its_plan() {
    assert!(!format!("{:?}", plan(&["a"])).contains("secret"));
}
