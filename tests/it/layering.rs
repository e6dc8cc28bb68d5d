//! Imports run one way: faces → ops → store → harness → sys → domain. And what ARCHITECTURE.md says is absent is absent.

mod circles;
mod harness_names;
mod names;
mod signatures;

use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::Visit;

/// The layers, lowest first.
const LAYERS: [&str; 6] = ["domain", "sys", "harness", "store", "ops", "faces"];

/// The module that all faces share; it is not a face itself.
const SHARED: &str = "json";

/// Paths that the domain must not use: I/O, the clock, file formats.
const NOT_IN_DOMAIN: [&str; 10] = [
    "std::fs",
    "std::io",
    "std::net",
    "std::process",
    "std::env",
    "std::time::SystemTime",
    "std::time::Instant",
    "serde",
    "serde_json",
    "nix",
];

/// Every path that a file mentions, with `use` groups expanded.
#[derive(Default)]
struct Paths {
    /// The path of the current module.
    here: Vec<String>,
    found: Vec<Vec<String>>,
}

impl Paths {
    fn add(&mut self, segments: Vec<String>) {
        let up = segments.iter().take_while(|segment| *segment == "super").count();
        let full = match segments.first().map(String::as_str) {
            Some("super") => {
                let mut full = vec!["crate".to_string()];
                full.extend_from_slice(&self.here[..self.here.len().saturating_sub(up)]);
                full.extend_from_slice(&segments[up..]);
                full
            }
            Some("ravenry") => {
                std::iter::once("crate".to_string()).chain(segments[1..].iter().cloned()).collect()
            }
            _ => segments,
        };
        self.found.push(full);
    }

    fn add_tree(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.add_tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.add(with(&name.ident)),
            syn::UseTree::Rename(rename) => self.add(with(&rename.ident)),
            syn::UseTree::Glob(_) => self.add(before.to_vec()),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.add_tree(before, tree)),
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        // Unit tests may use anything.
        let is_test = module.attrs.iter().any(|attribute| {
            attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "test")
        });
        if !is_test {
            self.here.push(module.ident.to_string());
            syn::visit::visit_item_mod(self, module);
            self.here.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.add(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }
}

