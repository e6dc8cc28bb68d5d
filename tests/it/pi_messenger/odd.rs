//! Unusual registrations of pi-messenger affect at most their own agent, and their readable parts count.

use std::fs;

use serde_json::{Value, json};

use super::{pi, texts};
use crate::support::environment::{TestEnvironment, put_old};

const NAMES: [&str; 4] =
    ["all", "ravenry", "Élan Fox", "NameOfMoreThanFiftyCharactersWhichIsLongerThanOursMayBe"];

fn holding(pattern: &str) -> Value {
    json!({ "reservations": [{ "pattern": pattern, "since": "2026-11-14T10:00:00.000Z" }] })
}

#[test]
fn a_pi_with_a_name_that_we_do_not_accept_keeps_what_it_holds_and_stops_nobody() {
    for name in NAMES {
        let env = TestEnvironment::new();
        env.join("Wren");
        let host = pi(&env, name, holding("src/"));
        let names = env.names();
        let shown =
            names.iter().find(|shown| *shown != "Wren").unwrap_or_else(|| panic!("{name}: {names:?}"));
        assert_eq!(env.ok(&["whois", shown])["agent"]["pid"], host, "{name}");
        let check = env.run(&["check", "src/x", "--as", "Wren", "--json"]).expect_code(1).json();
        assert_eq!(check["paths"][0]["holder"], shown.as_str(), "{name}");
        assert_eq!(env.fails(1, &["reserve", "src/", "--as", "Wren"]), "reserved");
        env.ok(&["reserve", "docs/", "--as", "Wren"]);
        assert_eq!(env.fails(1, &["send", shown, "hello", "--as", "Wren"]), "unknown_agent");
        assert!(!env.mesh().join("inbox").join(shown).exists());
        let doctor = env.run(&["doctor", "-v"]).expect_code(0).stdout;
        assert!(doctor.contains(shown.as_str()), "{doctor}");
        env.kill(host);
        assert_eq!(env.names(), ["Wren"]);
        env.ok(&["reserve", "src/", "--as", "Wren"]);
        env.run(&["doctor"]).expect_code(0);
    }
}

#[test]
fn who_was_refused_by_an_odd_pi_is_told_when_it_is_gone() {
    let env = TestEnvironment::new();
    env.join("Wren");
    let host = pi(&env, "all", holding("src/"));
    assert_eq!(env.fails(1, &["reserve", "src/", "--as", "Wren"]), "reserved");
    assert!(texts(&env, "Wren").is_empty());
    env.kill(host);
    insta::assert_snapshot!(
        texts(&env, "Wren").join("\n"),
        @"`src/` is free: all-58e1 no longer holds it. To have it to yourself: msg reserve src/"
    );
}

#[test]
fn a_name_in_an_odd_registration_of_a_dead_pi_is_free() {
    let env = TestEnvironment::new();
    env.join("Wren");
    let host = pi(&env, "Robin", json!({ "sessionId": "" }));
    let join = |code| {
        env.run(&["join", "Robin", "--pid", &env.host().to_string(), "--session", "r", "--json"])
            .expect_code(code)
    };
    assert_eq!(join(1).kind(), "name_taken");
    env.kill(host);
    assert_eq!(join(0).json()["agent"]["name"], "Robin");
}

#[test]
fn half_an_emoji_in_a_registration_is_shown_and_stops_nobody() {
    let env = TestEnvironment::new();
    env.join("Wren");
    pi(&env, "PiBird", json!({ "statusMessage": "busy HALF" }));
    let path = env.mesh().join("registry/PiBird.json");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("HALF", r"\ud83d")).unwrap();
    env.ok(&["reserve", "docs/", "--as", "Wren"]);
    assert_eq!(env.ok(&["whois", "PiBird"])["agent"]["statusMessage"], "busy \u{fffd}");
    env.run(&["doctor"]).expect_code(0);
}

#[test]
fn half_an_emoji_in_a_message_or_a_task_stops_nobody() {
    let env = TestEnvironment::new();
    env.join("Wren");
    let message = r#"{"id":"m1","from":"PiBird","to":"Wren","text":"done \ud83d","timestamp":"2026-11-14T23:57:56.113Z","replyTo":null}"#;
    fs::write(env.mesh().join("inbox/Wren/1794700676113-gpvjoz.json"), message).unwrap();
    assert_eq!(texts(&env, "Wren"), ["done \u{fffd}"]);
    let done = r#"{"/x/s.md":{"T-1":{"completedBy":"PiBird","completedAt":"2026-11-15T22:00:00.000Z","notes":"done \ud83d"}}}"#;
    put_old(&env.mesh().join("completions.json"), done);
    let host = pi(&env, "PiBird", json!({}));
    let claims = format!(
        r#"{{"/x/s.md":{{"T-2":{{"agent":"PiBird","sessionId":"pi session of PiBird","pid":{host},"claimedAt":"2026-11-15T22:00:00.000Z","reason":"busy \ud83d"}}}}}}"#
    );
    put_old(&env.mesh().join("claims.json"), &claims);
    env.ok(&["claim", "X", "--adhoc", "--as", "Wren"]);
    env.ok(&["complete", "X", "--as", "Wren"]);
    for (file, text) in [("completions.json", r#""done \ud83d""#), ("claims.json", r#""busy \ud83d""#)] {
        let written = fs::read_to_string(env.mesh().join(file)).unwrap();
        assert!(written.contains(text), "{file}: {written}");
    }
}

/// Members that others added to a registration of ours are written back unchanged.
#[test]
fn half_an_emoji_of_others_survives_our_rewrite() {
    let env = TestEnvironment::new();
    env.join("Wren");
    let path = env.mesh().join("registry/Wren.json");
    let text = fs::read_to_string(&path).unwrap().replacen('{', r#"{"theirs": "half \ud83d", "#, 1);
    fs::write(&path, text).unwrap();
    env.ok(&["set-status", "busy", "--as", "Wren"]);
    let written = fs::read_to_string(&path).unwrap();
    assert!(written.contains(r#""theirs": "half \ud83d""#) && written.contains("busy"), "{written}");
}
