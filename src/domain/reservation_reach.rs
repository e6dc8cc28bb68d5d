//! Where a reservation binds: in one work tree, in every work tree and clone of a repository, or for a thing that is not a
//! file.
//!
//! A repository is recognised by its first commit, which is the same on every machine. A path in it is compared as a
//! path below a made-up directory that has this commit in its name, so whatever compares paths compares these too.

use super::pattern::{NormalPath, Pattern};
use super::thing::is_thing_path;

/// The directory of all repositories. No file can have this path: file names have no NUL.
const REPOSITORIES: &str = "/\0repository";

/// The id of the first commit of a repository.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RootCommit(String);

impl RootCommit {
    /// `None`: the text is not the id of a commit.
    pub fn new(text: &str) -> Option<Self> {
        let is_id = (40..=64).contains(&text.len())
            && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_id.then(|| Self(text.to_string()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path in the repository, as it is compared. `relative` is relative to the root of a work tree.
    pub fn path(&self, relative: &str) -> NormalPath {
        NormalPath::absolute(&format!("{REPOSITORIES}/{}", self.0)).join(relative)
    }

    /// The pattern in the repository, as it is compared; `None` if it is not in the work tree with this root.
    pub fn pattern(&self, pattern: &Pattern, root: &NormalPath) -> Option<Pattern> {
        Some(pattern.with_head(self.path(pattern.head().relative_to(root)?)))
    }
}

/// Whether the text of an index names a path in a repository.
pub fn mentions_repository(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), REPOSITORIES.as_bytes()).is_some()
}

/// Whether the path is one in a repository or that of a thing, not one of a file.
pub fn is_made_up_path(path: &str) -> bool {
    let is_in_repository =
        path.strip_prefix(REPOSITORIES).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    is_in_repository || is_thing_path(path)
}

/// Where a reservation binds.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub enum ReservationReach {
    /// Where it was made.
    #[default]
    WorkTree,
    /// In every work tree and every clone of this repository.
    Repository(RootCommit),
    /// For a thing: the root of the reservation says what the thing is a part of.
    Thing,
}

impl ReservationReach {
    /// The repository in whose work trees it binds; `None` if it binds in one only, or for a thing.
    pub fn repository(&self) -> Option<&RootCommit> {
        match self {
            Self::WorkTree | Self::Thing => None,
            Self::Repository(commit) => Some(commit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3890d112605d372894a6fab37e3f056c89ad692c";

    #[test]
    fn only_ids_of_commits() {
        assert!(RootCommit::new(ID).is_some() && RootCommit::new(&"0".repeat(64)).is_some());
        for text in ["", "3890d11", &ID.to_uppercase(), &format!("{ID}/"), &"0".repeat(65), &"g".repeat(40)] {
            assert!(RootCommit::new(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_path_in_a_repository_is_free_of_the_work_tree() {
        let commit = RootCommit::new(ID).unwrap();
        let in_repository = |root: &str, text: &str| {
            let root = NormalPath::absolute(root);
            commit.pattern(&Pattern::new(text, &root).unwrap(), &root)
        };
        let here = in_repository("/w/a", "src/*.rs").unwrap();
        assert_eq!(Some(&here), in_repository("/elsewhere", "src/*.rs").as_ref());
        assert!(here.covers(&commit.path("src/main.rs")) && !here.covers(&commit.path("main.rs")));
        assert!(is_made_up_path(here.head().as_str()) && !is_made_up_path("/w/a"));
        assert!(in_repository("/w/a", "/w/b").is_none(), "outside of the work tree");
        let whole = in_repository("/w/a", ".").unwrap();
        assert!(whole.covers(&commit.path("")) && whole.covers(&commit.path("a/b")));
    }
}
