//! If something is broken, git commits as usual and the hook says that nothing was checked. With `strict`, a mesh that
//! cannot be read is a refusal.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use insta::assert_snapshot;
use ravenry::sys::test_switches;

use super::fixture::{Repo, everything, guarded, put_program, repo, set_mode};
use crate::support::environment::{Ended, end, put, put_old};

const UNSEEN: &str = "msg guard: nobody looked whether others have reserved what this commit changes";

/// A copy of the program that can be broken, in a directory whose name needs quoting.
fn with_own_program(repo: &Repo) -> PathBuf {
    let program = repo.env.path().join("it's $HOME `x`/msg");
    fs::create_dir(program.parent().unwrap()).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_msg"), &program).unwrap();
    program
}

/// Runs `guard install` with that copy.
#[track_caller]
fn install(repo: &Repo, program: &PathBuf, path: Option<&str>) {
    let msg = repo.env.msg();
    let mut command = Command::new(program);
    command.env_clear().current_dir(repo.root()).args(["guard", "install"]);
    for (name, value) in msg.get_envs() {
        command.env(name, value.unwrap());
    }
    if let Some(path) = path {
        command.env("PATH", path);
    }
    end(&mut command).expect_code(0);
}

/// Commits Alice's path: the commit is let through, and the hook says so.
#[track_caller]
fn unseen(repo: &Repo, what: &str) -> Ended {
    repo.write("src/a.rs", what);
    let ended = repo.git(&["commit", "-qam", what]).expect_code(0);
    assert!(ended.stderr.contains(UNSEEN), "{what}: {ended}");
    ended
}

