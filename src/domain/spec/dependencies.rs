//! Parses the dependencies of a task from its text, such as "Depends on: A, B", "after A", "(needs A)" or "blocked by
//! A", and its title from the rest.

use std::collections::HashSet;
use std::ops::Range;

use super::id::{IdSpelling, KnownIds};
use super::task_draft::{DependencyContext, TaskDraft};

/// A blank matches a blank, a tab, a line end, `-` or `_`.
const KEYWORDS: [&str; 6] = ["depends on", "dependson", "blocked by", "blockedby", "after", "needs"];
/// Words that are keywords only before a colon or as a heading.
const LABELS: [&str; 4] = ["dependencies", "dependency", "depends", "deps"];
/// Maximum length of a note in parentheses after an id.
const MAX_NOTE: usize = 200;

/// The title of a task and its dependencies.
pub fn read(draft: &TaskDraft, known: &KnownIds) -> (String, Vec<String>) {
    let own = phrases(draft.own, known);
    let mut depends_on = Vec::new();
    let mut seen = HashSet::new();
    let mut add = |ids: Vec<&str>| {
        depends_on.extend(ids.into_iter().filter(|id| seen.insert(id.to_string())).map(String::from));
    };
    own.iter().for_each(|phrase| add(phrase.ids.clone()));
    for (mode, text) in &draft.sources {
        match mode {
            DependencyContext::Named => text.split('\n').for_each(|line| add(labelled(line, 0, known).ids)),
            DependencyContext::Anywhere => {
                phrases(text, known).into_iter().for_each(|phrase| add(phrase.ids));
            }
            DependencyContext::Alone => {
                let phrases = phrases(text, known).into_iter();
                phrases.filter(|phrase| phrase.is_alone(text)).for_each(|phrase| add(phrase.ids));
            }
        }
    }
    (title(draft.own, &own), depends_on)
}

/// Whether the text is a keyword and nothing else, as in a column name or a heading.
pub fn is_keyword(text: &str) -> bool {
    let text = text.trim().trim_end_matches(':').trim_end();
    keyword(text).is_some_and(|(length, _)| length == text.len())
}

/// Whether the text ends in a keyword with a colon, so that the ids follow.
pub fn ends_in_label(text: &str) -> bool {
    let Some(text) = text.trim_end().strip_suffix(':') else { return false };
    let text = text.trim_end();
    let ends = |word: &&str| {
        let start = text.len().checked_sub(word.len()).filter(|start| is_word_start(text, *start));
        start.and_then(|start| text.get(start..)).is_some_and(is_keyword)
    };
    KEYWORDS.iter().chain(&LABELS).any(ends)
}

#[derive(Debug)]
struct Phrase<'a> {
    place: Range<usize>,
    ids: Vec<&'a str>,
    is_labelled: bool,
}

impl Phrase<'_> {
    /// Whether it has a colon, or is alone on its line.
    fn is_alone(&self, text: &str) -> bool {
        let is_nothing = |c: Option<char>| c.is_none_or(|c| c == '\n');
        let counts = |c: &char| *c == '\n' || c.is_alphanumeric();
        let before = text[..self.place.start].chars().rev().find(counts);
        let after = text[self.place.end..].chars().find(counts);
        self.is_labelled || is_nothing(before) && is_nothing(after)
    }
}

/// All phrases in a text that start with a keyword.
fn phrases<'a>(text: &'a str, known: &KnownIds<'a>) -> Vec<Phrase<'a>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = next_word(text, at) {
        at = word_end(text, start);
        let Some((length, needs_colon)) = keyword(&text[start..]) else { continue };
        let after = start + length;
        let colon = text[after..].trim_start_matches([' ', '\t']).strip_prefix(':');
        let mut phrase = match colon {
            Some(rest) => labelled(text, text.len() - rest.len(), known),
            None if needs_colon => continue,
            None => listed(text, after, known),
        };
        at = phrase.place.end.max(after);
        phrase.place.start = start;
        if !phrase.ids.is_empty() || phrase.is_labelled && is_none(&text[after..phrase.place.end]) {
            found.push(phrase);
        }
    }
    found
}

/// Reads `A, B and C`: a sequence of ids only.
fn listed<'a>(text: &'a str, start: usize, known: &KnownIds<'a>) -> Phrase<'a> {
    let mut phrase = Phrase { place: start..start, ids: Vec::new(), is_labelled: false };
    let mut at = start;
    loop {
        let rest = text[at..].trim_start();
        let inner = rest.strip_prefix('[').unwrap_or(rest);
        let Some((id, length)) = known.mentioned(inner, IdSpelling::Exact) else { return phrase };
        phrase.ids.push(id);
        let rest = &inner[length..];
        let rest = rest
            .strip_prefix(']')
            .filter(|_| text[..text.len() - inner.len()].ends_with('['))
            .unwrap_or(rest);
        phrase.place.end = text.len() - rest.len();
        let next = rest[note(rest)..].trim_start().trim_start_matches([',', ';', '&', '+', '/']).trim_start();
        let next = strip_word(next, "and").unwrap_or(next);
        at = text.len() - next.len();
        if at == phrase.place.end {
            return phrase;
        }
    }
}

