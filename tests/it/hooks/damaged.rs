//! Hooks when something around them is damaged: the home, the mesh, a registration, the disk, the lock.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, geteuid, mkfifo};
use ravenry::sys::flock::FileLock;

use super::harmless::{
    BY_FALCON, EDITS, ENDS, STARTS, held, hold, of, quiet, quiet_trouble, refused, troubles,
};
use crate::full_disk::{Scarce, SmallDisk};
use crate::support::environment::{Ended, PATIENCE, TestEnvironment, files_in, put, put_old, wait_until};
use crate::support::hook_fixture::{Fixture, feed, hook, in_shell, play, project};

/// Runs the payload's hook as a child of its harness, so that it can join.
#[track_caller]
fn play_in_harness(env: &TestEnvironment, fixture: &Fixture) -> Ended {
    let msg = hook(env, fixture.harness, &fixture.event);
    feed(&mut in_shell("\"$@\"", fixture.harness, &msg), fixture.payload.as_bytes())
}

#[test]
fn no_home() {
    let env = held();
    for name in EDITS {
        let edit = of(&env, name);
        let mut command = hook(&env, edit.harness, &edit.event);
        // Without a home there is no configuration.
        command.env_remove("HOME").env("MSG_MESH", env.mesh());
        refused(&feed(&mut command, edit.payload.as_bytes()), BY_FALCON, name);
    }
    for home in ["", "relative", "/dev/null", "/nowhere"] {
        let edit = of(&env, EDITS[0]);
        let mut command = hook(&env, edit.harness, &edit.event);
        command.env("HOME", home).env("MSG_MESH", env.mesh());
        refused(&feed(&mut command, edit.payload.as_bytes()), BY_FALCON, home);
    }
}

