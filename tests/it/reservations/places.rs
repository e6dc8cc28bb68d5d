//! Tests of where a pattern applies: directories, projects, work trees, links, and foreign registrations.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use ravenry::sys::test_switches;
use serde_json::{Value, json};

use super::{
    assert_free, assert_held, holder_in, listed, ok_in, refused, repository, reserve, root, run_in, two,
};
use crate::support::environment::{TestEnvironment, put, put_old};

/// A registration from pi-messenger's fixture, for a live process in that directory.
fn pi_messengers(env: &TestEnvironment, cwd: &Path) {
    for (name, file) in [("RedIce", "registry-RedIce.json"), ("IronZenith", "v050-registry-IronZenith.json")]
    {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/pi-messenger").join(file);
        let mut registration: Value = serde_json::from_str(&fs::read_to_string(fixture).unwrap()).unwrap();
        registration["pid"] = json!(env.pi_host());
        registration["cwd"] = json!(cwd);
        if name == "IronZenith" {
            registration["reservations"] = json!([{"pattern": "lib/", "since": "2026-11-14T23:57:56.077Z"}]);
        }
        put(&env.mesh().join(format!("registry/{name}.json")), &registration.to_string());
    }
}

#[test]
fn from_a_directory_below() {
    let env = two();
    let project = repository(&env, "project");
    let deep = project.join("src/auth");
    fs::create_dir_all(&deep).unwrap();
    let said = ok_in(&env, &deep, &["reserve", "login.rs", "../*.md", ".", "--as", "Alice"]);
    let patterns: Vec<&Value> =
        said["reservations"].as_array().unwrap().iter().map(|row| &row["pattern"]).collect();
    assert_eq!(patterns, ["src/auth/login.rs", "src/*.md", "src/auth/"]);
    let project_root = fs::canonicalize(&project).unwrap();
    assert_eq!(said["reservations"][0]["root"], project_root.to_str().unwrap(), "the work tree");
    let holds = |dir: &Path, path: &str| holder_in(&env, dir, "Bob", path).as_deref() == Some("Alice");
    assert!(holds(&project, "src/auth/login.rs") && holds(&project, "src/x.md"));
    assert!(holds(&project.join("src"), "auth/x") && holds(&deep, "x"));
    assert!(!holds(&project, "login.rs") && !holds(&project, "x.md") && !holds(&deep, "../../x.md"));
    // By its path from here, and by its name in the listing.
    ok_in(&env, &project.join("src"), &["release", "auth/login.rs", "--as", "Alice"]);
    ok_in(&env, &deep, &["release", "src/*.md", "--as", "Alice"]);
    assert_eq!(listed(&env), ["Alice src/auth/"]);
    ok_in(&env, &deep, &["release", ".", "--as", "Alice"]);
}

#[test]
fn absolute_patterns() {
    let env = two();
    let root = root(&env);
    let said = reserve(&env, "Alice", &[&format!("{root}/src/"), &format!("{root}/*.md")]);
    assert_eq!(said["reservations"][0]["pattern"], "src/", "beneath the root it is written from there");
    assert_eq!(said["reservations"][1]["pattern"], "*.md");
    assert_held(&env, "Bob", &["src/x", &format!("{root}/src/x"), "a.md"], "Alice");
    let outside = env.path().join("elsewhere").display().to_string();
    env.ok(&["reserve", &outside, "--force-broad", "--as", "Alice"]);
    assert_held(&env, "Bob", &[&format!("{outside}/x"), "../elsewhere/x"], "Alice");
    env.ok(&["release", "../elsewhere", "--as", "Alice"]);
    assert_free(&env, "Bob", &[&format!("{outside}/x")]);
}

#[test]
fn globs() {
    let env = two();
    reserve(&env, "Alice", &["src/{a,b}/*.[rt]s", "**/mod.rs", "x/**/y", "packages/*/"]);
    let held = ["src/a/x.rs", "src/b/y.ts", "mod.rs", "a/b/mod.rs", "x/y", "x/1/2/y", "packages/p/deep/x"];
    assert_held(&env, "Bob", &held, "Alice");
    assert_free(&env, "Bob", &["src/c/x.rs", "src/a/x.js", "src/a/b/x.rs", "amod.rs", "x/yy", "packages"]);
}

