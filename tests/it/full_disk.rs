//! A full disk: what can't be stored is refused and leaves nothing behind, what is stored is not lost.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use nix::unistd::{getgid, getuid};

use crate::support::environment::{Ended, TestEnvironment, end, put};
use crate::support::skip::skip;

/// What the disk runs out of.
#[derive(Clone, Copy, Debug)]
pub enum Scarce {
    Bytes,
    Files,
}

/// A mesh on a small file system of its own.
pub struct SmallDisk {
    // Dropped in this order: unmount before the directory is removed.
    mount: Mount,
    pub env: TestEnvironment,
    scarce: Scarce,
}

struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}

impl SmallDisk {
    /// `None`: only root may mount, and not everywhere.
    pub fn new(scarce: Scarce) -> Option<Self> {
        let env = TestEnvironment::new();
        fs::create_dir(env.mesh()).unwrap();
        let size = match scarce {
            Scarce::Bytes => "size=1m",
            Scarce::Files => "nr_inodes=100",
        };
        let options = format!("{size},mode=700,uid={},gid={}", getuid(), getgid());
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(env.mesh()).stderr(Stdio::null());
        if !mount.status().is_ok_and(|status| status.success()) {
            skip("a small disk can't be mounted here");
            return None;
        }
        Some(Self { mount: Mount(env.mesh()), env, scarce })
    }

    /// Uses up all room.
    pub fn fill(&self) {
        let dir = self.mount.0.join("fill");
        fs::create_dir(&dir).unwrap();
        match self.scarce {
            Scarce::Bytes => {
                let mut file = File::create(dir.join("0")).unwrap();
                while file.write_all(&[0; 4096]).is_ok() {}
            }
            Scarce::Files => {
                let mut numbers = 0..;
                while File::create(dir.join(numbers.next().unwrap().to_string())).is_ok() {}
            }
        }
    }

    fn free(&self) {
        fs::remove_dir_all(self.mount.0.join("fill")).unwrap();
    }

    /// The names in a directory of the mesh, in `tmp/` including those of dead processes.
    fn names(&self, dir: &str) -> Vec<String> {
        names(&self.env, dir)
    }
}

fn names(env: &TestEnvironment, dir: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(env.mesh().join(dir)) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[track_caller]
fn expect_full(ended: Ended) {
    let ended = ended.expect_code(4);
    assert_eq!(ended.kind(), "disk_full", "{ended}");
}

#[test]
fn what_can_not_be_stored_is_refused_and_what_is_stored_is_read() {
    for scarce in [Scarce::Bytes, Scarce::Files] {
        let Some(disk) = SmallDisk::new(scarce) else { return };
        let env = &disk.env;
        env.join("Alice");
        env.join("Bob");
        for text in ["one", "two"] {
            env.ok(&["send", "Bob", text, "--as", "Alice"]);
        }
        let before = ["inbox/Bob", "sent/Alice", "registry", "sessions"].map(|dir| disk.names(dir));
        disk.fill();
        for args in [
            ["send", "Bob", "three", "--as", "Alice", "--json"].as_slice(),
            &["send", "Bob,Alice", "three", "--as", "Alice", "--json"],
            &["broadcast", "three", "--as", "Alice", "--json"],
            // This one has never sent anything.
            &["send", "Alice", "three", "--as", "Bob", "--json"],
        ] {
            expect_full(env.run(args));
        }
        let after = ["inbox/Bob", "sent/Alice", "registry", "sessions"].map(|dir| disk.names(dir));
        assert_eq!(after, before, "{scarce:?}: nothing half done");
        assert!(disk.names("tmp").is_empty(), "{scarce:?}: {:?}", disk.names("tmp"));
        let looked = env.ok(&["inbox", "--as", "Bob"]);
        assert_eq!(looked["messages"].as_array().unwrap().len(), 2);
        let read = env.run(&["read", "--limit", "1", "--as", "Bob", "--json"]);
        let left = disk.names("inbox/Bob");
        assert!(left.iter().all(|name| name.ends_with(".json")), "{scarce:?}: {left:?}");
        match read.code {
            Some(0) => {
                assert_eq!(read.json()["messages"][0]["text"], "one", "{read}");
                assert_eq!(left.len(), 1, "{scarce:?}");
            }
            // There is not even room for the `seen` directory.
            _ => {
                assert_eq!(read.code, Some(4), "{scarce:?}: {read}");
                assert_eq!(left.len(), 2, "{scarce:?}: it is still there");
            }
        }
        disk.free();
        env.ok(&["send", "Bob", "four", "--as", "Alice"]);
        let history = || env.ok(&["history", "--as", "Bob"])["messages"].clone();
        env.ok(&["read", "--as", "Bob"]);
        let texts: Vec<String> = history()
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["text"].as_str().unwrap().to_string())
            .collect();
        assert_eq!(texts, ["one", "two", "four"], "{scarce:?}");
    }
}

