//! The topics of a prompt: the few words of it that are worth counting. The text itself is not kept.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};

use memchr::memmem::Finder;

use super::secrets::{self, is_secret};
use crate::domain::words::{each_pair, is_stop_word, is_without_spaces, stem};

/// How much of a prompt is read, in bytes: what follows is pasted text.
pub const MAX_READ: usize = 16 * 1024;
/// The most topics of a prompt.
pub const MAX_TOPICS: usize = 16;
/// The longest topic, in characters. Longer words are no words.
const MAX_LENGTH: usize = 64;

/// A word that prompts and file names have in common. Words that differ in their endings are one topic.
#[derive(Clone, Debug)]
pub struct Topic {
    /// In lower case and without its ending.
    stem: String,
    /// As it was written first, in lower case.
    shown: String,
}

impl Topic {
    /// `word` is in lower case.
    pub fn new(word: &str) -> Self {
        Self { stem: stem(word), shown: word.to_string() }
    }

    /// What makes it this topic.
    pub fn stem(&self) -> &str {
        &self.stem
    }

    /// The word for people.
    pub fn as_str(&self) -> &str {
        &self.shown
    }

    /// Whether [`Topic::new`] may make this topic of `word`. It costs little, and errs only by saying yes.
    pub fn may_be(&self, word: &str) -> bool {
        // All but the last letter of a stem is in the word: `category` is the one of `categories`.
        word.as_bytes().starts_with(&self.stem.as_bytes()[..self.stem.len().saturating_sub(1)])
    }
}

impl PartialEq for Topic {
    fn eq(&self, other: &Self) -> bool {
        self.stem == other.stem
    }
}

impl Eq for Topic {}

impl PartialOrd for Topic {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Topic {
    fn cmp(&self, other: &Self) -> Ordering {
        self.stem.cmp(&other.stem)
    }
}

/// Words that say nothing in this place: the user's, the machine's and the project's name.
#[derive(Clone, Debug, Default)]
pub struct NoiseWords(HashSet<String>);

impl NoiseWords {
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut words = HashSet::new();
        for name in names {
            each_word(name, &mut |word| {
                words.insert(stem(word));
            });
        }
        Self(words)
    }
}

/// A topic, and how often the text has it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mention {
    pub topic: Topic,
    pub count: u32,
}

/// The topics of a prompt, in order of appearance.
pub fn mentions(prompt: &str, noise: &NoiseWords) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    let mut is_secret_next = false;
    for line in beginning(prompt).lines().filter(|line| !line.trim().is_empty()) {
        // What announces a secret at the end of a line means the next one.
        if std::mem::take(&mut is_secret_next) {
            continue;
        }
        let mut before = "";
        for chunk in line.split_whitespace() {
            if is_secret_next {
                is_secret_next = false;
                break;
            }
            is_secret_next = secrets::announces(chunk, before);
            before = chunk;
            if !is_address(chunk) && !is_secret(chunk) {
                each_token(chunk, &mut |token| each_word(token, &mut |word| note(&mut found, word, noise)));
            }
        }
    }
    found
}

/// The most telling topics, at most [`MAX_TOPICS`]: first what the prompt has most often, then what is rare in the
/// repository, then what comes first.
pub fn rank(mut found: Vec<Mention>, frequency: impl Fn(&Topic) -> u64) -> Vec<Topic> {
    found.sort_by_cached_key(|mention| (std::cmp::Reverse(mention.count), frequency(&mention.topic)));
    found.into_iter().take(MAX_TOPICS).map(|mention| mention.topic).collect()
}

/// The topics in the name of a file without its ending, or of a directory.
pub fn of_name(name: &str) -> Vec<Topic> {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem });
    let mut found = Vec::new();
    each_token(stem, &mut |token| {
        each_word(token, &mut |word| note(&mut found, word, &NoiseWords::default()));
    });
    found.into_iter().map(|mention| mention.topic).collect()
}

/// The topics in the name of a file, and those together with the names of the two directories above it.
pub fn of_path(path: &str) -> PathTopics {
    let mut parts = path.rsplit('/');
    let stem = parts.next().map(of_name).unwrap_or_default();
    let above = parts.take(2).flat_map(of_name);
    let all = stem.iter().cloned().chain(above).collect();
    PathTopics { stem, all }
}

/// Finds paths that may have one of some topics. Taking the name of a file apart costs more than the rest of a forecast,
/// and few names have one.
#[derive(Debug)]
pub struct PathFilter<'a> {
    words: Vec<Finder<'a>>,
    /// A path in lower case.
    path: Vec<u8>,
}

impl<'a> PathFilter<'a> {
    pub fn new(topics: &'a [Topic]) -> Self {
        let mut words = Vec::with_capacity(topics.len());
        for topic in topics.iter().filter(|topic| topic.stem.is_ascii()) {
            words.push(Finder::new(&topic.stem));
            // `category` is the topic of `categories`; of any other word, it is the beginning.
            if let Some(rest) = topic.stem.strip_suffix('y') {
                words.push(Finder::new(&format!("{rest}ies")).into_owned());
            }
        }
        Self { words, path: Vec::new() }
    }

