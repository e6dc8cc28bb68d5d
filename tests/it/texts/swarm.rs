//! Snapshots of `spec`, `tasks`, `claim`, `unclaim`, `complete` and `handoff`.

use ravenry::sys::test_switches;

use crate::support::environment::put;
use crate::texts::{Scene, check, shown};

const SPEC: &str = "\
# Login

- [ ] TASK-01: the form
- [ ] TASK-02: the session
- [ ] TASK-03: the glue (needs TASK-01, TASK-02)
- [x] TASK-04: the plan
";

impl Scene {
    /// Alice and Bob join, with a spec in their folder.
    fn with_spec(&mut self) {
        put(&self.project().join("spec.md"), SPEC);
        self.joined("Alice", "claude");
        self.joined("Bob", "codex");
    }

    /// Runs `msg` with a fixed random seed.
    fn seeded(&mut self, args: &[&str]) {
        let mut command = self.command();
        command.env(test_switches::SEED, "3");
        self.run(command, &format!("msg {}", shown(args)), args);
    }
}

#[test]
fn working_through_a_spec() {
    check("swarm", |scene| {
        scene.with_spec();
        scene.msg(&["spec", "--as", "Alice"]);
        scene.msg(&["tasks", "--as", "Alice"]);
        for name in ["Alice", "Bob"] {
            scene.msg(&["spec", "spec.md", "--as", name]);
        }
        scene.msg(&["tasks", "--as", "Alice"]);
        scene.msg(&["claim", "--next", "--reason", "new login", "--reserve", "src/auth/", "--as", "Alice"]);
        scene.msg(&["claim", "TASK-01", "--as", "Alice"]);
        scene.now = "2024-05-17T09:42:00.000Z".to_string();
        scene.msg(&["claim", "TASK-01", "--as", "Bob"]);
        scene.msg(&["claim", "TASK-03", "--as", "Bob"]);
        scene.msg(&["claim", "TASK-04", "--as", "Bob"]);
        scene.msg(&["claim", "TASK-02", "--reserve", "src/", "--as", "Bob"]);
        scene.msg(&["claim", "TASK-02", "--as", "Bob"]);
        scene.msg(&["tasks", "--as", "Bob"]);
        scene.msg(&["tasks", "--ready", "--as", "Bob"]);
        scene.msg(&["tasks", "--mine", "--as", "Bob"]);
        scene.msg(&["agents"]);
        scene.seeded(&["complete", "TASK-01", "--notes", "JWT", "--tick", "--as", "Alice"]);
        scene.seeded(&["read", "--as", "Bob"]);
        scene.seeded(&["handoff", "TASK-02", "Alice", "--notes", "tests are missing", "--as", "Bob"]);
        scene.msg(&["unclaim", "--as", "Alice"]);
        scene.msg(&["claim", "--next", "--as", "Alice"]);
        scene.msg(&["claim", "--next", "--as", "Bob"]);
        scene.seeded(&["complete", "TASK-02", "--as", "Alice"]);
        scene.msg(&["claim", "--next", "--as", "Bob"]);
        scene.msg(&["complete", "TASK-03", "--as", "Bob"]);
        scene.msg(&["claim", "--next", "--as", "Bob"]);
        scene.msg(&["claim", "sweep", "--adhoc", "--as", "Bob"]);
        scene.msg(&["tasks", "--as", "Bob"]);
    });
}

#[test]
fn tasks_that_cannot_be() {
    check("errors-swarm", |scene| {
        scene.msg(&["tasks"]);
        scene.msg(&["claim", "--next"]);
        scene.with_spec();
        scene.msg(&["claim", "--next", "--as", "Alice"]);
        scene.msg(&["spec", "nowhere.md", "--as", "Alice"]);
        scene.msg(&["spec", "spec.md", "--as", "Alice"]);
        scene.msg(&["claim", "--as", "Alice"]);
        for task in ["", "a\u{1b}[31mb", "TASK-1", "sweep"] {
            scene.msg(&["claim", task, "--as", "Alice"]);
        }
        scene.msg(&["complete", "TASK-01", "--as", "Alice"]);
        scene.msg(&["unclaim", "--as", "Alice"]);
        scene.msg(&["claim", "TASK-01", "--as", "Alice"]);
        scene.msg(&["claim", "TASK-02", "--as", "Alice"]);
        scene.msg(&["complete", "TASK-01", "--spec", "spec.md", "--as", "Bob"]);
        scene.msg(&["handoff", "TASK-01", "Bbo", "--as", "Alice"]);
        scene.msg(&["handoff", "TASK-01", "Alice", "--as", "Alice"]);
        put(&scene.project().join("spec.md"), "- [ ] A-1: a (after A-2)\n- [ ] A-1: b\n");
        scene.msg(&["tasks", "--as", "Alice"]);
    });
}
