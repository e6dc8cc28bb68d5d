//! Domains: parts of a project that belong together, by words and paths. The configuration names them, or the counts
//! show them.

use std::collections::BTreeSet;

use super::topics::{self, NoiseWords, Topic};
use crate::domain::pattern::{NormalPath, Pattern, PatternError};

/// The most domains of one configuration file. A project's file is not trusted, and every command checks it.
pub const MAX_DOMAINS: usize = 20;
/// The most words of a domain.
const MAX_WORDS: usize = 30;
/// The most patterns of a domain.
const MAX_PATHS: usize = 10;
/// The longest name and the longest word, in characters.
const MAX_NAME: usize = 32;
const MAX_WORD: usize = 64;
/// The longest pattern, in bytes.
const MAX_PATH: usize = 200;

/// Why a domain of the configuration can't be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DomainError {
    #[error("it has {0} domains; {MAX_DOMAINS} is the most")]
    TooMany(usize),
    #[error("the name of a domain has 1 to {MAX_NAME} letters, digits, `_` and `-`; `{0}` is not one")]
    Name(String),
    #[error("`{domain}` has {count} {what}; {most} is the most")]
    TooLong { domain: String, what: &'static str, count: usize, most: usize },
    #[error("`{0}` needs words or paths")]
    Empty(String),
    #[error("the word `{word}` of `{domain}` can't be a topic: it is too common, too long or not a word")]
    Word { domain: String, word: String },
    #[error("the path `{path}` of `{domain}`: {source}")]
    Path {
        domain: String,
        path: String,
        #[source]
        source: PatternError,
    },
    #[error(
        "the path `{path}` of `{domain}` must be below the root of the repository, without `/` at the start or `..`"
    )]
    Outside { domain: String, path: String },
}

/// A domain as the configuration has it. It is checked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConfiguredDomain {
    pub name: String,
    pub words: Vec<String>,
    pub paths: Vec<String>,
}

impl ConfiguredDomain {
    pub fn new(name: &str, words: Vec<String>, paths: Vec<String>) -> Result<Self, DomainError> {
        let is_name = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-');
        if name.is_empty() || name.chars().count() > MAX_NAME || !name.chars().all(is_name) {
            return Err(DomainError::Name(excerpt(name)));
        }
        let domain = name.to_string();
        for (what, count, most) in [("words", words.len(), MAX_WORDS), ("paths", paths.len(), MAX_PATHS)] {
            if count > most {
                return Err(DomainError::TooLong { domain, what, count, most });
            }
        }
        if words.is_empty() && paths.is_empty() {
            return Err(DomainError::Empty(domain));
        }
        if let Some(word) =
            words.iter().find(|word| word.chars().count() > MAX_WORD || topics_of(word).is_empty())
        {
            return Err(DomainError::Word { domain, word: excerpt(word) });
        }
        for path in &paths {
            let shown = || excerpt(path);
            if path.len() > MAX_PATH {
                let (what, count) = ("bytes in a path", path.len());
                return Err(DomainError::TooLong { domain, what, count, most: MAX_PATH });
            }
            if path.starts_with('/') || path.split('/').any(|part| part == "..") {
                return Err(DomainError::Outside { domain, path: shown() });
            }
            pattern(path).map_err(|source| DomainError::Path {
                domain: domain.clone(),
                path: shown(),
                source,
            })?;
        }
        Ok(Self { name: domain, words, paths })
    }

    pub fn to_domain(&self) -> WorkDomain {
        WorkDomain {
            name: self.name.clone(),
            topics: self.words.iter().flat_map(|word| topics_of(word)).collect(),
            paths: self.paths.iter().filter_map(|path| pattern(path).ok()).collect(),
            shown_paths: self.paths.clone(),
            evidence: Vec::new(),
        }
    }
}

/// The beginning of a text that may be anything, for an error.
fn excerpt(text: &str) -> String {
    text.chars().take(MAX_WORD).flat_map(char::escape_debug).collect()
}

/// The topics of a word, as a prompt with it has them. Of a word that consists of several, such as `retry_policy`, only
/// the whole.
fn topics_of(word: &str) -> Vec<Topic> {
    let found = topics::mentions(word, &NoiseWords::default());
    let whole = Topic::new(&word.to_lowercase());
    match found.iter().any(|mention| mention.topic == whole) {
        true => vec![whole],
        false => found.into_iter().map(|mention| mention.topic).collect(),
    }
}

/// A pattern in a repository whose root stands for the root of all paths.
fn pattern(text: &str) -> Result<Pattern, PatternError> {
    Pattern::new(text, &NormalPath::absolute("/"))
}

/// A path of the repository, under the same root as the patterns.
pub(super) fn normal(path: &str) -> NormalPath {
    NormalPath::absolute("/").join(path)
}

/// How often a word led to a domain.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WordEvidence {
    pub topic: Topic,
    /// The prompts and commits with it.
    pub prompts: u32,
    /// The changes of files in these, one per file and prompt; and those of them in the domain.
    pub changes: u32,
    pub inside: u32,
}

impl WordEvidence {
    /// The share of changes in the domain, cautious if there were few prompts.
    pub(super) fn share(&self) -> f64 {
        let prompts = f64::from(self.prompts);
        f64::from(self.inside) / f64::from(self.changes.max(1)) * prompts / (prompts + 1.5)
    }
}

