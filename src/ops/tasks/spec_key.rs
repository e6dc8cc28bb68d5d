//! The canonical key of a spec, and the comparison of paths that lead to the same spec.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::store::{Claims, Completion, Completions, SpecCompletions, holds_a_lock};
use crate::sys::git::WorkTree;
use crate::sys::{paths, test_switches};

/// The one key of a spec, however it is spelled and whichever work tree it is in.
pub(super) fn key(path: &Path) -> String {
    test_switches::count(if holds_a_lock() { "path-under-lock" } else { "path" });
    let real = PathBuf::from(paths::resolve(path).as_str());
    let in_main = || {
        // Without a spec, a folder acts as one: it may be the whole work tree.
        let tree = WorkTree::containing(if real.is_dir() { &real } else { real.parent()? })?;
        let main = tree.main_root()?;
        let rest = real.strip_prefix(paths::resolve(&tree.root).as_str()).ok()?;
        Some(if rest.as_os_str().is_empty() { main } else { main.join(rest) })
    };
    in_main().unwrap_or(real).to_string_lossy().into_owned()
}

/// Compares keys of specs by what they refer to. Each is resolved once.
#[derive(Debug, Default)]
pub(in crate::ops) struct Spellings(RefCell<HashMap<String, String>>);

impl Spellings {
    pub(in crate::ops) fn are_same(&self, one: &str, other: &str) -> bool {
        one == other || self.meaning(one) == self.meaning(other)
    }

    pub(super) fn meaning(&self, spelled: &str) -> String {
        let mut known = self.0.borrow_mut();
        known.entry(spelled.to_string()).or_insert_with(|| key(Path::new(spelled))).clone()
    }

    /// Resolves all keys in claims and completions. That may be slow, so it is done before a lock is taken.
    pub(super) fn look_up(&self, claims: &Claims, completions: &Completions) {
        for claim in claims.iter() {
            self.meaning(&claim.spec);
        }
        for done in completions.specs() {
            self.meaning(done.spec());
        }
    }

    /// The completion of that task of that spec, under any spelling.
    pub(in crate::ops) fn completion(
        &self,
        completions: &Completions,
        spec: &str,
        task: &str,
    ) -> Option<Completion> {
        let is_there = |done: &&SpecCompletions| done.has(task) && self.are_same(done.spec(), spec);
        completions.specs().find(is_there).and_then(|done| completions.find(done, task))
    }
}
