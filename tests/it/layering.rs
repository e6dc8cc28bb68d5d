//! Imports run one way: faces → ops → store → harness → sys → domain. And what ARCHITECTURE.md says is absent is
//! absent.

mod circles;
mod effects;
#[path = "../../examples/modules/folders.rs"]
mod folders;
#[path = "../../examples/modules/graph.rs"]
mod graph;
mod harness_names;
mod held_locks;
mod names;
mod signatures;

use std::fs;
use std::path::Path;

use syn::visit::Visit;

use graph::{LAYERS, Module, Segments, sources};

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

/// The violations in one file.
fn faults_in(here: &Segments, source: &str) -> Vec<String> {
    let module = Module::read(here, source);
    let rank = |name: &str| LAYERS.iter().position(|layer| *layer == name);
    let (layer, file) = (here[1].as_str(), graph::name(here));
    let own = rank(layer).unwrap();
    let own_face = here.get(2).filter(|_| layer == "faces");
    let mut faults = Vec::new();
    for (_, path) in module.mentions() {
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
            (own_face, target.map(String::as_str), path.get(2))
            && other != own_face
            && other != SHARED
        {
            faults.push(format!("{file} knows another face: {shown}"));
        }
    }
    faults
}

#[test]
fn imports_run_one_way() {
    let in_layer =
        |(here, _): &(Segments, String)| here.get(1).is_some_and(|it| LAYERS.contains(&it.as_str()));
    let files: Vec<_> = sources().into_iter().filter(in_layer).collect();
    let faults: Vec<String> = files.iter().flat_map(|(here, source)| faults_in(here, source)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(files.len() > 400, "only {} files were looked at", files.len());
}

/// The test above would find these.
#[test]
fn every_way_to_look_up_is_seen() {
    let check = |layer: &str, source: &str| {
        !faults_in(&["crate", layer, "x"].map(str::to_string).to_vec(), source).is_empty()
    };
    assert!(check("sys", "use crate::store::Mesh;"));
    assert!(check("sys", "use crate::{domain::Pid, ops};"));
    assert!(check("store", "fn f() { crate::ops::join(); }"));
    assert!(check("store", "use super::super::ops::join;"));
    assert!(check("domain", "use std::{fmt, fs};"));
    assert!(check("domain", "fn f() -> std::time::SystemTime { loop {} }"));
    assert!(check("domain", "#[derive(serde::Serialize)] struct X; use serde::Serialize;"));
    assert!(check("faces", "use crate::faces::tui::Screen;"));
    assert!(check("sys", "use crate as me; fn f() { me::store::open() }"));
    assert!(check("sys", "fn f() { println!(\"{}\", crate::store::count()) }"));
    assert!(!check("store", "use crate::{domain::Pid, sys::files}; use super::layout::Layout;"));
    assert!(!check("sys", "#[cfg(test)] mod tests { use crate::store::Mesh; }"));
    assert!(!check("domain", "use std::{fmt, time::Duration};"));
}

/// Whether a file has async code, or names the crates for it.
#[derive(Default)]
struct Async {
    is_found: bool,
}

impl<'ast> Visit<'ast> for Async {
    fn visit_expr_await(&mut self, _: &'ast syn::ExprAwait) {
        self.is_found = true;
    }

    fn visit_expr_async(&mut self, _: &'ast syn::ExprAsync) {
        self.is_found = true;
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.is_found |= signature.asyncness.is_some();
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        self.is_found |= closure.asyncness.is_some();
        syn::visit::visit_expr_closure(self, closure);
    }
}

fn is_async(here: &Segments, source: &str) -> bool {
    let mut found = Async::default();
    found.visit_file(&syn::parse_file(source).unwrap());
    let is_for_it = |path: &Segments| ["tokio", "tokio_util", "rmcp"].contains(&path[0].as_str());
    found.is_found || Module::read(here, source).mentions().any(|(_, path)| is_for_it(path))
}

/// Async code and its crates are in one face only.
#[test]
fn nothing_is_async_outside_of_the_mcp_face() {
    let mcp = ["crate", "faces", "mcp"].map(str::to_string);
    // The link process and its client of the server, which are in no plain build; and `doctor`, which asks the server.
    let linked = [["ops", "link", "process"].as_slice(), &["ops", "link", "doctor_checks"], &["sys", "nats"]];
    for (here, source) in sources() {
        let is_of_link = linked
            .iter()
            .any(|path| here[1..].starts_with(&path.iter().map(ToString::to_string).collect::<Vec<_>>()));
        assert!(here.starts_with(&mcp) || is_of_link || !is_async(&here, &source), "{}", graph::name(&here));
    }
    let seen = |source: &str| is_async(&mcp.to_vec(), source);
    assert!(seen("async fn f() {}"));
    assert!(seen("fn f() { let x = async move { 1 }; }"));
    assert!(seen("fn f() { let x = async || 1; }"));
    assert!(seen("use tokio as t;"));
    assert!(!seen("// async fn, tokio\nfn f() { let async_word = \".await\"; }"));
}

/// `main.rs` parses, runs and returns the exit code; nothing else.
#[test]
fn main_is_a_table_of_contents() {
    let main = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/main.rs")).unwrap();
    assert!(main.lines().count() < 20);
}
