//! Paths and patterns as they are in their repositories, to compare them with reservations that bind in every work
//! tree of one.
//!
//! A path belongs to every work tree that it is inside of: to a submodule and to the repository around it, to a linked
//! work tree and to the one whose directory it is in. Where a repository began is asked only if somebody holds such a
//! reservation, or wants one.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use crate::domain::pattern::{NormalPath, Pattern};
use crate::domain::{ChangeTarget, Reservation, RootCommit, is_made_up_path};
use crate::store::agents::repository_records::RepositoryRecord;
use crate::store::mesh::Mesh;
use crate::sys::git::{RepositoryStart, WorkTree};
use crate::sys::test_switches;

/// How long git may take to say where a repository began: at a hook or with a lock held, and otherwise.
const QUICK_LIMIT: Duration = Duration::from_millis(400);
const LIMIT: Duration = Duration::from_secs(10);

/// A work tree of a repository that is recognised.
#[derive(Debug)]
struct TreePlace {
    root: NormalPath,
    commit: RootCommit,
}

/// Where paths are in their repositories. Each directory is looked at once.
#[derive(Debug)]
pub struct RepositoryPlaces<'m> {
    mesh: &'m Mesh,
    limit: Cell<Duration>,
    trees: RefCell<HashMap<PathBuf, Rc<[Rc<TreePlace>]>>>,
    failure: RefCell<Option<String>>,
    /// What git said about repositories that were not recorded.
    learned: RefCell<Vec<RepositoryRecord>>,
}

impl<'m> RepositoryPlaces<'m> {
    /// For a command that may take a while.
    pub fn new(mesh: &'m Mesh) -> Self {
        let (trees, failure, learned) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { mesh, limit: Cell::new(LIMIT), trees, failure, learned }
    }

    /// For a hook, and for what is done with a lock held.
    pub fn quick(mesh: &'m Mesh) -> Self {
        let places = Self::new(mesh);
        places.be_quick();
        places
    }

    /// From now on git may take only as long as at a hook: a lock is held.
    pub fn be_quick(&self) {
        self.limit.set(test_switches::or_long(QUICK_LIMIT));
    }

    /// Adds how the target is called in its repositories.
    pub fn add_to(&self, target: &mut ChangeTarget) {
        match target {
            ChangeTarget::File(spellings) => {
                let mut added: Vec<NormalPath> = Vec::new();
                for path in spellings.iter().filter(|path| !is_made_up_path(path.as_str())) {
                    let dir = Path::new(path.as_str()).parent().unwrap_or(Path::new("/"));
                    let named = |tree: &Rc<TreePlace>| Some(tree.commit.path(path.relative_to(&tree.root)?));
                    added.extend(self.around(dir).iter().filter_map(named));
                }
                added.retain(|path| !spellings.contains(path));
                spellings.extend(added);
            }
            ChangeTarget::Area(areas) => {
                let mut added = self.patterns(areas);
                added.retain(|area| !areas.contains(area));
                areas.extend(added);
            }
        }
    }

    /// The same patterns in their repositories.
    pub fn patterns(&self, patterns: &[Pattern]) -> Vec<Pattern> {
        let mut found: Vec<Pattern> = Vec::new();
        for pattern in patterns.iter().filter(|pattern| !is_made_up_path(pattern.head().as_str())) {
            for tree in self.around(Path::new(pattern.head().as_str())).iter() {
                let shared = tree.commit.pattern(pattern, &tree.root);
                found.extend(shared.filter(|shared| !found.contains(shared)));
            }
        }
        found
    }

    /// The reservation as it binds in the work tree with this root, if that is another one of its repository.
    pub fn seen_from(&self, root: &NormalPath, held: &Reservation) -> Option<Reservation> {
        let commit = held.reach.repository()?;
        let is_here = held.root.as_deref() == Some(root.as_str());
        let trees = self.around(Path::new(root.as_str()));
        let is_own = |tree: &Rc<TreePlace>| tree.root == *root && tree.commit == *commit;
        (!is_here && trees.iter().any(is_own)).then(|| Reservation {
            root: Some(root.to_string()),
            head: None,
            ..held.clone()
        })
    }

    /// Why something was not found out, if git failed.
    pub fn failure(&self) -> Option<String> {
        self.failure.borrow().clone()
    }

    /// What git said, for [`Self::save`] or to be saved later.
    pub fn take_learned(&self) -> Vec<RepositoryRecord> {
        self.learned.take()
    }

    /// Saves what git said.
    pub fn save(&self) {
        self.take_learned().iter().for_each(|record| self.mesh.repositories().save(record));
    }

    /// The work trees that the directory is inside of, the innermost first.
    fn around(&self, dir: &Path) -> Rc<[Rc<TreePlace>]> {
        if let Some(known) = self.trees.borrow().get(dir) {
            return Rc::clone(known);
        }
        let own = self.rooted_at(dir).map(Rc::new);
        let above = dir.parent().map(|parent| self.around(parent)).unwrap_or_default();
        let trees: Rc<[Rc<TreePlace>]> = own.into_iter().chain(above.iter().cloned()).collect();
        self.trees.borrow_mut().insert(dir.to_path_buf(), Rc::clone(&trees));
        trees
    }

    fn rooted_at(&self, dir: &Path) -> Option<TreePlace> {
        let tree = WorkTree::rooted_at(dir)?;
        let commit = match self.mesh.repositories().start(&tree, self.limit.get()) {
            Ok((RepositoryStart::At(commit), record)) => {
                self.learned.borrow_mut().extend(record);
                RootCommit::new(&commit)?
            }
            // Nobody can recognise it, so nothing in it is reserved from elsewhere.
            Ok((RepositoryStart::NoCommit | RepositoryStart::Shallow, _)) => return None,
            Err(error) => {
                let text =
                    format!("it is not known which repository `{}` belongs to: {error}", dir.display());
                self.failure.borrow_mut().get_or_insert(text);
                return None;
            }
        };
        Some(TreePlace { root: NormalPath::absolute(&dir.to_string_lossy()), commit })
    }
}
