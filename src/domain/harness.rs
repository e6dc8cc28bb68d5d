//! The supported harnesses, and how to recognise their processes.

use std::fmt;

/// The program that hosts an agent.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Harness {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Pi,
    Copilot,
    /// A person.
    Terminal,
    Other,
}

/// How a harness can be recognised by its process and by the environment of its children.
struct Traits {
    harness: Harness,
    name: &'static str,
    /// Package directories, for a program that runs under an interpreter or from a versions folder.
    packages: &'static [&'static str],
    /// Variables that contain the session id in the model's shell, most reliable first.
    session_variables: &'static [&'static str],
    /// One process may host several sessions at once.
    hosts_many: bool,
}

const TRAITS: [Traits; 8] = [
    Traits {
        harness: Harness::Claude,
        name: "claude",
        packages: &["@anthropic-ai/claude-code", "claude/versions"],
        session_variables: &["CLAUDE_CODE_SESSION_ID"],
        hosts_many: false,
    },
    Traits {
        harness: Harness::Codex,
        name: "codex",
        packages: &["@openai/codex"],
        session_variables: &["CODEX_THREAD_ID", "CODEX_SESSION_ID"],
        hosts_many: true,
    },
    Traits {
        harness: Harness::Gemini,
        name: "gemini",
        packages: &["@google/gemini-cli"],
        session_variables: &["GEMINI_SESSION_ID"],
        hosts_many: false,
    },
    Traits {
        harness: Harness::Opencode,
        name: "opencode",
        packages: &["opencode-ai"],
        // OpenCode does not set a session variable in its shell; our plugin sets this one.
        session_variables: &["OPENCODE_SESSION_ID"],
        hosts_many: true,
    },
    Traits {
        harness: Harness::Pi,
        name: "pi",
        packages: &["pi-coding-agent"],
        session_variables: &["PI_SESSION_ID"],
        hosts_many: false,
    },
    Traits {
        harness: Harness::Copilot,
        name: "copilot",
        packages: &["@github/copilot", "@github/copilot-linux-x64"],
        session_variables: &["COPILOT_AGENT_SESSION_ID"],
        hosts_many: false,
    },
    Traits {
        harness: Harness::Terminal,
        name: "terminal",
        packages: &[],
        session_variables: &[],
        hosts_many: false,
    },
    Traits {
        harness: Harness::Other,
        name: "other",
        packages: &[],
        session_variables: &[],
        hosts_many: false,
    },
];

/// Programs that run a script named in their arguments.
const INTERPRETERS: [&str; 8] = ["node", "nodejs", "bun", "deno", "python", "python3", "npx", "tsx"];

/// Observable properties of a process.
#[derive(Clone, Debug, Default)]
pub struct ProcessTraits {
    /// The short name that the kernel reports.
    pub comm: String,
    /// The path of its executable, if we are permitted to read it.
    pub exe: Option<String>,
    pub args: Vec<String>,
}

impl ProcessTraits {
    /// Whether it may be pi. Any interpreter may be running pi, whatever the process is called.
    pub fn may_be_pi(&self) -> bool {
        let programs = [self.exe.as_deref(), self.args.first().map(String::as_str), Some(&self.comm)];
        programs.into_iter().flatten().any(is_interpreter)
            || matches!(Harness::recognise(self), Some((Harness::Pi, _)))
    }
}

impl Harness {
    pub const ALL: [Self; 8] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Opencode,
        Self::Pi,
        Self::Copilot,
        Self::Terminal,
        Self::Other,
    ];

    pub fn name(self) -> &'static str {
        self.traits().name
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|harness| harness.name() == text)
    }

    pub fn session_variables(self) -> &'static [&'static str] {
        self.traits().session_variables
    }

    /// Whether one process hosts several sessions. In Codex's daemon and an OpenCode server a new session id is
    /// therefore a new agent, not the same one after `/clear`.
    pub fn hosts_many(self) -> bool {
        self.traits().hosts_many
    }

    /// Recognises the harness of a process, and says by what.
    pub fn recognise(look: &ProcessTraits) -> Option<(Self, String)> {
        let programs = [look.exe.as_deref(), look.args.first().map(String::as_str), Some(&look.comm)];
        for program in programs.into_iter().flatten() {
            if let Some(harness) = Self::of_program(program) {
                return Some((harness, format!("it runs `{program}`")));
            }
        }
        let interpreted = programs.into_iter().flatten().any(is_interpreter);
        if !interpreted {
            return None;
        }
        // The script is the first argument that is not a flag; the rest are arguments of the script.
        let mut words = look.args.iter().skip(1).filter(|arg| !arg.starts_with('-') && *arg != "run");
        let script = words.next()?;
        Some((Self::of_program(script)?, format!("its interpreter runs `{script}`")))
    }

    fn of_program(path: &str) -> Option<Self> {
        let stem = stem(path);
        TRAITS
            .iter()
            .filter(|traits| !matches!(traits.harness, Self::Terminal | Self::Other))
            .find(|traits| {
                traits.name == stem || traits.packages.iter().any(|package| lies_in(path, package))
            })
            .map(|traits| traits.harness)
    }

    fn traits(self) -> &'static Traits {
        &TRAITS[self as usize]
    }
}

impl fmt::Display for Harness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(exe: &str, args: &[&str], expected: Option<Harness>) {
        let comm = stem(exe).chars().take(15).collect();
        let look = ProcessTraits {
            comm,
            exe: Some(exe.to_string()),
            args: args.iter().map(|arg| arg.to_string()).collect(),
        };
        assert_eq!(Harness::recognise(&look).map(|(harness, _)| harness), expected, "{exe} {args:?}");
    }

    #[test]
    fn traits_stand_where_their_harness_points() {
        for harness in Harness::ALL {
            assert_eq!(harness.traits().harness, harness);
            assert_eq!(Harness::parse(harness.name()), Some(harness));
        }
    }

    #[test]
    fn recognised() {
        use Harness::*;
        check("/home/dev/.local/share/claude/versions/2.1.325", &["claude", "-p"], Some(Claude));
        check("/home/dev/.local/share/claude/versions/2.1.325", &["2.1.325"], Some(Claude));
        check(
            "/usr/bin/node",
            &["node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"],
            Some(Claude),
        );
        check("/opt/codex/bin/codex", &["codex", "exec"], Some(Codex));
        check("/usr/bin/node", &["node", "/usr/bin/codex"], Some(Codex));
        check("/usr/bin/node", &["node", "--no-warnings=DEP0040", "/usr/local/bin/gemini"], Some(Gemini));
        check("/usr/bin/node", &["node", "/x/node_modules/@google/gemini-cli/dist/index.js"], Some(Gemini));
        check("/x/opencode-linux-x64/bin/opencode", &["opencode", "run"], Some(Opencode));
        check("/usr/bin/node", &["pi"], Some(Pi));
        check(
            "/usr/bin/node",
            &["node", "/x/node_modules/@earendil-works/pi-coding-agent/dist/cli.js"],
            Some(Pi),
        );
        check("/x/@github/copilot-linux-x64/copilot", &["copilot"], Some(Copilot));
    }

    #[test]
    fn not_mistaken() {
        check("/bin/bash", &["-bash"], None);
        check("/usr/bin/vim", &["vim", "/x/claude"], None);
        check("/bin/bash", &["bash", "/x/gemini"], None);
        check("/usr/bin/node", &["node", "server.js"], None);
        check("/usr/bin/python3", &["python3", "s.py", "claude"], None);
        check("/usr/bin/node", &["node", "/x/my-claude-codes/index.js"], None);
        check("/usr/bin/terminal", &["terminal"], None);
    }
}
