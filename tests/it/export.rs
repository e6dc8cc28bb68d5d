//! `msg export`: a page of everything, for a person.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use ravenry::sys::test_switches::{COUNT, NOW};
use serde_json::Value;

use crate::runs::put_profiles;
use crate::support::environment::{TestEnvironment, put};
use crate::support::terminal::harness;

/// The page of `env`, as it goes into a pipe.
#[track_caller]
fn page(env: &TestEnvironment, args: &[&str]) -> String {
    env.run(&[&["export"], args].concat()).expect_code(0).stdout
}

/// What must be well-formed, with what must be in it.
#[track_caller]
fn check(html: &str, wanted: &[&str]) {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..roxmltree::ParsingOptions::default() };
    let document = roxmltree::Document::parse_with_options(html, options).unwrap();
    let text: String = document.descendants().filter_map(|node| node.text()).collect();
    wanted.iter().for_each(|wanted| assert!(text.contains(wanted), "{wanted}: {text}"));
}

/// Alice and Bob, who wrote to each other, were in each other's way, and share tasks.
fn two_agents() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    put(&env.work().join("PLAN.md"), "- [ ] TASK-01 Log < in\n- [ ] TASK-02 Log out (needs: TASK-01)\n");
    for args in [
        ["spec", "PLAN.md", "--as", "Alice"].as_slice(),
        &["reserve", "src/auth/", "--reason", "the login", "--as", "Alice"],
        &["claim", "TASK-01", "--as", "Alice"],
        &["send", "Bob", "<b>May I have docs/?</b>", "--kind", "question", "--as", "Alice"],
        &["broadcast", "lunch\nat <noon>", "--as", "Bob"],
        &["complete", "TASK-01", "--notes", "all & tested", "--as", "Alice"],
    ] {
        env.ok(args);
    }
    env.fails(1, &["reserve", "src/auth/login.rs", "--as", "Bob"]);
    env
}

#[test]
fn everything_that_happened_is_on_the_page() {
    let env = two_agents();
    env.join("Carol");
    env.ok(&["leave", "--as", "Carol"]);
    let html = page(&env, &[]);
    let wanted = [
        "Alice",
        "Carol",
        "src/auth/",
        "the login",
        "held now",
        "<b>May I have docs/?</b>",
        "lunch\nat <noon>",
        "question",
        "not read yet",
        "Log < in",
        "all & tested",
        "1 of 2 done",
        "was refused src/auth/",
    ];
    check(&html, &wanted);
    let markdown = page(&env, &["--markdown"]);
    assert!(markdown.starts_with("# What the agents did\n"), "{markdown}");
    assert!(markdown.contains("<b>May I have docs/?</b>\n```"), "as it is, in a fence: {markdown}");
    assert!(markdown.contains("Log \\< in"), "{markdown}");
    let data = env.ok(&["export"]);
    assert_eq!(data["totals"]["messages"], 2);
    let hold = &data["reservations"][0];
    assert_eq!(
        (&hold["pattern"], &hold["holder"], &hold["to"]),
        (&"src/auth/".into(), &"Alice".into(), &Value::Null)
    );
    let agents = data["agents"].as_array().unwrap();
    let of = |name: &str| agents.iter().find(|agent| agent["name"] == name).unwrap();
    assert_eq!((&of("Bob")["refused"], &of("Alice")["completed"]), (&1.into(), &1.into()));
    assert_eq!(of("Carol")["presence"], Value::Null);
    assert!(of("Carol")["there"][0]["to"].is_string(), "{data}");
    assert_eq!(data["specs"][0]["tasks"][0]["state"], "done");
    // To look takes nothing from anybody.
    assert_eq!(env.ok(&["inbox", "--as", "Bob"])["messages"].as_array().unwrap().len(), 1);
}

/// The feed has the beginnings of texts. What was cut in a key does not look like one.
#[test]
fn the_beginning_of_a_secret_is_left_out() {
    let env = two_agents();
    let secret = format!("{} postgres://ann:s3cr3tpasswordlonger@db.example.org/x", "word ".repeat(9).trim());
    env.ok(&["broadcast", &secret, "--as", "Alice"]);
    let html = page(&env, &[]);
    assert!(html.contains("word word"), "{html}");
    assert!(!html.contains("s3cr3t"), "{html}");
}