/// The violations in one file.
fn faults_in(layer: &str, file: &str, here: Vec<String>, source: &str) -> Vec<String> {
    let mut paths = Paths { here, found: Vec::new() };
    paths.visit_file(&syn::parse_file(source).unwrap());
    let rank = |name: &str| LAYERS.iter().position(|layer| *layer == name);
    let own = rank(layer).unwrap();
    let own_face = (layer == "faces")
        .then(|| file.split('/').nth(1).unwrap_or_default().trim_end_matches(".rs").to_string());
    let mut faults = Vec::new();
    for path in &paths.found {
        let shown = path.join("::");
        let target = (path[0] == "crate").then(|| path.get(1)).flatten();
        if target.and_then(|target| rank(target)).is_some_and(|target| target > own) {
            faults.push(format!("{file} looks up to {shown}"));
        }
        if layer == "domain"
            && NOT_IN_DOMAIN
                .iter()
                .any(|banned| shown == *banned || shown.starts_with(&format!("{banned}::")))
        {
            faults.push(format!("{file} uses {shown}"));
        }
        if let (Some(own_face), Some("faces"), Some(other)) =
            (&own_face, target.map(String::as_str), path.get(2))
            && own_face != "mod"
            && other != own_face
            && other != SHARED
        {
            faults.push(format!("{file} knows another face: {shown}"));
        }
    }
    faults
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[test]
fn imports_run_one_way() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut faults = Vec::new();
    let mut seen = 0;
    for layer in LAYERS {
        for path in rust_files(&src.join(layer)) {
            let file = path.strip_prefix(&src).unwrap().with_extension("").display().to_string();
            let mut here: Vec<String> = file.split('/').map(str::to_string).collect();
            here.retain(|module| module != "mod");
            let source = fs::read_to_string(&path).unwrap();
            faults.extend(faults_in(layer, &format!("{file}.rs"), here, &source));
            seen += 1;
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(seen > 30, "only {seen} files were looked at");
}

/// The test above would find these.
#[test]
fn every_way_to_look_up_is_seen() {
    let check = |layer: &str, source: &str| {
        let here = vec![layer.to_string(), "x".to_string()];
        !faults_in(layer, &format!("{layer}/x.rs"), here, source).is_empty()
    };
    assert!(check("sys", "use crate::store::Mesh;"));
    assert!(check("sys", "use crate::{domain::Pid, ops};"));
    assert!(check("store", "fn f() { crate::ops::join(); }"));
    assert!(check("store", "use super::super::ops::join;"));
    assert!(check("domain", "use std::{fmt, fs};"));
    assert!(check("domain", "fn f() -> std::time::SystemTime { loop {} }"));
    assert!(check("domain", "#[derive(serde::Serialize)] struct X; use serde::Serialize;"));
    assert!(check("faces", "use crate::faces::tui::Screen;"));
    assert!(!check("store", "use crate::{domain::Pid, sys::files}; use super::layout::Layout;"));
    assert!(!check("sys", "#[cfg(test)] mod tests { use crate::store::Mesh; }"));
    assert!(!check("domain", "use std::{fmt, time::Duration};"));
}

/// Async code and its crates are in one face only.
#[test]
fn nothing_is_async_outside_of_the_mcp_face() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let is_async = |source: &str| {
        let awaits = |(at, word): (usize, &str)| {
            !source[at + word.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
        };
        let words = ["async fn", "async move", "async {", "tokio", "rmcp"];
        words.iter().any(|word| source.contains(word)) || source.match_indices(".await").any(awaits)
    };
    let (inside, outside): (Vec<PathBuf>, Vec<PathBuf>) =
        rust_files(&src).into_iter().partition(|path| path.starts_with(src.join("faces/mcp")));
    assert!(inside.iter().any(|path| is_async(&fs::read_to_string(path).unwrap())));
    for path in outside {
        assert!(!is_async(&fs::read_to_string(&path).unwrap()), "{}", path.display());
    }
}

/// `main.rs` parses, runs and returns the exit code; nothing else.
#[test]
fn main_is_a_table_of_contents() {
    let main = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/main.rs")).unwrap();
    assert!(main.lines().count() < 20);
}

/// The files of `ops` and `faces` that have one of the words in their code.
fn files_with(words: &[&str]) -> Vec<String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let has_word = |line: &str| {
        let code = line.trim_start();
        let is_start = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let is_code = !code.starts_with("//");
        is_code && words.iter().any(|word| code.match_indices(word).any(|(at, _)| is_start(at)))
    };
    let mut files = Vec::new();
    for path in rust_files(&src.join("ops")).into_iter().chain(rust_files(&src.join("faces"))) {
        if fs::read_to_string(&path).unwrap().lines().any(has_word) {
            files.push(path.strip_prefix(&src).unwrap().display().to_string());
        }
    }
    files
}

/// Ops write down what follows from them; one runner carries it out when no lock is held.
#[test]
fn effects_are_carried_out_in_one_place() {
    assert_eq!(files_with(&["feed().append("]), ["ops/runner.rs"], "the feed");
    assert_eq!(files_with(&["notices::post("]), ["ops/runner.rs"], "notices");
    assert_eq!(
        files_with(&["wake_notified(", "idle_agents("]),
        ["ops/runner.rs", "ops/wake/mod.rs"],
        "wakes"
    );
    assert_eq!(
        files_with(&["Op::new("]),
        ["ops/runner.rs"],
        "whoever makes an `Op` has to carry out its effects"
    );
    // The answer of `send` says how each recipient is told, so it can't be given before they are woken.
    assert_eq!(files_with(&["wake_recipients("]), ["ops/messages/send.rs", "ops/wake/mod.rs"], "wakes");
    // Agents send in their own name; only `notices` sends in the program's.
    let senders = ["ops/messages/send.rs", "ops/notices.rs", "ops/tasks/handoff.rs"];
    assert_eq!(files_with(&["outboxes().lock("]), senders, "outboxes");
}

/// The one exception: what the mesh owes to an agent is posted under the lock under which the debt is crossed out, so a
/// process that is killed in between is made up for by the next.
#[test]
fn only_owed_notices_are_posted_under_a_lock() {
    let owed = ["ops/agents/stuck.rs", "ops/notices.rs", "ops/reservations/waiting.rs"];
    assert_eq!(files_with(&["post_owed"]), owed);
}

/// Effects are plain data, and a context is what a command knows before it starts.
#[test]
fn effects_and_contexts_do_nothing() {
    let read = |file: &str| {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ops").join(file)).unwrap()
    };
    let effects = read("effects.rs");
    for word in ["Mesh", "Locked", "outbox", "mesh()"] {
        assert!(!effects.contains(word), "effects.rs: {word}");
    }
    let context = read("context.rs");
    for word in ["RefCell", "Cell<"] {
        assert!(!context.replace("OnceCell<Rc<Mesh>>", "").contains(word), "context.rs: {word}");
    }
}
