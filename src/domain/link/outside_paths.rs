//! Paths outside of a work tree, which concern nobody on another machine. What agents do in their work tree is written
//! relative to it; any other path is absolute, or starts with `~` or `..`.

use std::borrow::Cow;

/// What stands for such a path.
const LEFT_OUT: &str = "…";

/// Whether a word of the text is such a path.
pub fn has_outside_path(text: &str) -> bool {
    words(text).any(is_outside)
}

/// The text without such paths.
pub fn without_outside_paths(text: &str) -> Cow<'_, str> {
    if !has_outside_path(text) {
        return Cow::Borrowed(text);
    }
    let shown = |word: &str| {
        let start = word.find(|c| !OPENING.contains(&c)).unwrap_or(word.len());
        if is_outside(word) { format!("{}{LEFT_OUT}", &word[..start]) } else { word.to_string() }
    };
    Cow::Owned(words(text).map(shown).collect::<Vec<_>>().join(" "))
}

/// What may stand before a path in a text.
const OPENING: [char; 8] = ['(', '[', '{', '<', '"', '\'', '`', '='];

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
}

fn is_outside(word: &str) -> bool {
    // An option may have a path: `--manifest-path=/home/a/Cargo.toml`.
    let value = word.split_once('=').map_or(word, |(_, value)| value);
    [word, value].into_iter().map(|word| word.trim_start_matches(OPENING)).any(|path| {
        let is_absolute = path.starts_with('/')
            && path[1..].starts_with(|c: char| c.is_alphanumeric() || "._~".contains(c));
        // `/clear` is a command of a harness as often as a path; a path has a second part.
        (is_absolute && path[1..].contains('/'))
            || path == "~"
            || path.starts_with("~/")
            || path == ".."
            || path.starts_with("../")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_outside_are_left_out_and_the_rest_stays() {
        for (text, expected) in [
            ("editing src/a.rs", "editing src/a.rs"),
            ("editing /home/anna/.ssh/config", "editing …"),
            ("TASK-01, /etc/passwd", "TASK-01, …"),
            ("run `/usr/bin/x --y` (~/notes.md)", "run `… --y` (…"),
            ("cargo test --manifest-path=/home/a/Cargo.toml", "cargo test …"),
            ("../other/x.rs", "…"),
            ("and/or 1/2 /clear src/../x", "and/or 1/2 /clear src/../x"),
            ("https://example.org/a/b", "https://example.org/a/b"),
            ("", ""),
        ] {
            assert_eq!(without_outside_paths(text), expected, "{text}");
        }
    }
}