#[test]
fn a_secret_where_a_text_is_cut_is_left_out() {
    let env = two_agents();
    let secret = |before: usize| {
        format!("{} postgres://ann:s3cr3tpasswordlonger@db.example.org/x", "w".repeat(before))
    };
    put_profiles(&env, "[builder]\ncommand = [\"echo\", \"done\"]\nisolation = \"none\"\n");
    env.run(&["run", "builder", &secret(85)]).expect_code(0);
    put(&env.path().join("long"), &secret(19_970));
    env.ok(&["send", "Bob", "--file", env.path().join("long").to_str().unwrap(), "--as", "Alice"]);
    let page = page(&env, &["--json"]);
    assert!(!page.contains("s3cr"), "{page}");
    let data = env.ok(&["export"]);
    assert_eq!(
        (data["runs"].as_array().unwrap().len(), data["masked"].as_u64() >= Some(2)),
        (1, true),
        "{data:#}"
    );
}

#[test]
fn a_file_in_a_directory_that_is_missing_is_not_made() {
    let env = two_agents();
    let ended = env.run(&["export", "--output", "no/page.html"]).expect_code(2);
    assert!(ended.stderr.contains("there is no directory") && !ended.stderr.contains("doctor"), "{ended}");
}

#[test]
fn a_broadcast_is_one_message_and_says_to_how_many() {
    let env = TestEnvironment::new();
    for name in ["Alice", "Bob", "Carol", "Dave"] {
        env.join(name);
    }
    env.ok(&["broadcast", "stop", "--as", "Alice"]);
    env.ok(&["read", "--as", "Bob"]);
    let data = env.ok(&["export"]);
    assert_eq!(data["totals"]["messages"], 1);
    let message = &data["messages"][0];
    assert_eq!(
        (message["to"].as_array().unwrap().len(), &message["state"]),
        (3, &"unread".into()),
        "{message}"
    );
    check(&page(&env, &[]), &["everyone (3)"]);
}

#[test]
fn a_file_is_new_whole_and_private_unless_it_is_to_be_replaced() {
    let env = two_agents();
    let told = env.ok(&["export", "--output", "page.html"]);
    let file = env.work().join("page.html");
    assert_eq!(
        (&told["format"], told["bytes"].as_u64()),
        (&"html".into(), Some(fs::metadata(&file).unwrap().len()))
    );
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    check(&fs::read_to_string(&file).unwrap(), &["Alice"]);

    put(&file, "mine");
    assert_eq!(env.fails(1, &["export", "--output", "page.html"]), "file_exists");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    env.ok(&["export", "--output", "page.html", "--force"]);
    check(&fs::read_to_string(&file).unwrap(), &["Alice"]);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    // A link is not followed, and its target is left alone.
    put(&env.work().join("target"), "mine");
    std::os::unix::fs::symlink("target", env.work().join("link.md")).unwrap();
    assert_eq!(env.fails(1, &["export", "--output", "link.md"]), "file_exists");
    env.ok(&["export", "--output", "link.md", "--force"]);
    assert_eq!(fs::read_to_string(env.work().join("target")).unwrap(), "mine");
    assert!(
        fs::read_to_string(env.work().join("link.md")).unwrap().starts_with("# "),
        "by its name it is Markdown"
    );

    fs::create_dir(env.work().join("dir")).unwrap();
    assert_eq!(env.fails(2, &["export", "--output", "dir"]), "invalid_value");
    assert_eq!(env.fails(2, &["export", "--output", "no/such/page.html"]), "invalid_value");
    assert_eq!(env.fails(2, &["export", "--output", "-"]), "invalid_value");
    assert_eq!(env.fails(2, &["export", "--html", "--markdown"]), "usage");
    let names: Vec<_> = fs::read_dir(env.work()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        names.iter().all(|name| !name.to_string_lossy().starts_with('.')),
        "nothing is left behind: {names:?}"
    );
}

