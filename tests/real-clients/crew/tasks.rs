//! The six tasks of the crew. Each but the first goes wrong in a way of its own.

/// A task of the spec.
pub struct Task {
    pub id: &'static str,
    pub title: &'static str,
    pub needs: &'static [&'static str],
    pub paths: &'static [&'static str],
    pub verify: &'static str,
    /// How its attempts end, as the report has it; `None`: the run itself failed.
    pub ends: &'static [Option<&'static str>],
}

pub const SPEC: &str = "PLAN.md";
pub const BRANCH: &str = "ravenry/crew-PLAN";

/// All files at the start have this line.
pub const TODO: &str = "todo";
pub const FILES: [&str; 6] = ["base.txt", "two.txt", "three.txt", "shared.txt", "six.txt", "agreed.txt"];

pub const TASKS: [Task; 6] = [
    Task {
        id: "T-1",
        title: "Lay the base",
        needs: &[],
        paths: &["base.txt"],
        verify: "grep -qx base base.txt",
        ends: &[Some("merged")],
    },
    Task {
        id: "T-2",
        title: "Be killed halfway",
        needs: &["T-1"],
        paths: &["two.txt"],
        verify: "grep -qx half two.txt && grep -qx two two.txt",
        ends: &[None, Some("merged")],
    },
    Task {
        id: "T-3",
        title: "Say done without doing it",
        needs: &[],
        paths: &["three.txt"],
        verify: "grep -qx three three.txt",
        ends: &[Some("unproven"), Some("merged")],
    },
    // This one and the next one change the same line.
    Task {
        id: "T-4",
        title: "Be asked for rework",
        needs: &["T-1"],
        paths: &[],
        verify: "! grep -qx todo shared.txt",
        ends: &[Some("not_shipped"), Some("merged")],
    },
    Task {
        id: "T-5",
        title: "Conflict",
        needs: &["T-1"],
        paths: &[],
        verify: "grep -qx five shared.txt && ! grep -q '<<<<' shared.txt",
        ends: &[Some("conflict"), Some("merged")],
    },
    // Green without T-3, and with it only if they agree.
    Task {
        id: "T-6",
        title: "Be red together",
        needs: &[],
        paths: &["six.txt", "agreed.txt"],
        verify: "grep -qx six six.txt && { ! grep -qx three three.txt || grep -qx agreed agreed.txt; }",
        ends: &[Some("red_together"), Some("merged")],
    },
];

/// The spec as a person writes it.
pub fn spec() -> String {
    let mut text = "# Six tasks\n\n".to_string();
    for Task { id, title, needs, paths, verify, .. } in &TASKS {
        let after = if needs.is_empty() { String::new() } else { format!(" (needs {})", needs.join(", ")) };
        text.push_str(&format!("- [ ] {id}: {title}{after}\n"));
        if !paths.is_empty() {
            text.push_str(&format!("  paths: {}\n", paths.join(", ")));
        }
        text.push_str(&format!("  verify: {verify}\n"));
    }
    text
}

pub fn task(id: &str) -> Option<&'static Task> {
    TASKS.iter().find(|task| task.id == id)
}
