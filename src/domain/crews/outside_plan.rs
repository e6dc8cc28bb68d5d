//! Which files of a task's work its plan does not name.

use crate::domain::pattern::{NormalPath, Pattern};

/// The changed files that none of the task's paths covers, all of them relative to the root of the repository. A task
/// without paths may change all.
pub fn outside_plan<'c>(paths: &[String], changed: &'c [String]) -> Vec<&'c str> {
    if paths.is_empty() {
        return Vec::new();
    }
    let root = NormalPath::absolute("/");
    let planned: Vec<Pattern> = paths.iter().filter_map(|path| Pattern::new(path, &root).ok()).collect();
    let is_planned = |path: &&String| planned.iter().any(|pattern| pattern.covers(&root.join(path)));
    changed.iter().filter(|path| !is_planned(path)).map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_path_covers_is_outside() {
        let changed = ["src/a.rs", "src/b/c.rs", "README.md"].map(str::to_string);
        for (paths, expected) in [
            (&[][..], &[][..]),
            (&["src/"], &["README.md"]),
            (&["src/*.rs", "README.md"], &["src/b/c.rs"]),
            (&["**"], &[]),
        ] {
            let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
            assert_eq!(outside_plan(&paths, &changed), expected, "{paths:?}");
        }
    }
}
