//! What somebody looks for: words, identifiers and phrases in quotation marks.

use super::searchable::folded;
use crate::domain::words::{TermPart, each_form, each_token, is_english_stop_word, is_without_spaces, stem};

/// The most words and phrases of a query.
const MOST: usize = 32;
/// What a word counts that has the same stem, and one that begins like the word.
const SAME_STEM: f32 = 0.8;
const SAME_START: f32 = 0.5;
/// What it counts if two words of the query are neighbours in the text, too.
const NEIGHBOURS: f32 = 0.6;

/// What to look for.
#[derive(Clone, Debug)]
pub struct TextQuery {
    pub(super) terms: Vec<QueryPart>,
    /// Pairs of words that follow each other in the query. They raise what has them, and find nothing alone.
    pub(super) pairs: Vec<QueryPart>,
}

/// A word, an identifier or a phrase.
#[derive(Clone, Debug)]
pub(super) struct QueryPart {
    pub(super) forms: Vec<WordForm>,
    /// Only texts that have it are wanted.
    pub(super) is_required: bool,
    pub(super) weight: f32,
}

/// How a part may be written in a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum WordForm {
    /// A word of that stem, or one that begins with it.
    Word { word: String, stem: String },
    /// Several words in a row. Of the last one the beginning is enough, unless it was quoted.
    Phrase { text: String, is_whole: bool },
    /// Anywhere: the script has no spaces.
    Anywhere(String),
}

impl WordForm {
    fn word(word: String) -> Self {
        match word.chars().all(is_without_spaces) {
            true => Self::Anywhere(word),
            false => Self::Word { stem: stem(&word), word },
        }
    }

    fn phrase(words: &[String], is_whole: bool) -> Self {
        match words {
            [word] if !is_whole => Self::word(word.clone()),
            words => Self::Phrase { text: words.join(" "), is_whole },
        }
    }

    /// The bytes with which it begins wherever it is.
    pub(super) fn start(&self) -> String {
        match self {
            Self::Word { word, stem } => {
                // `policy` is the stem of `policies`, too.
                let stem = stem.strip_suffix('y').unwrap_or(stem);
                let same = word.bytes().zip(stem.bytes()).take_while(|(one, other)| one == other).count();
                // Of letters that are several bytes the stem is the word.
                let same = if word.is_char_boundary(same) { same } else { word.len() };
                format!(" {}", &word[..same])
            }
            Self::Phrase { text, .. } => format!(" {text}"),
            Self::Anywhere(text) => text.clone(),
        }
    }

    /// How well it matches a text that has its start there; 0 if it does not. `rest` is the text after the blank before the
    /// word.
    pub(super) fn weight(&self, rest: &str) -> f32 {
        match self {
            Self::Word { word, stem: wanted } => {
                let found = rest.split(' ').next().unwrap_or_default();
                if found == word {
                    1.0
                } else if stem(found) == *wanted {
                    SAME_STEM
                } else if found.starts_with(word.as_str()) {
                    SAME_START
                } else {
                    0.0
                }
            }
            Self::Phrase { text, is_whole } => match rest.as_bytes().get(text.len()) {
                None | Some(b' ') => 1.0,
                Some(_) if *is_whole => 0.0,
                Some(_) => SAME_START,
            },
            Self::Anywhere(_) => 1.0,
        }
    }
}

impl TextQuery {
    /// `None`: there is no word in it.
    pub fn parse(text: &str) -> Option<Self> {
        let mut terms: Vec<QueryPart> = Vec::new();
        let mut words: Vec<Option<String>> = Vec::new();
        for (part, is_quoted) in quoted_parts(text) {
            match is_quoted {
                true => {
                    words.push(None);
                    let phrase = words_of(part);
                    if !phrase.is_empty() {
                        let forms = vec![WordForm::phrase(&phrase, true)];
                        add(&mut terms, QueryPart { forms, is_required: true, weight: 1.0 });
                    }
                }
                false => {
                    for typed in part.split_whitespace() {
                        let forms = forms_of(typed);
                        words.push(only_word(&forms));
                        if !forms.is_empty() {
                            add(&mut terms, QueryPart { forms, is_required: false, weight: 1.0 });
                        }
                    }
                }
            }
        }
        let says_nothing = |part: &QueryPart| {
            !part.is_required && only_word(&part.forms).is_some_and(|word| is_empty_word(&word))
        };
        // A query of nothing but such words means them.
        if terms.iter().any(|part| !says_nothing(part)) {
            terms.retain(|part| !says_nothing(part));
        }
        let pairs = words.windows(2).filter_map(|pair| match pair {
            [Some(one), Some(other)] => {
                let forms = vec![WordForm::Phrase { text: format!("{one} {other}"), is_whole: false }];
                Some(QueryPart { forms, is_required: false, weight: NEIGHBOURS })
            }
            _ => None,
        });
        let pairs = pairs.take(MOST).collect();
        (!terms.is_empty()).then_some(Self { terms, pairs })
    }

    /// Whether a piece of a text between blanks is one of the words.
    pub(super) fn has_word_of(&self, piece: &str) -> bool {
        let words = words_of(piece);
        let is_found = |form: &WordForm| match form {
            WordForm::Phrase { text, .. } => text.split(' ').any(|one| words.iter().any(|word| word == one)),
            WordForm::Anywhere(text) => words.iter().any(|word| word.contains(text.as_str())),
            WordForm::Word { .. } => words.iter().any(|word| form.weight(word) > 0.0),
        };
        self.terms.iter().flat_map(|part| &part.forms).any(is_found)
    }
}

fn add(terms: &mut Vec<QueryPart>, part: QueryPart) {
    if terms.len() < MOST && terms.iter().all(|other| other.forms != part.forms) {
        terms.push(part);
    }
}

/// The text in parts, and whether each was in quotation marks. A mark without a second one says nothing.
fn quoted_parts(text: &str) -> Vec<(&str, bool)> {
    let pieces: Vec<&str> = text.split(['"', '“', '”', '„']).collect();
    let last = pieces.len() - 1;
    let is_quoted = |place: usize| place % 2 == 1 && place < last;
    pieces.into_iter().enumerate().map(|(place, piece)| (piece, is_quoted(place))).collect()
}

/// The words of a text, as in a searchable one.
fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each_token(&folded(text), &mut |token| {
        each_form(token, &mut |word, part| {
            if part == TermPart::Word {
                words.push(word.to_string());
            }
        });
    });
    words
}

/// How something that was typed between blanks may be written: as the words of an identifier or a path, and as one word.
fn forms_of(typed: &str) -> Vec<WordForm> {
    let words = words_of(typed);
    if words.is_empty() {
        return Vec::new();
    }
    let mut forms = vec![WordForm::phrase(&words, false)];
    let folded = folded(typed);
    let (mut tokens, mut wholes) = (0, Vec::new());
    each_token(&folded, &mut |token| {
        tokens += 1;
        each_form(token, &mut |word, part| {
            if part == TermPart::Whole {
                wholes.push(word.to_string());
            }
        });
    });
    if tokens == 1 {
        forms.extend(wholes.into_iter().map(WordForm::word));
    }
    forms
}

fn only_word(forms: &[WordForm]) -> Option<String> {
    match forms {
        [WordForm::Word { word, .. }] => Some(word.clone()),
        _ => None,
    }
}

fn is_empty_word(word: &str) -> bool {
    is_english_stop_word(word) || word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic())
}
