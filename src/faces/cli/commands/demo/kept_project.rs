//! The project that `msg demo --keep DIR` leaves: a spec, some files, a mesh of its own and two agents.
//!
//! An agent lives as long as a process, so the demo leaves a process for each agent too (`msg demo --stand-in MESH`).
//! It does nothing but wait for the mesh to be removed. Until all of the project is there, everything is taken away
//! again when the demo fails or is interrupted.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Stage, failed};
use crate::domain::{escape_invisible, shell_word};
use crate::faces::cli::output::{Page, style};
use crate::ops::{CommandError, CommandErrorKind};
use crate::store::mesh_around;
use crate::sys::files::{self, FileId};
use crate::sys::program;
use crate::sys::signals::StopRequest;

/// How long the process of an agent stays, if the project is not removed.
const STAND_IN_LIFE: Duration = Duration::from_secs(8 * 60 * 60);
/// How often it looks whether the project is still there.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

const MESH: &str = ".mesh";
/// The directories and files of the project beside the mesh, in the order in which they are made.
const DIRS: [&str; 2] = ["src", "src/auth"];
const FILES: [(&str, &str); 3] = [
    (
        "spec.md",
        "# Login\n\n- [ ] TASK-01: Store passwords as hashes\n- [ ] TASK-02: Log in (needs TASK-01)\n- [ ] TASK-03: \
         Log out everywhere (needs TASK-02)\n",
    ),
    (
        "src/auth/login.rs",
        "pub fn log_in(name: &str, password: &str) -> bool {\n    name == \"robin\" && password == \"secret\"\n}\n",
    ),
    ("src/session.rs", "pub fn is_logged_in(name: &str) -> bool {\n    name == \"robin\"\n}\n"),
];
/// What Codex asks before Bob edits a file.
const EDIT: &str = "bobs-edit.json";
/// Name, harness and session.
const AGENTS: [(&str, &str, &str); 2] = [("Alice", "claude", "alice"), ("Bob", "codex", "bob")];

/// A directory that the project may be made in.
pub(super) struct ProjectDir {
    dir: PathBuf,
    is_new: bool,
}

impl ProjectDir {
    /// Checks that the directory is new or empty, before anything else is done.
    pub(super) fn find(wanted: &Path) -> Result<Self, CommandError> {
        let refused = |why: &str| {
            let text = format!("`--keep {}`: {why}", wanted.display());
            CommandError::new(CommandErrorKind::InvalidValue, text)
                .hint("pass a directory that is new or empty, for example `--keep ~/ravenry-tour`")
        };
        let dir = std::path::absolute(wanted).map_err(|_| refused("this is not a path"))?;
        refuse_inside_mesh(wanted, &dir)?;
        let Some(there) = files::metadata(&dir)? else {
            let has_parent = dir.parent().is_some_and(Path::is_dir);
            return match has_parent {
                true => Ok(Self { dir, is_new: true }),
                false => Err(refused("the directory above it does not exist")),
            };
        };
        if !there.is_dir() {
            return Err(refused("this is not a directory"));
        }
        // The command that removes everything has to name the directory, not a link to it.
        let dir = dir.canonicalize().map_err(|error| failed(&error))?;
        match files::has_only_names(&dir, |_| false)? {
            true => Ok(Self { dir, is_new: false }),
            false => Err(refused("the directory is not empty")),
        }
    }
}

