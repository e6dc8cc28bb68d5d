//! What the layers say together, and where instructions come from.

use std::os::unix::fs::symlink;

use super::*;
use crate::domain::settings::Durability;
use crate::sys::files::Files;

struct Place {
    dir: tempfile::TempDir,
    home: Home,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let home =
            Home { home: path("home"), config: path("config"), state: path("state"), cache: path("cache") };
        Self { home, dir }
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.dir.path().join(name);
        files::create_dir(path.parent().unwrap()).unwrap();
        let tmp = self.dir.path().join("tmp");
        Files::new(tmp, Durability::Process).replace(&path, content.as_ref()).unwrap();
    }

    fn load(&self) -> LoadedWorkers {
        load(&self.home, &self.dir.path().join("work"))
    }

    /// The instructions of the profile `p`.
    fn instructions(&self) -> Result<Option<String>, String> {
        let loaded = self.load();
        assert_eq!(loaded.problems, []);
        let profile = loaded.profile("p").unwrap();
        loaded.instructions(&self.home, profile).map_err(|error| error.to_string())
    }
}

#[test]
fn instructions_are_read_where_their_file_says() {
    let place = Place::new();
    place.put("config/ravenry/workers.toml", "[p]\ninstructions_file = 'prompts/p.md'\n");
    assert!(place.instructions().unwrap_err().contains("there are no instructions for the profile `p`"));
    place.put("config/ravenry/prompts/p.md", "of the user");
    assert_eq!(place.instructions().unwrap().as_deref(), Some("of the user"));
    place.put("config/ravenry/workers.toml", "[p]\ninstructions_file = '~/p.md'\n");
    place.put("home/p.md", "at home");
    assert_eq!(place.instructions().unwrap().as_deref(), Some("at home"));
    place.put("work/.ravenry/workers.toml", "[p]\ninstructions_file = 'docs/p.md'\n");
    place.put("work/docs/p.md", "of the project");
    assert_eq!(place.instructions().unwrap().as_deref(), Some("of the project"));
    place.put("work/.ravenry/workers.toml", "[p]\ninstructions = 'here'\n");
    assert_eq!(place.instructions().unwrap().as_deref(), Some("here"));
    place.put("work/.ravenry/workers.toml", "");
    place.put("config/ravenry/workers.toml", "[p]\n");
    assert_eq!(place.instructions().unwrap(), None);
}

#[test]
fn instructions_that_can_not_be_used() {
    let place = Place::new();
    place.put("work/.ravenry/workers.toml", "[p]\ninstructions_file = 'p.md'\n");
    place.put("secret", "of somebody else");
    symlink(place.dir.path().join("secret"), place.dir.path().join("work/p.md")).unwrap();
    assert!(place.instructions().unwrap_err().contains("it leads out of the project"));
    files::remove(&place.dir.path().join("work/p.md")).unwrap();
    place.put("work/p.md", b"\xff");
    assert!(place.instructions().unwrap_err().contains("not UTF-8"));
    place.put("work/p.md", "x".repeat(257 << 10));
    assert!(place.instructions().unwrap_err().contains("larger than 256 KiB"));
    files::remove(&place.dir.path().join("work/p.md")).unwrap();
    files::create_dir(&place.dir.path().join("work/p.md")).unwrap();
    assert!(place.instructions().unwrap_err().contains("not a plain file"));
}

#[test]
fn a_run_is_refused_for_what_it_needs_alone() {
    let place = Place::new();
    place.put(
        "work/.ravenry/workers.toml",
        "[p]\ncommand = ['x']\n[q]\nmodel = 'm'\n[worktree]\nsetup = 's'\n",
    );
    let loaded = place.load();
    let is_refused = |loaded: &LoadedWorkers, name: &str, place| {
        loaded.untrusted_for(loaded.profile(name).unwrap(), place).is_some()
    };
    assert!(is_refused(&loaded, "p", RunPlace::ParentTree));
    assert!(
        !is_refused(&loaded, "q", RunPlace::ParentTree)
            && !is_refused(&loaded, "scout", RunPlace::ParentTree)
    );
    assert!(is_refused(&loaded, "q", RunPlace::OwnWorktree));
    let FileTrust::Untrusted(file) = &loaded.trust else { panic!("{:?}", loaded.trust) };
    let records = trust_records(&place.home, &loaded.root);
    records.trust(TrustKind::Workers, PROJECT_FILE, &file.text, jiff::Timestamp::UNIX_EPOCH).unwrap();
    let loaded = place.load();
    assert!(
        !is_refused(&loaded, "p", RunPlace::ParentTree) && !is_refused(&loaded, "q", RunPlace::OwnWorktree)
    );
}