#[test]
fn a_working_directory_that_was_removed() {
    let env = held();
    for name in EDITS {
        let edit = of(&env, name);
        let msg = hook(&env, edit.harness, &edit.event);
        let mut command = in_shell("mkdir gone; cd gone; rmdir ../gone; \"$@\"", edit.harness, &msg);
        let ended = feed(&mut command, edit.payload.as_bytes());
        // Most payloads contain the directory.
        match edit.value().to_string().contains("\"cwd\"") {
            true => refused(&ended, BY_FALCON, name),
            false => quiet(&ended, name),
        }
    }
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_mesh_that_can_not_be_read() {
    let env = held();
    chmod(env.path(), 0o700);
    for name in EDITS.into_iter().chain(STARTS).chain(ENDS) {
        let fixture = of(&env, name);
        let mut command = hook(&env, fixture.harness, &fixture.event);
        match geteuid().is_root() {
            // Root may read everything, so use a user that has no access to the path at all.
            true => drop(command.current_dir("/").uid(65_534).gid(65_534)),
            false => chmod(&env.mesh(), 0o000),
        }
        let ended = feed(&mut command, fixture.payload.as_bytes());
        quiet(&ended, name);
        assert!(ended.stderr.contains("ermission denied"), "{ended}");
        chmod(&env.mesh(), 0o700);
    }
}

/// Meshes that are not usable, and why.
pub fn spoilt() -> [(&'static str, TestEnvironment); 3] {
    let file = TestEnvironment::new();
    project(&file);
    put(&file.mesh(), "");
    let open = held();
    chmod(&open.mesh(), 0o777);
    let registry = held();
    fs::remove_dir_all(registry.mesh().join("registry")).unwrap();
    put(&registry.mesh().join("registry"), "");
    [("is not a directory", file), ("may be written to by other users", open), ("registry", registry)]
}

#[test]
fn a_mesh_that_is_none_or_open_to_others() {
    for (why, env) in spoilt() {
        for name in EDITS.into_iter().chain(STARTS) {
            let ended = play(&env, &of(&env, name));
            quiet(&ended, name);
            assert!(ended.stderr.contains(why), "{name}: {ended}");
        }
    }
}

const BROKEN: [&str; 4] = ["{ oops", "[]", "{\"strict\": \"perhaps\"}", "{\"mesh\": 7}"];

/// An unreadable configuration does not lead to another mesh, wherever the mesh is named: reserved paths stay refused,
/// and `doctor` reports it.
#[test]
fn a_configuration_that_can_not_be_read_changes_nothing() {
    for env in [TestEnvironment::new(), TestEnvironment::configured()] {
        hold(&env);
        // Nothing else names the mesh while the configuration is broken.
        let good = fs::read_to_string(env.config_file()).ok();
        for broken in BROKEN {
            put(&env.config_file(), broken);
            for name in EDITS {
                refused(&play(&env, &of(&env, name)), BY_FALCON, &format!("{broken}: {name}"));
            }
            for name in STARTS {
                quiet(&play(&env, &of(&env, name)), name);
            }
            let lines = troubles(&env);
            let last = lines.last().unwrap_or_else(|| panic!("{broken}: a line is left"))["error"].clone();
            assert!(last.as_str().unwrap().contains("config.json"), "{last}");
            let doctor = env.run(&["doctor", "-v"]).expect_code(4);
            assert!(doctor.stdout.contains("the configuration can't be used"), "{doctor}");
            assert!(doctor.stdout.contains(&env.mesh().display().to_string()), "{doctor}");
        }
        let lines = troubles(&env).len();
        assert_eq!(lines, BROKEN.len(), "the same line is left once in a row");
        match good {
            Some(good) => put(&env.config_file(), &good),
            None => fs::remove_file(env.config_file()).unwrap(),
        }
        for file in [".ravenry/config.json", ".pi/pi-messenger.json"] {
            put(&env.home().join("project").join(file), "{ oops");
            refused(&play(&env, &of(&env, EDITS[0])), BY_FALCON, file);
        }
        assert_eq!(troubles(&env).len(), lines, "a project's file is for `doctor` to look at");
        assert!(!env.home().join(".local").exists(), "no other mesh was made");
    }
}

/// If no earlier configuration is known, no other mesh is used instead of the configured one.
#[test]
fn a_configuration_that_could_never_be_read_leads_to_no_mesh() {
    let env = TestEnvironment::configured();
    hold(&env);
    let fallback = env.home().join(".local/state/ravenry");
    fs::create_dir_all(fallback.parent().unwrap()).unwrap();
    let args = ["join", "Stranger", "--pid", &env.host().to_string(), "--json", "--mesh"].map(str::to_string);
    env.run(&args.iter().map(String::as_str).chain([fallback.to_str().unwrap()]).collect::<Vec<_>>())
        .expect_code(0);
    fs::remove_file(env.home().join(".config/ravenry/last-good.json")).unwrap();
    put(&env.config_file(), "{ oops");
    let before = files_in(&fallback);
    for name in EDITS.into_iter().chain(STARTS).chain(ENDS) {
        let ended = play(&env, &of(&env, name));
        quiet(&ended, name);
        assert!(ended.stderr.contains("config.json"), "{name}: {ended}");
    }
    assert_eq!(files_in(&fallback), before, "it is not the mesh");
    let doctor = env.run(&["doctor"]).expect_code(4);
    assert!(doctor.stdout.contains("config.json"), "{doctor}");
}

/// The last valid configuration is kept in a file of the user's, which is rewritten only if it changes.
#[test]
fn what_the_configuration_said_last_is_kept() {
    let env = TestEnvironment::configured();
    hold(&env);
    let kept = env.home().join(".config/ravenry/last-good.json");
    let stamp = || {
        let metadata = fs::metadata(&kept).unwrap();
        (metadata.ino(), metadata.modified().unwrap(), metadata.permissions().mode() & 0o777)
    };
    let first = stamp();
    assert_eq!(first.2, 0o600);
    for name in EDITS.into_iter().chain(STARTS) {
        play(&env, &of(&env, name));
    }
    assert_eq!(stamp(), first, "hooks write nothing");
    env.ok(&["config", "set", "mailTurns", "3"]);
    assert_eq!(stamp(), first, "that key is not kept");
    env.ok(&["config", "set", "strict", "true"]);
    assert_ne!(stamp(), first);
    assert!(fs::read_to_string(&kept).unwrap().contains("\"strict\":true"));
    // If nothing can be written next to it, it is kept in the state directory.
    let config = env.config_file();
    fs::remove_file(&kept).unwrap();
    fs::create_dir_all(kept.join("in the way")).unwrap();
    play(&env, &of(&env, EDITS[0]));
    assert!(env.home().join(".local/state/ravenry-config/last-good.json").exists());
    put(&config, "{ oops");
    refused(&play(&env, &of(&env, EDITS[0])), BY_FALCON, "from the state directory");
    // Without a configuration there is nothing to fall back to.
    fs::remove_dir_all(&kept).unwrap();
    fs::remove_file(&config).unwrap();
    env.run(&["agents"]).expect_code(0);
    assert!(!env.home().join(".local/state/ravenry-config/last-good.json").exists());
}

/// Damages a registration so that it cannot be read.
pub type Damage = fn(&Path);

pub const DAMAGES: [(&str, Damage); 4] = [
    ("torn", |path| put_old(path, "{\"name\": \"Torn\", \"pid\": ")),
    ("empty", |path| put_old(path, "")),
    ("a pipe", |path| mkfifo(path, Mode::S_IRWXU).unwrap()),
    ("a directory", |path| fs::create_dir(path).unwrap()),
];

#[test]
fn one_damaged_registration_does_not_open_what_others_hold() {
    for bystanders in [0, 5] {
        for (what, damage) in DAMAGES {
            let env = held();
            for number in 0..bystanders {
                env.join(&format!("Bystander{number}"));
            }
            damage(&env.mesh().join("registry/Torn.json"));
            for name in EDITS {
                refused(&play(&env, &of(&env, name)), BY_FALCON, &format!("{what}: {name}"));
            }
            let edit = of(&env, "claude/PreToolUse-Edit");
            let free = edit.payload.replace("src/lib.rs", "src/free.rs");
            quiet(&feed(&mut hook(&env, "claude", "PreToolUse"), free.as_bytes()), what);
        }
    }
}

#[test]
fn a_registration_that_is_being_written_is_not_waited_for_without_end() {
    let env = held();
    put(&env.mesh().join("registry/Torn.json"), "{\"name\": \"Torn\", ");
    for name in EDITS {
        refused(&play(&env, &of(&env, name)), BY_FALCON, name);
    }
}

#[test]
fn a_full_disk() {
    for scarce in [Scarce::Bytes, Scarce::Files] {
        let Some(disk) = SmallDisk::new(scarce) else { return };
        let env = &disk.env;
        hold(env);
        env.ok(&["config", "set", "autoRegister", "true"]);
        for (name, number) in ENDS.into_iter().zip(1..) {
            let session = of(env, name).session().unwrap();
            let host = env.host().to_string();
            env.ok(&["join", &format!("Raven{number}"), "--pid", &host, "--session", &session]);
        }
        disk.fill();
        for name in EDITS {
            refused(&play(env, &of(env, name)), BY_FALCON, name);
        }
        for name in STARTS.into_iter().chain(ENDS) {
            let ended = play_in_harness(env, &of(env, name));
            assert_eq!(ended.code, Some(0), "{scarce:?}: {name}: {ended}");
        }
        // The writes of this command cannot be predicted, and there is no space to record the state before it.
        let command = of(env, "claude/PreToolUse-Bash").payload.replace("echo hi > out.txt", "cargo test");
        quiet(&feed(&mut hook(env, "claude", "PreToolUse"), command.as_bytes()), "cargo test");
    }
}

/// Exceeding the file size limit kills a process that is not prepared for it.
#[test]
fn a_limit_on_the_size_of_files() {
    let env = held();
    env.ok(&["config", "set", "autoRegister", "true"]);
    for name in EDITS.into_iter().chain(STARTS) {
        let fixture = of(&env, name);
        let msg = hook(&env, fixture.harness, &fixture.event);
        let mut command = in_shell("ulimit -f 0; \"$@\"", fixture.harness, &msg);
        let ended = feed(&mut command, fixture.payload.as_bytes());
        match EDITS.contains(&name) {
            true => refused(&ended, BY_FALCON, name),
            false => quiet(&ended, name),
        }
    }
}

/// A stopped process that holds `mesh.lock`.
pub struct Stopped(Child);

impl Stopped {
    pub fn holding(lock: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([
            "--exact",
            "hooks::damaged::a_lock_is_held_until_told_otherwise",
            "--nocapture",
            "--quiet",
        ]);
        command.env("HOOKS_HOLD_LOCK", lock).stdin(Stdio::piped()).stdout(Stdio::null());
        let stopped = Self(command.spawn().unwrap());
        wait_until("the lock is held", || FileLock::try_acquire(lock).unwrap().is_none());
        kill(stopped.pid(), Signal::SIGSTOP).unwrap();
        let is_stopped = || {
            let status = waitpid(stopped.pid(), Some(WaitPidFlag::WUNTRACED | WaitPidFlag::WNOHANG)).unwrap();
            matches!(status, WaitStatus::Stopped(..))
        };
        wait_until("it is stopped", is_stopped);
        stopped
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.0.id() as i32)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// The body of [`Stopped`]'s process. Run as a test, it checks that the lock is held and released.
#[test]
fn a_lock_is_held_until_told_otherwise() {
    let Some(lock) = std::env::var_os("HOOKS_HOLD_LOCK") else {
        let env = TestEnvironment::new();
        let stopped = Stopped::holding(&env.path().join("lock"));
        assert!(FileLock::try_acquire(&env.path().join("lock")).unwrap().is_none());
        drop(stopped);
        assert!(FileLock::try_acquire(&env.path().join("lock")).unwrap().is_some());
        return;
    };
    let _held = FileLock::acquire(Path::new(&lock), PATIENCE).unwrap();
    // Until its parent ends.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn a_lock_that_nobody_lets_go_of_when_sessions_start() {
    let env = held();
    env.ok(&["config", "set", "autoRegister", "true"]);
    let stopped = Stopped::holding(&env.mesh().join("mesh.lock"));
    for (lines, name) in STARTS.into_iter().enumerate() {
        let error = quiet_trouble(&env, lines, &play_in_harness(&env, &of(&env, name)), name);
        assert!(error.contains("lock"), "{name}: {error}");
    }
    drop(stopped);
    for name in STARTS {
        let ended = play_in_harness(&env, &of(&env, name)).expect_code(0);
        assert!(ended.stdout.contains("You are "), "{name}: it joins: {ended}");
    }
    assert_eq!(troubles(&env).len(), STARTS.len());
}

#[test]
fn a_lock_that_nobody_lets_go_of_when_sessions_end() {
    let env = held();
    for (number, name) in ENDS.into_iter().enumerate() {
        let (host, session) = (env.host().to_string(), of(&env, name).session().unwrap());
        env.ok(&["join", &format!("Raven{number}"), "--pid", &host, "--session", &session]);
    }
    let everyone = env.names();
    let stopped = Stopped::holding(&env.mesh().join("mesh.lock"));
    for (lines, name) in ENDS.into_iter().enumerate() {
        let error = quiet_trouble(&env, lines, &play(&env, &of(&env, name)), name);
        assert!(error.contains("lock"), "{name}: {error}");
    }
    assert_eq!(env.names(), everyone);
    // A refusal is written before anything is recorded.
    let edit = of(&env, "claude/PreToolUse-Edit");
    assert_eq!(edit.session(), of(&env, "claude/SessionEnd").session(), "it is one of them");
    refused(&play(&env, &edit), "by GoldFalcon", "a refusal needs no lock");
    assert!(
        troubles(&env).last().unwrap()["error"].as_str().unwrap().contains("lock"),
        "nobody will be told"
    );
    drop(stopped);
    refused(&play(&env, &edit), "you should get a message when it is free", "now it can be noted");
    for name in ENDS {
        quiet(&play(&env, &of(&env, name)), name);
    }
    assert_eq!(env.names(), ["GoldFalcon"]);
    assert_eq!(troubles(&env).len(), ENDS.len() + 1);
}
