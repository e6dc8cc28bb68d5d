//! What happens to tasks when their owners leave, die or are renamed, and when a command was cut short.

use serde_json::json;

use super::fixture::{assert_state, claim, holder, key, on_disk, refused, states, three};
use crate::support::environment::{date, put};

#[test]
fn a_dead_agents_task_is_free_at_once() {
    let env = three();
    let dan = env.join("Dan");
    env.ok(&["spec", "spec.md", "--as", "Dan"]);
    claim(&env, "Dan", &["TASK-01", "--reserve", "src/"]);
    assert_eq!(holder(&env, "src/x").as_deref(), Some("Dan"));
    let before = on_disk(&env, "claims.json");
    env.kill(dan);
    assert_state(&env, "TASK-01 open");
    assert_eq!(holder(&env, "src/x"), None);
    assert_eq!(on_disk(&env, "claims.json"), before, "looking writes nothing");
    assert_eq!(claim(&env, "Alice", &["--next", "--reserve", "src/"])["task"], "TASK-01");
    assert_state(&env, "TASK-01 claimed Alice");
    assert_eq!(holder(&env, "src/x").as_deref(), Some("Alice"));
    // A later agent called Dan has nothing to do with it.
    env.join("Dan");
    assert_eq!(env.fails(1, &["complete", "TASK-01", "--spec", "spec.md", "--as", "Dan"]), "not_yours");
}

#[test]
fn stale_claims_are_gone_from_the_file_with_the_next_write() {
    let env = three();
    let dan = env.join("Dan");
    env.ok(&["claim", "TASK-01", "--spec", "spec.md", "--as", "Dan"]);
    env.kill(dan);
    claim(&env, "Alice", &["TASK-02"]);
    let claims = on_disk(&env, "claims.json");
    assert!(claims[key(&env, "spec.md")].get("TASK-01").is_none(), "{claims}");
}

#[test]
fn of_a_death_the_feed_hears_once() {
    let env = three();
    let dan = env.join("Dan");
    env.ok(&["spec", "spec.md", "--as", "Dan"]);
    claim(&env, "Dan", &["TASK-01"]);
    env.kill(dan);
    for _ in 0..3 {
        refused(&env, "Bob", &["NO-1"]);
    }
    let feed = std::fs::read_to_string(env.mesh().join("feed/000000000000.jsonl")).unwrap();
    assert_eq!(feed.matches("\"stale\"").count(), 1, "{feed}");
}

#[test]
fn leaving_gives_the_task_back() {
    let env = three();
    claim(&env, "Alice", &["TASK-01", "--reserve", "src/"]);
    env.ok(&["leave", "--as", "Alice"]);
    assert_state(&env, "TASK-01 open");
    assert_eq!(on_disk(&env, "claims.json"), json!({}));
    assert_eq!(holder(&env, "src/x"), None);
    claim(&env, "Bob", &["TASK-01"]);
}

#[test]
fn a_new_name_takes_the_claim_along() {
    let env = three();
    claim(&env, "Alice", &["TASK-01", "--reserve", "src/"]);
    env.ok(&["rename", "Anna", "--as", "Alice"]);
    assert_state(&env, "TASK-01 claimed Anna");
    assert_eq!(holder(&env, "src/x").as_deref(), Some("Anna"));
    assert_eq!(refused(&env, "Bob", &["TASK-01"]), "already_claimed");
    assert_eq!(refused(&env, "Anna", &["TASK-02"]), "already_have_claim");
    env.ok(&["complete", "TASK-01", "--as", "Anna"]);
    assert_state(&env, "TASK-01 done Anna");
    assert_eq!(holder(&env, "src/x"), None);
}

/// `complete` died after the completion was written and before the claim was removed.
#[test]
fn what_is_done_is_done_even_if_its_claim_is_still_there() {
    let env = three();
    claim(&env, "Alice", &["TASK-01", "--reserve", "src/"]);
    let done = json!({key(&env, "spec.md"): {"TASK-01": {
        "completedBy": "Alice", "completedAt": "2026-11-15T06:00:00.000Z",
    }}});
    put(&env.mesh().join("completions.json"), &done.to_string());
    assert_state(&env, "TASK-01 done Alice");
    assert_eq!(holder(&env, "src/x"), None, "the claim counts as given up, and so do its paths");
    // Both may have been written within one tick of the clock.
    let now = std::time::SystemTime::now();
    for file in ["claims.json", "completions.json"] {
        date(&env.mesh().join(file), now);
    }
    assert_eq!(holder(&env, "src/x"), None, "also where the time of neither file is later");
    env.ok(&["reserve", "src/", "--as", "Bob"]);
    assert_eq!(refused(&env, "Bob", &["TASK-01"]), "already_completed");
    assert_eq!(env.ok(&["complete", "TASK-01", "--as", "Alice"])["already"], true);
    assert_eq!(env.fails(1, &["unclaim", "--as", "Alice"]), "not_claimed");
    claim(&env, "Alice", &["TASK-02"]);
    assert!(on_disk(&env, "claims.json")[key(&env, "spec.md")].get("TASK-01").is_none());
    let expected =
        ["TASK-01 done Alice", "TASK-02 claimed Alice", "TASK-03 blocked", "TASK-04 done", "TASK-05 open"];
    assert_eq!(states(&env), expected);
}

/// An agent of pi-messenger: a bare pid, and the session in its registration.
#[test]
fn claims_of_pi_messenger_last_as_long_as_it_lives() {
    let env = three();
    let pid = env.pi_host();
    let now = "2026-11-15T06:00:00.000Z";
    let ice = json!({
        "name": "RedIce", "pid": pid, "sessionId": "ice", "cwd": env.work(), "model": "m", "startedAt": now,
        "isHuman": false, "session": {"toolCalls": 0, "tokens": 0, "filesModified": []},
        "activity": {"lastActivityAt": now},
    });
    put(&env.mesh().join("registry/RedIce.json"), &ice.to_string());
    let claims = json!({key(&env, "spec.md"): {"TASK-01": {
        "agent": "RedIce", "sessionId": "ice", "pid": pid, "claimedAt": now,
    }}});
    put(&env.mesh().join("claims.json"), &claims.to_string());
    assert_eq!(refused(&env, "Alice", &["TASK-01"]), "already_claimed");
    claim(&env, "Bob", &["TASK-02"]);
    assert_eq!(on_disk(&env, "claims.json")[key(&env, "spec.md")]["TASK-01"]["agent"], "RedIce");
    env.kill(pid);
    assert_state(&env, "TASK-01 open");
    claim(&env, "Alice", &["TASK-01"]);
}
