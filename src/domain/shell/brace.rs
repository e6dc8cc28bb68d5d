//! Brace expansion: `{a,b}` and `{1..3}` turn one word into several, before any other expansion.

use super::parser::syntax::{Word, WordPart};

/// An unquoted character, or a piece that is not one.
#[derive(Clone, Copy)]
pub enum Atom<'a> {
    Letter(char),
    Piece(&'a WordPart),
}

/// Maximum number of words that one word may expand to.
const MAX_WORDS: usize = 512;
const MAX_ATOMS: usize = 64 * 1024;
/// Maximum length of a range; `{-2147483648..2147483647..10}` is shorter.
const MAX_RANGE: usize = 40;
const MAX_NESTING: usize = 16;

pub type ExpandedWords<'a> = Vec<Vec<Atom<'a>>>;

struct TooMany;

/// The words that `word` expands to; `None` if there are too many.
pub fn expand(word: &Word) -> Option<ExpandedWords<'_>> {
    let mut atoms = Vec::new();
    let mut has_brace = false;
    for piece in word {
        match piece {
            WordPart::Bare(text) => {
                has_brace |= text.contains('{');
                atoms.extend(text.chars().map(Atom::Letter));
            }
            piece => atoms.push(Atom::Piece(piece)),
        }
    }
    match has_brace {
        true if atoms.len() > MAX_ATOMS => None,
        true => expand_atoms(&atoms, 0).ok(),
        false => Some(vec![atoms]),
    }
}

fn expand_atoms<'a>(atoms: &[Atom<'a>], nesting: usize) -> Result<ExpandedWords<'a>, TooMany> {
    if nesting > MAX_NESTING {
        return Err(TooMany);
    }
    let ends = closing_braces(atoms);
    let mut words: Vec<Vec<Atom>> = vec![Vec::new()];
    let mut at = 0;
    while at < atoms.len() {
        let choices = match ends[at] {
            Some(Closing { at: end, has_comma: true }) => Some((choices(&atoms[at + 1..end], nesting)?, end)),
            Some(Closing { at: end, .. }) => range(&atoms[at + 1..end])?.map(|choices| (choices, end)),
            None => None,
        };
        match choices {
            Some((choices, end)) => {
                if words.len() * choices.len() > MAX_WORDS {
                    return Err(TooMany);
                }
                let join = |word: &Vec<Atom<'a>>, choice: &Vec<Atom<'a>>| [word.as_slice(), choice].concat();
                words = words
                    .iter()
                    .flat_map(|word| choices.iter().map(move |choice| join(word, choice)))
                    .collect();
                at = end + 1;
            }
            None => {
                words.iter_mut().for_each(|word| word.push(atoms[at]));
                at += 1;
            }
        }
        let total: usize = words.iter().map(Vec::len).take(2).sum();
        if words.len() > 1 && total / 2 * words.len() > MAX_ATOMS {
            return Err(TooMany);
        }
    }
    Ok(words)
}

/// The position of the `}` that closes a `{`, and whether there are alternatives between them.
#[derive(Clone, Copy)]
struct Closing {
    at: usize,
    has_comma: bool,
}

/// For each `{` its `}`. Computed in one pass, because nested braces would otherwise be scanned repeatedly.
fn closing_braces(atoms: &[Atom<'_>]) -> Vec<Option<Closing>> {
    let mut ends = vec![None; atoms.len()];
    let mut open: Vec<(usize, bool)> = Vec::new();
    for (at, atom) in atoms.iter().enumerate() {
        match atom {
            Atom::Letter('{') => open.push((at, false)),
            Atom::Letter(',') => open.iter_mut().rev().take(1).for_each(|(_, has_comma)| *has_comma = true),
            Atom::Letter('}') => {
                if let Some((start, has_comma)) = open.pop() {
                    ends[start] = Some(Closing { at, has_comma });
                }
            }
            _ => {}
        }
    }
    ends
}

/// Expands the comma-separated alternatives between two braces.
fn choices<'a>(inside: &[Atom<'a>], nesting: usize) -> Result<ExpandedWords<'a>, TooMany> {
    let mut depth = 0;
    let mut parts = vec![];
    let mut start = 0;
    for (at, atom) in inside.iter().enumerate() {
        match atom {
            Atom::Letter('{') => depth += 1,
            Atom::Letter('}') => depth -= 1,
            Atom::Letter(',') if depth == 0 => {
                parts.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[start..]);
    let mut all = Vec::new();
    for part in parts {
        all.append(&mut expand_atoms(part, nesting + 1)?);
        if all.len() > MAX_WORDS {
            return Err(TooMany);
        }
    }
    Ok(all)
}

/// Expands `1..3` between two braces, if it is a range.
fn range<'a>(inside: &[Atom<'a>]) -> Result<Option<ExpandedWords<'a>>, TooMany> {
    let letter = |atom: &Atom| if let Atom::Letter(c) = atom { Some(*c) } else { None };
    let is_short = inside.len() <= MAX_RANGE;
    let Some(text) = inside.iter().take_while(|_| is_short).map(letter).collect::<Option<String>>() else {
        return Ok(None);
    };
    let Some((first, rest)) = text.split_once("..") else {
        return Ok(None);
    };
    let (last, step) = rest.split_once("..").unwrap_or((rest, "1"));
    let Some(step) = step.parse::<i64>().ok().map(|step| step.unsigned_abs().max(1)) else {
        return Ok(None);
    };
    let single = |text: &str| text.chars().next().filter(|c| c.is_ascii_alphabetic() && text.len() == 1);
    let words: Vec<String> = match (first.parse::<i32>(), last.parse::<i32>(), single(first), single(last)) {
        (Ok(from), Ok(to), _, _) => {
            let width =
                if first.starts_with('0') || last.starts_with('0') { first.len().max(last.len()) } else { 0 };
            let numbers = steps(i64::from(from), i64::from(to), step)?;
            numbers.into_iter().map(|number| format!("{number:0width$}")).collect()
        }
        (_, _, Some(from), Some(to)) => {
            let codes = steps(i64::from(u32::from(from)), i64::from(u32::from(to)), step)?;
            codes.into_iter().filter_map(|code| char::from_u32(code as u32)).map(String::from).collect()
        }
        _ => return Ok(None),
    };
    Ok(Some(words.iter().map(|word| word.chars().map(Atom::Letter).collect()).collect()))
}

fn steps(from: i64, to: i64, step: u64) -> Result<Vec<i64>, TooMany> {
    let count = from.abs_diff(to) / step;
    if count >= MAX_WORDS as u64 {
        return Err(TooMany);
    }
    let signed = if from <= to { step as i64 } else { -(step as i64) };
    Ok((0..=count as i64).map(|nth| from + nth * signed).collect())
}