#[test]
fn a_file_that_looks_like_a_glob() {
    let env = two();
    put(&env.work().join("pages/[id].tsx"), "");
    let said = reserve(&env, "Alice", &["pages/[id].tsx"]);
    assert_eq!(said["reservations"][0]["pattern"], "pages/[id].tsx");
    assert_held(&env, "Bob", &["pages/[id].tsx"], "Alice");
    assert_free(&env, "Bob", &["pages/i.tsx", "pages/d.tsx"]);
    refused(&env, "Bob", &["pages/*.tsx"]);
    reserve(&env, "Bob", &["pages/i.tsx"]);
    assert_eq!(reserve(&env, "Alice", &["pages/[id].tsx"])["renewed"], 1);
    fs::remove_file(env.work().join("pages/[id].tsx")).unwrap();
    env.ok(&["release", "pages/[id].tsx", "--as", "Alice"]);
    assert_eq!(listed(&env), ["Bob pages/i.tsx"]);
    env.ok(&["release", "--as", "Bob"]);
    reserve(&env, "Alice", &["pages/[id].tsx"]);
    assert_held(&env, "Bob", &["pages/i.tsx", "pages/d.tsx"], "Alice");
    assert_free(&env, "Bob", &["pages/[id].tsx"]);
}

#[test]
fn too_much_is_meant_only_if_it_is_said() {
    let env = two();
    let outside = env.path().join("elsewhere/x").display().to_string();
    let around = env.path().display().to_string();
    for (patterns, why) in [
        (&["/", "/*", "//", "/**", "/../"][..], "the whole file system"),
        (&["~", "~/", "..", "../home", &around, "~/*.txt"], "your whole home directory"),
        (&[&outside, "../elsewhere", "../elsewhere/*.rs", "~/project"], "outside of"),
    ] {
        for pattern in patterns {
            let ended = run_in(&env, &env.work(), &["reserve", "x", pattern, "--as", "Alice"]);
            let error = ended.expect_code(2).json()["error"].clone();
            assert_eq!(error["kind"], "too_broad", "{pattern}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(why) && message.contains(&format!("`{pattern}`")), "{message}");
            let hint = error["hints"][0].as_str().unwrap();
            insta::allow_duplicates! { insta::assert_snapshot!(hint, @"to do it anyway, add `--force-broad`") };
        }
    }
    assert!(listed(&env).is_empty());
    for pattern in ["/", "~", "..", &outside, "~/*.txt"] {
        env.ok(&["reserve", pattern, "--force-broad", "--as", "Alice"]);
        let inside = if pattern == "~/*.txt" { "~/a.txt" } else { pattern };
        let path = inside.replace('~', env.home().to_str().unwrap());
        assert_held(&env, "Bob", &[&path], "Alice");
        env.ok(&["release", pattern, "--as", "Alice"]);
        assert!(listed(&env).is_empty(), "{pattern}");
    }
}

/// A link out of the work tree may lead to far too much.
#[test]
fn too_much_behind_a_link() {
    let env = two();
    symlink("/", env.work().join("all")).unwrap();
    symlink(env.home(), env.work().join("my")).unwrap();
    for pattern in ["all", "all/", "my", "all/*"] {
        assert_eq!(env.fails(2, &["reserve", pattern, "--as", "Alice"]), "too_broad", "{pattern}");
    }
}

#[test]
fn the_same_path_of_another_project_is_free() {
    let env = two();
    let (one, two) = (repository(&env, "one"), repository(&env, "two"));
    ok_in(&env, &one, &["reserve", "src/", "--as", "Alice"]);
    assert_eq!(holder_in(&env, &two, "Bob", "src/x"), None);
    assert_eq!(holder_in(&env, &two, "Bob", "../one/src/x").as_deref(), Some("Alice"));
    let said = run_in(&env, &two, &["reserve", "src/", "--as", "Bob"]).expect_code(0);
    assert_eq!(said.stderr, "", "and there is nothing to say about it");
    // Both have the same name: the one here is meant.
    ok_in(&env, &two, &["reserve", "lib", "--as", "Alice"]);
    ok_in(&env, &one, &["reserve", "lib", "--as", "Alice"]);
    ok_in(&env, &two, &["release", "lib", "--as", "Alice"]);
    assert_eq!(holder_in(&env, &one, "Bob", "lib").as_deref(), Some("Alice"));
    assert_eq!(holder_in(&env, &two, "Bob", "lib"), None);
}

#[test]
fn the_same_path_of_another_work_tree_is_said() {
    let env = two();
    let main = env.path().join("main");
    let git = |dir: &Path, args: &[&str]| {
        let mut command = Command::new("git");
        command.env_clear().env("HOME", env.home()).env("PATH", std::env::var("PATH").unwrap());
        command.args(["-c", "user.name=x", "-c", "user.email=x@example.org"]).args(args);
        assert!(command.current_dir(dir).status().unwrap().success(), "git {args:?}");
    };
    fs::create_dir(&main).unwrap();
    git(&main, &["init", "-q", "-b", "main"]);
    put(&main.join("src/a.rs"), "");
    git(&main, &["add", "."]);
    git(&main, &["commit", "-q", "-m", "first"]);
    git(&main, &["worktree", "add", "-q", "-b", "topic", "../linked"]);
    let linked = env.path().join("linked");
    ok_in(&env, &main, &["reserve", "src/", "--reason", "new login", "--as", "Alice"]);
    assert_eq!(holder_in(&env, &linked, "Bob", "src/a.rs"), None, "they are other files");
    let said = run_in(&env, &linked, &["reserve", "docs/", "--as", "Bob"]).expect_code(0);
    assert_eq!(said.stderr, "");
    let said = run_in(&env, &linked, &["reserve", "src/*.rs", "--as", "Bob"]).expect_code(0);
    let notice = &said.stderr;
    let there = fs::canonicalize(&main).unwrap().display().to_string();
    for word in ["Alice", "`src/`", "`src/*.rs`", &there] {
        assert!(notice.contains(word), "{word} in {notice}");
    }
    assert_eq!(notice.lines().count(), 1, "{notice}");
    assert_eq!(holder_in(&env, &main, "Bob", "src/a.rs").as_deref(), Some("Alice"));
    assert_eq!(holder_in(&env, &linked, "Alice", "src/a.rs").as_deref(), Some("Bob"));
}

#[test]
fn outside_of_any_repository_the_directory_counts() {
    let env = two();
    let below = env.work().join("below");
    fs::create_dir(&below).unwrap();
    let said = ok_in(&env, &below, &["reserve", "x", "--as", "Alice"]);
    assert_eq!(said["reservations"][0]["root"], format!("{}/below", root(&env)));
    assert_held(&env, "Bob", &["below/x"], "Alice");
    assert_free(&env, "Bob", &["x"]);
    let kind = run_in(&env, &below, &["reserve", "../y", "--as", "Alice"]).expect_code(2).kind();
    assert_eq!(kind, "too_broad", "nothing says that it belongs together");
}

#[test]
fn a_directory_and_the_link_to_it_are_the_same() {
    let env = two();
    fs::create_dir_all(env.work().join("real/deep")).unwrap();
    symlink("real", env.work().join("link")).unwrap();
    symlink(env.work().join("link/deep"), env.work().join("far")).unwrap();
    let all = ["real/deep/x", "link/deep/x", "far/x"];
    for pattern in ["real/deep", "link/deep/", "far", "link/deep/*", "far/{x,y}", "real/de*/x", "far/../deep"]
    {
        reserve(&env, "Alice", &[pattern]);
        for path in all {
            assert_held(&env, "Bob", &[path], "Alice");
            refused(&env, "Bob", &[path]);
        }
        assert_free(&env, "Bob", &["real/x", "link/x"]);
        env.ok(&["release", pattern, "--as", "Alice"]);
        assert_free(&env, "Bob", &all);
    }
}

/// After a link, `..` is the previous directory for the shell and the target's parent for the kernel. Both are
/// covered.
#[test]
fn up_from_a_link() {
    let env = two();
    fs::create_dir_all(env.work().join("real/deep")).unwrap();
    symlink("real/deep", env.work().join("link")).unwrap();
    for pattern in ["link/../x", "link/../x*"] {
        reserve(&env, "Alice", &[pattern]);
        assert_held(&env, "Bob", &["x", "real/x", "link/../x"], "Alice");
        env.ok(&["release", pattern, "--as", "Alice"]);
    }
    reserve(&env, "Alice", &["real/x"]);
    assert_held(&env, "Bob", &["link/../x"], "Alice");
}

#[test]
fn links_that_lead_nowhere_yet() {
    let env = two();
    symlink("not/yet", env.work().join("dangling")).unwrap();
    symlink("dangling", env.work().join("chain")).unwrap();
    symlink("loop", env.work().join("loop")).unwrap();
    reserve(&env, "Alice", &["chain"]);
    assert_held(&env, "Bob", &["chain/x", "dangling/x", "not/yet/x", "not/yet"], "Alice");
    assert_free(&env, "Bob", &["not"]);
    env.ok(&["release", "--as", "Alice"]);
    reserve(&env, "Alice", &["not/yet"]);
    assert_held(&env, "Bob", &["chain/x", "dangling", "not/yet"], "Alice");
    reserve(&env, "Alice", &["loop/x"]);
    assert_held(&env, "Bob", &["loop/x"], "Alice");
}

#[test]
fn short_id_are_the_same_however_they_were_typed() {
    let env = two();
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}");
    reserve(&env, "Alice", &[&format!("{composed}/"), &format!("{decomposed}s/*.md")]);
    assert_held(&env, "Bob", &[&format!("{decomposed}/menu"), &format!("{composed}/menu")], "Alice");
    assert_held(&env, "Bob", &[&format!("{composed}s/a.md"), &format!("{decomposed}s/a.md")], "Alice");
    refused(&env, "Bob", &[&format!("{decomposed}/menu")]);
    assert_free(&env, "Bob", &["cafe/menu"]);
    env.ok(&["release", decomposed, "--as", "Alice"]);
    assert_free(&env, "Bob", &[&format!("{composed}/menu")]);
}

