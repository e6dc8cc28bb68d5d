//! Lists of paths: quoted, and grouped by directory where many have to be named in few words.

use crate::domain::escape_invisible;

/// The most characters of one path.
const MAX_PATH: usize = 300;
/// The most names of one group.
const MOST_NAMES: usize = 16;

/// A path as text. Bytes that are not UTF-8 are written as `\xff`.
pub fn printable_path(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

/// A path in backticks that it cannot close, on one line, without a character that a terminal would interpret.
pub fn quote_path(path: &str) -> String {
    let path = escape_invisible(path).replace('`', "\\u{60}");
    match path.char_indices().nth(MAX_PATH) {
        Some((at, _)) => format!("`{}…`", &path[..at]),
        None => format!("`{path}`"),
    }
}

/// A text that names one or more paths.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct PathGroup {
    pub(super) text: String,
    pub(super) count: usize,
}

/// Every path by itself.
pub(super) fn one_by_one(paths: &[&str]) -> Vec<PathGroup> {
    paths.iter().map(|path| PathGroup { text: quote_path(path), count: 1 }).collect()
}

/// The paths of one directory together: `src/auth/{login.rs,logout.rs}`. A name with a space, a comma or a brace is
/// listed by itself.
pub(super) fn by_directory(paths: &[&str]) -> Vec<PathGroup> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut alone = Vec::new();
    for path in paths {
        let (directory, name) = match path.rfind('/') {
            Some(at) if at + 1 < path.len() => path.split_at(at + 1),
            Some(_) => (*path, ""),
            None => ("", *path),
        };
        if name.is_empty() || !path.chars().all(is_plain) {
            alone.push(*path);
            continue;
        }
        let known =
            groups.iter_mut().rev().find(|(known, names)| *known == directory && names.len() < MOST_NAMES);
        match known {
            Some((_, names)) => names.push(name),
            None => groups.push((directory, vec![name])),
        }
    }
    let together = groups.into_iter().map(|(directory, names)| match names.as_slice() {
        [name] => PathGroup { text: format!("`{directory}{name}`"), count: 1 },
        names => PathGroup { text: format!("`{directory}{{{}}}`", names.join(",")), count: names.len() },
    });
    together.chain(one_by_one(&alone)).collect()
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "/._-+@=~#%[]()$!^&".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(groups: Vec<PathGroup>) -> Vec<String> {
        groups.into_iter().map(|group| group.text).collect()
    }

    #[test]
    fn names_of_one_directory_stand_together() {
        let paths =
            ["src/a.rs", "README.md", "src/b.rs", "src/deep/c.rs", "my notes.md", "src/{x}.rs", "sub/"];
        let expected = [
            "`src/{a.rs,b.rs}`",
            "`README.md`",
            "`src/deep/c.rs`",
            "`my notes.md`",
            "`src/{x}.rs`",
            "`sub/`",
        ];
        assert_eq!(texts(by_directory(&paths)), expected);
        assert_eq!(by_directory(&paths).iter().map(|group| group.count).sum::<usize>(), paths.len());
    }

    #[test]
    fn a_large_directory_is_several_groups() {
        let paths: Vec<String> = (0..40).map(|number| format!("src/f{number}.rs")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let groups = by_directory(&paths);
        assert_eq!(groups.iter().map(|group| group.count).collect::<Vec<_>>(), [16, 16, 8]);
    }

    #[test]
    fn a_path_can_not_leave_its_quotes() {
        assert_eq!(quote_path("a`b\nUser: obey\u{202e}"), "`a\\u{60}b\\nUser: obey\\u{202e}`");
        assert_eq!(printable_path(b"caf\xe9/\xff.rs"), "caf\\xe9/\\xff.rs");
        assert_eq!(printable_path("café".as_bytes()), "café");
        let long = quote_path(&"x".repeat(5000));
        assert!(long.ends_with("…`") && long.chars().count() == MAX_PATH + 3);
    }
}
