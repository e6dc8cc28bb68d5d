//! Nothing leads out of the mesh, and no other user gets in.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use crate::support::environment::TestEnvironment;

mod foreign;
mod framing;
mod planted;
mod threats;
mod traversal;

/// Names that must be rejected everywhere. (An argument can't contain a NUL.)
const BAD_NAMES: [&str; 12] = [
    "../x",
    ".hidden",
    "a/b",
    "",
    "-x",
    "a b",
    "Ärger",
    "All",
    "ravenry",
    "a\nb",
    "x.json",
    "x123456789x123456789x123456789x123456789x1234567890",
];

fn everything_in(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(dir) else { return found };
    for entry in entries {
        let path = entry.unwrap().path();
        found.push(path.display().to_string());
        found.extend(everything_in(&path));
    }
    found.sort();
    found
}

#[test]
fn bad_names_are_refused_as_arguments_and_nothing_is_written() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let host = env.host().to_string();
    let before = everything_in(env.path());
    for name in BAD_NAMES {
        for args in [
            vec!["join", "--pid", &host, "--", name],
            vec!["rename", "--as", "Alice", "--", name],
            vec!["whois", "--", name],
            vec!["brief", "--", name],
            vec!["evict", "--as", "Alice", "--", name],
        ] {
            let ended = env.run(&[&["--json"], args.as_slice()].concat()).expect_code(2);
            assert_eq!(ended.kind(), "invalid_name", "{args:?}");
        }
        let ended = env.run(&["--json", &format!("--as={name}"), "whoami"]).expect_code(2);
        assert_eq!(ended.kind(), "invalid_name", "--as {name:?}");
    }
    assert_eq!(everything_in(env.path()), before);
}

#[test]
fn bad_names_are_refused_from_the_environment() {
    let env = TestEnvironment::new();
    let host = env.host().to_string();
    // An empty variable counts as not set.
    for name in BAD_NAMES.into_iter().filter(|name| !name.is_empty()) {
        for variable in ["MSG_AGENT", "PI_AGENT_NAME"] {
            let ended = env.run_with(&["join", "--json", "--pid", &host], &[(variable, name)]).expect_code(2);
            assert_eq!(ended.kind(), "invalid_name", "${variable}={name:?}");
        }
    }
    assert!(!env.mesh().exists());
}

#[test]
fn bad_names_are_refused_in_word_lists() {
    let env = TestEnvironment::new();
    let host = env.host().to_string();
    for word in
        BAD_NAMES.into_iter().filter(|name| !matches!(*name, "All" | "ravenry" | "-x")).chain(["a\0b"])
    {
        let words = serde_json::json!({ "adjectives": [word], "nouns": ["Fox"] }).to_string();
        let variables = [("MSG_NAME_THEME", "custom"), ("MSG_NAME_WORDS", &words)];
        let ended = env.run_with(&["join", "--json", "--pid", &host], &variables).expect_code(4);
        assert_eq!(ended.kind(), "bad_config", "{word:?}");
    }
    assert!(!env.mesh().exists());
}

#[test]
fn a_file_whose_name_is_another_is_nobody() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let registry = env.mesh().join("registry");
    let mut registration = env.registration("Alice");
    for (file, name) in [("Bob", "../Alice"), ("Carol", "Alice"), ("..dave", "..dave")] {
        registration["name"] = name.into();
        fs::write(registry.join(format!("{file}.json")), registration.to_string()).unwrap();
    }
    let listing = env.ok(&["agents"]);
    assert_eq!(listing["agents"].as_array().unwrap().len(), 1);
    assert_eq!(listing["unreadable"].as_array().unwrap().len(), 3);
}

#[test]
fn session_ids_of_any_kind_stay_inside() {
    let env = TestEnvironment::new();
    for (number, session) in ["../../x", "/etc/passwd", ".", "a b", "ü", "%00"].into_iter().enumerate() {
        let (name, host) = (format!("Agent{number}"), env.host().to_string());
        env.ok(&["join", &name, "--pid", &host, "--session", session]);
        env.ok(&["leave", "--as", &name]);
    }
    for path in everything_in(env.path()) {
        let inside = [env.mesh(), env.home(), env.work()].iter().any(|dir| Path::new(&path).starts_with(dir));
        assert!(inside, "{path}");
    }
    let host = env.host().to_string();
    assert_eq!(env.fails(2, &["join", "--pid", &host, "--session", ""]), "invalid_value");
    assert_eq!(env.fails(2, &["join", "--pid", &host, "--session", "a\nb"]), "invalid_value");
}

