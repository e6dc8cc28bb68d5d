//! Tests of which paths a reservation covers, in random trees full of links, against a slow and simple reference.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ravenry::domain::AgentName;
use ravenry::ops::{self, BroadPatterns, Context, GlobalOptions, ReserveRequest};
use ravenry::sys::environment::Home;

use super::two;
use crate::support::environment::{TestEnvironment, rounds};

/// A tree, and questions about it. There are few names, so that they coincide by chance.
#[derive(Clone, Debug)]
struct Case {
    entries: Vec<(Vec<&'static str>, Entry)>,
    cwd: Vec<&'static str>,
    patterns: Vec<Text>,
    paths: Vec<Text>,
}

#[derive(Clone, Debug)]
enum Entry {
    Dir,
    File,
    Link(Text),
}

/// A path or pattern as somebody types it: relative to the working directory, or absolute.
#[derive(Clone, Debug)]
struct Text {
    is_absolute: bool,
    parts: Vec<&'static str>,
    slash: bool,
}

impl Text {
    fn typed(&self, root: &Path) -> String {
        let slash = if self.slash { "/" } else { "" };
        let text = format!("{}{slash}", self.parts.join("/"));
        if self.is_absolute { format!("{}/{text}", root.display()) } else { text }
    }
}

fn name() -> impl Strategy<Value = &'static str> {
    prop_oneof![3 => Just("a"), 3 => Just("b"), 2 => Just("ab"), 1 => Just("[ab]")]
}

fn step() -> impl Strategy<Value = &'static str> {
    prop_oneof![8 => name(), 2 => Just(".."), 1 => Just(".")]
}

fn glob() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        3 => name(), 2 => Just("*"), 2 => Just("**"), 1 => Just("a*"), 1 => Just("?"), 1 => Just("{a,b}"),
        1 => Just("[!a]"),
    ]
}

fn text(steps: impl Strategy<Value = Vec<&'static str>>) -> impl Strategy<Value = Text> {
    let text = (prop::bool::weighted(0.2), steps, prop::bool::weighted(0.2));
    text.prop_map(|(is_absolute, parts, slash)| Text { is_absolute, parts, slash })
}

fn literal() -> impl Strategy<Value = Text> {
    text(prop::collection::vec(step(), 1..5))
}

fn pattern() -> impl Strategy<Value = Text> {
    let head = prop::collection::vec(step(), 0..4);
    let tail = prop::collection::vec(glob(), 1..3);
    prop_oneof![literal(), text((head, tail).prop_map(|(head, tail)| [head, tail].concat()))]
}

fn case() -> impl Strategy<Value = Case> {
    let link = literal().prop_map(Entry::Link);
    let entry = prop_oneof![2 => Just(Entry::Dir), 1 => Just(Entry::File), 4 => link];
    let place = || prop::collection::vec(name(), 1..4);
    (
        prop::collection::vec((place(), entry), 3..12),
        prop::collection::vec(name(), 0..3),
        prop::collection::vec(pattern(), 1..4),
        prop::collection::vec(literal(), 12),
    )
        .prop_map(|(entries, cwd, patterns, paths)| Case { entries, cwd, patterns, paths })
}

impl Case {
    /// Creates the tree, as far as that is possible. Returns the working directory.
    fn make(&self, root: &Path) -> PathBuf {
        for (place, entry) in &self.entries {
            let path = root.join(place.iter().collect::<PathBuf>());
            let parent = path.parent().unwrap();
            // Links may point anywhere; files are created only in here.
            let is_here = |dir: &Path| fs::canonicalize(dir).is_ok_and(|real| real.starts_with(root));
            let nearest = parent.ancestors().find(|dir| fs::symlink_metadata(dir).is_ok()).unwrap();
            if !is_here(nearest) || fs::create_dir_all(parent).is_err() || !is_here(parent) {
                continue;
            }
            // Existing entries stay.
            if fs::symlink_metadata(&path).is_ok() {
                continue;
            }
            match entry {
                Entry::Dir => fs::create_dir(&path).unwrap(),
                Entry::File => fs::write(&path, "").unwrap(),
                Entry::Link(target) => symlink(target.typed(root), &path).unwrap(),
            }
        }
        let cwd = fs::canonicalize(root.join(self.cwd.iter().collect::<PathBuf>()));
        cwd.ok().filter(|cwd| cwd.starts_with(root) && cwd.is_dir()).unwrap_or_else(|| root.to_path_buf())
    }
}

/// A pattern as the reference understands it.
struct Reference {
    heads: Vec<PathBuf>,
    /// The part after the head, and whether everything beneath counts too; `None`: a path and everything beneath it.
    tail: Option<(String, bool)>,
}

impl Reference {
    /// `None`: links form a cycle, and any answer is right.
    fn read(cwd: &Path, text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let is_file = fs::symlink_metadata(cwd.join(text)).is_ok();
        let wild = parts.iter().position(|part| part.contains(['*', '?', '[', '{'])).filter(|_| !is_file);
        let head = cwd.join(parts[..wild.unwrap_or(parts.len())].join("/"));
        // An absolute pattern that starts with a wildcard has lost its only slash.
        let head = if text.starts_with('/') && !head.is_absolute() { PathBuf::from("/") } else { head };
        let tail = wild.map(|wild| {
            let parts: Vec<&str> =
                parts[wild..].iter().copied().filter(|part| !["", "."].contains(part)).collect();
            (parts.join("/"), text.ends_with('/'))
        });
        Some(Self { heads: vec![lexical(&head), physical(&head, 0)?], tail })
    }

