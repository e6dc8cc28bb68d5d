//! One run of the `tmux` command: which server it asks, how its arguments are written, and what its errors mean.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::pane_id::PaneId;
use crate::sys::environment::variable;
use crate::sys::program::{self, RunError};

/// How long tmux may take to answer.
const LIMIT: Duration = Duration::from_secs(10);
/// How long a server may take to answer somebody who can do without it.
pub(super) const BRIEF_LIMIT: Duration = Duration::from_secs(1);
/// The name of the socket that tmux uses if no other is named.
const DEFAULT_NAME: &str = "default";

/// Why tmux did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum TmuxError {
    #[error("tmux is not installed")]
    NotInstalled,
    #[error("no tmux server is running at {0}")]
    NoServer(TmuxSocket),
    #[error("tmux has no session `{0}`")]
    NoSession(String),
    #[error("tmux has a session `{0}` already")]
    SessionExists(String),
    #[error("the tmux pane {0} is gone")]
    NoPane(PaneId),
    #[error("the program in the tmux pane {0} has ended")]
    Dead(PaneId),
    #[error("the tmux pane {0} is scrolled back")]
    InMode(PaneId),
    #[error("the screen of the tmux pane {0} has changed since it was looked at")]
    Changed(PaneId),
    #[error("tmux took more than {} s", .0.as_secs())]
    TooSlow(Duration),
    /// The last line that tmux wrote.
    #[error("tmux: {0}")]
    Failed(String),
    #[error("tmux gave an answer that msg does not understand: `{0}`")]
    UnknownAnswer(String),
    #[error("tmux could not be run: {0}")]
    Io(#[from] io::Error),
}

/// Where a server listens.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum TmuxSocket {
    /// A name in tmux's own directory (`tmux -L`).
    Name(String),
    /// Any path (`tmux -S`).
    Path(PathBuf),
}

impl TmuxSocket {
    /// That of the server in which this process runs: `$TMUX`.
    pub fn of_environment() -> Option<Self> {
        Self::of_variable(&variable("TMUX")?)
    }

    /// The socket in a value of `$TMUX`, which is followed there by the server's process and a number of the session.
    pub fn of_variable(value: &str) -> Option<Self> {
        let path = value.rsplitn(3, ',').last()?;
        (!path.is_empty()).then(|| Self::Path(PathBuf::from(path)))
    }

    /// As a person writes it: a path if there is a slash in it, otherwise a name.
    pub fn parse(text: &str) -> Self {
        if text.contains('/') { Self::Path(PathBuf::from(text)) } else { Self::Name(text.to_string()) }
    }