/// The file system stores the link in the case in which it was created.
#[test]
fn a_link_with_decomposed_letters() {
    let env = two();
    fs::create_dir(env.work().join("real")).unwrap();
    symlink("real", env.work().join("cafe\u{301}")).unwrap();
    reserve(&env, "Alice", &["cafe\u{301}/x"]);
    assert_held(&env, "Bob", &["real/x", "cafe\u{301}/x"], "Alice");
}

#[test]
fn where_case_does_not_count() {
    let env = two();
    let caseless = [(test_switches::CASELESS, "1")];
    env.run_with(&["reserve", "src/Auth/", "Docs/*.MD", "--as", "Alice"], &caseless).expect_code(0);
    assert_held(&env, "Bob", &["SRC/auth/x", "src/Auth/x", "docs/a.md"], "Alice");
    refused(&env, "Bob", &["src/AUTH"]);
    env.ok(&["release", "--as", "Alice"]);
    reserve(&env, "Alice", &["src/Auth/"]);
    assert_free(&env, "Bob", &["src/auth/x"]);
    reserve(&env, "Bob", &["src/auth"]);
}

#[test]
fn what_pi_messengers_agents_hold() {
    let env = two();
    pi_messengers(&env, &env.work());
    assert_held(&env, "Bob", &["src/auth/login.ts", "config.yaml"], "RedIce");
    assert_held(&env, "Bob", &["lib/x"], "IronZenith");
    assert_free(&env, "Bob", &["src/authors", "config.yaml.bak"]);
    refused(&env, "Bob", &["src/**/*.ts"]);
    let listing = env.ok(&["reservations"]);
    let row = listing["reservations"].as_array().unwrap().iter().find(|row| row["pattern"] == "src/auth/");
    assert_eq!(
        (&row.unwrap()["holder"], &row.unwrap()["reason"]),
        (&json!("RedIce"), &json!("Refactoring authentication"))
    );
    for args in [&["reserve", "x"][..], &["release"]] {
        assert_eq!(env.fails(1, &[args, &["--as", "RedIce"]].concat()), "foreign_agent");
    }
    let elsewhere = env.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    assert_eq!(holder_in(&env, &elsewhere, "Bob", "config.yaml"), None);
    assert_eq!(holder_in(&env, &elsewhere, "Bob", "../work/config.yaml").as_deref(), Some("RedIce"));
}

