//! The patch format of `apply_patch`, as far as we need it: which files does a patch touch?

use std::collections::HashSet;

/// What the lines that name a file begin with.
const MARKS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// The paths that a patch touches, as they stand there: each once, in order.
pub fn apply_patch_paths(text: &str) -> Vec<String> {
    let named = text.lines().filter_map(|line| MARKS.iter().find_map(|mark| line.strip_prefix(mark)));
    let mut known = HashSet::new();
    named.map(str::trim).filter(|path| !path.is_empty() && known.insert(*path)).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_once_in_order() {
        let patch = "*** Begin Patch\n*** Update File: b.rs\n*** Move to: c.rs\n@@\n-a\n+b\n*** Add File: a b.rs\n\
                     +*** Add File: only text\n*** Delete File: d\n*** Update File: b.rs\n*** End Patch";
        assert_eq!(apply_patch_paths(patch), ["b.rs", "c.rs", "a b.rs", "d"]);
    }

    #[test]
    fn line_ends_of_windows() {
        assert_eq!(apply_patch_paths("*** Begin Patch\r\n*** Add File: a\r\n*** Move to: b\r\n"), ["a", "b"]);
    }

    #[test]
    fn no_paths() {
        for text in ["", "*** Add File: \n", "*** Add File:a", "echo '*** Add File: a'", " *** Add File: a"] {
            assert!(apply_patch_paths(text).is_empty(), "{text:?}");
        }
    }
}