/// A project inside a mesh would be taken for files of that mesh, and removing it would be a change of the mesh.
fn refuse_inside_mesh(wanted: &Path, dir: &Path) -> Result<(), CommandError> {
    let keep = format!("`--keep {}`", wanted.display());
    let refused =
        |text: String, hint: &str| CommandError::new(CommandErrorKind::InvalidValue, text).hint(hint);
    // A link may lead into a mesh. A directory that is new is where the one above it is.
    let real = |path: &Path| path.canonicalize().ok();
    let place = real(dir).or_else(|| dir.parent().and_then(real));
    if let Some(mesh) = place.as_deref().and_then(mesh_around) {
        let text = format!("{keep}: this is inside the mesh `{}`", mesh.display());
        return Err(refused(text, "pass a directory outside of it, for example `--keep ~/ravenry-tour`"));
    }
    let here = std::env::current_dir().ok();
    if let Some(mesh) = here.as_deref().and_then(mesh_around) {
        let text = format!("{keep}: the current directory is inside the mesh `{}`", mesh.display());
        return Err(refused(text, "change to a directory outside of it first, for example by `cd ~`"));
    }
    Ok(())
}

/// The project that the demo leaves.
pub(super) struct KeptProject {
    dir: PathBuf,
    agents: Vec<(&'static str, u32)>,
}

/// Makes the project: all of it or nothing.
pub(super) fn make(place: ProjectDir, stop: &StopRequest) -> Result<KeptProject, CommandError> {
    // Seconds have passed since the first check: another run may have been told the same directory.
    let place = ProjectDir::find(&place.dir)?;
    let (dir, mesh) = (place.dir.clone(), place.dir.join(MESH));
    let mut draft = UnfinishedProject { place, made: Vec::new(), stand_ins: Vec::new(), is_done: false };
    files::create_dir(&dir).map_err(|error| failed(&error.source))?;
    // Of two runs in one directory, one makes the mesh. The other fails here and has nothing to take away.
    for name in [MESH].into_iter().chain(DIRS) {
        files::create_new_dir(&dir.join(name)).map_err(|error| failed(&error.source))?;
        draft.made.push(dir.join(name));
    }
    let edit = edit(&dir);
    for (name, text) in FILES.into_iter().chain([(EDIT, edit.as_str())]) {
        let path = dir.join(name);
        let mut file = std::fs::File::create_new(&path).map_err(|error| failed(&error))?;
        draft.made.push(path);
        file.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
    }
    let stage = Stage::in_project(&dir, &mesh, stop)?;
    for (name, harness, session) in AGENTS {
        let pid = draft.start_stand_in(&mesh)?.to_string();
        let hosted = ["--harness", harness, "--session", session, "--pid", &pid];
        stage.msg(&["join", name, "--spec", "spec.md"], &hosted)?;
    }
    let reserved = ["--reserve", "src/auth/", "--reason", "new login flow"];
    stage.msg(&[&["claim", "TASK-01", "--as", "Alice"][..], &reserved].concat(), &[])?;
    stage.msg(&["set-status", "free for the next task", "--as", "Bob"], &[])?;
    stage.check_interrupt()?;
    Ok(draft.finish())
}

/// The payload of Codex's hook before Bob applies a patch to `src/session.rs`.
fn edit(dir: &Path) -> String {
    let patch = "*** Begin Patch\n*** Update File: src/session.rs\n@@\n-    name == \"robin\"\n+    !name.is_empty()\n\
                 *** End Patch";
    let payload = json!({
        "session_id": "bob",
        "cwd": dir.to_string_lossy(),
        "hook_event_name": "PreToolUse",
        "tool_name": "apply_patch",
        "tool_input": { "command": patch },
    });
    format!("{payload:#}\n")
}

/// A project that is not complete yet. It is removed with this value.
struct UnfinishedProject {
    place: ProjectDir,
    /// The directories and files that were made, in this order.
    made: Vec<PathBuf>,
    stand_ins: Vec<Child>,
    is_done: bool,
}

impl UnfinishedProject {
    /// Starts the process of an agent. It has nothing of ours open, and Ctrl-C does not reach it.
    fn start_stand_in(&mut self, mesh: &Path) -> Result<u32, CommandError> {
        let mut command = Command::new(program::own().map_err(|error| failed(&error))?);
        command.args(["demo", "--stand-in"]).arg(mesh).env_clear().current_dir("/").process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| failed(&error))?;
        let pid = child.id();
        self.stand_ins.push(child);
        Ok(pid)
    }

