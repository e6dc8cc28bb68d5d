//! Things that can be reserved and are not files: parts of a git repository, ports, databases and names.
//!
//! A thing is written `@…`. It is a part of something: of a work tree, of a repository or of the machine. The directory
//! of that is its root: git's directory of the work tree, git's common directory, or `/`. Two things overlap if they are
//! written alike and have the same root. They are compared as paths below a made-up directory, so whatever compares
//! paths compares them too.

use std::fmt;

use super::pattern::NormalPath;
use super::suggest::suggestions;

/// The directory of all things. No file can have this path: file names have no NUL.
const THINGS: &str = "/\0thing";
/// The longest name of a thing, in bytes.
const MAX_THING: usize = 200;
/// What can follow `@git/`.
const GIT_PARTS: [&str; 3] = ["index", "HEAD", "branch:NAME"];

/// Something that is not a file and that only one agent should use at a time.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Thing {
    /// `@git/index`: what is staged in a work tree.
    GitIndex,
    /// `@git/HEAD`: what is checked out in a work tree.
    GitHead,
    /// `@git/branch:NAME`, by the name without `refs/heads/`.
    GitBranch(String),
    /// `@port:3000`.
    Port(u16),
    /// `@db:NAME`.
    Database(String),
    /// `@NAME`, whatever the agents agree it stands for.
    Named(String),
}

/// What a thing is a part of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ThingScope {
    WorkTree,
    /// All work trees of one repository; a clone is another repository.
    Repository,
    Machine,
}

/// Why a text that begins like a thing is not one.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ThingError {
    #[error("a name must follow the `@`")]
    NoName,
    #[error("there is no `@git/{0}`")]
    GitPart(String),
    #[error("`{0}` is not a name that a branch can have")]
    Branch(String),
    #[error("`{0}` is not a port: ports are 1 to 65535")]
    Port(String),
    #[error("`{0}` is not a name: letters, digits, `-`, `_` and `.`")]
    Name(String),
    #[error("`@{0}` needs more: it is a kind of thing")]
    OnlyKind(String),
    #[error("`@{0}:` is not a kind of thing that is known")]
    Kind(String),
    #[error("it has more than {MAX_THING} bytes")]
    TooLong,
}

impl ThingError {
    /// What to type instead.
    pub fn hint(&self) -> String {
        match self {
            Self::GitPart(part) => {
                let close = suggestions(part, GIT_PARTS);
                let forms: Vec<String> = GIT_PARTS.iter().map(|form| format!("`@git/{form}`")).collect();
                match close.first() {
                    Some(close) => format!("did you mean `@git/{close}`?"),
                    None => format!("there are {}", forms.join(", ")),
                }
            }
            Self::Branch(_) => "for example `@git/branch:main` or `@git/branch:feature/login`".to_string(),
            Self::Port(_) => "for example `@port:3000`".to_string(),
            Self::OnlyKind(kind) if kind == "git" => "for example `@git/index`".to_string(),
            Self::OnlyKind(kind) if kind == "port" => "for example `@port:3000`".to_string(),
            Self::OnlyKind(_) => "for example `@db:test`".to_string(),
            Self::NoName | Self::Name(_) | Self::Kind(_) | Self::TooLong => {
                "for example `@git/index`, `@port:3000`, `@db:test` or `@build`".to_string()
            }
        }
    }
}

impl Thing {
    /// Parses what was typed. `None`: it is a path or a glob.
    pub fn parse(text: &str) -> Option<Result<Self, ThingError>> {
        let rest = text.strip_prefix('@')?;
        if let Some(part) = rest.strip_prefix("git/") {
            return Some(Self::git(part));
        }
        // Whoever writes a kind means a thing, also with a slash in what follows.
        if let Some(port) = rest.strip_prefix("port:") {
            return Some(Self::port(port));
        }
        if let Some(name) = rest.strip_prefix("db:").filter(|_| text.len() <= MAX_THING) {
            return Some(named(name).map(Self::Database));
        }
        // `@scope/package` is a path, and so is a file like `@types.ts` or a glob like `@*`.
        if rest.contains('/') {
            return None;
        }
        let parsed = match rest.split_once(':') {
            None if rest.is_empty() => Err(ThingError::NoName),
            None if !rest.bytes().all(is_plain) => return None,
            None if matches!(rest, "git" | "port" | "db") => Err(ThingError::OnlyKind(rest.to_string())),
            None => Ok(Self::Named(rest.to_string())),
            Some((kind, _)) if kind.bytes().all(is_plain) => Err(ThingError::Kind(kind.to_string())),
            Some(_) => return None,
        };
        Some(if text.len() > MAX_THING { Err(ThingError::TooLong) } else { parsed })
    }

