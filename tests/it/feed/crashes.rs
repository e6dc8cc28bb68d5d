//! A writer is killed before each of its steps, also while it creates a new segment and removes old ones.

use ravenry::sys::test_switches;

use super::{event, raw, segments, shown};
use crate::support::environment::TestEnvironment;

#[test]
fn whoever_makes_a_new_segment_may_die_at_any_step() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.ok(&["config", "set", "feedRetention", "10"]);
    let mut rotations = 0;
    for step in 1.. {
        // The newest segment is full, and one is old enough to be removed.
        let mesh = env.store();
        let full = |env: &TestEnvironment| segments(env).pop().unwrap().metadata().unwrap().len() >= 1024;
        while !(full(&env) && segments(&env).len() > 1) {
            mesh.feed().append(&[event("Alice", "before")], 10).unwrap();
        }
        mesh.feed().append(&[event("Alice", format!("sure-{step}"))], 1000).unwrap();
        let before = segments(&env);
        let crash = step.to_string();
        let ended = env.run_with(
            &["reserve", &format!("p{step}"), "--as", "Alice"],
            &[(test_switches::CRASH_AT, &crash)],
        );
        rotations += usize::from(segments(&env) != before);
        let events = shown(&env, &[]);
        assert!(events.len() >= 10, "{events:?}");
        assert!(
            events.contains(&format!("Alice edit sure-{step}")),
            "after a death at step {step}: {events:?}"
        );
        assert!(raw(&env).ends_with('\n'));
        if ended.code == Some(0) {
            assert_eq!(events.last(), Some(&format!("Alice reserve p{step}")));
            break;
        }
        assert_eq!(ended.signal, Some(9), "{ended}");
        env.store().feed().append(&[event("Alice", "after")], 10).unwrap();
        assert_eq!(shown(&env, &["--limit", "1"]), ["Alice edit after"], "the next one goes on");
    }
    assert!(rotations > 1, "some died after the new segment was made");
}
