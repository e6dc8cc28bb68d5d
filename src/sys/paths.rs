//! Paths as the file system reads them: where links lead, and whether case counts.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::domain::pattern::PathForm;

use super::seams;

/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;

/// The spellings of a path that count, read from `cwd`: as it reads, and where links lead if that is elsewhere. `..`
/// goes up from where a link leads in the second, and from the link itself in the first.
pub fn spellings(cwd: &Path, text: &str) -> Vec<PathForm> {
    let full = cwd.join(text);
    let read = PathForm::absolute(&full.to_string_lossy());
    let led = resolve(&full);
    if led == read { vec![read] } else { vec![read, led] }
}

/// Where an absolute path leads. What is not there yet is where it would be made.
pub fn resolve(path: &Path) -> PathForm {
    PathForm::absolute(&follow(path).to_string_lossy())
}

/// The same, spelled as it is there.
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
                // What can't be read is no link, as far as anyone can tell.
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

/// Does the file system that the path lies on take upper and lower case for the same? Where nothing on the way has a
/// letter in its name, nobody can tell, and it counts.
pub fn ignores_case(path: &Path) -> bool {
    if seams::value(seams::CASELESS).is_some() {
        return true;
    }
    path.ancestors().find_map(looks_the_same).unwrap_or(false)
}

/// Is the same file there under its name in the other case? `None`: it has no letters, or is not there.
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
        let shown = |form: &PathForm| form.relative_to(&resolve(&root)).unwrap_or(form.as_str()).to_string();
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
        // Up from a link: the shell goes back to where it came from, the kernel to where it is.
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
        assert_eq!(ignores_case(&root.join("real")), there);
    }
}