    /// Whether the text would be read as a thing, or refused as a wrong one.
    pub fn is_meant_by(text: &str) -> bool {
        Self::parse(text).is_some()
    }

    fn git(part: &str) -> Result<Self, ThingError> {
        match part {
            "index" => Ok(Self::GitIndex),
            "HEAD" => Ok(Self::GitHead),
            _ => match part
                .strip_prefix("branch:")
                .map(|name| name.strip_prefix("refs/heads/").unwrap_or(name))
            {
                Some(name) if is_branch(name) && !name.starts_with("refs/") => {
                    Ok(Self::GitBranch(name.to_string()))
                }
                Some(name) => Err(ThingError::Branch(name.escape_debug().to_string())),
                None => Err(ThingError::GitPart(part.escape_debug().to_string())),
            },
        }
    }

    fn port(text: &str) -> Result<Self, ThingError> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let port = text.parse::<u16>().ok().filter(|port| is_number && *port > 0);
        port.map(Self::Port).ok_or_else(|| ThingError::Port(text.escape_debug().to_string()))
    }

    pub fn scope(&self) -> ThingScope {
        match self {
            Self::GitIndex | Self::GitHead => ThingScope::WorkTree,
            Self::GitBranch(_) => ThingScope::Repository,
            Self::Port(_) | Self::Database(_) | Self::Named(_) => ThingScope::Machine,
        }
    }
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GitIndex => f.write_str("@git/index"),
            Self::GitHead => f.write_str("@git/HEAD"),
            Self::GitBranch(name) => write!(f, "@git/branch:{name}"),
            Self::Port(port) => write!(f, "@port:{port}"),
            Self::Database(name) => write!(f, "@db:{name}"),
            Self::Named(name) => write!(f, "@{name}"),
        }
    }
}

impl ThingScope {
    /// The word for it in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::WorkTree => "workTree",
            Self::Repository => "repository",
            Self::Machine => "machine",
        }
    }
}

/// The thing as it is compared: one name below its root, so that no thing is above another.
pub fn thing_path(written: &str, root: &str) -> NormalPath {
    let name = written.replace('/', "\0");
    NormalPath::absolute(&format!("{THINGS}/{root}/\0{name}"))
}

/// Whether the path is that of a thing, not one of a file.
pub(super) fn is_thing_path(path: &str) -> bool {
    path.strip_prefix(THINGS).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether the text of an index names a thing.
pub fn mentions_thing(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), THINGS.as_bytes()).is_some()
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

fn named(name: &str) -> Result<String, ThingError> {
    let is_name = !name.is_empty() && name.bytes().all(|byte| is_plain(byte) || byte == b'.');
    is_name.then(|| name.to_string()).ok_or_else(|| ThingError::Name(name.escape_debug().to_string()))
}

