//! Recognises which program a process runs, from its executable, its arguments and its kernel name.

/// Programs that run a script named in their arguments.
const INTERPRETERS: [&str; 8] = ["node", "nodejs", "bun", "deno", "python", "python3", "npx", "tsx"];
/// The program that pi-messenger is an extension of: its name, and its package.
pub(super) const HOST_OF_PI_MESSENGER: ProgramNames =
    ProgramNames { name: "pi", other_names: &[], packages: &["pi-coding-agent"] };

/// Observable properties of a process.
#[derive(Clone, Debug, Default)]
pub struct ProcessTraits {
    /// The short name that the kernel reports.
    pub comm: String,
    /// The path of its executable, if we are permitted to read it.
    pub exe: Option<String>,
    pub args: Vec<String>,
}

/// The names by which a program is recognised.
#[derive(Clone, Copy, Debug)]
pub struct ProgramNames {
    /// The name of its executable.
    pub name: &'static str,
    pub other_names: &'static [&'static str],
    /// Package directories, for a program that runs under an interpreter or from a versions folder.
    pub packages: &'static [&'static str],
}

impl ProcessTraits {
    /// The names of the program that it may be, most reliable first.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        let programs = [self.exe.as_deref(), self.args.first().map(String::as_str), Some(&*self.comm)];
        programs.into_iter().flatten()
    }

    /// The script that its interpreter runs; `None` if it is no interpreter.
    pub fn script(&self) -> Option<&str> {
        if !self.programs().any(is_interpreter) {
            return None;
        }
        // The script is the first argument that is not a flag; the rest are arguments of the script.
        let mut words = self.args.iter().skip(1).filter(|arg| !arg.starts_with('-') && *arg != "run");
        words.next().map(String::as_str)
    }

    /// Whether an agent of pi-messenger may run in it. Any interpreter may be running one, whatever it is called.
    pub fn may_host_pi_messenger(&self) -> bool {
        self.programs().any(|program| is_interpreter(program) || HOST_OF_PI_MESSENGER.matches_path(program))
    }
}

impl ProgramNames {
    /// Whether the program at this path has one of the names.
    pub fn matches_path(&self, path: &str) -> bool {
        let stem = stem(path);
        self.name == stem
            || self.other_names.contains(&stem)
            || self.packages.iter().any(|package| lies_in(path, package))
    }
}

/// The file name without a script extension.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    // Strip the `-` of a login shell (`-bash`) and the ` (deleted)` of an executable that an update replaced.
    let name = name.trim_start_matches('-').trim_end_matches(" (deleted)");
    [".js", ".mjs", ".cjs", ".ts", ".py", ".exe"]
        .iter()
        .find_map(|extension| name.strip_suffix(extension))
        .unwrap_or(name)
}

fn is_interpreter(path: &str) -> bool {
    let stem = stem(path);
    INTERPRETERS.contains(&stem) || stem.starts_with("python3.")
}

/// Whether `package` is a sequence of whole components of `path`.
fn lies_in(path: &str, package: &str) -> bool {
    path.match_indices(package).any(|(at, _)| {
        let before = path[..at].chars().next_back();
        let after = path[at + package.len()..].chars().next();
        matches!(before, None | Some('/')) && matches!(after, Some('/'))
    })
}