    fn finish(mut self) -> KeptProject {
        self.is_done = true;
        let agents = AGENTS.iter().zip(&self.stand_ins).map(|((name, ..), child)| (*name, child.id()));
        KeptProject { dir: self.place.dir.clone(), agents: agents.collect() }
    }
}

impl Drop for UnfinishedProject {
    #[expect(clippy::disallowed_methods, reason = "it removes what the demo itself has made")]
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        for child in &mut self.stand_ins {
            // One that has ended already is fine.
            drop(child.kill());
            drop(child.wait());
        }
        // Only what we made: somebody else may have put files into the directory meanwhile.
        let ProjectDir { dir, is_new } = &self.place;
        for path in self.made.iter().rev() {
            if path.ends_with(MESH) {
                drop(std::fs::remove_dir_all(path));
            } else if path.is_dir() {
                drop(std::fs::remove_dir(path));
            } else {
                drop(std::fs::remove_file(path));
            }
        }
        if *is_new {
            drop(std::fs::remove_dir(dir));
        }
    }
}

/// Waits until the mesh is removed, or for [`STAND_IN_LIFE`]. A new mesh at the same path counts as removed.
pub(super) fn stand_in(mesh: &Path) {
    // While it is open, no other directory gets its inode number.
    let _open = std::fs::File::open(mesh);
    let look = || files::metadata(mesh).ok().flatten().map(|metadata| FileId::of(&metadata));
    let (first, started) = (look(), Instant::now());
    while first.is_some() && look() == first && started.elapsed() < STAND_IN_LIFE {
        std::thread::sleep(LOOK_AGAIN);
    }
}

impl KeptProject {
    /// The commands to type first.
    fn next(&self) -> [String; 3] {
        let mesh = self.dir.join(MESH);
        let [dir, mesh] = [&self.dir, &mesh].map(|path| shell_word(&path.to_string_lossy()).into_owned());
        [format!("cd {dir}"), format!("export MSG_MESH={mesh}"), "msg agents".to_string()]
    }

    /// The command that removes it all.
    fn removal(&self) -> String {
        format!("rm -r {}", shell_word(&self.dir.to_string_lossy()))
    }

    pub(super) fn json(&self) -> [(String, Value); 5] {
        let agents: Vec<Value> =
            self.agents.iter().map(|(name, pid)| json!({ "name": name, "pid": pid })).collect();
        [
            ("kept", json!(self.dir.to_string_lossy())),
            ("mesh", json!(self.dir.join(MESH).to_string_lossy())),
            ("agents", json!(agents)),
            ("next", json!(self.next())),
            ("remove", json!(self.removal())),
        ]
        .map(|(name, value)| (name.to_string(), value))
    }

    pub(super) fn text(&self, page: &mut Page) {
        let dir = self.dir.to_string_lossy();
        page.line(style::bold(&format!("There is a project for you in {}", escape_invisible(&dir))));
        page.line("It has a spec with three tasks (spec.md), some files and a mesh of its own (.mesh).");
        page.line(
            "Two agents are there: Alice is working on TASK-01 and has reserved src/auth/, Bob is free.",
        );
        let pids: Vec<String> = self.agents.iter().map(|(name, pid)| format!("{pid} for {name}")).collect();
        page.line(format!(
            "A process stands in for each ({}). It ends when you remove the directory, at the latest after 8 hours.",
            pids.join(", ")
        ));
        page.line("");
        page.line("Type these first. The second makes this terminal use the mesh of the project, not yours:");
        self.next()
            .iter()
            .for_each(|command| page.line(format!("  {}", style::good(&escape_invisible(command)))));
        page.line("");
        page.line("docs/tour.md is a tour of ten minutes that starts here. To remove everything:");
        page.line(format!("  {}", style::good(&escape_invisible(&self.removal()))));
    }
}
