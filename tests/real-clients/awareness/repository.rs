//! A repository whose history teaches which words lead to which files.

use std::fs;
use std::path::PathBuf;

use crate::scene::Scene;

/// Prompts about the login end here.
pub const LOGIN: &str = "src/auth/login.rs";
/// The file that both change in their work trees.
pub const CACHE: &str = "src/store/cache.rs";
/// The first and the second line of every file.
pub const FIRST: &str = "fn first() {}";
pub const SECOND: &str = "fn second() {}";

/// How many commits there are of each kind.
const ROUNDS: usize = 9;
const COMMITS: [(&str, &str); 4] = [
    (LOGIN, "keep the login alive"),
    (CACHE, "evict stale entries of the cache"),
    ("docs/tour.md", "describe the tour"),
    ("src/ui/theme.rs", "darker theme"),
];

/// Makes the history, and a second work tree.
pub fn make(scene: &Scene) {
    for round in 0..ROUNDS {
        for (file, subject) in COMMITS {
            let path = scene.repo().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{FIRST}\n{SECOND}\n// {round}\n")).unwrap();
            scene.git(&["add", file]);
            scene.git(&["commit", "-qm", subject]);
        }
    }
    scene.git(&["worktree", "add", "-q", "-b", "topic", &linked(scene).to_string_lossy()]);
}

/// The root of the second work tree.
pub fn linked(scene: &Scene) -> PathBuf {
    scene.repo().with_file_name("linked")
}

/// Whether the history has been counted, which the first join started.
pub fn is_counted(scene: &Scene) -> bool {
    let files = fs::read_dir(scene.home().join(".local/state/ravenry/awareness")).into_iter().flatten();
    // The counts are the only file whose name has no ending.
    files.flatten().any(|file| file.path().extension().is_none())
}
