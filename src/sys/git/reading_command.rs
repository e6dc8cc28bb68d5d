//! A `git` command that only reads, in a repository that nobody vouches for.
//!
//! A repository's own configuration names programs: hooks, file system monitors, pagers, and what fetches missing
//! objects. None of these is run, nothing is fetched, and no index is written. Filters run when git compares working
//! files; who does that leaves them out himself ([`super::ReadOnlyGit`]).

use std::path::Path;
use std::process::Command;

/// Settings under which no program of the repository runs.
const SETTINGS: [&str; 6] = [
    // Empty, not `false`: older versions of git take it for the name of a program.
    "core.fsmonitor=",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "diff.external=",
    "log.showSignature=false",
    "diff.orderFile=/dev/null",
];

/// Variables with which the caller's git would look elsewhere, or write.
const REMOVED: [&str; 22] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_TRACE",
    "GIT_TRACE2",
    "GIT_TRACE2_EVENT",
    "GIT_TRACE_SETUP",
    "GIT_ICASE_PATHSPECS",
    "GIT_ATTR_SOURCE",
];

/// `git` without the variables with which a caller's git works elsewhere.
pub(super) fn own_command() -> Command {
    let mut command = Command::new("git");
    for variable in REMOVED {
        command.env_remove(variable);
    }
    command
}

/// `git`, at that directory. The caller adds the command, and a time limit.
pub(super) fn reading_command(root: &Path) -> Command {
    let mut command = own_command();
    command.envs([
        ("LC_ALL", "C"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_ALLOW_PROTOCOL", "none"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        ("GIT_LITERAL_PATHSPECS", "1"),
    ]);
    command.arg("-C").arg(root).args(["--no-pager", "--no-optional-locks"]);
    command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
    command
}