#[test]
fn a_program_that_is_gone_or_broken() {
    type Break = (&'static str, fn(&PathBuf));
    const BROKEN: [Break; 11] = [
        ("removed", |_| ()),
        ("a directory", |program| fs::create_dir(program).unwrap()),
        ("not executable", |program| put(program, "")),
        ("empty", |program| put_program(program, "")),
        ("half of it", |program| {
            let whole = fs::read(env!("CARGO_BIN_EXE_msg")).unwrap();
            fs::write(program, &whole[..4000]).unwrap();
            set_mode(program, 0o755);
        }),
        ("garbage", |program| put_program(program, "refused: \u{0}(((\n")),
        ("another program that says no", |program| put_program(program, "#!/bin/sh\nexit 1\n")),
        ("one that knows no guard", |program| put_program(program, "#!/bin/sh\necho usage\nexit 2\n")),
        ("one with a bug", |program| put_program(program, "#!/bin/sh\necho refused: oops\nexit 70\n")),
        ("one that is killed", |program| put_program(program, "#!/bin/sh\nkill -9 $$\n")),
        ("no interpreter", |program| put_program(program, "#!/no/such/thing\n")),
    ];
    for script in [None, Some("#!/bin/sh -eu\n")] {
        let repo = repo();
        let program = with_own_program(&repo);
        script.iter().for_each(|script| repo.put_hook(script));
        install(&repo, &program, None);
        repo.write("src/a.rs", "held\n");
        repo.refused(&["commit", "-qam", "as long as it works"], "src/a.rs");
        fs::remove_file(&program).unwrap();
        for (what, break_it) in BROKEN {
            break_it(&program);
            // An empty file is a script that succeeds.
            if what == "empty" {
                repo.write("src/a.rs", what);
                repo.git(&["commit", "-qam", what]).expect_code(0);
            } else {
                unseen(&repo, what);
            }
            match program.is_dir() {
                true => fs::remove_dir(&program).unwrap(),
                false => drop(fs::remove_file(&program)),
            }
        }
    }
}

/// If this binary is the `msg` that a shell finds, the hook uses the name, so that it still works when the binary
/// moves.
#[test]
fn a_program_on_the_path() {
    let repo = repo();
    let program = with_own_program(&repo);
    let system = std::env::var("PATH").unwrap();
    let path = format!("{}:{system}", program.parent().unwrap().display());
    install(&repo, &program, Some(&path));
    let text = fs::read_to_string(repo.hook()).unwrap();
    assert!(text.contains("for ravenry_msg in msg '/"), "{text}");

    repo.write("src/a.rs", "held\n");
    let commit =
        |path: &str| end(repo.git_command(&repo.root()).args(["commit", "-qam", "x"]).env("PATH", path));
    let refused =
        |ended: Ended| assert!(ended.code == Some(1) && ended.stderr.contains("refused: "), "{ended}");
    refused(commit(&path));
    refused(commit(&system));
    let elsewhere = repo.env.path().join("elsewhere");
    put_program(&elsewhere.join("msg"), "#!/bin/sh\necho I am another\nexit 1\n");
    let stranger = format!("{}:{system}", elsewhere.display());
    refused(commit(&stranger));
    fs::rename(&program, elsewhere.join("msg")).unwrap();
    refused(commit(&stranger));
}

/// The name and the path are the same program, which is called once.
#[test]
fn an_error_is_told_once() {
    let repo = repo();
    let program = with_own_program(&repo);
    let links = repo.env.path().join("links");
    fs::create_dir(&links).unwrap();
    symlink(&program, links.join("msg")).unwrap();
    let system = std::env::var("PATH").unwrap();
    for (number, dir) in [program.parent().unwrap(), &links].into_iter().enumerate() {
        let path = format!("{}:{system}", dir.display());
        install(&repo, &program, Some(&path));
        set_mode(&repo.env.mesh(), 0o777);
        repo.write("src/a.rs", &number.to_string());
        let mut commit = repo.git_command(&repo.root());
        let ended = end(commit.args(["commit", "-qam", "x"]).env("PATH", &path)).expect_code(0);
        assert_eq!(ended.stderr.matches("error: ").count(), 1, "{ended}");
        assert!(ended.stderr.contains(UNSEEN), "{ended}");
        set_mode(&repo.env.mesh(), 0o700);
    }
}

/// Installed with `--mesh`, the hook uses that mesh.
#[test]
fn a_mesh_of_its_own() {
    let repo = repo();
    let mesh = repo.env.path().join("it's another");
    fs::rename(repo.env.mesh(), &mesh).unwrap();
    repo.env.ok(&["guard", "install", "--mesh", mesh.to_str().unwrap()]);
    repo.write("src/a.rs", "held\n");
    repo.refused(&["commit", "-qam", "x"], "src/a.rs");
    // Installed again without it, the hook uses the usual mesh.
    assert_eq!(repo.env.ok(&["guard", "install"])["changed"].as_array().unwrap().len(), 1);
    repo.committed(&["commit", "-qam", "x"]);
}

/// A kind of damage to a mesh, and how it is done.
type Damage = (&'static str, fn(&Repo));

const DAMAGES: [Damage; 3] = [
    ("is no directory", |repo| {
        fs::rename(repo.env.mesh(), repo.env.path().join("away")).unwrap();
        put(&repo.env.mesh(), "");
    }),
    ("can be written to by", |repo| set_mode(&repo.env.mesh(), 0o777)),
    ("registry", |repo| {
        fs::rename(repo.env.mesh().join("registry"), repo.env.path().join("away")).unwrap();
        put(&repo.env.mesh().join("registry"), "");
    }),
];

fn strict(repo: &Repo) {
    put(&repo.env.home().join(".config/ravenry/config.json"), "{\"strict\": true}");
}

#[test]
fn a_mesh_that_can_not_be_read() {
    let mut told = String::new();
    for (why, damage) in DAMAGES {
        let repo = guarded();
        damage(&repo);
        let ended = unseen(&repo, why);
        told += &repo.env.redact(&ended.stderr);
        repo.write("src/a.rs", "more\n");
        repo.git(&["add", "."]).expect_code(0);
        repo.env.run(&["guard", "check"]).expect_code(4);
        strict(&repo);
        let before = repo.head();
        let ended = repo.git(&["commit", "-qm", why]).expect_code(1);
        told += &format!("with `strict`:\n{}\n", repo.env.redact(&ended.stderr));
        assert_eq!(repo.head(), before, "{why}");
        assert_eq!(repo.env.fails(1, &["guard", "check"]), "not_checked", "{why}");
        repo.git(&["commit", "--no-verify", "-qm", why]).expect_code(0);
        repo.env.ok(&["guard", "uninstall"]);
    }
    assert_snapshot!(told, @"
    error: the mesh is not safe: `[DIR]/mesh` is not a directory
    hint: name another directory with `--mesh DIR` or $MSG_MESH
    msg guard: nobody looked whether others have reserved what this commit changes (is msg still there?)
    with `strict`:
    refused: cannot check who has reserved what
    error: cannot check whether others have reserved what is staged: the mesh is not safe: `[DIR]/mesh` is not a directory
    hint: name another directory with `--mesh DIR` or $MSG_MESH
    hint: you are refused because `strict` is set: `msg config get strict`
    hint: to commit anyway (people only): `git commit --no-verify`

    error: the mesh is not safe: `[DIR]/mesh` may be written to by other users (mode 777)
    hint: to make it safe, run `chmod go-w [DIR]/mesh`
    msg guard: nobody looked whether others have reserved what this commit changes (is msg still there?)
    with `strict`:
    refused: cannot check who has reserved what
    error: cannot check whether others have reserved what is staged: the mesh is not safe: `[DIR]/mesh` may be written to by other users (mode 777)
    hint: to make it safe, run `chmod go-w [DIR]/mesh`
    hint: you are refused because `strict` is set: `msg config get strict`
    hint: to commit anyway (people only): `git commit --no-verify`

    error: failed to read directory `[DIR]/mesh/registry`: Not a directory (os error 20)
    hint: run `msg doctor` to see what is wrong with the mesh
    msg guard: nobody looked whether others have reserved what this commit changes (is msg still there?)
    with `strict`:
    refused: cannot check who has reserved what
    error: cannot check whether others have reserved what is staged: failed to read directory `[DIR]/mesh/registry`: Not a directory (os error 20)
    hint: run `msg doctor` to see what is wrong with the mesh
    hint: you are refused because `strict` is set: `msg config get strict`
    hint: to commit anyway (people only): `git commit --no-verify`
    ");
}

#[test]
fn a_registration_that_can_not_be_read() {
    let repo = guarded();
    put_old(&repo.env.mesh().join("registry/Eve.json"), "{\"name\": \"Eve\", ");
    repo.write("d.txt", "free\n");
    assert_snapshot!(repo.env.redact(repo.git(&["commit", "-qam", "free"])), @"
    --- stderr
    note: cannot tell what `[DIR]/mesh/registry/Eve.json` reserves: EOF while parsing a value at line 1 column 16
    ");
    repo.write("src/a.rs", "held\n");
    repo.refused(&["commit", "-qam", "held"], "src/a.rs");
    repo.git(&["checkout", "-q", "src"]).expect_code(0);
    strict(&repo);
    repo.write("d.txt", "perhaps\n");
    assert_snapshot!(repo.env.redact(repo.git(&["commit", "-qam", "perhaps"])), @"
    [exit 1]
    --- stderr
    refused: cannot check who has reserved what
    error: cannot check whether others have reserved what is staged: cannot tell what `[DIR]/mesh/registry/Eve.json` reserves: EOF while parsing a value at line 1 column 16
    hint: inspect the file, then repair or remove it
    hint: you are refused because `strict` is set: `msg config get strict`
    hint: to commit anyway (people only): `git commit --no-verify`
    ");
}

/// The guard still checks if the configuration cannot be read.
#[test]
fn a_configuration_that_can_not_be_read() {
    let repo = guarded();
    put(&repo.env.home().join(".config/ravenry/config.json"), "{\"strict\": tr");
    repo.write("src/a.rs", "held\n");
    repo.refused(&["commit", "-qam", "held"], "src/a.rs");
    repo.env.run(&["guard", "uninstall"]).expect_code(0);
}

#[test]
fn a_bug_of_ours() {
    let repo = guarded();
    repo.write("src/a.rs", "held\n");
    let mut commit = repo.git_command(&repo.root());
    let ended = end(commit.args(["commit", "-qam", "x"]).env(test_switches::PANIC, "oh no")).expect_code(0);
    assert!(ended.stderr.contains(UNSEEN) && ended.stderr.contains("oh no"), "{ended}");
}

/// A user who forces colours everywhere still gets the word that the hook looks for.
#[test]
fn colours_do_not_hide_the_answer() {
    let repo = guarded();
    repo.write("src/a.rs", "held\n");
    let mut commit = repo.git_command(&repo.root());
    let ended = end(commit.args(["commit", "-qam", "x"]).env("CLICOLOR_FORCE", "1")).expect_code(1);
    assert!(ended.stderr.contains("refused: "), "{ended}");
}

#[test]
fn a_hook_that_can_not_be_written() {
    let repo = repo();
    let hooks = repo.root().join(".git/hooks");
    let (before, msg) = (everything(&hooks), repo.env.msg());
    // Only this limit applies to root too.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"]).arg(msg.get_program());
    command.args(["guard", "install", "--json"]).env_clear().current_dir(repo.root());
    command.envs(msg.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = end(&mut command).expect_code(4);
    assert_eq!(ended.kind(), "disk_full", "{ended}");
    assert_eq!(everything(&hooks), before);
}
