//! The files and symbols that a prompt names.

/// How much of a prompt is looked at, and how many places of it.
const MOST_CHARACTERS: usize = 20_000;
const MOST_PLACES: usize = 64;
/// The longest path or symbol, in bytes.
const LONGEST: usize = 300;
/// A shorter word is not distinctive enough to be a symbol.
const SHORTEST_SYMBOL: usize = 6;

/// What a prompt names, each once.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct NamedPlaces {
    /// Words that may be paths.
    pub paths: Vec<String>,
    /// Words that can hardly be anything but identifiers: `Lock::new`, `take_over`, `parseKind`.
    pub symbols: Vec<String>,
}

impl NamedPlaces {
    pub fn of(prompt: &str) -> Self {
        let end = prompt.char_indices().nth(MOST_CHARACTERS).map_or(prompt.len(), |(end, _)| end);
        let is_between = |char: char| char.is_whitespace() || "\"'`()[]{}<>,;|“”‘’«»=".contains(char);
        let mut places = Self::default();
        for word in prompt[..end].split(is_between) {
            let word = word.trim_start_matches('@').trim_end_matches(['.', ':', '!', '?', '…']);
            if word.is_empty() || word.len() > LONGEST {
                continue;
            }
            let (path, symbol) = word.split_once('#').unwrap_or((word, ""));
            let path = without_line(path);
            if path.contains(['/', '.']) && !path.contains("://") {
                push(&mut places.paths, path);
            }
            for symbol in [symbol, word].into_iter().filter(|symbol| is_distinctive(symbol)) {
                push(&mut places.symbols, symbol);
            }
        }
        places
    }
}

fn push(list: &mut Vec<String>, word: &str) {
    if list.len() < MOST_PLACES && !list.iter().any(|known| known == word) {
        list.push(word.to_string());
    }
}

/// `src/a.rs:12:5` and `src/a.rs:12-20` are about `src/a.rs`.
fn without_line(word: &str) -> &str {
    let is_place = |text: &str| {
        text.starts_with(|char: char| char.is_ascii_digit())
            && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    let mut rest = word;
    while let Some((path, _)) = rest.rsplit_once(':').filter(|(_, line)| is_place(line)) {
        rest = path;
    }
    rest
}

/// Whether a word is an identifier that does not occur in ordinary sentences.
fn is_distinctive(word: &str) -> bool {
    let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | ':' | '.');
    if word.len() < SHORTEST_SYMBOL || !word.chars().all(is_part) {
        return false;
    }
    let has_case_change =
        word.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    word.contains("::") || word.trim_matches('_').contains('_') || has_case_change
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_symbols_of_a_prompt() {
        let places = NamedPlaces::of(
            "Look at @src/a.rs:12, `src/b.rs#Lock::new` and (take_over). See https://x.y/z, please.",
        );
        assert_eq!(places.paths, ["src/a.rs", "src/b.rs"]);
        assert_eq!(places.symbols, ["Lock::new", "take_over"]);
        let places = NamedPlaces::of("fix src/a.rs:12:5 and src/c.rs:1-9: they differ...");
        assert_eq!(places.paths, ["src/a.rs", "src/c.rs"]);
    }

    #[test]
    fn ordinary_words_are_no_places() {
        for prompt in ["", "lock the door", "Please rename it everywhere", "what now?", "1 + 2", "std _x"] {
            assert_eq!(NamedPlaces::of(prompt), NamedPlaces::default(), "{prompt}");
        }
    }

    #[test]
    fn a_long_prompt_is_looked_at_in_part() {
        let many: String = (0..10_000).map(|number| format!("src/file{number}.rs ")).collect();
        assert_eq!(NamedPlaces::of(&many).paths.len(), MOST_PLACES);
        assert_eq!(NamedPlaces::of(&"ü".repeat(1 << 20)), NamedPlaces::default());
    }
}