#[test]
fn what_pi_messengers_agents_hold_behind_a_link() {
    let env = two();
    let link = env.path().join("link");
    symlink(env.work(), &link).unwrap();
    pi_messengers(&env, &link);
    assert_held(&env, "Bob", &["src/auth/login.ts", "config.yaml"], "RedIce");
    assert_eq!(holder_in(&env, &link, "Bob", "config.yaml").as_deref(), Some("RedIce"));
    refused(&env, "Bob", &["src/"]);
    // A link in the path of the pattern itself, too.
    fs::create_dir_all(env.work().join("lib-1.0")).unwrap();
    symlink("lib-1.0", env.work().join("lib")).unwrap();
    assert_held(&env, "Bob", &["lib-1.0/x"], "IronZenith");
}

#[test]
fn one_torn_registration_hides_nobody_elses() {
    let env = two();
    reserve(&env, "Alice", &["src/"]);
    let torn = env.mesh().join("registry/Aaron.json");
    put_old(&torn, "{\"name\": \"Aaron\", \"reservations\": [{\"pattern\": \"docs/\"");
    put_old(&env.mesh().join("registry/Zoe.json"), "");
    let ended = run_in(&env, &env.work(), &["check", "src/x", "--as", "Bob"]).expect_code(1);
    assert_eq!(ended.json()["paths"][0]["holder"], "Alice");
    assert!(ended.stderr.contains(torn.to_str().unwrap()), "and it is said: {ended}");
    refused(&env, "Bob", &["src/x"]);
    assert_eq!(listed(&env), ["Alice src/"]);
    assert_eq!(env.fails(4, &["reserve", "docs/", "--as", "Bob"]), "corrupt", "it may be somebody's");
    assert!(torn.exists(), "nobody threw it away");
}

