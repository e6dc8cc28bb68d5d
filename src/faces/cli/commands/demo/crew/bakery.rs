//! The repository in which the crew of the demo works: a bakery, its plan, and the scripts that stand in for workers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::faces::cli::commands::demo::{Line, Stage, failed};
use crate::ops::{CommandError, CommandErrorKind};
use crate::sys::files;
use crate::sys::signals::StopRequest;

pub(super) const PLAN: &str = "PLAN.md";
pub(super) const BRANCH: &str = "ravenry/crew-PLAN";

const PLAN_TEXT: &str = include_str!("PLAN.md");
const PROFILES: &str = include_str!("workers.toml");
/// The files of the repository.
const FILES: [(&str, &str); 3] =
    [(PLAN, PLAN_TEXT), ("page.txt", "The bakery\n"), ("shop/address.txt", "1 Mill Street\n")];
/// The files of the home.
const HOME_FILES: [(&str, &str); 3] = [
    (".config/ravenry/workers.toml", PROFILES),
    ("builder.sh", include_str!("builder.sh")),
    ("reviewer.sh", include_str!("reviewer.sh")),
];
/// Where the builders write which attempt has begun.
const BEGUN: &str = "begun";
/// What belongs to the crew in a git directory.
const OF_CREW: [&str; 4] = [".git/objects", ".git/refs/ravenry", ".git/refs/heads/ravenry", ".git/worktrees"];
const FILE_MODE: u32 = 0o644;

/// A home with a repository that is still empty.
pub(super) fn set(stop: &StopRequest) -> Result<Stage, CommandError> {
    let mut stage = Stage::set(stop)?;
    stage.dir = stage.home.path().join("bakery");
    files::create_dir(&stage.dir)?;
    stage.allow_git();
    Ok(stage)
}

/// Makes the repository; returns the plan as it is shown.
pub(super) fn make(stage: &Stage) -> Result<Line, CommandError> {
    let put = |top: &Path, name: &str, text: &str| -> Result<(), CommandError> {
        let path = top.join(name);
        if let Some(dir) = path.parent() {
            files::create_dir(dir)?;
        }
        files::replace_beside(&path, text.as_bytes(), FILE_MODE)?;
        Ok(())
    };
    for (name, text) in HOME_FILES {
        put(stage.home.path(), name, text)?;
    }
    files::create_dir(&stage.home.path().join(BEGUN))?;
    for (name, text) in FILES {
        put(&stage.dir, name, text)?;
    }
    stage.git(&["init", "-q", "-b", "main"])?;
    for (name, value) in [("user.name", "Robin"), ("user.email", "robin@example.org")] {
        stage.git(&["config", name, value])?;
    }
    stage.git(&["add", "-A"])?;
    stage.git(&["commit", "-q", "-m", "Begin"])?;
    Ok(shown_file(PLAN, PLAN_TEXT))
}

/// The profiles as they are shown.
pub(super) fn profiles() -> Line {
    shown_file("~/.config/ravenry/workers.toml", PROFILES)
}

fn shown_file(path: &str, text: &str) -> Line {
    Line { machine: None, command: format!("cat {path}"), exit: Some(0), output: text.trim_end().to_string() }
}

/// All files of the repository, its index, branches and configuration included, but for what belongs to the crew.
pub(super) fn contents(top: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, CommandError> {
    let mut all = BTreeMap::new();
    let mut dirs = vec![top.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).map_err(|error| failed(&error))? {
            let path = entry.map_err(|error| failed(&error))?.path();
            let name = path.strip_prefix(top).unwrap_or(&path).to_path_buf();
            if OF_CREW.iter().any(|own| name.starts_with(own)) {
                continue;
            }
            if path.is_dir() {
                dirs.push(path);
            } else {
                all.insert(name, std::fs::read(&path).map_err(|error| failed(&error))?);
            }
        }
    }
    match all.is_empty() {
        true => Err(CommandError::new(CommandErrorKind::Bug, "the repository of the demo is empty")),
        false => Ok(all),
    }
}
