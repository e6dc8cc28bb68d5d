//! Paths as the file system interprets them: where links lead, and whether case matters.
//!
//! A path is compared as it is written and as links lead. A reserved pattern is compared as it is written, and with its
//! head where links led when it was reserved.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::domain::pattern::{LetterCase, NormalPath};

use super::test_switches;

/// The number of links that the kernel follows at most.
const MAX_LINKS: usize = 40;

/// The spellings of a path that count, relative to `cwd`: as written, and where links lead if that is different. In the
/// former, `..` goes up from a link itself; in the latter, from the link's target.
pub fn spellings(cwd: &Path, text: &str) -> Vec<NormalPath> {
    let full = cwd.join(text);
    let read = NormalPath::absolute(&full.to_string_lossy());
    let led = resolve(&full);
    if led == read { vec![read] } else { vec![read, led] }
}

/// Where an absolute path leads. A path that does not exist yet leads to where it would be created.
pub fn resolve(path: &Path) -> NormalPath {
    NormalPath::absolute(&follow(path).to_string_lossy())
}

/// The same as a path, with its original spelling.
pub fn follow(path: &Path) -> PathBuf {
    let mut ahead: VecDeque<Step> = steps(path).collect();
    let mut here = PathBuf::from("/");
    let mut links = 0;
    while let Some(step) = ahead.pop_front() {
        match step {
            Step::Up => {
                here.pop();
            }
            Step::Down(name) => {
                here.push(name);
                // What cannot be read counts as not a link.
                let Ok(target) = std::fs::read_link(&here) else { continue };
                links += 1;
                if links > MAX_LINKS {
                    continue;
                }
                here.pop();
                if target.is_absolute() {
                    here = PathBuf::from("/");
                }
                steps(&target).rev().for_each(|step| ahead.push_front(step));
            }
        }
    }
    here
}

enum Step {
    Up,
    Down(OsString),
}

fn steps(path: &Path) -> impl DoubleEndedIterator<Item = Step> {
    path.components().filter_map(|component| match component {
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Down(name.to_os_string())),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

/// Whether case matters in the file system of the path. It does if no component of the path has a letter, so that it
/// cannot be tested.
pub fn letter_case(path: &Path) -> LetterCase {
    let is_ignored = test_switches::value(test_switches::CASELESS).is_some()
        || path.ancestors().find_map(looks_the_same).unwrap_or(false);
    if is_ignored { LetterCase::Ignored } else { LetterCase::Matters }
}

/// Whether the same file is found under its name in the other case. `None`: the name has no letters, or there is no
/// file.
fn looks_the_same(path: &Path) -> Option<bool> {
    let name = path.file_name()?.to_str()?;
    let other: String = name.chars().map(|c| if c.is_lowercase() { upper(c) } else { lower(c) }).collect();
    if other == name {
        return None;
    }
    let here = std::fs::symlink_metadata(path).ok()?;
    let there = std::fs::symlink_metadata(path.with_file_name(other));
    Some(there.is_ok_and(|there| (there.dev(), there.ino()) == (here.dev(), here.ino())))
}

fn upper(c: char) -> char {
    c.to_uppercase().next().unwrap_or(c)
}

fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes a tree to look at, not a mesh")]
mod tests {
    use super::*;

    use std::fs;
    use std::os::unix::fs::symlink;

    fn tree() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(root.join("real/deep")).unwrap();
        fs::write(root.join("real/deep/x"), "").unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink(root.join("real/deep"), root.join("far")).unwrap();
        symlink("nowhere/yet", root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        (dir, root)
    }

    fn check(cwd: &str, text: &str, expected: &[&str]) {
        let (_keep, root) = tree();
        let shown =
            |form: &NormalPath| form.relative_to(&resolve(&root)).unwrap_or(form.as_str()).to_string();
        let found: Vec<String> = spellings(&root.join(cwd), text).iter().map(shown).collect();
        assert_eq!(found, expected, "`{text}` from `{cwd}`");
    }

    #[test]
    fn every_spelling() {
        check("", "real/deep/x", &["real/deep/x"]);
        check("", "./real//deep/./x", &["real/deep/x"]);
        check("real", "deep/x", &["real/deep/x"]);
        check("real/deep", "../deep/x", &["real/deep/x"]);
        check("", "link/deep/x", &["link/deep/x", "real/deep/x"]);
        check("link", "deep/x", &["link/deep/x", "real/deep/x"]);
        check("", "far/x", &["far/x", "real/deep/x"]);
        // Up from a link: the shell goes back to where it came from, the kernel to the parent of the target.
        check("", "far/../y", &["y", "real/y"]);
        check("", "new/file", &["new/file"]);
        check("", "link/new/file", &["link/new/file", "real/new/file"]);
        check("", "dangling", &["dangling", "nowhere/yet"]);
        check("", "loop/x", &["loop/x"]);
        check("", "/etc/../x", &["/x"]);
    }

    #[test]
    fn case_counts_here() {
        let (_keep, root) = tree();
        let there = root.join("REAL").exists();
        assert_eq!(letter_case(&root.join("real")) == LetterCase::Ignored, there);
    }
}