    /// Whether [`of_path`] may find one of the topics. It errs only by saying yes.
    pub fn may_have_topic(&mut self, path: &str) -> bool {
        if !path.is_ascii() {
            return true;
        }
        self.path.clear();
        self.path.extend(path.bytes().map(|byte| byte.to_ascii_lowercase()));
        self.words.iter().any(|word| word.find(&self.path).is_some())
    }
}

/// What [`of_path`] finds.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PathTopics {
    pub stem: Vec<Topic>,
    pub all: BTreeSet<Topic>,
}

fn note(found: &mut Vec<Mention>, word: &str, noise: &NoiseWords) {
    let length = word.chars().count();
    let is_number = word.chars().all(|char| char.is_numeric() || !char.is_alphanumeric());
    if length > MAX_LENGTH || is_number || is_single_letter(word) || is_stop_word(word) {
        return;
    }
    let topic = Topic::new(word);
    // A path with the user's name in it tells it, too.
    let is_noise = |part: &str| noise.0.contains(&stem(part));
    if is_stop_word(&topic.stem) || is_noise(word) || word.split(is_separator).any(is_noise) {
        return;
    }
    match found.iter_mut().find(|mention| mention.topic == topic) {
        Some(mention) => mention.count += 1,
        None => found.push(Mention { topic, count: 1 }),
    }
}

/// The beginning of a long text, up to a character that is whole.
fn beginning(text: &str) -> &str {
    let mut end = text.len().min(MAX_READ);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Whether it is the address of a page or of a person, or the number of an issue.
fn is_address(chunk: &str) -> bool {
    let bare = chunk.trim_matches(|char: char| !char.is_alphanumeric() && char != '#');
    let is_issue =
        bare.strip_prefix('#').is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()));
    let is_mail = bare.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.contains('.'));
    chunk.contains("://") || bare.starts_with("www.") || is_issue || is_mail
}

/// Calls `take` with each run of letters, digits and `_ . / -` that begins with a letter, a digit or `_`.
fn each_token(chunk: &str, take: &mut dyn FnMut(&str)) {
    let is_inner = |char: char| char.is_alphanumeric() || matches!(char, '_' | '.' | '/' | '-');
    for run in chunk.split(|char: char| !is_inner(char)) {
        let token = run.trim_start_matches(['.', '/', '-']).trim_end_matches(['.', '/', '-', '_']);
        if !token.is_empty() {
            take(token);
        }
    }
}

fn is_separator(char: char) -> bool {
    matches!(char, '/' | '.' | '_' | '-')
}

/// Calls `take` with the words of a token in lower case: the whole of it, the parts between separators, and the parts of
/// `camelCase`. In scripts without spaces, with each pair of neighbouring characters.
fn each_word(token: &str, take: &mut dyn FnMut(&str)) {
    let mut parts = 0;
    for part in token.split(is_separator).filter(|part| !part.is_empty()) {
        parts += 1;
        each_script(part, take);
    }
    if parts > 1 {
        take(&token.to_lowercase());
    }
}

fn each_script(part: &str, take: &mut dyn FnMut(&str)) {
    let mut rest = part;
    while let Some(first) = rest.chars().next() {
        let is_dense = is_without_spaces(first);
        let end = rest.find(|char| is_without_spaces(char) != is_dense).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        match is_dense {
            true => each_pair(run, take),
            false => each_camel_word(run, take),
        }
        rest = after;
    }
}

fn each_camel_word(run: &str, take: &mut dyn FnMut(&str)) {
    let lower = run.to_lowercase();
    let mut words = 0;
    let mut start = 0;
    let chars: Vec<(usize, char)> = run.char_indices().collect();
    for at in 1..chars.len() {
        let ((_, before), (here, char)) = (chars[at - 1], chars[at]);
        let is_next_lower = chars.get(at + 1).is_some_and(|(_, next)| next.is_lowercase());
        // `fooBar`, and the last letter of `HTTPServer`'s acronym.
        let is_start = char.is_uppercase()
            && (!before.is_uppercase() && before.is_alphabetic() || before.is_uppercase() && is_next_lower);
        if is_start {
            take(&run[start..here].to_lowercase());
            words += 1;
            start = here;
        }
    }
    if words > 0 {
        take(&run[start..].to_lowercase());
    }
    take(&lower);
}

