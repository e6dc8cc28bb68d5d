//! Hard links: a reserved file may have other names.
//!
//! Only a file that has several names is searched for, and only among a limited number of reserved files: a hook must
//! not take long.
//!
//! A file that would be changed is compared by device and inode with what others have reserved, up to 5,000 files.
//! Globs and whole directories that would be changed are not compared that way. Removing one name of a file changes no
//! other name, so that is allowed. An agent that is refused for this waits for the reserved name, and is told by the
//! name that it used.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use crate::domain::pattern::{NormalPath, Pattern};
use crate::domain::{ChangeTarget, is_made_up_path};
use crate::sys::files::{self, FileId, Walk};
use crate::sys::test_switches;

use super::holdings::{Holding, OtherReservations};

/// Limits of the search: the number of files, and the time, for a file system that does not answer.
const MOST_FILES: usize = 5_000;
const MOST_TIME: Duration = Duration::from_millis(500);

/// The file that would be changed, if it has several names.
pub(in crate::ops) fn linked(target: &ChangeTarget) -> Option<FileId> {
    let ChangeTarget::File(spellings) = target else { return None };
    let real = spellings.iter().rfind(|path| !is_made_up_path(path.as_str()))?;
    files::linked(Path::new(real.as_str()))
}

/// What was found among the files that others have reserved.
pub(in crate::ops) struct LinkedFiles {
    /// Those that others have reserved under another name.
    pub(in crate::ops) reserved: HashMap<FileId, Holding>,
    /// More is reserved than was compared.
    pub(in crate::ops) is_cut_short: bool,
}

/// Looks for the files among what others have reserved.
pub(in crate::ops) fn reserved(others: &OtherReservations<'_>, files: &HashSet<FileId>) -> LinkedFiles {
    let mut reserved: HashMap<FileId, Holding> = HashMap::new();
    let mut walk = Walk::new(MOST_FILES, test_switches::or_long(MOST_TIME));
    // Patterns that name one file come first: each costs one `stat`.
    for of_one_file in [true, false] {
        others.each(|pattern, holding| {
            if is_made_up_path(pattern.head().as_str()) || is_one_file(pattern) != of_one_file {
                return;
            }
            for file in among(pattern, files, &mut walk) {
                if let Some(holding) = holding() {
                    reserved.entry(file).or_insert(holding);
                }
            }
        });
    }
    LinkedFiles { reserved, is_cut_short: walk.is_cut_short() }
}

fn is_one_file(pattern: &Pattern) -> bool {
    pattern.is_literal() && Path::new(pattern.head().as_str()).is_file()
}

/// Those of the files that the pattern covers under any name.
fn among(pattern: &Pattern, files: &HashSet<FileId>, walk: &mut Walk) -> Vec<FileId> {
    let mut found = Vec::new();
    walk.files(Path::new(pattern.head().as_str()), &mut |path, metadata| {
        let file = FileId::of(metadata);
        if files.contains(&file) && pattern.covers(&NormalPath::absolute(&path.to_string_lossy())) {
            found.push(file);
        }
    });
    found
}
