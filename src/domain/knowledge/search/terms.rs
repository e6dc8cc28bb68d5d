//! The terms of a text: words and parts of identifiers, each as its stem, and whole identifiers.

use crate::domain::words::{TermPart, each_form, each_token, is_english_stop_word, is_without_spaces, stem};

/// The longest term, in bytes. Longer words are keys and hashes.
const MAX_TERM: usize = 64;

/// Which words are terms.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum TermChoice {
    /// Stop words and single letters are left out.
    #[default]
    Telling,
    Every,
}

/// Calls `take` with the terms of a token.
pub(super) fn each_term(token: &str, choice: TermChoice, take: &mut dyn FnMut(&str, TermPart)) {
    each_form(token, &mut |word, part| {
        let is_empty = choice == TermChoice::Telling
            && part == TermPart::Word
            && (is_single_letter(word) || is_english_stop_word(word));
        if !is_empty && word.len() <= MAX_TERM {
            take(&normal(word), part);
        }
    });
}

/// The stems of a text's words, stop words included: what [`near_duplicate`](super::near_duplicate) compares.
pub(super) fn all_stems(text: &str) -> Vec<String> {
    let mut stems = Vec::new();
    each_token(text, &mut |token| {
        each_form(token, &mut |word, part| {
            if part == TermPart::Word {
                stems.push(stem(word));
            }
        });
    });
    stems
}

/// Endings that make another word of the same root, and how much must be left before each.
const NOUNS: [(&str, usize); 10] = [
    ("ness", 4),
    ("ment", 4),
    ("abl", 4),
    ("ibl", 4),
    ("ion", 4),
    ("iv", 5),
    ("al", 5),
    ("er", 4),
    ("or", 4),
    ("ly", 4),
];
const VERBS: [(&str, usize); 1] = [("at", 5)];

/// What is left of a stem without the endings that make a noun of a verb and the like: `reservation`, `reserver` and
/// `reserve` have one root.
pub(super) fn root(stem: &str) -> &str {
    if !stem.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return stem;
    }
    cut(&VERBS, cut(&NOUNS, stem))
}

fn cut<'s>(endings: &[(&str, usize)], stem: &'s str) -> &'s str {
    let rests = endings.iter().filter_map(|(ending, least)| Some((stem.strip_suffix(ending)?, *least)));
    rests.filter(|(rest, least)| rest.len() >= *least).map(|(rest, _)| rest).next().unwrap_or(stem)
}

/// All other stems that have the same root.
pub(super) fn relatives(stem: &str) -> impl Iterator<Item = String> {
    let family = root(stem);
    let endings = |some: &'static [(&'static str, usize)]| {
        std::iter::once("").chain(some.iter().map(|(ending, _)| *ending))
    };
    let longer = endings(&VERBS).flat_map(move |verb| endings(&NOUNS).map(move |noun| (verb, noun)));
    let words = longer.map(move |(verb, noun)| format!("{family}{verb}{noun}"));
    words.filter(move |word| word != stem && root(word) == family)
}

/// The stem, and for an abbreviation that of the long form.
fn normal(word: &str) -> String {
    let stem = stem(word);
    let long = ABBREVIATIONS.binary_search_by_key(&stem.as_str(), |(short, _)| short);
    long.map_or(stem, |place| ABBREVIATIONS[place].1.to_string())
}

/// Abbreviations that programmers write for the word, and the stems of the words.
const ABBREVIATIONS: [(&str, &str); 38] = [
    ("admin", "administrator"),
    ("app", "application"),
    ("arg", "argument"),
    ("async", "asynchronou"),
    ("auth", "authentication"),
    ("authn", "authentication"),
    ("authz", "authorization"),
    ("bool", "boolean"),
    ("cfg", "configuration"),
    ("ci", "continuousintegration"),
    ("cmd", "command"),
    ("conf", "configuration"),
    ("config", "configuration"),
    ("ctx", "context"),
    ("db", "databas"),
    ("dep", "dependency"),
    ("dir", "directory"),
    ("doc", "documentation"),
    ("env", "environment"),
    ("err", "error"),
    ("exec", "execut"),
    ("fn", "function"),
    ("func", "function"),
    ("id", "identifier"),
    ("impl", "implementation"),
    ("info", "information"),
    ("init", "initializ"),
    ("lib", "library"),
    ("msg", "messag"),
    ("param", "parameter"),
    ("perf", "performanc"),
    ("perm", "permission"),
    ("pkg", "packag"),
    ("repo", "repository"),
    ("spec", "specification"),
    ("sync", "synchroniz"),
    ("temp", "temporary"),
    ("tmp", "temporary"),
];

/// A letter says nothing; a digit does, and a single character of Han.
fn is_single_letter(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(|char| !char.is_numeric() && !is_without_spaces(char)) && chars.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        each_token(text, &mut |token| {
            each_term(token, TermChoice::Telling, &mut |term, _| found.push(term.to_string()));
        });
        found
    }

    #[test]
    fn words_and_identifiers() {
        for (text, expected) in [
            ("the locks of a mesh", &["lock", "mesh"][..]),
            ("parse_config", &["pars", "configuration", "parseconfig"]),
            ("parseConfig()", &["pars", "configuration", "parseconfig"]),
            ("HTTPServer2", &["http", "server", "2", "httpserver2"]),
            ("`src/sys/flock.rs:12`", &["src", "sys", "flock", "rs", "flockr", "12"]),
            ("Mesh::lock", &["mesh", "lock"]),
            ("session's", &["session"]),
            ("in 0.28: 10,000 of 60ms", &["0.28", "10000", "60", "ms", "60ms"]),
            ("don't", &[]),
            ("登录页面", &["登录", "录页", "页面"]),
            ("", &[]),
            ("—…!", &[]),
        ] {
            assert_eq!(terms(text), expected, "{text}");
        }
    }

    #[test]
    fn abbreviations_are_in_order() {
        assert!(ABBREVIATIONS.is_sorted_by_key(|(short, _)| short));
        assert!(ABBREVIATIONS.iter().all(|(short, _)| stem(short) == *short));
        assert_eq!(terms("repos"), terms("repository"));
        assert_eq!(terms("cmds"), terms("commands"));
    }

    #[test]
    fn words_of_one_family_have_one_root() {
        for family in [
            &["reservation", "reserve", "reserved", "reserver"][..],
            &["install", "installation", "installer"],
            &["translate", "translation"],
            &["delete", "deletion"],
            &["write", "writer"],
            &["remove", "removal"],
            &["recursive", "recursion"],
        ] {
            let stems: Vec<String> = family.iter().map(|word| stem(word)).collect();
            assert!(stems.iter().all(|stem| root(stem) == root(&stems[0])), "{stems:?}");
        }
        assert_eq!(root("form"), "form");
        assert_eq!(root("format"), "format");
        assert_eq!(root("用户"), "用户");
    }

    #[test]
    fn only_the_beginning_of_a_huge_text_is_read() {
        assert_eq!(terms(&format!("{} needle", "ü ".repeat(64 * 1024))), [] as [&str; 0]);
        assert_eq!(terms(&"x".repeat(5000)), [] as [&str; 0]);
    }
}