/// A part of a project.
#[derive(Clone, Debug)]
pub struct WorkDomain {
    pub name: String,
    pub topics: BTreeSet<Topic>,
    paths: Vec<Pattern>,
    /// The patterns, for people.
    pub shown_paths: Vec<String>,
    /// What shows that it is one; empty if it is configured.
    pub evidence: Vec<WordEvidence>,
}

impl WorkDomain {
    /// A domain that the counts show: directories, and words that lead there.
    pub(super) fn learned(name: &str, shown: &str, paths: Vec<Pattern>, evidence: Vec<WordEvidence>) -> Self {
        Self {
            name: name.to_string(),
            topics: evidence.iter().map(|word| word.topic.clone()).collect(),
            paths,
            shown_paths: vec![shown.to_string()],
            evidence,
        }
    }

    pub fn is_learned(&self) -> bool {
        !self.evidence.is_empty()
    }

    /// Whether the file is in it. `path` is relative to the root of the repository.
    pub fn has_file(&self, path: &str) -> bool {
        self.covers(&normal(path))
    }

    fn covers(&self, path: &NormalPath) -> bool {
        self.paths.iter().any(|pattern| pattern.covers(path))
    }

    /// How much of an agent's work is in it, from 0 to 1: the share of its last prompts with one of the topics, or the
    /// share of its last changed files, whichever is larger.
    pub fn presence(&self, prompts: &[Vec<Topic>], changed: &[String]) -> f64 {
        self.presence_at(prompts, &changed.iter().map(|path| normal(path)).collect::<Vec<_>>())
    }

    /// The same with paths as [`normal`] makes them: whoever asks many domains makes them once.
    pub(super) fn presence_at(&self, prompts: &[Vec<Topic>], changed: &[NormalPath]) -> f64 {
        let share = |count: usize, all: usize| count as f64 / all.max(1) as f64;
        let is_about = |prompt: &&Vec<Topic>| prompt.iter().any(|topic| self.topics.contains(topic));
        let by_topics = share(prompts.iter().filter(is_about).count(), prompts.len());
        let by_files = share(changed.iter().filter(|path| self.covers(path)).count(), changed.len());
        by_topics.max(by_files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_string()).collect()
    }

    fn refused(name: &str, words: &[&str], paths: &[&str]) -> String {
        ConfiguredDomain::new(name, strings(words), strings(paths)).unwrap_err().to_string()
    }

    #[test]
    fn words_are_topics_as_in_prompts() {
        let words = strings(&["Logins", "retry_policy", "OAuth2", "payment form"]);
        let domain = ConfiguredDomain::new("auth", words, Vec::new()).unwrap().to_domain();
        let found: Vec<&str> = domain.topics.iter().map(Topic::stem).collect();
        assert_eq!(found, ["form", "login", "oauth2", "payment", "retry_policy"]);
    }

    #[test]
    fn paths_are_patterns_from_the_root() {
        let paths = strings(&["src/auth", "web/**/*.css"]);
        let domain = ConfiguredDomain::new("auth", Vec::new(), paths).unwrap().to_domain();
        assert!(domain.has_file("src/auth/login.rs") && domain.has_file("web/a/b.css"));
        assert!(!domain.has_file("src/authority.rs") && !domain.has_file("web/a/b.js"));
    }

    #[test]
    fn a_domain_that_can_not_be_used_says_why() {
        insta::assert_snapshot!([
            refused("", &["login"], &[]),
            refused("a\u{1b}b", &["login"], &[]),
            refused("auth", &[], &[]),
            refused("auth", &["the"], &[]),
            refused("auth", &["42"], &[]),
            refused("auth", &[&"x".repeat(65)], &[]),
            refused("auth", &["login"; 31], &[]),
            refused("auth", &[], &["src"; 11]),
            refused("auth", &[], &[&"x".repeat(201)]),
            refused("auth", &[], &["/etc"]),
            refused("auth", &[], &["src/../.."]),
            refused("auth", &[], &["src/["]),
        ].join("\n"), @r"
        the name of a domain has 1 to 32 letters, digits, `_` and `-`; `` is not one
        the name of a domain has 1 to 32 letters, digits, `_` and `-`; `a\u{1b}b` is not one
        `auth` needs words or paths
        the word `the` of `auth` can't be a topic: it is too common, too long or not a word
        the word `42` of `auth` can't be a topic: it is too common, too long or not a word
        the word `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx` of `auth` can't be a topic: it is too common, too long or not a word
        `auth` has 31 words; 30 is the most
        `auth` has 11 paths; 10 is the most
        `auth` has 201 bytes in a path; 200 is the most
        the path `/etc` of `auth` must be below the root of the repository, without `/` at the start or `..`
        the path `src/../..` of `auth` must be below the root of the repository, without `/` at the start or `..`
        the path `src/[` of `auth`: not a valid glob: unclosed character class; missing ']'
        ");
    }

    #[test]
    fn how_much_of_an_agents_work_is_in_a_domain() {
        let domain =
            ConfiguredDomain::new("auth", strings(&["login"]), strings(&["src/auth"])).unwrap().to_domain();
        let prompts = [vec![Topic::new("logins")], vec![Topic::new("theme")], Vec::new(), Vec::new()];
        let files = strings(&["src/auth/a.rs", "src/b.rs"]);
        assert_eq!(domain.presence(&prompts, &[]), 0.25);
        assert_eq!(domain.presence(&prompts, &files), 0.5);
        assert_eq!(domain.presence(&[], &[]), 0.0);
    }
}