    /// The path of the socket, with links resolved, so that two ways to name one server lead to one path.
    pub fn path(&self) -> PathBuf {
        let path = match self {
            Self::Path(path) => path.clone(),
            Self::Name(name) => {
                let dir = variable("TMUX_TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
                let dir = dir.join(format!("tmux-{}", nix::unistd::getuid()));
                dir.join(name)
            }
        };
        let resolved = path.parent().and_then(|dir| fs_err::canonicalize(dir).ok());
        match (resolved, path.file_name()) {
            (Some(dir), Some(name)) => dir.join(name),
            _ => path,
        }
    }
}

impl Default for TmuxSocket {
    fn default() -> Self {
        Self::Name(DEFAULT_NAME.to_string())
    }
}

impl std::fmt::Display for TmuxSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`", self.path().display())
    }
}

/// A call of the `tmux` command that is being put together.
#[derive(Debug)]
pub(super) struct TmuxCall<'a> {
    socket: &'a TmuxSocket,
    command: Command,
}

impl<'a> TmuxCall<'a> {
    pub(super) fn new(socket: &'a TmuxSocket) -> Self {
        let mut command = Command::new("tmux");
        // Without `-u` what is not ASCII is printed as `_` where the environment names no UTF-8 locale.
        command.arg("-u");
        match socket {
            TmuxSocket::Name(name) => command.args(["-L", name]),
            TmuxSocket::Path(path) => command.arg("-S").arg(path),
        };
        command.env_remove("TMUX").env_remove("TMUX_PANE");
        Self { socket, command }
    }

    /// Adds arguments that reach tmux as they are.
    pub(super) fn words<W: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.command.args(words.into_iter().map(|word| without_end(word.as_ref())));
        self
    }

    /// Begins the next command of the same call. The server runs them without anything in between.
    pub(super) fn then(mut self) -> Self {
        self.command.arg(";");
        self
    }

    pub(super) fn variable(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(super) fn without_variables(mut self, names: &[&str]) -> Self {
        for name in names {
            self.command.env_remove(name);
        }
        self
    }

    pub(super) fn dir(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    pub(super) fn run(self) -> Result<String, TmuxError> {
        self.run_within(LIMIT)
    }

    pub(super) fn run_within(mut self, limit: Duration) -> Result<String, TmuxError> {
        program::run_within(&mut self.command, limit).map_err(|error| self.meaning(error))
    }

    /// Runs it with that text as its standard input.
    pub(super) fn run_with_input(mut self, input: &[u8]) -> Result<String, TmuxError> {
        let output = program::output_with_input(&mut self.command, input, LIMIT);
        let output = output.map_err(|error| self.meaning(error))?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }

    fn meaning(&self, error: RunError) -> TmuxError {
        match error {
            RunError::Start(error) if error.kind() == io::ErrorKind::NotFound => TmuxError::NotInstalled,
            RunError::Start(error) => TmuxError::Io(error),
            RunError::TooSlow(limit) => TmuxError::TooSlow(limit),
            RunError::Failed(text) => self.meaning_of_text(text),
        }
    }

    fn meaning_of_text(&self, text: String) -> TmuxError {
        const NO_SERVER: [&str; 5] =
            ["no server running on", "error connecting to", "server exited", "lost server", "no current"];
        // Commands differ in how they say that something is not there.
        let after = |start: &str| text.strip_prefix(start).map(str::trim);
        let missing = |what: &str| {
            after(&format!("can't find {what}: ")).or_else(|| after(&format!("no such {what}: ")))
        };
        if NO_SERVER.iter().any(|start| text.starts_with(start)) {
            return TmuxError::NoServer(self.socket.clone());
        }
        if let Some(id) = missing("pane").and_then(|id| PaneId::new(id).ok()) {
            return TmuxError::NoPane(id);
        }
        if let Some(name) = missing("session").or_else(|| missing("window")) {
            return TmuxError::NoSession(name.trim_matches(['=', ':']).to_string());
        }
        if let Some(name) = after("duplicate session: ") {
            return TmuxError::SessionExists(name.to_string());
        }
        TmuxError::Failed(text)
    }
}

/// An argument whose last character is a semicolon would end the command, so that is marked as a part of it.
fn without_end(word: &OsStr) -> OsString {
    match word.as_bytes().split_last() {
        Some((b';', rest)) => OsString::from_vec([rest, br"\;"].concat()),
        _ => word.to_os_string(),
    }
}

/// A text where tmux expects a format, which could name values and run commands (`#(…)`): names and directories come from
/// whoever made a repository.
pub(super) fn plain_format(text: &OsStr) -> OsString {
    let mut bytes = Vec::with_capacity(text.len());
    for byte in text.as_bytes() {
        bytes.push(*byte);
        if *byte == b'#' {
            bytes.push(b'#');
        }
    }
    OsString::from_vec(bytes)
}

/// A word for a command inside of a command, as `if-shell` has it.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_semicolon_is_a_part_of_its_word() {
        for (word, written) in
            [("a;", r"a\;"), (r"a\;", r"a\\;"), (";", r"\;"), ("a;b", "a;b"), ("", ""), (";;", r";\;")]
        {
            assert_eq!(without_end(OsStr::new(word)), written);
        }
    }

    #[test]
    fn a_format_of_plain_text_names_nothing() {
        for (text, format) in [("C#Samples", "C##Samples"), ("#(touch x)", "##(touch x)"), ("a b", "a b")] {
            assert_eq!(plain_format(OsStr::new(text)), format);
        }
    }

    #[test]
    fn sockets() {
        let path = |text: &str| Some(TmuxSocket::Path(text.into()));
        assert_eq!(TmuxSocket::of_variable("/tmp/tmux-0/default,12,0"), path("/tmp/tmux-0/default"));
        assert_eq!(TmuxSocket::of_variable("/tmp/a,b/s,12,0"), path("/tmp/a,b/s"));
        assert_eq!(TmuxSocket::of_variable("/tmp/s"), path("/tmp/s"));
        assert_eq!(TmuxSocket::of_variable(""), None);
        assert_eq!(TmuxSocket::parse("./s"), TmuxSocket::Path("./s".into()));
        assert_eq!(TmuxSocket::parse("work"), TmuxSocket::Name("work".to_string()));
    }

    #[test]
    fn one_server_has_one_path() {
        let dir = tempfile::tempdir().unwrap();
        let real = fs_err::canonicalize(dir.path()).unwrap();
        std::os::unix::fs::symlink(&real, real.join("link")).unwrap();
        let (straight, linked) = (real.join("s"), real.join("link/s"));
        assert_eq!(TmuxSocket::Path(linked).path(), TmuxSocket::Path(straight.clone()).path());
        assert_eq!(TmuxSocket::Path(straight.clone()).path(), straight);
    }

    #[test]
    fn what_tmux_says() {
        let socket = TmuxSocket::parse("work");
        let meaning = |text: &str| TmuxCall::new(&socket).meaning_of_text(text.to_string());
        for text in [
            "no server running on /tmp/tmux-0/work",
            "error connecting to /tmp/tmux-0/work (No such file or directory)",
            "server exited unexpectedly",
            "lost server",
        ] {
            assert!(matches!(meaning(text), TmuxError::NoServer(_)), "{text}");
        }
        assert!(matches!(meaning("can't find pane: %9"), TmuxError::NoPane(id) if id.to_string() == "%9"));
        assert!(matches!(meaning("can't find session: a b"), TmuxError::NoSession(name) if name == "a b"));
        assert!(matches!(meaning("no such pane: %9"), TmuxError::NoPane(_)));
        assert!(matches!(meaning("no such session: =b:"), TmuxError::NoSession(name) if name == "b"));
        assert!(matches!(meaning("duplicate session: x"), TmuxError::SessionExists(name) if name == "x"));
        assert!(matches!(meaning("unknown command: x"), TmuxError::Failed(_)));
    }
}