/// Our reservations are stored twice: if the registration cannot be read, the session's record has them.
#[test]
fn what_a_damaged_registration_held_is_still_held() {
    let env = TestEnvironment::new();
    let host = env.join("Alice");
    env.join("Bob");
    reserve(&env, "Alice", &["src/"]);
    put_old(&env.mesh().join("registry/Alice.json"), "{\"name\": \"Alice\", \"pid");
    assert_held(&env, "Bob", &["src/x"], "Alice");
    refused(&env, "Bob", &["src/x"]);
    reserve(&env, "Bob", &["docs/"]);
    env.kill(host);
    assert_free(&env, "Bob", &["src/x"]);
    reserve(&env, "Bob", &["src/x"]);
}

#[test]
fn a_path_through_a_link_and_a_path_that_is_written_alike_are_both_held() {
    for patterns in [["link/../a", "a"], ["a", "link/../a"]] {
        for together in [true, false] {
            let env = two();
            fs::create_dir_all(env.work().join("there/dir")).unwrap();
            symlink("there/dir", env.work().join("link")).unwrap();
            let steps = if together { vec![&patterns[..]] } else { patterns.chunks(1).collect() };
            for patterns in steps {
                reserve(&env, "Alice", patterns);
            }
            assert_held(&env, "Bob", &["a", "there/a"], "Alice");
            env.ok(&["release", "a", "--as", "Alice"]);
            assert_free(&env, "Bob", &["a", "there/a"]);
        }
    }
}
