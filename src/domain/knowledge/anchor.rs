//! Anchors: the places in the code, and the commands, that a record is about.

use std::fmt;

use crate::domain::sha256;

/// The most lines of an anchored span whose text is kept. Of longer spans the rest is a hash.
pub const MAX_ANCHOR_LINES: usize = 10;
/// The most characters that are kept of such a line.
pub const MAX_ANCHOR_LINE: usize = 500;
/// The longest path, command or error text, in bytes.
const MAX_LENGTH: usize = 1024;

/// A path below the root of the project, with `/` between its parts.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct AnchorPath(String);

impl AnchorPath {
    pub fn new(text: &str) -> Result<Self, AnchorError> {
        let text = text.strip_prefix("./").unwrap_or(text);
        if text.is_empty() || text.len() > MAX_LENGTH || text.contains(['\0', '\n']) {
            return Err(AnchorError::Malformed(text.chars().take(80).collect()));
        }
        if text.starts_with('/') || text.split('/').any(|part| part == "..") {
            return Err(AnchorError::Outside(text.to_string()));
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.is_empty() {
            return Err(AnchorError::Malformed(text.to_string()));
        }
        Ok(Self(parts.join("/")))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AnchorPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A hash of some lines. Spaces at their ends and the indentation that they have in common do not count.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TextHash(String);

impl TextHash {
    pub fn of(lines: &[&str]) -> Self {
        let indentation = |line: &&str| line.len() - line.trim_start().len();
        let common = lines.iter().filter(|line| !line.trim().is_empty()).map(indentation).min().unwrap_or(0);
        let bare = lines.iter().map(|line| line.get(common..).unwrap_or("").trim_end());
        Self(sha256(bare.collect::<Vec<_>>().join("\n").as_bytes())[..16].to_string())
    }

    /// The hash of a whole file. It tells `fresh` from `drifted`; nothing is called stale for it.
    pub fn of_file(content: &[u8]) -> Self {
        Self(sha256(content)[..16].to_string())
    }

    /// A hash as it was stored.
    pub fn stored(text: &str) -> Self {
        Self(text.to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a record is about.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Anchor {
    pub target: AnchorTarget,
    /// Where it was seen.
    pub commit: Option<String>,
    /// The whole file as it was seen.
    pub file: Option<TextHash>,
}

impl Anchor {
    /// It is not known where it was seen.
    pub fn new(target: AnchorTarget) -> Self {
        Self { target, commit: None, file: None }
    }
}

#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum AnchorTarget {
    File {
        path: AnchorPath,
    },
    Symbol {
        path: AnchorPath,
        symbol: String,
        /// The text of the symbol; `None` if the writer could not look it up.
        hash: Option<TextHash>,
    },
    Lines {
        path: AnchorPath,
        first: u32,
        last: u32,
        /// The first [`MAX_ANCHOR_LINES`] of the lines.
        text: Vec<String>,
        /// All of the lines.
        hash: Option<TextHash>,
    },
    /// A command, as it is typed.
    Command {
        command: String,
    },
    /// A part of an error message.
    Error {
        text: String,
    },
}

/// Why a text is not an anchor.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum AnchorError {
    #[error("`{}` is not an anchor: use a path, `path#symbol`, `path:line`, `path:from-to`, `$ command` or `! error text`", .0.escape_debug())]
    Malformed(String),
    #[error("`{}` is outside of the project: name a path below its root", .0.escape_debug())]
    Outside(String),
    #[error("the lines of `{}` run backwards: write the smaller number first", .0.escape_debug())]
    Backwards(String),
    #[error("`{}` is no line: lines count from 1", .0.escape_debug())]
    LineZero(String),
    #[error("there is no command after `$`: write one, such as `$ cargo test`")]
    NoCommand,
    #[error("there is no text after `!`: write a part of the error, such as `! E0502`")]
    NoErrorText,
}

impl AnchorTarget {
    /// Reads `path`, `path#symbol`, `path:line`, `path:from-to`, `$ command` and `! error text`. What is in the file is
    /// not known yet.
    pub fn parse(text: &str) -> Result<Self, AnchorError> {
        Self::parse_with(text, AnchorPath::new)
    }

    /// Like [`Self::parse`]; `resolve` makes a path of the project of what was typed.
    pub fn parse_with(
        text: &str,
        resolve: impl Fn(&str) -> Result<AnchorPath, AnchorError>,
    ) -> Result<Self, AnchorError> {
        let text = text.trim();
        let bounded = |rest: &str| match rest.trim() {
            rest if rest.is_empty() || rest.len() > MAX_LENGTH => {
                Err(AnchorError::Malformed(text.chars().take(80).collect()))
            }
            rest => Ok(rest.to_string()),
        };
        match text {
            "$" => return Err(AnchorError::NoCommand),
            "!" => return Err(AnchorError::NoErrorText),
            _ => {}
        }
        if let Some(command) = text.strip_prefix("$ ") {
            return Ok(Self::Command { command: bounded(command)? });
        }
        if let Some(error) = text.strip_prefix("! ") {
            return Ok(Self::Error { text: bounded(error)? });
        }
        if let Some((path, symbol)) = text.split_once('#') {
            return Ok(Self::Symbol { path: resolve(path)?, symbol: bounded(symbol)?, hash: None });
        }
        let Some((path, lines)) = text.rsplit_once(':').filter(|(_, lines)| is_range(lines)) else {
            return Ok(Self::File { path: resolve(text)? });
        };
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        let number = |text: &str| text.parse().map_err(|_| AnchorError::Malformed(lines.to_string()));
        let (first, last): (u32, u32) = (number(first)?, number(last)?);
        if first == 0 {
            return Err(AnchorError::LineZero(text.to_string()));
        }
        if last < first {
            return Err(AnchorError::Backwards(text.to_string()));
        }
        Ok(Self::Lines { path: resolve(path)?, first, last, text: Vec::new(), hash: None })
    }

    pub fn path(&self) -> Option<&AnchorPath> {
        match self {
            Self::File { path } | Self::Symbol { path, .. } | Self::Lines { path, .. } => Some(path),
            Self::Command { .. } | Self::Error { .. } => None,
        }
    }
}

fn is_range(text: &str) -> bool {
    text.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// As it is typed: `src/flock.rs:12-20`.
impl fmt::Display for AnchorTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path } => write!(f, "{path}"),
            Self::Symbol { path, symbol, .. } => write!(f, "{path}#{symbol}"),
            Self::Lines { path, first, last, .. } if first == last => write!(f, "{path}:{first}"),
            Self::Lines { path, first, last, .. } => write!(f, "{path}:{first}-{last}"),
            Self::Command { command } => write!(f, "$ {command}"),
            Self::Error { text } => write!(f, "! {text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_read_as_they_are_typed() {
        for text in
            ["src/a.rs", "src/a.rs#Lock::new", "src/a.rs:12", "src/a.rs:12-20", "$ cargo test", "! E0502"]
        {
            assert_eq!(AnchorTarget::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(AnchorTarget::parse("./src//a.rs").unwrap().to_string(), "src/a.rs");
    }

    #[test]
    fn anchors_stay_within_the_project() {
        for text in ["/etc/passwd", "../x", "src/../../x", "a/..#f", "", ".", "./#f"] {
            assert!(AnchorTarget::parse(text).is_err(), "{text}");
        }
        assert!(matches!(AnchorTarget::parse("a:9-3"), Err(AnchorError::Backwards(_))));
        assert!(matches!(AnchorTarget::parse("a:0"), Err(AnchorError::LineZero(_))));
        assert_eq!(AnchorTarget::parse("$ "), Err(AnchorError::NoCommand));
        assert_eq!(AnchorTarget::parse("!"), Err(AnchorError::NoErrorText));
        assert!(matches!(AnchorTarget::parse("a:99999999999"), Err(AnchorError::Malformed(_))));
    }

    #[test]
    fn indentation_in_common_does_not_count() {
        let hash = TextHash::of(&["fn a() {", "    b();", "}"]);
        assert_eq!(hash, TextHash::of(&["  fn a() {  ", "      b();", "  }"]));
        assert_ne!(hash, TextHash::of(&["fn a() {", "b();", "}"]));
    }
}