    fn covers(&self, path: &Path) -> bool {
        self.heads.iter().any(|head| match &self.tail {
            None => path.starts_with(head),
            Some((glob, deep)) => {
                let whole = format!("{}/{glob}", globset::escape(head.to_str().unwrap()));
                let glob = globset::GlobBuilder::new(&whole).literal_separator(true).build().unwrap();
                let glob = glob.compile_matcher();
                glob.is_match(path) || *deep && path.ancestors().any(|above| glob.is_match(above))
            }
        })
    }
}

/// The path resolved by its text alone.
fn lexical(path: &Path) -> PathBuf {
    let mut read = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                read.pop();
            }
            part => read.push(part),
        }
    }
    read
}

/// The path resolved by the file system as far as it exists; a dangling link is followed by hand.
fn physical(path: &Path, links: usize) -> Option<PathBuf> {
    if links > 30 {
        return None;
    }
    let parts: Vec<Component> = path.components().collect();
    let (real, rest) = (1..=parts.len()).rev().find_map(|cut| {
        let there: PathBuf = parts[..cut].iter().collect();
        Some((fs::canonicalize(there).ok()?, &parts[cut..]))
    })?;
    let on = |start: &Path, rest: &[Component]| start.join(rest.iter().collect::<PathBuf>());
    let Some((next, beyond)) = rest.split_first() else { return Some(real) };
    if *next == Component::ParentDir {
        // `..` after a file: the system refuses, but the result is clear.
        return physical(&on(real.parent().unwrap(), beyond), links);
    }
    if let Ok(target) = fs::read_link(real.join(next)) {
        return physical(&on(&real.join(target), beyond), links + 1);
    }
    match rest.iter().position(|part| *part == Component::ParentDir) {
        // Into a directory that does not exist, and up again.
        Some(up) => physical(&on(&real, &[&rest[..up - 1], &rest[up + 1..]].concat()), links),
        None => Some(on(&real, rest)),
    }
}

fn context(env: &TestEnvironment, name: &str, cwd: &Path) -> Context {
    let globals = GlobalOptions {
        mesh: Some(env.mesh().to_str().unwrap().to_string()),
        acting_as: Some(AgentName::new(name).unwrap()),
        ..GlobalOptions::default()
    };
    let (mut ctx, _) = Context::tolerant(globals).unwrap();
    let home = env.home();
    ctx.home = Home {
        config: home.join(".config"),
        state: home.join(".local/state"),
        cache: home.join(".cache"),
        home,
    };
    ctx.cwd = cwd.to_path_buf();
    ctx
}

#[test]
fn what_is_covered_is_what_a_slow_look_says() {
    let env = two();
    let counts = std::cell::Cell::new((0, 0, 0));
    let cases = rounds(1000);
    let config = Config { cases: cases as u32, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&case(), |case| {
        let dir = tempfile::tempdir_in(env.path()).unwrap();
        let root = fs::canonicalize(dir.path()).unwrap().join("deep/down/here");
        fs::create_dir_all(&root).unwrap();
        let cwd = case.make(&root);
        ops::run(context(&env, "Alice", &cwd), |op| ops::release(op, &[], ops::ReleaseScope::All))
            .into_parts()
            .0
            .unwrap();
        let mut references = Vec::new();
        for pattern in &case.patterns {
            let text = pattern.typed(&root);
            let Some(reference) = Reference::read(&cwd, &text) else { return Ok(()) };
            let wish = ReserveRequest {
                patterns: vec![text.clone()],
                broad: BroadPatterns::Accept,
                ..ReserveRequest::default()
            };
            let reserved =
                ops::run(context(&env, "Alice", &cwd), |op| ops::reserve(op, &wish)).into_parts().0;
            let is_error = reserved.is_err();
            let goes_up = reference.tail.as_ref().is_some_and(|(tail, _)| tail.split('/').any(|p| p == ".."));
            prop_assert_eq!(is_error, goes_up, "`{}` can be reserved", text);
            if !is_error {
                references.push((text, reference));
            }
        }
        let texts: Vec<String> = case.paths.iter().map(|path| path.typed(&root)).collect();
        let verdicts =
            ops::run(context(&env, "Bob", &cwd), |op| ops::check(op, &texts)).into_parts().0.unwrap();
        for (text, verdict) in texts.iter().zip(&verdicts) {
            let full = cwd.join(text);
            let Some(led) = physical(&full, 0) else { continue };
            let readings = [lexical(&full), led];
            let covering: Vec<&str> = references
                .iter()
                .filter(|(_, reference)| readings.iter().any(|path| reference.covers(path)))
                .map(|(text, _)| text.as_str())
                .collect();
            let found = verdict.holding.as_ref().map(|holding| holding.reservation.clone());
            // A question about a directory includes everything beneath it, which the reference does not support.
            let is_tree = text.ends_with('/') || full.is_dir();
            if is_tree && found.is_some() {
                continue;
            }
            prop_assert_eq!(
                found.is_some(),
                !covering.is_empty(),
                "`{}` from {:?}: covered by {:?}, found {:?}, readings {:?}",
                text,
                cwd,
                covering,
                found,
                readings
            );
            let (held, free, linked) = counts.get();
            let is_linked = readings[0] != readings[1];
            counts.set((
                held + usize::from(found.is_some()),
                free + usize::from(found.is_none()),
                linked + usize::from(is_linked),
            ));
        }
        Ok(())
    });
    outcome.unwrap();
    let (held, free, linked) = counts.get();
    assert!(held.min(free).min(linked) > cases / 5, "that was hardly a test: {held}, {free}, {linked}");
}
