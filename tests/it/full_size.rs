//! What the plain suite thins out comes at full size in `.ci/full-size`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::environment::files_in;

/// What makes a test smaller, as it is called.
const THINS_OUT: [&str; 4] = ["sweep_stride(", "rounds(", "steps(", "is_whole("];

#[test]
fn what_is_thinned_out_is_tried_whole() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = fs::read_to_string(root.join(".ci/full-size")).unwrap();
    let (_, list) = script.split_once("tests=(\n").unwrap();
    let (list, _) = list.split_once("\n)").unwrap();
    let listed: Vec<&str> = list.lines().map(str::trim).collect();
    let (dir, mut files) = (root.join("tests/it"), 0);
    let is_source = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    for path in files_in(&dir).into_iter().filter(is_source) {
        let text = fs::read_to_string(&path).unwrap();
        let place = path.strip_prefix(&dir).unwrap().with_extension("");
        // Not where they are defined, and not where another function has the same name, or one that ends so.
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let is_call = |(at, _): (usize, &str)| !text[..at].ends_with(is_word);
        let is_called =
            |name: &&str| text.match_indices(*name).any(is_call) && !text.contains(&format!("fn {name}"));
        if !THINS_OUT.iter().any(is_called) || place == Path::new("full_size") {
            continue;
        }
        let module = format!("{}::", place.display().to_string().replace('/', "::"));
        let is_listed = listed.iter().any(|name| module.contains(*name) || name.starts_with(&module));
        assert!(is_listed, "nothing of {module} is in the list of .ci/full-size");
        files += 1;
    }
    assert!(files > 10, "only {files} files were found");
}