/// Whether git would accept it as the name of a branch (`git check-ref-format --branch`).
fn is_branch(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let is_char = |c: char| !c.is_control() && !" ~^:?*[\\".contains(c);
    let is_whole = !name.starts_with('-') && !name.ends_with('.') && !matches!(name, "@" | "HEAD");
    name.len() <= MAX_THING
        && is_whole
        && name.split('/').all(is_part)
        && name.chars().all(is_char)
        && !name.contains("..")
        && !name.contains("@{")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Result<String, String>> {
        Some(Thing::parse(text)?.map(|thing| thing.to_string()).map_err(|error| error.to_string()))
    }

    #[test]
    fn the_forms_of_things() {
        use ThingScope::{Machine, Repository, WorkTree};
        for (text, scope) in [
            ("@git/index", WorkTree),
            ("@git/HEAD", WorkTree),
            ("@git/branch:main", Repository),
            ("@git/branch:feature/x", Repository),
            ("@git/branch:a{b}@c.d", Repository),
            ("@port:1", Machine),
            ("@port:65535", Machine),
            ("@db:test", Machine),
            ("@db:app_test.v2", Machine),
            ("@build", Machine),
            ("@Build-2_x", Machine),
        ] {
            let thing = Thing::parse(text).unwrap().unwrap();
            assert_eq!((thing.to_string().as_str(), thing.scope()), (text, scope));
        }
        assert_eq!(parsed("@port:03000"), Some(Ok("@port:3000".to_string())), "one port has one name");
    }

    #[test]
    fn paths_are_not_things() {
        for path in [
            "app",
            "./@app",
            "@scope/package",
            "@app/",
            "@types.ts",
            "@*.ts",
            "a@b",
            "",
            "@a b",
            "@port/3000",
            "@build/x",
            "@ä",
            "@*:x",
            "@{a,b}",
        ] {
            assert_eq!(Thing::parse(path), None, "{path}");
        }
    }

    #[test]
    fn wrong_things_are_errors_with_a_way_out() {
        let long = format!("@{}", "x".repeat(300));
        let long_branch = format!("@git/branch:{}", "x".repeat(300));
        for (text, word) in [
            ("@", "name must follow"),
            ("@git/nothing", "no `@git/nothing`"),
            ("@git/", "no `@git/`"),
            ("@git/index/", "no `@git/index/`"),
            ("@git/head", "no `@git/head`"),
            ("@git", "needs more"),
            ("@port", "needs more"),
            ("@db", "needs more"),
            ("@port:", "not a port"),
            ("@port:0", "not a port"),
            ("@port:abc", "not a port"),
            ("@port:+80", "not a port"),
            ("@port:70000", "not a port"),
            ("@db:", "not a name"),
            ("@db:a b", "not a name"),
            ("@redis:6379", "not a kind"),
            ("@git/branch:", "branch can have"),
            ("@git/branch:a..b", "branch can have"),
            ("@git/branch:/a", "branch can have"),
            ("@git/branch:a/", "branch can have"),
            ("@git/branch:a//b", "branch can have"),
            ("@git/branch:a b", "branch can have"),
            ("@git/branch:-a", "branch can have"),
            ("@git/branch:a.lock", "branch can have"),
            ("@git/branch:.a/b", "branch can have"),
            ("@git/branch:*", "branch can have"),
            ("@git/branch:@", "branch can have"),
            (long.as_str(), "more than 200"),
            (long_branch.as_str(), "branch can have"),
        ] {
            let error = Thing::parse(text).unwrap().unwrap_err();
            assert!(error.to_string().contains(word), "{text}: {error}");
            assert!(error.hint().contains("`@"), "{text}: {}", error.hint());
        }
        let hint = |text: &str| Thing::parse(text).unwrap().unwrap_err().hint();
        assert_eq!(hint("@git/head"), "did you mean `@git/HEAD`?");
        assert_eq!(hint("@git/nothing"), "there are `@git/index`, `@git/HEAD`, `@git/branch:NAME`");
    }

    #[test]
    fn things_are_equal_or_apart() {
        let covers = |(a, root): (&str, &str), (b, other): (&str, &str)| {
            let pattern = crate::domain::pattern::Pattern::literal(thing_path(a, root));
            pattern.covers(&thing_path(b, other))
        };
        assert!(covers(("@git/index", "/w/.git"), ("@git/index", "/w/.git")));
        assert!(covers(("@port:3000", "/"), ("@port:3000", "/")));
        for (a, b) in [
            (("@git/index", "/w/.git"), ("@git/HEAD", "/w/.git")),
            (("@git/index", "/w/.git"), ("@git/index", "/w/.git/worktrees/x")),
            (("@git/branch:feature", "/w/.git"), ("@git/branch:feature/x", "/w/.git")),
            (("@port:300", "/"), ("@port:3000", "/")),
            (("@build", "/"), ("@build", "/w")),
            (("@build", "/"), ("@build", "/@build")),
        ] {
            assert!(!covers(a, b) && !covers(b, a), "{a:?} and {b:?}");
        }
        let path = thing_path("@git/index", "/w/.git");
        assert!(is_thing_path(path.as_str()) && mentions_thing(&format!("H\t{path}\n")));
        assert!(!is_thing_path("/w/@build") && !mentions_thing("H\t/w/@build\n"));
    }
}