#[test]
fn what_is_older_is_left_out() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    let send = |text: &str, at: &str| {
        env.run_with(&["send", "Bob", text, "--as", "Alice"], &[(NOW, at)]).expect_code(0);
    };
    send("the old one", "2099-05-17T08:00:00Z");
    send("the new one", "2099-05-17T09:00:00Z");
    let texts = |since: &str| -> Vec<String> {
        let args = ["export", "--json", "--since", since];
        let data =
            env.run_with(&args, &[(NOW, "2099-05-17T09:30:00Z"), ("TZ", "CET-1")]).expect_code(0).json();
        let events = data["events"].as_array().unwrap();
        let messages = data["messages"].as_array().unwrap();
        assert_eq!(
            events.iter().filter(|event| event["type"] == "message").count(),
            messages.len(),
            "{since}"
        );
        messages.iter().map(|message| message["text"].as_str().unwrap().to_string()).collect()
    };
    for since in ["45m", "2099-05-17T09:30", "2099-05-17T08:30:00Z"] {
        assert_eq!(texts(since), ["the new one"], "{since}");
    }
    assert_eq!(texts("2099-05-17"), ["the old one", "the new one"], "the whole day");
    assert_eq!(texts("2099-05-18"), [""; 0]);
    for bad in ["soon", "-2h", "17.5.2099", ""] {
        assert_eq!(env.fails(2, &["export", "--since", bad]), "invalid_value", "{bad}");
    }
}

#[test]
fn secrets_are_left_out_and_counted() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    let key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    env.ok(&["send", "Bob", &format!("use\n{key}\nfor now"), "--as", "Alice"]);
    env.ok(&["reserve", "src/", "--reason", &format!("token={key}"), "--as", "Alice"]);
    for args in [["--html"], ["--markdown"], ["--json"]] {
        let page = page(&env, &args);
        assert!(!page.contains("ghp_16C7"), "{page}");
        assert!(page.contains("for now"), "{page}");
    }
    assert!(env.ok(&["export"])["masked"].as_u64() >= Some(2));
    check(&page(&env, &[]), &["[left out: a line with a key]", "were left out"]);
}

#[test]
fn a_model_is_refused_and_told_what_a_person_would_type() {
    let env = two_agents();
    let mut shell = harness(&env, "claude");
    shell.msg("msg join Carol");
    for line in ["msg export", "msg export --as Alice", "msg export --output x.html", "msg export --limit 1"]
    {
        let ended = shell.run(&format!("{line} --json")).expect_code(1);
        assert_eq!(ended.kind(), "in_harness", "{line}: {ended}");
        assert!(ended.json()["error"]["hints"].to_string().contains("msg export"), "{ended}");
        assert!(!ended.stdout.contains("lunch"), "{ended}");
    }
    assert!(!env.work().join("x.html").exists());
}

#[test]
fn nothing_is_a_page_too() {
    let env = TestEnvironment::new();
    check(&page(&env, &[]), &["Nothing happened in this time."]);
    assert_eq!(env.ok(&["export"])["totals"]["agents"], 0);
    assert!(!env.mesh().exists(), "to look creates no mesh");
}

/// Of 50,000 messages, those that are shown are read, and the page says how many there are.
#[test]
fn many_messages_are_limited_and_the_rest_is_told() {
    const MANY: u64 = 50_000;
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    let id = env.ok(&["send", "Bob", "the last one", "--as", "Alice"])["sent"][0]["id"].clone();
    let sent = env.mesh().join("sent/Alice");
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let record =
        fs::read_dir(&sent).unwrap().map(|entry| name(entry.unwrap())).find(|name| name.ends_with(".json"));
    let record = record.unwrap();
    let template = fs::read_to_string(sent.join(&record)).unwrap();
    assert!(template.contains(id.as_str().unwrap()));
    let first: u64 = record[..13].parse::<u64>().unwrap() - MANY - 1;
    for number in 0..MANY - 1 {
        let text = template.replace("the last one", &format!("number {number}"));
        fs::write(sent.join(format!("{}-abcdef,Bob.json", first + number)), text).unwrap();
    }
    let counter = env.path().join("count");
    let args = ["export", "--output", "page.html"];
    env.run_with(&args, &[(COUNT, counter.to_str().unwrap())]).expect_code(0);
    let read = fs::metadata(env.path().join("count.message")).unwrap().len();
    assert!((2_000..2_100).contains(&read), "{read} messages were read");
    let html = fs::read_to_string(env.work().join("page.html")).unwrap();
    check(&html, &["newest 2,000 of 50,000", "the last one", "number 49998", "number 48001"]);
    assert!(!html.contains("number 47999"));
    assert!(html.len() < 4 * 1024 * 1024, "{} bytes", html.len());
    assert_eq!(env.ok(&["export", "--limit", "3"])["messages"].as_array().unwrap().len(), 3);
}