/// The copy that is kept for Ghost is made after the one for Bob, whichever is named first, and finds no room.
#[test]
fn a_copy_that_was_sent_is_told_of_although_the_next_one_found_no_room() {
    let Some(disk) = SmallDisk::new(Scarce::Bytes) else { return };
    let env = &disk.env;
    for name in ["Alice", "Bob", "Ghost"] {
        env.join(name);
    }
    env.ok(&["leave", "--as", "Ghost"]);
    env.ok(&["send", "Ghost,Bob", "one", "--hold", "--as", "Alice"]);
    let text = env.work().join("text");
    put(&text, &"x".repeat(60_000));
    disk.fill();
    let fill = File::options().write(true).open(env.mesh().join("fill/0")).unwrap();
    fill.set_len(fill.metadata().unwrap().len() - 100_000).unwrap();
    let file = text.to_str().unwrap();
    let ended = env.run(&["send", "Ghost,Bob", "--file", file, "--hold", "--as", "Alice", "--json"]);
    assert_eq!(disk.names("inbox/Bob").len(), 2, "{ended}");
    assert_eq!((ended.code, ended.kind().as_str()), (Some(1), "not_all_sent"), "{ended}");
    assert_eq!(ended.json()["error"]["notSentTo"], serde_json::json!(["Ghost"]), "{ended}");
}

#[test]
fn nobody_half_joins_on_a_full_disk() {
    for scarce in [Scarce::Bytes, Scarce::Files] {
        let Some(disk) = SmallDisk::new(scarce) else { return };
        let env = &disk.env;
        env.join("Alice");
        disk.fill();
        let host = env.host().to_string();
        let join = ["join", "Bob", "--pid", &host, "--session", "s", "--json"];
        expect_full(env.run(&join));
        assert_eq!(disk.names("registry"), ["Alice.json"], "{scarce:?}");
        let sessions: Vec<_> =
            disk.names("sessions").into_iter().filter(|name| name.ends_with(".json")).collect();
        assert_eq!(sessions.len(), 1, "{scarce:?}: {sessions:?}");
        assert!(disk.names("tmp").is_empty(), "{scarce:?}: {:?}", disk.names("tmp"));
        assert_eq!(env.names(), ["Alice"], "{scarce:?}: looking still works");
        disk.free();
        env.run(&join).expect_code(0);
        assert_eq!(env.names(), ["Alice", "Bob"]);
    }
}

#[test]
fn a_watcher_survives_a_full_disk() {
    let Some(disk) = SmallDisk::new(Scarce::Bytes) else { return };
    let env = &disk.env;
    env.join("Alice");
    env.join("Bob");
    for text in ["one", "two"] {
        env.ok(&["send", "Bob", text, "--as", "Alice"]);
    }
    disk.fill();
    let watcher = crate::support::running::Running::watch(env);
    crate::support::environment::wait_until("they are handed over", || watcher.texts() == ["one", "two"]);
    crate::support::environment::wait_until("they are recorded", || disk.names("inbox/Bob").is_empty());
    disk.free();
    env.ok(&["send", "Bob", "three", "--as", "Alice"]);
    crate::support::environment::wait_until("it goes on", || watcher.texts() == ["one", "two", "three"]);
}

/// Runs `msg` with a limit of a few hundred bytes for any file it writes, which needs no privilege.
fn limited(env: &TestEnvironment, prelude: &str, args: &[&str]) -> Ended {
    limited_to(1, env, prelude, args)
}

/// The same with this many blocks, whose size depends on the shell.
fn limited_to(blocks: usize, env: &TestEnvironment, prelude: &str, args: &[&str]) -> Ended {
    let msg = env.msg();
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{prelude} ulimit -f {blocks}; exec \"$@\""), "sh"])
        .arg(msg.get_program())
        .args(args);
    command.env_clear().envs(msg.get_envs().filter_map(|(name, value)| Some((name, value?))));
    end(command.current_dir(env.work()).stdin(Stdio::null()))
}

#[test]
fn a_box_that_can_not_be_ticked_is_no_reason_to_fail() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let (spec, text) =
        (env.work().join("spec.md"), format!("- [ ] TASK-01: one\n\n{}\n", "x".repeat(100_000)));
    put(&spec, &text);
    env.ok(&["claim", "TASK-01", "--spec", "spec.md", "--as", "Alice"]);
    let args = ["complete", "TASK-01", "--tick", "--as", "Alice", "--json"];
    let ended = limited_to(64, &env, "trap '' XFSZ;", &args).expect_code(0);
    assert_eq!(ended.json()["ticked"], false, "{ended}");
    assert!(ended.stderr.contains("the box of `TASK-01` is not ticked: "), "{ended}");
    assert_eq!(fs::read_to_string(&spec).unwrap(), text);
    assert_eq!(env.ok(&["tasks", "--spec", "spec.md"])["tasks"][0]["state"], "done", "it stands");
}

