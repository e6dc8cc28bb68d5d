//! Recognises the harness that a process runs.

use crate::domain::{Harness, ProcessTraits};

use super::SUPPORTED;

/// Recognises the harness of a process, and says by what.
pub fn recognise(look: &ProcessTraits) -> Option<(Harness, String)> {
    for program in look.programs() {
        if let Some(harness) = of_program(program) {
            return Some((harness, format!("it runs `{program}`")));
        }
    }
    let script = look.script()?;
    Some((of_program(script)?, format!("its interpreter runs `{script}`")))
}

fn of_program(path: &str) -> Option<Harness> {
    SUPPORTED.iter().find(|it| it.program_names().matches_path(path)).map(|it| it.id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{claude, codex, copilot, gemini, kimi, opencode, pi, qwen};

    fn check(exe: &str, args: &[&str], expected: Option<Harness>) {
        let name = exe.rsplit('/').next().unwrap();
        let look = ProcessTraits {
            comm: name.chars().take(15).collect(),
            exe: Some(exe.to_string()),
            args: args.iter().map(|arg| arg.to_string()).collect(),
        };
        assert_eq!(recognise(&look).map(|(harness, _)| harness), expected, "{exe} {args:?}");
    }

    #[test]
    fn recognised() {
        let (claude, codex, gemini) = (Some(claude::ID), Some(codex::ID), Some(gemini::ID));
        let (opencode, pi, copilot) = (Some(opencode::ID), Some(pi::ID), Some(copilot::ID));
        check("/home/dev/.local/share/claude/versions/2.1.325", &["claude", "-p"], claude);
        check("/home/dev/.local/share/claude/versions/2.1.325", &["2.1.325"], claude);
        check("/usr/bin/node", &["node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"], claude);
        check("/opt/codex/bin/codex", &["codex", "exec"], codex);
        check("/usr/bin/node", &["node", "/usr/bin/codex"], codex);
        check("/usr/bin/node", &["node", "--no-warnings=DEP0040", "/usr/local/bin/gemini"], gemini);
        check("/usr/bin/node", &["node", "/x/node_modules/@google/gemini-cli/dist/index.js"], gemini);
        check("/x/opencode-linux-x64/bin/opencode", &["opencode", "run"], opencode);
        check("/usr/bin/node", &["pi"], pi);
        check("/usr/bin/node", &["node", "/x/node_modules/@earendil-works/pi-coding-agent/dist/cli.js"], pi);
        check("/x/@github/copilot-linux-x64/copilot", &["copilot"], copilot);
        check("/usr/bin/node", &["kimi-code", "", ""], Some(kimi::ID));
        check("/usr/bin/node", &["node", "/x/node_modules/.bin/kimi", "-p"], Some(kimi::ID));
        let cli = "/x/node_modules/@qwen-code/qwen-code/cli.js";
        check("/usr/bin/node", &["node", "--expose-gc", cli, "-i", "hello"], Some(qwen::ID));
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