/// A single letter says nothing; a single character of Han does.
fn is_single_letter(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(|char| !is_without_spaces(char)) && chars.next().is_none()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn topics(text: &str) -> Vec<String> {
        mentions(text, &NoiseWords::default()).into_iter().map(|mention| mention.topic.stem).collect()
    }

    #[test]
    fn a_topic_that_a_path_has_may_be_in_it() {
        let paths = [
            "src/categories/RunningTotals.rs",
            "a/parseConfig/HTTPServer2.rs",
            "docs/caches_and-stores/calling.md",
            "x/glasses.c",
            "Größe/straße.rs",
            "src/认证/登录.rs",
        ];
        for path in paths {
            for topic in of_path(path).all {
                let has_it = PathFilter::new(std::slice::from_ref(&topic)).may_have_topic(path);
                assert!(has_it && topic.may_be(topic.as_str()), "{topic:?} in {path}");
            }
        }
        let topics = [Topic::new("login"), Topic::new("form"), Topic::new("登录")];
        assert!(!PathFilter::new(&topics).may_have_topic("src/cache.rs"));
        assert!(!PathFilter::new(&[]).may_have_topic("src/cache.rs"));
        assert!(!topics[0].may_be("cache") && topics[0].may_be("logins"));
    }

    proptest! {
        #[test]
        fn any_topic_of_a_path_may_be_in_it(path in "[a-zA-Z/._-]{0,4}(ies|ing|ed|es|s|e|y|nn|ss)[A-Z_/.]?[a-z]{0,4}(ies|ing|ed|es|s|e)") {
            for topic in of_path(&path).all {
                let has_it = PathFilter::new(std::slice::from_ref(&topic)).may_have_topic(&path);
                prop_assert!(has_it && topic.may_be(topic.as_str()), "{topic:?} in {path}");
            }
        }
    }

    #[test]
    fn parts_and_compounds() {
        for (text, expected) in [
            ("the login form", &["login", "form"][..]),
            ("src/auth/login.rs", &["src", "auth", "login", "rs", "src/auth/login.rs"]),
            ("parseConfig", &["pars", "config", "parseconfig"]),
            ("HTTPServer2", &["http", "server2", "httpserver2"]),
            ("retry_policy", &["retry", "policy", "retry_policy"]),
            ("OAuth2 e2e 404 v2", &["auth2", "oauth2", "e2e", "v2"]),
            ("sessions, Session; SESSION", &["session"]),
            (
                "policies matches mapping parsed boxes classes",
                &["policy", "match", "map", "pars", "box", "class"],
            ),
            ("Überprüfung der Größe", &["überprüfung", "der", "größe"]),
            ("登录页面 ab", &["登录", "录页", "页面", "ab"]),
            ("…(token)…", &["token"]),
        ] {
            assert_eq!(topics(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_topic() {
        for text in [
            "",
            "please fix the tests and update it",
            "#123 (#77) 2026 3.14 1_000",
            "https://example.org/auth/login?token=abc www.example.org <http://x.y/login>",
            "jane.doe@example.org",
            "a b c",
        ] {
            assert_eq!(topics(text), [] as [&str; 0], "{text}");
        }
    }

    #[test]
    fn names_of_this_place_are_noise() {
        let noise = NoiseWords::new(["jane", "big-box", "ravenry"]);
        let found = mentions("jane's ravenry on bigbox: the big parser", &noise);
        let words: Vec<&str> = found.iter().map(|mention| mention.topic.stem()).collect();
        assert_eq!(words, ["bigbox", "parser"]);
        let found = mentions("/home/jane/shop/lexer.rs", &noise);
        let words: Vec<&str> = found.iter().map(|mention| mention.topic.stem()).collect();
        assert_eq!(words, ["home", "shop", "lexer", "rs"], "no compound with a name in it");
    }

    #[test]
    fn the_most_telling_come_first() {
        let found = mentions("parser lexer token lexer cache token lexer", &NoiseWords::default());
        let frequency = |topic: &Topic| if topic.as_str() == "parser" { 90 } else { 1 };
        let ranked: Vec<String> = rank(found, frequency).into_iter().map(|topic| topic.stem).collect();
        assert_eq!(ranked, ["lexer", "token", "cach", "parser"]);
        let many: String = (0..100).map(|number| format!("word{number}x ")).collect();
        assert_eq!(rank(mentions(&many, &NoiseWords::default()), |_| 0).len(), MAX_TOPICS);
    }

    #[test]
    fn only_the_beginning_of_a_long_prompt_is_read() {
        let text = format!("{}ü needle", "hay ".repeat(MAX_READ / 4));
        assert_eq!(topics(&text), ["hay"]);
        assert_eq!(topics(&format!("{}ü", "x".repeat(MAX_READ - 1))), [] as [&str; 0]);
    }

    #[test]
    fn names_of_files() {
        let words = |name: &str| of_name(name).into_iter().map(|topic| topic.stem).collect::<Vec<_>>();
        assert_eq!(words("login_form.test.ts"), ["login", "form", "login_form.test"]);
        assert_eq!(words(".gitignore"), ["gitignor"]);
        assert_eq!(words("LoginForm.tsx"), ["login", "form", "loginform"]);
    }
}
