//! The report: one line for each client and check.

use std::time::{Duration, Instant};

#[derive(Default)]
pub struct Report {
    passed: usize,
    failed: usize,
    skipped: usize,
    not_run: Vec<String>,
    failures: Vec<String>,
}

/// The checks, in the order of the report.
pub const CHECKS: [&str; 11] =
    [EDIT, SHELL, FREE_PATH, MAIL, STOP, IDENTITY, PERMISSION, TOOLS, REMOVED, BROKEN, UNINSTALLED];
pub const EDIT: &str = "an edit of what another holds is refused, and the model is told why";
pub const SHELL: &str = "the same through the shell";
pub const FREE_PATH: &str = "a free path is edited";
pub const MAIL: &str = "mail that comes while it works is in the next request, once";
pub const STOP: &str = "mail at the stop makes it go on, and mailTurns ends that";
pub const IDENTITY: &str = "it joined, its shell's `msg whoami` knows it, and it left";
pub const PERMISSION: &str = "it may run `msg` without asking, and nothing else";
pub const TOOLS: &str =
    "its MCP tool writes as the same agent, and what another client's tool answers comes by its hook";
pub const REMOVED: &str = "without the binary it works as if it were alone";
pub const BROKEN: &str = "with a broken binary too";
pub const UNINSTALLED: &str = "after uninstall all files are what they were, and it runs as before";
/// The checks of the inspector.
pub const LISTS: &str = "it lists the tools of `msg mcp`";
pub const CALLS: &str = "it calls each of them";
/// Reported only if it fails.
pub const TRIAL: &str = "it could be tried to the end";
/// Only OpenCode has a server mode with its own way to continue.
pub const IN_SERVER: &str = "in a server, mail at the stop makes it go on too, and not in its user's voice";

impl Report {
    pub fn client(&self, name: &str, version: &str) {
        println!("\n{name} {version}");
    }

    /// Reports a check. `Err` says what is wrong; `evidence` is shown with it.
    pub fn check(
        &mut self,
        client: &str,
        check: &str,
        result: Result<(), String>,
        evidence: &dyn Fn() -> String,
    ) {
        match result {
            Ok(()) => {
                self.passed += 1;
                println!("  passed   {check}");
            }
            Err(wrong) => {
                self.failed += 1;
                println!("  FAILED   {check}\n           {wrong}");
                println!("{}", indented(&evidence()));
                self.failures.push(format!("{client}: {check}: {wrong}"));
            }
        }
    }

    pub fn skip(&mut self, check: &str, why: &str) {
        self.skipped += 1;
        println!("  skipped  {check} ({why})");
    }

    pub fn not_run(&mut self, client: &str, version: &str, why: &str) {
        self.skipped += CHECKS.len();
        println!("\n{client} {version}\n  NOT RUN  {why}");
        self.not_run.push(client.to_string());
    }

    /// Whether no client could be run.
    pub fn has_run_nothing(&self) -> bool {
        self.passed + self.failed == 0
    }

    /// Prints the summary. Returns whether everything passed.
    pub fn end(self, since: Instant) -> bool {
        let took: Duration = since.elapsed();
        println!("\nin {} s", took.as_secs());
        for failure in &self.failures {
            println!("failed: {failure}");
        }
        if !self.not_run.is_empty() {
            println!("not run: {}", self.not_run.join(", "));
        }
        let skipped = match self.skipped {
            0 => String::new(),
            skipped => format!(", {skipped} skipped"),
        };
        println!("{} passed, {} failed{skipped}", self.passed, self.failed);
        // If nothing ran, nothing has passed.
        self.failed == 0 && self.passed > 0
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("           | {line}\n")).collect()
}
