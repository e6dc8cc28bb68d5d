//! The one directory that all work trees of a repository agree on.

use std::path::{Path, PathBuf};

use super::{WorkTree, text_of};

impl WorkTree {
    /// The root of the main work tree. Of a bare repository, which has none, its git directory.
    pub fn shared_root(&self) -> PathBuf {
        let Some(repository) = self.repository() else { return self.root.clone() };
        let is_linked = self.is_linked_to(&repository);
        if repository.file_name().is_some_and(|name| name == ".git") {
            let main = repository.parent().filter(|_| is_linked);
            return main.unwrap_or(&self.root).to_path_buf();
        }
        match CoreSettings::of(&repository) {
            CoreSettings { is_bare: true, .. } => repository,
            // A submodule.
            CoreSettings { worktree: Some(path), .. } if is_linked => {
                let main = repository.join(path);
                std::fs::canonicalize(&main).unwrap_or(main)
            }
            _ => self.root.clone(),
        }
    }
}

/// What the configuration of a repository says about its main work tree.
#[derive(Default)]
struct CoreSettings {
    is_bare: bool,
    worktree: Option<String>,
}

impl CoreSettings {
    fn of(repository: &Path) -> Self {
        let mut settings = Self::default();
        for name in ["config", "config.worktree"] {
            settings.read(&text_of(&repository.join(name)).unwrap_or_default());
        }
        settings
    }

    fn read(&mut self, text: &str) {
        let mut is_core = false;
        for line in text.lines().map(str::trim) {
            if line.starts_with('[') {
                is_core =
                    line.trim_end_matches(']').trim_start_matches('[').trim().eq_ignore_ascii_case("core");
                continue;
            }
            let (key, value) = line.split_once('=').unwrap_or((line, "true"));
            let value = value.trim().trim_matches('"');
            match key.trim().to_ascii_lowercase().as_str() {
                "bare" if is_core => self.is_bare = matches!(value, "true" | "yes" | "on" | "1"),
                "worktree" if is_core => self.worktree = Some(value.to_string()),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(dir: &Path, args: &[&str]) {
        let mut command = Command::new("git");
        command.arg("-C").arg(dir).args(["-c", "user.name=J", "-c", "user.email=j@example.org"]).args(args);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_COUNT", "1");
        command.env("GIT_CONFIG_KEY_0", "protocol.file.allow").env("GIT_CONFIG_VALUE_0", "always");
        let output = command.output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn shared(dir: &Path) -> PathBuf {
        WorkTree::containing(dir).unwrap().shared_root()
    }

    #[test]
    fn all_work_trees_have_one() {
        let dir = tempfile::tempdir().unwrap();
        let top = std::fs::canonicalize(dir.path()).unwrap();
        git(&top, &["init", "-q", "-b", "main", "plain"]);
        let plain = top.join("plain");
        git(&plain, &["commit", "-q", "--allow-empty", "-m", "one"]);
        git(&plain, &["worktree", "add", "-q", "-b", "two", "../linked"]);
        assert_eq!([shared(&plain), shared(&top.join("linked"))], [plain.clone(), plain.clone()]);

        git(&top, &["clone", "-q", "--bare", "plain", "bare.git"]);
        let bare = top.join("bare.git");
        git(&bare, &["worktree", "add", "-q", "../one", "main"]);
        git(&bare, &["worktree", "add", "-q", "../two", "two"]);
        assert_eq!([shared(&top.join("one")), shared(&top.join("two"))], [bare.clone(), bare]);

        git(&top, &["init", "-q", "-b", "main", "outer"]);
        let outer = top.join("outer");
        git(&outer, &["submodule", "add", "-q", "../plain", "inner"]);
        let inner = outer.join("inner");
        assert_eq!(shared(&inner), inner);
        git(&inner, &["worktree", "add", "-q", "-b", "three", "../../three"]);
        assert_eq!(shared(&top.join("three")), inner);
    }
}