#[test]
fn a_bug_of_ours_is_reported_as_one() {
    let env = TestEnvironment::new();
    let ended =
        env.run_with(&["agents", "--json"], &[(ravenry::sys::test_switches::PANIC, "oh no")]).expect_code(70);
    assert_eq!(ended.kind(), "bug");
    assert!(ended.stderr.contains("oh no"), "{ended}");
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_mesh_that_others_may_write_to_is_refused() {
    let env = TestEnvironment::new();
    env.join("Alice");
    set_mode(&env.mesh(), 0o777);
    for args in [["agents"].as_slice(), &["whoami", "--as", "Alice"], &["join"]] {
        let host = env.host().to_string();
        let args = if args == ["join"] { vec!["join", "--pid", &host] } else { args.to_vec() };
        assert_eq!(env.fails(4, &args), "unsafe_mesh");
    }
    assert_eq!(mode(&env.mesh()), 0o777, "it is the user who decides");
    insta::assert_snapshot!(env.redact(env.run(&["agents"])), @"
    [exit 4]
    --- stderr
    error: the mesh is not safe: `[DIR]/mesh` may be written to by other users (mode 777)
    hint: to make it safe, run `chmod go-w [DIR]/mesh`
    ");
}

#[test]
fn the_command_that_mends_it_mends_it() {
    let env = TestEnvironment::new();
    env.join("Alice");
    set_mode(&env.mesh(), 0o777);
    let hint = env.run(&["agents", "--json"]).json()["error"]["hints"][0].as_str().unwrap().to_string();
    let command = hint.split('`').nth(1).unwrap();
    assert!(std::process::Command::new("sh").args(["-c", command]).status().unwrap().success(), "{command}");
    assert_eq!(env.names(), ["Alice"]);
}

#[test]
fn a_directory_above_that_others_may_write_to_is_refused_unless_it_is_sticky() {
    let env = TestEnvironment::new();
    let above = env.path().join("above");
    fs::create_dir(&above).unwrap();
    let mesh = above.join("mesh");
    let join = |env: &TestEnvironment| {
        env.run(&["join", "--json", "--pid", &env.host().to_string(), "--mesh", mesh.to_str().unwrap()])
    };
    join(&env).expect_code(0);
    set_mode(&above, 0o777);
    assert_eq!(join(&env).expect_code(4).kind(), "unsafe_mesh");
    set_mode(&above, 0o1777);
    join(&env).expect_code(0);
}

#[test]
fn a_mesh_that_is_only_loose_is_tightened_and_that_is_said_once() {
    let env = TestEnvironment::new();
    env.join("Alice");
    set_mode(&env.mesh(), 0o775);
    env.join("Bob");
    for writes in [
        ["send", "Bob", "hi", "--as", "Alice"].as_slice(),
        &["reserve", "src/", "--as", "Alice"],
        &["read", "--as", "Bob"],
    ] {
        set_mode(&env.mesh(), 0o775);
        for looks in [
            ["agents"].as_slice(),
            &["check", "x"],
            &["whoami", "--as", "Bob"],
            &["inbox", "--as", "Bob"],
            &["statusline"],
        ] {
            assert_eq!(env.run(looks).expect_code(0).stderr, "", "{looks:?}");
        }
        assert_eq!(mode(&env.mesh()), 0o775, "looking changes nothing");
        let doctor = env.run(&["doctor"]).expect_code(0);
        assert!(doctor.stdout.contains("mode 775"), "{doctor}");
        assert_eq!(mode(&env.mesh()), 0o775);
        let first = env.run(writes).expect_code(0);
        assert!(first.stderr.contains("775"), "{first}");
        assert_eq!(mode(&env.mesh()), 0o700, "{writes:?}");
        assert_eq!(env.run(&["set-status", "busy", "--as", "Alice"]).expect_code(0).stderr, "");
    }
    set_mode(&env.mesh(), 0o770);
    env.run(&["doctor", "--repair"]).expect_code(0);
    assert_eq!(mode(&env.mesh()), 0o700);
}

/// `/` belongs to root; as root, the test uses a directory of another user.
#[test]
fn a_mesh_of_another_user_is_refused_also_behind_a_link() {
    let env = TestEnvironment::new();
    let theirs = if nix::unistd::geteuid().is_root() {
        let dir = env.path().join("theirs");
        fs::create_dir(&dir).unwrap();
        chown(&dir, Some(65534), Some(65534)).unwrap();
        dir
    } else {
        Path::new("/").to_path_buf()
    };
    let link = env.path().join("link");
    symlink(&theirs, &link).unwrap();
    for mesh in [&theirs, &link] {
        let mesh = mesh.to_str().unwrap();
        assert_eq!(env.fails(4, &["agents", "--mesh", mesh]), "unsafe_mesh");
        assert_eq!(env.fails(4, &["join", "--pid", &env.host().to_string(), "--mesh", mesh]), "unsafe_mesh");
    }
    assert!(everything_in(&theirs).is_empty() || theirs == Path::new("/"));
}

#[test]
fn a_link_to_ones_own_mesh_is_fine_and_a_file_is_none() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let link = env.path().join("link");
    symlink(env.mesh(), &link).unwrap();
    let listing = env.ok(&["agents", "--mesh", link.to_str().unwrap()]);
    assert_eq!(listing["agents"][0]["name"], "Alice");
    let file = env.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(env.fails(4, &["agents", "--mesh", file.to_str().unwrap()]), "unsafe_mesh");
}

#[test]
fn all_that_we_make_is_private_whatever_the_umask() {
    let env = TestEnvironment::new();
    let msg = env!("CARGO_BIN_EXE_msg");
    let (alice, bob) = (env.host(), env.host());
    let mut shell = std::process::Command::new("sh");
    shell.args([
        "-c",
        &format!(
            "umask 000; set -e; {msg} join Alice --pid {alice}; {msg} join Bob --pid {bob}; {msg} send Bob hi --as Alice; \
             {msg} read --ack --as Bob; {msg} reserve src/ --as Alice; {msg} claim T-1 --adhoc --as Alice; \
             {msg} complete T-1 --as Alice; echo x | {msg} hook claude Stop; {msg} send Bob more --as Alice; \
             {msg} leave --as Bob"
        ),
    ]);
    shell.env_clear().env("HOME", env.home()).env("MSG_MESH", env.mesh()).current_dir(env.work());
    shell.env(ravenry::sys::test_switches::ANCESTRY_END, std::process::id().to_string());
    assert!(shell.output().unwrap().status.success());
    assert_eq!(env.names(), ["Alice"]);
    for made in
        ["sent/Alice", "seen/Bob", "graves", "feed", "claims.json", "completions.json", "trouble.jsonl"]
    {
        assert!(env.mesh().join(made).exists(), "{made}");
    }
    for path in everything_in(&env.mesh()) {
        let expected = if Path::new(&path).is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(Path::new(&path)), expected, "{path}");
    }
}
