//! Files don't need each other in a circle, so each can be read after those that it builds on.
//!
//! `examples/modules` reads and draws what they need. Methods of one type may be in several files and call each other;
//! a submodule may use what the file above it defines. Everything else counts.

use std::fs;
use std::path::Path;

use super::folders::{self, draw_in};
use super::graph::{self, Segments};

#[test]
fn files_form_no_circle() {
    let needs = graph::needs(&graph::read(&graph::sources()));
    let count: usize = needs.values().map(|needed| needed.len()).sum();
    assert!(count > 2_000, "only {count} needs were found");
    let circles: Vec<String> =
        graph::circles(&needs).iter().map(|circle| graph::explain(&needs, circle)).collect();
    assert!(circles.is_empty(), "these need each other:\n{}", circles.join("\n\n"));
}

/// The test above would find these.
#[test]
fn circles_are_seen() {
    let check = |files: &[(&str, &str)]| {
        let named = |(name, source): &(&str, &str)| {
            let names: Segments = format!("crate::{name}").split("::").map(str::to_string).collect();
            (names, source.to_string())
        };
        let needs = graph::needs(&graph::read(&files.iter().map(named).collect::<Vec<_>>()));
        let circles = graph::circles(&needs);
        assert!(circles.iter().all(|circle| !graph::explain(&needs, circle).is_empty()));
        !circles.is_empty()
    };
    let a = ("ops::x::a", "use crate::ops::y::b; fn f() { b::g() }");
    assert!(check(&[a, ("ops::y::b", "use crate::ops::x::a::f;")]));
    assert!(check(&[a, ("ops::y::b", "fn g() { crate::ops::x::a::f() }")]));
    assert!(check(&[a, ("ops::y::b", "fn g() { assert!(1 == [crate::ops::x::a::f(); 2][0]) }")]));
    assert!(check(&[a, ("ops::y::b", "use crate::ops::x::a as other; fn g() { other::f() }")]));
    assert!(check(&[a, ("ops::y::b", "use crate::ops::x::*;"), ("ops::x", "mod a; use super::y::b::g;")]));
    assert!(check(&[a, ("ops::y::b", "mod inner { use crate::ops::x::a::f; }")]));
    assert!(check(&[a, ("ops::y::b", "use crate::ops::x::f;"), ("ops::x", "mod a; pub use a::f;")]));
    assert!(!check(&[a, ("ops::y::b", "use crate::domain::Agent;")]));
    assert!(!check(&[a, ("ops::y::b", "// crate::ops::x::a::f")]));
    assert!(!check(&[a, ("ops::y::b", "#[cfg(test)] mod tests { use crate::ops::x::a::f; }")]));
    let tests = ("ops::y::b::tests", "use crate::ops::x::a::f;");
    assert!(!check(&[a, ("ops::y::b", "#[cfg(test)] mod tests;"), tests]));

    // A file and its submodules, also if others take part.
    let parent = ("ops::x", "mod a; struct S; fn f() { a::g() }");
    assert!(!check(&[parent, ("ops::x::a", "use super::S;")]));
    assert!(check(&[
        parent,
        ("ops::x::a", "use crate::ops::y;  fn g() { y::h() }"),
        ("ops::y", "use super::x::S;")
    ]));
    assert!(check(&[parent, ("ops::x::a", "use super::b::h;"), ("ops::x::b", "use super::a::g;")]));

    // Methods of one type, and what is more than that.
    let ty = ("ops::t", "pub struct T; impl T { fn f(&self) { self.g() } }");
    assert!(!check(&[ty, ("ops::u", "use crate::ops::t::T; impl T { fn g(&self) { self.f() } }")]));
    let with_more = "use crate::ops::u::U; pub struct T(U); impl T { fn f(&self) { self.g() } }";
    let more = "use crate::ops::t::T; pub struct U; impl T { fn g(&self) { self.f() } }";
    assert!(check(&[("ops::t", with_more), ("ops::u", more)]));
}

#[test]
fn the_drawing_shows_the_folders_as_they_are() {
    let needs = graph::needs(&graph::read(&graph::sources()));
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(folders::PAGE)).unwrap();
    assert!(draw_in(&page, &needs) == page, "run `cargo run --example modules folders`");
    let boxes = page.lines().filter(|line| line.starts_with("    ") && line.ends_with("\"]")).count();
    assert!((20..=70).contains(&boxes), "{boxes} folders");
    for shared in folders::SHARED_BY_HARNESSES {
        assert!(page.contains(&format!("harness_{shared}[")), "{shared} is drawn by itself");
    }
}