#[test]
fn a_message_that_exceeds_the_file_size_limit_is_refused_whole() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    let text = env.work().join("text");
    put(&text, &"x".repeat(100_000));
    let args = ["send", "Bob", "--file", text.to_str().unwrap(), "--as", "Alice", "--json"];
    expect_full(limited(&env, "trap '' XFSZ;", &args));
    assert!(names(&env, "inbox/Bob").is_empty());
    assert!(names(&env, "tmp").is_empty());
    assert!(names(&env, "sent/Alice").iter().all(|name| !name.ends_with(".json")));
    env.ok(&args[..args.len() - 1]);
    let read = limited(&env, "trap '' XFSZ;", &["read", "--as", "Bob", "--json"]).expect_code(0);
    assert_eq!(read.json()["messages"][0]["text"].as_str().unwrap().len(), 100_000, "a pipe has no size");
    assert!(names(&env, "inbox/Bob").is_empty());
}

/// What a mesh says about agents and tasks, byte by byte.
fn registrations_and_tasks(env: &TestEnvironment) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut paths = vec![env.mesh().join("claims.json"), env.mesh().join("completions.json")];
    for dir in ["registry", "sessions"] {
        paths.extend(names(env, dir).iter().map(|name| env.mesh().join(dir).join(name)));
    }
    paths.into_iter().map(|path| (path.clone(), fs::read(path).ok())).collect()
}

/// Registrations and completions are small enough for the limit, and the claims are not: so the other files could be
/// written, and this one fails.
#[test]
fn a_task_is_changed_with_its_paths_or_not_at_all() {
    let env = TestEnvironment::new();
    for name in ["Alice", "Bob", "Carol"] {
        env.join(name);
    }
    env.ok(&["claim", "OTHER", "--adhoc", "--reason", "long", "--as", "Carol"]);
    env.ok(&["reserve", "src/a", "--as", "Alice"]);
    let claims = env.mesh().join("claims.json");
    let lengthen = || {
        let text = fs::read_to_string(&claims).unwrap();
        fs::write(&claims, text.replace("\"long\"", &format!("\"{}\"", "x".repeat(100_000)))).unwrap();
    };
    lengthen();
    let fails = |args: &[&str]| {
        let before = registrations_and_tasks(&env);
        expect_full(limited_to(64, &env, "trap '' XFSZ;", &[args, &["--json"]].concat()));
        let after = registrations_and_tasks(&env);
        let changed: Vec<_> =
            after.iter().filter(|file| !before.contains(file)).map(|file| &file.0).collect();
        assert!(changed.is_empty() && after.len() == before.len(), "{args:?} changed {changed:?}");
        assert!(names(&env, "tmp").is_empty(), "{args:?}: {:?}", names(&env, "tmp"));
    };
    let claim = ["claim", "TASK", "--adhoc", "--reserve", "src/a", "--as", "Alice"];
    fails(&claim);
    env.ok(&claim);
    fails(&["handoff", "TASK", "Bob", "--as", "Alice"]);
    fails(&["complete", "TASK", "--notes", "well", "--as", "Alice"]);
    fails(&["unclaim", "TASK", "--as", "Alice"]);
    env.ok(&["complete", "TASK", "--as", "Alice"]);
}

#[test]
fn output_on_a_full_disk_leaves_the_mail_where_it_is() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    env.ok(&["send", "Bob", "hello", "--as", "Alice"]);
    for args in [["read", "--json"], ["wait", "--json"], ["watch", "--json"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut child = env.msg().args(args).args(["--as", "Bob"]).stdout(full).spawn().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(4), "{args:?}");
        assert_eq!(names(&env, "inbox/Bob").len(), 1, "{args:?}");
    }
    assert_eq!(env.ok(&["read", "--as", "Bob"])["messages"][0]["text"], "hello");
}

/// No half or empty settings file, and no record of an installation that never happened.
#[test]
fn settings_of_a_harness_are_as_they_were() {
    for scarce in [Scarce::Bytes, Scarce::Files] {
        let Some(disk) = SmallDisk::new(scarce) else { return };
        let env = &disk.env;
        let home = env.mesh().display().to_string();
        let settings = env.mesh().join(".codex/hooks.json");
        fs::create_dir(settings.parent().unwrap()).unwrap();
        fs::write(&settings, "{\"a\": 1}").unwrap();
        let run = |verb: &str| env.run_with(&[verb, "codex", "--json"], &[("HOME", &home)]);
        disk.fill();
        expect_full(run("install"));
        assert_eq!(fs::read_to_string(&settings).unwrap(), "{\"a\": 1}");
        disk.free();
        run("install").expect_code(0);
        let with = fs::read_to_string(&settings).unwrap();
        disk.fill();
        // What is removed first may make room for the rest.
        let ended = run("uninstall");
        assert!([Some(0), Some(4)].contains(&ended.code), "{ended}");
        assert!([with.as_str(), "{\"a\": 1}"].contains(&fs::read_to_string(&settings).unwrap().as_str()));
        disk.free();
        run("uninstall").expect_code(0);
        assert_eq!(fs::read_to_string(&settings).unwrap(), "{\"a\": 1}");
        assert_eq!(fs::read_dir(env.mesh().join(".codex")).unwrap().count(), 1, "nothing else is left there");
    }
}
