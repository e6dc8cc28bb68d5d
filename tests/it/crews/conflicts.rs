//! Conflicts that git can't mark, as a builder gets them.

use std::fs;

use serde_json::json;

use super::stage::{WORK, attempts, task, with_crew};
use crate::runs::worktrees::git;

#[test]
fn a_builder_gets_both_sides_of_a_binary_file_until_it_has_decided() {
    let two = "until git cat-file -e ravenry/crew-PLAN:logo 2>/dev/null; do sleep 0.05; done; printf '\\0two' > logo";
    let merge =
        "cat ravenry-conflicts/branch/logo ravenry-conflicts/yours/logo > logo; rm -r ravenry-conflicts";
    let env = with_crew(
        "- [ ] T-1: One\n- [ ] T-2: Two\n",
        &[("T-1.1", "printf '\\0one' > logo"), ("T-2.1", two), ("T-2.2", ":"), ("T-2.3", merge)],
    );
    let report = env.ok(&WORK);
    let second = task(&report, "T-2");
    let ends: Vec<&str> =
        second["runs"].as_array().unwrap().iter().map(|run| run["end"].as_str().unwrap()).collect();
    assert_eq!(ends, ["conflict", "conflict", "merged"], "what resolves nothing is not merged");
    assert_eq!((attempts(&env, "T-2"), &second["runs"][1]["reason"]), (3, &json!("in conflict: logo")));
    assert_eq!(git(&env.work(), &["show", "ravenry/crew-PLAN:logo"]), "\0one\0two");
    let names = git(&env.work(), &["diff", "--name-only", "main", "ravenry/crew-PLAN"]);
    assert_eq!(names, "logo", "what was beside is not merged");
    let told = fs::read_to_string(env.home().join("brief-T-2")).unwrap();
    assert!(told.contains("Without marks, because git can't put any there: `logo`."), "{told}");
    assert!(!told.contains("With git's marks"), "{told}");
}
