//! Tests of which directory is the mesh, and that it stays the same.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{OURS, document, shown, untold};
use crate::support::environment::{Ended, TestEnvironment, end, put};

/// The mesh that doctor reports, and the reason.
fn mesh_and_reason(command: &mut Command) -> (String, String) {
    let said: Value = end(command.args(["doctor", "--json"])).json();
    let checks = said["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "mesh").unwrap();
    let (mesh, reason) = check["message"].as_str().unwrap().rsplit_once(": ").unwrap();
    (mesh.to_string(), reason.to_string())
}

/// The sources are removed one by one; the first that is left decides.
#[test]
fn which_mesh_it_is() {
    let env = TestEnvironment::new();
    let (flag, own, pi) = (env.path().join("flag"), env.path().join("own"), env.path().join("pi"));
    let pi_messenger = env.home().join(".pi/agent/messenger");
    let state = env.path().join("state");
    fs::create_dir_all(&pi_messenger).unwrap();
    put(&env.home().join(OURS), r#"{"mesh": "~/configured"}"#);
    let command = |variables: &[(&str, &Path)]| {
        let mut command = untold(&env);
        command.envs(variables.iter().copied());
        command
    };
    let check = |command: &mut Command, mesh: &Path, why: &str| {
        assert_eq!(mesh_and_reason(command), (shown(mesh), why.to_string()));
    };
    let all: [(&str, &Path); 3] = [("XDG_STATE_HOME", &state), ("PI_MESSENGER_DIR", &pi), ("MSG_MESH", &own)];
    check(command(&all).arg("--mesh").arg(&flag), &flag, "--mesh says so");
    check(&mut command(&all), &own, "$MSG_MESH says so");
    check(&mut command(&all[..2]), &pi, "$PI_MESSENGER_DIR says so");
    check(&mut command(&all[..1]), &env.home().join("configured"), &format!("`~/{OURS}` says so"));
    fs::remove_file(env.home().join(OURS)).unwrap();
    check(&mut command(&all[..1]), &pi_messenger, "pi-messenger's, which is there already");
    fs::remove_dir_all(&pi_messenger).unwrap();
    check(&mut command(&all[..1]), &state.join("ravenry"), "the default");
    check(&mut command(&[]), &env.home().join(".local/state/ravenry"), "the default");
    let empty = Path::new("");
    let mesh = env.home().join(".local/state/ravenry");
    check(&mut command(&[("MSG_MESH", empty), ("PI_MESSENGER_DIR", empty)]), &mesh, "the default");
    assert!(!mesh.exists(), "looking makes nothing");
}

fn join(command: &mut Command, env: &TestEnvironment, name: &str) -> Ended {
    end(command.args(["join", name, "--pid", &env.host().to_string()]))
}

#[test]
fn the_first_to_join_settles_which_mesh_it_is() {
    let env = TestEnvironment::new();
    let mesh = env.home().join(".local/state/ravenry");
    end(untold(&env).arg("agents")).expect_code(0);
    join(&mut untold(&env), &env, "../x").expect_code(2);
    assert!(!env.home().join(OURS).exists(), "nobody has joined yet");
    let said = join(&mut untold(&env), &env, "Alice").expect_code(0).stdout;
    assert!(
        said.contains(&format!(
            "Your agents will meet in {} (the \"mesh\"; saved in `~/{OURS}`).",
            shown(&mesh)
        )),
        "{said}"
    );
    assert_eq!(document(&env.home().join(OURS)), json!({ "mesh": shown(&mesh) }));
    fs::create_dir_all(env.home().join(".pi/agent/messenger")).unwrap();
    assert_eq!(mesh_and_reason(&mut untold(&env)).0, shown(&mesh), "pi moves nobody");
    let said = join(&mut untold(&env), &env, "Bob").expect_code(0).stdout;
    assert_eq!(said, "Joined as Bob. One other agent is here: `msg agents`.\n");
    let me = end(untold(&env).args(["whoami", "--as", "Bob", "--json"])).expect_code(0).json();
    assert_eq!(me["mesh"], shown(&mesh));
}

#[test]
fn who_finds_pi_messenger_settles_on_its_mesh() {
    let env = TestEnvironment::new();
    let mesh = env.home().join(".pi/agent/messenger");
    fs::create_dir_all(&mesh).unwrap();
    put(&env.home().join(OURS), r#"{"mailTurns": 3}"#);
    join(&mut untold(&env), &env, "Alice").expect_code(0);
    assert_eq!(document(&env.home().join(OURS)), json!({ "mailTurns": 3, "mesh": shown(&mesh) }));
    assert!(mesh.join("registry/Alice.json").exists());
}

#[test]
fn a_mesh_that_was_told_is_not_written_down() {
    let env = TestEnvironment::new();
    let told = env.path().join("told");
    join(untold(&env).arg("--mesh").arg(&told), &env, "Alice").expect_code(0);
    join(&mut env.msg(), &env, "Alice").expect_code(0);
    join(untold(&env).env("PI_MESSENGER_DIR", env.path().join("pi")), &env, "Alice").expect_code(0);
    assert!(!env.home().join(".config").exists());
    assert!(told.join("registry/Alice.json").exists() && env.path().join("pi/registry/Alice.json").exists());
}
