//! Programs are asked for their versions and servers for their models, with limits; what they answered is kept.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ravenry::sys::test_switches::{BACKGROUND, VERSION_MS};
use serde_json::{Value, json};

use super::{msg, program};
use crate::support::environment::{TestEnvironment, end, put, wait_until};
use crate::support::terminal::Terminal;

#[track_caller]
fn probe(env: &TestEnvironment) -> Value {
    end(msg(env).args(["workers", "--probe", "--json"])).expect_code(0).json()
}

#[track_caller]
fn look(env: &TestEnvironment) -> Value {
    end(msg(env).args(["workers", "--json"])).expect_code(0).json()
}

#[track_caller]
fn found<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let harnesses = answer["harnesses"].as_array().unwrap();
    harnesses.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{name}: {answer}"))
}

/// A script that notes that it was called, and prints a version.
fn counting(env: &TestEnvironment, name: &str, version: &str) {
    let log = env.path().join("called");
    program(env, name, &format!("echo {name} \"$@\" >>{}\necho '{name} {version} (x)'", log.display()));
}

fn calls(env: &TestEnvironment) -> usize {
    fs::read_to_string(env.path().join("called")).unwrap_or_default().lines().count()
}

fn is_alive(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// The pid that a stand-in wrote.
fn pid_in(file: &Path) -> i32 {
    wait_until("it runs", || fs::read_to_string(file).is_ok_and(|text| text.ends_with('\n')));
    fs::read_to_string(file).unwrap().trim().parse().unwrap()
}

#[test]
fn programs_of_every_kind() {
    let env = TestEnvironment::new();
    let child = env.path().join("child");
    program(&env, "claude", "echo '2.1.4 (Client)'");
    program(&env, "gemini", "while :; do echo 0123456789012345678901234567890123456789; done");
    let plain = program(&env, "opencode", "echo 1.0.0");
    fs::set_permissions(&plain, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    program(&env, "copilot", "echo something went wrong >&2; exit 3");
    fs::create_dir(env.home().join("bin/pi")).unwrap();
    put(&env.home().join("bin/qwen"), "#!/no/such/interpreter\n");
    fs::set_permissions(env.home().join("bin/qwen"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let probed = |limit: &str| {
        let ended = end(msg(&env).args(["workers", "--probe", "--json"]).env(VERSION_MS, limit));
        ended.expect_code(0).json()
    };
    let answer = probed("60000");
    assert_eq!(found(&answer, "claude")["version"], "2.1.4");
    assert_eq!(found(&answer, "claude")["path"], env.home().join("bin/claude").to_str().unwrap());
    for (name, trouble) in [
        ("gemini", "printed more than 64 KiB"),
        ("copilot", "failed with exit code 3"),
        ("qwen", "can't be started"),
    ] {
        let it = found(&answer, name);
        assert_eq!((&it["version"], &it["known"]), (&Value::Null, &Value::Null), "{it}");
        assert!(it["trouble"].as_str().unwrap().starts_with(trouble), "{it}");
    }
    let names: Vec<&Value> = answer["harnesses"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert!(!names.contains(&&json!("opencode")) && !names.contains(&&json!("pi")), "{names:?}");
    // What hangs is ended with all that it started.
    program(&env, "codex", &format!("/bin/sleep 1000 &\necho $! >{}\nwait", child.display()));
    let hung = found(&probed("2000"), "codex").clone();
    assert!(hung["trouble"].as_str().unwrap().starts_with("no answer within 2 s"), "{hung}");
    let child = pid_in(&child);
    wait_until("the child is gone", || !is_alive(child));
}

#[test]
fn without_probe_nothing_is_started() {
    let env = TestEnvironment::new();
    counting(&env, "claude", "2.0.1");
    let before = look(&env);
    assert_eq!((&found(&before, "claude")["version"], &before["askedAt"]), (&Value::Null, &Value::Null));
    assert_eq!(calls(&env), 0);
    assert_eq!(found(&probe(&env), "claude")["version"], "2.0.1");
    assert_eq!(calls(&env), 1);
    let after = look(&env);
    assert_eq!(found(&after, "claude")["version"], "2.0.1");
    assert!(after["askedAt"].is_string());
    assert_eq!(calls(&env), 1);
    assert_eq!(fs::read_to_string(env.path().join("called")).unwrap(), "claude --version\n");
    // Another program in its place is another version.
    counting(&env, "claude", "2.0.2");
    assert_eq!(found(&look(&env), "claude")["version"], Value::Null);
    fs::remove_file(env.home().join("bin/claude")).unwrap();
    assert_eq!(look(&env)["harnesses"], json!([]));
}

#[test]
fn a_later_call_knows_what_the_background_found_out() {
    let env = TestEnvironment::new();
    counting(&env, "claude", "2.0.1");
    let in_turn = || end(msg(&env).args(["workers", "--json"]).env(BACKGROUND, "wait")).expect_code(0).json();
    assert_eq!(found(&in_turn(), "claude")["version"], Value::Null, "nobody waits for it");
    assert_eq!(found(&in_turn(), "claude")["version"], "2.0.1");
    assert_eq!(calls(&env), 1, "what is fresh is not asked again");
    counting(&env, "claude", "2.0.2");
    assert_eq!(found(&in_turn(), "claude")["version"], Value::Null);
    assert_eq!(found(&in_turn(), "claude")["version"], "2.0.2");
    // What is damaged is made again.
    let cache = env.home().join(".cache/ravenry/workers.json");
    for damaged in ["", "{", "[1]", "{\"format\": 99}"] {
        fs::write(&cache, damaged).unwrap();
        assert_eq!(found(&in_turn(), "claude")["version"], Value::Null, "{damaged}");
        assert_eq!(found(&in_turn(), "claude")["version"], "2.0.2", "{damaged}");
    }
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&fs::metadata(&cache).unwrap()) & 0o777, 0o600);
}

#[test]
fn a_program_is_asked_outside_of_the_project() {
    let env = TestEnvironment::new();
    let place = env.path().join("place");
    program(&env, "claude", &format!("pwd >{}\necho 1.0.0", place.display()));
    probe(&env);
    assert_eq!(fs::read_to_string(place).unwrap(), "/\n");
}

#[test]
fn servers_that_answer_are_listed_with_their_models() {
    let env = TestEnvironment::new();
    let server = Arc::new(tiny_http::Server::http("127.0.0.1:0").unwrap());
    let address = server.server_addr().to_ip().unwrap().to_string();
    let answering = Arc::clone(&server);
    let asked = std::thread::spawn(move || {
        let request = answering.recv().unwrap();
        let url = request.url().to_string();
        let body = r#"{"models": [{"name": "llama3:8b"}, {"name": "evil\u001b[31m"}]}"#;
        request.respond(tiny_http::Response::from_string(body)).unwrap();
        url
    });
    let ended = end(msg(&env).args(["workers", "--probe", "--json"]).env("OLLAMA_HOST", &address));
    let models = ended.expect_code(0).json()["models"].clone();
    assert_eq!(asked.join().unwrap(), "/api/tags");
    let of_ollama: Vec<&Value> =
        models.as_array().unwrap().iter().filter(|model| model["server"] == "ollama").collect();
    assert_eq!(of_ollama.len(), 2, "{models}");
    assert_eq!(of_ollama[0]["name"], "llama3:8b");
    assert_eq!(of_ollama[0]["url"], format!("http://{address}"));
    let shown = end(msg(&env).arg("workers")).expect_code(0).stdout;
    assert!(shown.contains("llama3:8b") && !shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn ctrl_c_ends_what_was_asked() {
    let env = TestEnvironment::new();
    let running = env.path().join("running");
    program(&env, "claude", &format!("echo $$ >{}\nexec /bin/sleep 1000", running.display()));
    let mut command = msg(&env);
    let mut asking =
        command.args(["workers", "--probe"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let asked = pid_in(&running);
    kill(Pid::from_raw(asking.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(asking.wait().unwrap().code(), Some(130));
    wait_until("the program is gone", || !is_alive(asked));
    assert!(!env.home().join(".cache/ravenry/workers.json").exists());
}

#[test]
fn it_fits_on_a_terminal() {
    let env = TestEnvironment::new();
    for name in ["claude", "codex", "gemini"] {
        program(&env, name, "echo 12.34.567-beta.1");
    }
    put(&super::user_file(&env), "[builder]\nharness = 'codex'\nmodel = 'a-model-with-a-long-name'\n");
    put(&super::project_file(&env), "[lint]\ncommand = ['make', 'lint']\n[worktree]\nsetup = 'x'\n");
    probe(&env);
    let mut terminal = Terminal::open(&env);
    let bin = env.home().join("bin");
    let shown = terminal.show(&format!("PATH={}:$PATH msg workers --color never", bin.display()));
    for line in shown.lines().filter(|line| !line.contains("end of the line")) {
        assert!(line.trim_end().chars().count() <= 80, "{line}\n{shown}");
    }
    for wanted in [
        "Profiles",
        "needs trust: command",
        "codex, a-model-with-a-long-na…",
        "~/bin/claude",
        "12.34.567-beta.1",
    ] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
}