/// Reads every id up to the end of the line, the sentence or the parentheses.
fn labelled<'a>(text: &'a str, start: usize, known: &KnownIds<'a>) -> Phrase<'a> {
    let mut phrase = Phrase { place: start..start, ids: Vec::new(), is_labelled: true };
    let (mut at, mut depth, mut goes_on) = (start, 0_usize, true);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let is_blank_after = rest[c.len_utf8()..].chars().next().is_none_or(char::is_whitespace);
        match c {
            '\n' if !goes_on => break,
            ')' | ']' if depth == 0 => break,
            ')' | ']' => depth -= 1,
            '(' | '[' => depth += 1,
            '|' | '·' | '•' => break,
            '.' | '-' | '–' | '—' if is_blank_after => break,
            ',' | ';' | '&' | '+' => goes_on = true,
            _ if is_word(c) && is_word_start(text, at) => {
                if keyword(rest).is_some_and(|(_, needs_colon)| !needs_colon) {
                    break;
                }
                if let Some((id, length)) = known.mentioned(rest, IdSpelling::AnyCase) {
                    phrase.ids.push(id);
                    let is_bracketed = text[..at].ends_with('[') && text[at + length..].starts_with(']');
                    at += length + usize::from(is_bracketed);
                    at += note(&text[at..]);
                    phrase.place.end = at;
                    goes_on = false;
                } else {
                    goes_on = strip_word(rest, "and").is_some();
                    at = word_end(text, at);
                }
                continue;
            }
            _ => {}
        }
        at += c.len_utf8();
    }
    if phrase.ids.is_empty() {
        phrase.place.end = at;
    }
    phrase
}

/// The length of a note in parentheses at the start of the text.
fn note(text: &str) -> usize {
    let trimmed = text.trim_start_matches([' ', '\t']);
    if !trimmed.starts_with('(') {
        return 0;
    }
    let window = &trimmed[..trimmed.floor_char_boundary(MAX_NOTE)];
    let end = window.find([')', '\n']).filter(|end| window[*end..].starts_with(')'));
    end.map_or(0, |end| text.len() - trimmed.len() + end + 1)
}

/// Whether the text says that there are no dependencies ("None", "-"). It is not part of the title then.
fn is_none(text: &str) -> bool {
    let text = text.trim_start_matches([':', ' ']).trim();
    let is_word = ["none", "nothing", "n/a", "nil"].iter().any(|word| text.eq_ignore_ascii_case(word));
    is_word || !text.contains(char::is_alphanumeric)
}

/// The keyword that the text starts with: its length, and whether it needs a colon.
fn keyword(text: &str) -> Option<(usize, bool)> {
    let begins = |word: &str| {
        let head = text.as_bytes().get(..word.len())?;
        let is_same = word.bytes().zip(head).all(|(wanted, byte)| match wanted {
            b' ' => matches!(byte, b' ' | b'\n' | b'\t' | b'-' | b'_'),
            _ => byte.eq_ignore_ascii_case(&wanted),
        });
        (is_same && !text[word.len()..].starts_with(|c| is_word(c) || c == '-')).then_some(word.len())
    };
    let keyword = KEYWORDS.iter().find_map(|word| begins(word)).map(|length| (length, false));
    keyword.or_else(|| LABELS.iter().find_map(|word| begins(word)).map(|length| (length, true)))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a word may start here, that is, not in the middle of another.
fn is_word_start(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    text.is_char_boundary(at) && !before.is_some_and(|c| is_word(c) || c == '-')
}

fn next_word(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += text.get(at..)?.find(is_word)?;
        if is_word_start(text, at) {
            return Some(at);
        }
        at = word_end(text, at);
    }
}

fn word_end(text: &str, start: usize) -> usize {
    text[start..].find(|c| !is_word(c)).map_or(text.len(), |length| start + length)
}

fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len()).filter(|head| head.eq_ignore_ascii_case(word))?;
    text[head.len()..].starts_with(char::is_whitespace).then(|| text[head.len()..].trim_start())
}

/// The first line without these phrases and the separators around them.
fn title(own: &str, phrases: &[Phrase]) -> String {
    let line = own.split('\n').next().unwrap_or_default();
    let is_nothing = |text: &str| !text.contains(char::is_alphanumeric);
    let mut title = String::new();
    let mut at = 0;
    for phrase in phrases.iter().filter(|phrase| phrase.place.start < line.len()) {
        let before = &line[at..phrase.place.start];
        let is_next = at > 0 && is_nothing(before);
        let after = line.get(phrase.place.end..).unwrap_or_default();
        let closing = after.trim_start().strip_prefix([')', ']']);
        at = line.len() - after.len();
        if let (Some(rest), Some(before)) = (closing, before.trim_end().strip_suffix(['(', '['])) {
            title.push_str(before);
            at = line.len() - rest.len();
        } else if closing.is_some() {
            title.push_str(before.trim_end_matches(is_separator));
            // The parentheses are empty now.
            if let (Some(rest), true) = (closing, title.ends_with(['(', '['])) {
                title.pop();
                at = line.len() - rest.len();
            }
        } else if !is_next {
            title.push_str(before);
        }
    }
    let mut rest = &line[at..];
    if at > 0 && (is_nothing(rest) || rest.starts_with(['.', ',', ';'])) {
        // Keep one separator at most, and none at the end.
        title.truncate(title.trim_end_matches(is_separator).len());
    }
    if at > 0 && is_nothing(rest) {
        rest = rest.trim_end_matches(is_separator);
    }
    title.push_str(rest);
    let words: Vec<&str> = title.split_whitespace().collect();
    without_separator(&words.join(" ")).to_string()
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, ',' | ';' | ':' | '-' | '–' | '—' | '.' | '·' | '|')
}

/// Removes the separators between an id and a title.
fn without_separator(text: &str) -> &str {
    let mut rest = text;
    loop {
        let trimmed = rest.trim_start();
        let next = match trimmed.chars().next() {
            Some(':' | '–' | '—') => trimmed.trim_start_matches([':', '–', '—']),
            Some(c @ ('-' | '.')) => {
                let next = trimmed.trim_start_matches(c);
                if !next.is_empty() && !next.starts_with(char::is_whitespace) {
                    return trimmed;
                }
                next
            }
            _ => return trimmed,
        };
        rest = next;
    }
}
