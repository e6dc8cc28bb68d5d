//! What is installed into Codex: hooks that it trusts, a rule of its sandbox, and the MCP server.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::domain::text_edit::json::{Dialect, quoted};
use crate::domain::{ASKED_COMMANDS, UNASKED_COMMANDS};
use crate::harness::install::{
    HOOK_SECONDS, HookGroup, InstallContext, InstallTarget, InstalledPart, SettingsFileEntry, directory_from,
    settings,
};
use crate::sys::environment::{Home, variable};
use crate::sys::files;

use super::ID;
use super::server_table::ServerTable;
use super::trust::{Trust, Trusted};

/// Timeout at the end of a session, in seconds: Codex allows three at most.
const LAST_SECONDS: u64 = 3;
/// The variable that names the directory of the user's settings.
const DIRECTORY: &str = "CODEX_HOME";
/// Codex compares base names, so the rule without `host_executable` would let any program called `msg` out of the
/// sandbox.
const RULES: &str = "\
# Lets the agent run `msg` without asking. Put here by `msg install codex`, taken away by `msg uninstall codex`.

host_executable(
    name = \"msg\",
    paths = @PATHS@,
)
@RULES@";

pub(super) fn config_dir(home: &Home) -> PathBuf {
    directory_from(DIRECTORY).unwrap_or_else(|| home.home.join(".codex"))
}

pub(super) fn user_targets(place: &InstallContext<'_>) -> Vec<InstallTarget> {
    let dir = config_dir(place.home);
    let events = [
        ("SessionStart", "session_start", HOOK_SECONDS),
        ("UserPromptSubmit", "user_prompt_submit", HOOK_SECONDS),
        ("PreToolUse", "pre_tool_use", HOOK_SECONDS),
        ("PostToolUse", "post_tool_use", HOOK_SECONDS),
        ("Stop", "stop", HOOK_SECONDS),
        ("SessionEnd", "session_end", LAST_SECONDS),
    ];
    let trusted = events.map(|(name, event, timeout)| Trusted {
        hook: place.group(ID, name, HookGroup { timeout, ..HookGroup::default() }),
        event,
        line: place.line(ID, name),
        timeout,
    });
    let entries = trusted.iter().map(|trusted| SettingsFileEntry::Hook(trusted.hook.clone())).collect();
    let path = dir.join("hooks.json");
    let trust = Trust {
        hooks: path.clone(),
        source: own_name(&dir).join("hooks.json").to_string_lossy().into_owned(),
        events: trusted.to_vec(),
        server: ServerTable { program: place.program.clone(), is_wanted: place.wants_mcp },
    };
    vec![
        InstallTarget::new(path, settings(ID, Dialect::Strict, entries)),
        InstallTarget::new(dir.join("config.toml"), InstalledPart::Custom(Rc::new(trust))),
        InstallTarget::new(dir.join("rules/ravenry.rules"), InstalledPart::Own(rules(place))),
    ]
}

fn rules(place: &InstallContext<'_>) -> String {
    let paths: Vec<String> = place.program_paths().iter().map(|path| quoted(path)).collect();
    let rules = [
        rule_pair(UNASKED_COMMANDS, "allow", "msg is how agents on this machine coordinate"),
        rule_pair(
            ASKED_COMMANDS,
            "prompt",
            "it starts workers, answers for a person, or changes a work tree",
        ),
    ];
    RULES.replacen("@PATHS@", &format!("[{}]", paths.join(", ")), 1).replacen("@RULES@", &rules.concat(), 1)
}

/// One rule for the commands of one word, and one for each first word of the others. A rule is a list of alternatives for each word.
fn rule_pair(commands: &[&str], decision: &str, justification: &str) -> String {
    let list = |words: &mut dyn Iterator<Item = &str>| {
        let words: Vec<String> = words.map(|word| format!("        {},\n", quoted(word))).collect();
        format!("[\n{}    ]", words.concat())
    };
    let mut patterns = vec![list(&mut commands.iter().copied().filter(|command| !command.contains(' ')))];
    let pairs: Vec<(&str, &str)> = commands.iter().filter_map(|command| command.split_once(' ')).collect();
    let mut firsts: Vec<&str> = pairs.iter().map(|(first, _)| *first).collect();
    firsts.dedup();
    patterns.extend(firsts.into_iter().map(|first| {
        let mut seconds = pairs.iter().filter(|pair| pair.0 == first).map(|pair| pair.1);
        format!("{}, {}", quoted(first), list(&mut seconds))
    }));
    let rule = |pattern: &String| {
        format!(
            "\nprefix_rule(\n    pattern = [\"msg\", {pattern}],\n    decision = {},\n    justification = {},\n)\n",
            quoted(decision),
            quoted(justification),
        )
    };
    patterns.iter().map(rule).collect()
}

/// Codex's name for its directory: with links resolved if `CODEX_HOME` is set, otherwise as written.
fn own_name(dir: &Path) -> PathBuf {
    if variable(DIRECTORY).is_some() { files::destination(dir) } else { dir.to_path_buf() }
}
