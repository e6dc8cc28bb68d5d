//! Word lists (themes) from which agent names such as `SwiftRaven` are generated.

use super::name::RESERVED;
use super::{AgentName, MAX_NAME, NameError};

/// The word lists that names are generated from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NameTheme {
    first: Vec<String>,
    /// Empty for themes with single words.
    second: Vec<String>,
}

/// Why a word list cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum WordsError {
    #[error("the list `{0}` is empty")]
    Empty(&'static str),
    #[error("the word `{}` in `{list}` can't be part of a name: letters, digits, `_` and `-` only", .word.escape_debug())]
    BadWord { list: &'static str, word: String },
    #[error("the list `{0}` has more than {MOST_WORDS} words")]
    TooMany(&'static str),
    #[error("`{0}` would not be a valid name: {1}")]
    BadName(String, super::NameError),
}

/// Maximum number of words in a list: every command reads them, and names are drawn from all pairs.
pub const MOST_WORDS: usize = 500;

/// The largest number appended to a name when all names of a theme are taken.
pub const MAX_SUFFIX: u32 = 99;

/// The names of the built-in themes. `custom` is not one of them: its words come from the configuration.
pub const BUILT_IN: [&str; 4] = ["default", "nature", "space", "minimal"];

impl Default for NameTheme {
    fn default() -> Self {
        let owned = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
        Self { first: owned(&DEFAULT_ADJECTIVES), second: owned(&DEFAULT_NOUNS) }
    }
}

impl NameTheme {
    /// One of [`BUILT_IN`].
    pub fn built_in(name: &str) -> Option<Self> {
        let (first, second) = match name {
            "default" => (DEFAULT_ADJECTIVES.as_slice(), DEFAULT_NOUNS.as_slice()),
            "nature" => (NATURE_ADJECTIVES.as_slice(), NATURE_NOUNS.as_slice()),
            "space" => (SPACE_ADJECTIVES.as_slice(), SPACE_NOUNS.as_slice()),
            "minimal" => (LETTERS.as_slice(), [].as_slice()),
            _ => return None,
        };
        let owned = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
        Some(Self { first: owned(first), second: owned(second) })
    }

    /// A theme from the user's word lists. Every name that they could yield must be valid.
    pub fn custom(adjectives: Vec<String>, nouns: Vec<String>) -> Result<Self, WordsError> {
        for (list, words) in [("adjectives", &adjectives), ("nouns", &nouns)] {
            if words.is_empty() {
                return Err(WordsError::Empty(list));
            }
            if words.len() > MOST_WORDS {
                return Err(WordsError::TooMany(list));
            }
            // Leave room for two digits after the longest name.
            let bad = |word: &&String| {
                word.len() > MAX_NAME - 2 || AgentName::new(format!("x{word}")).is_err() || word.is_empty()
            };
            if let Some(word) = words.iter().find(bad) {
                return Err(WordsError::BadWord { list, word: word.clone() });
            }
        }
        // Only the first word decides how a name starts, and only the longest noun how long it gets.
        let longest = nouns.iter().max_by_key(|noun| noun.len()).cloned().unwrap_or_default();
        for first in &adjectives {
            let name = format!("{first}{longest}{MAX_SUFFIX}");
            AgentName::new(&name).map_err(|error| WordsError::BadName(name, error))?;
        }
        if let Some(name) = reserved(&adjectives, &nouns) {
            return Err(WordsError::BadName(name.to_string(), NameError::Reserved(name.to_string())));
        }
        Ok(Self { first: adjectives, second: nouns })
    }

    /// The number of different names without a number at the end.
    pub fn len(&self) -> usize {
        self.first.len() * self.second.len().max(1)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Picks a free name. `order` is a permutation of `0..len()`, the order in which names are tried. Numbers are
    /// used only when every plain name is taken, because `SwiftRaven2` is easily mistaken for `SwiftRaven`.
    pub fn pick(&self, order: &[usize], taken: impl Fn(&AgentName) -> bool) -> Option<AgentName> {
        let free = |text: String| AgentName::new(text).ok().filter(|name| !taken(name));
        order.iter().find_map(|&index| free(self.word(index))).or_else(|| {
            (2..=MAX_SUFFIX)
                .flat_map(|number| order.iter().map(move |&index| (index, number)))
                .find_map(|(index, number)| free(format!("{}{number}", self.word(index))))
        })
    }

    fn word(&self, index: usize) -> String {
        let first = &self.first[index % self.first.len()];
        match self.second.get(index / self.first.len()) {
            Some(second) => format!("{first}{second}"),
            None => first.clone(),
        }
    }
}

/// A reserved name that an adjective and a noun of these lists form.
fn reserved(adjectives: &[String], nouns: &[String]) -> Option<&'static str> {
    let is_made = |name: &&&str| {
        adjectives.iter().any(|first| {
            let (start, end) = name.split_at_checked(first.len()).unwrap_or_default();
            start.eq_ignore_ascii_case(first) && nouns.iter().any(|second| second.eq_ignore_ascii_case(end))
        })
    };
    RESERVED.iter().find(is_made).copied()
}

const DEFAULT_ADJECTIVES: [&str; 25] = [
    "Swift", "Gold", "Calm", "Bold", "Bright", "Keen", "Quiet", "Brave", "Clever", "Amber", "Silver",
    "Copper", "Iron", "Jade", "Scarlet", "Azure", "Misty", "Sunny", "Stormy", "Frosty", "Nimble", "Steady",
    "Merry", "Noble", "Wild",
];

const DEFAULT_NOUNS: [&str; 26] = [
    "Raven", "Falcon", "Otter", "Badger", "Heron", "Lynx", "Wolf", "Fox", "Bear", "Hawk", "Owl", "Crane",
    "Stag", "Hare", "Marten", "Osprey", "Puffin", "Salmon", "Turtle", "Viper", "Weasel", "Bison", "Cougar",
    "Dolphin", "Eagle", "Magpie",
];

const NATURE_ADJECTIVES: [&str; 16] = [
    "Mossy", "Sunlit", "Windy", "Snowy", "Dewy", "Leafy", "Stony", "Sandy", "Rainy", "Hazel", "Mellow",
    "Rooted", "Autumn", "Vernal", "Tidal", "Dusky",
];

const NATURE_NOUNS: [&str; 18] = [
    "Oak", "Birch", "River", "Meadow", "Canyon", "Glacier", "Fern", "Willow", "Harbor", "Ridge", "Valley",
    "Brook", "Cedar", "Island", "Prairie", "Reef", "Summit", "Thicket",
];

const SPACE_ADJECTIVES: [&str; 15] = [
    "Solar", "Lunar", "Stellar", "Cosmic", "Radiant", "Orbital", "Distant", "Binary", "Dark", "Ionic",
    "Polar", "Silent", "Spiral", "Rising", "Violet",
];

const SPACE_NOUNS: [&str; 18] = [
    "Comet", "Nova", "Quasar", "Pulsar", "Nebula", "Meteor", "Orbit", "Galaxy", "Eclipse", "Photon", "Probe",
    "Rocket", "Saturn", "Titan", "Vega", "Zenith", "Horizon", "Aurora",
];

const LETTERS: [&str; 24] = [
    "Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta", "Eta", "Theta", "Iota", "Kappa", "Lambda", "Mu",
    "Nu", "Xi", "Omicron", "Pi", "Rho", "Sigma", "Tau", "Upsilon", "Phi", "Chi", "Psi", "Omega",
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_built_in_name_is_a_name_and_none_comes_twice() {
        for name in BUILT_IN {
            let theme = NameTheme::built_in(name).unwrap();
            let names: HashSet<AgentName> =
                (0..theme.len()).map(|index| AgentName::new(theme.word(index)).unwrap()).collect();
            assert_eq!(names.len(), theme.len(), "{name}");
        }
        assert_eq!(NameTheme::built_in("default").unwrap().len(), 25 * 26);
    }

    #[test]
    fn numbers_come_last() {
        let theme = NameTheme::custom(vec!["Red".into(), "Blue".into()], vec!["Fox".into()]).unwrap();
        let mut taken = HashSet::new();
        for expected in ["BlueFox", "RedFox", "BlueFox2", "RedFox2"] {
            let name = theme.pick(&[1, 0], |name| taken.contains(name)).unwrap();
            assert_eq!(name.as_str(), expected);
            taken.insert(name);
        }
    }

    #[test]
    fn there_are_no_more_words_than_can_be_looked_at() {
        let words = |count: usize| (0..count).map(|number| format!("w{number}")).collect::<Vec<_>>();
        assert!(NameTheme::custom(words(MOST_WORDS), words(MOST_WORDS)).is_ok());
        let many = words(MOST_WORDS + 1);
        assert_eq!(NameTheme::custom(many.clone(), words(1)), Err(WordsError::TooMany("adjectives")));
        assert_eq!(NameTheme::custom(words(1), many), Err(WordsError::TooMany("nouns")));
    }

    #[test]
    fn a_full_theme_says_so() {
        let theme = NameTheme::custom(vec!["Red".into()], vec!["Fox".into()]).unwrap();
        assert_eq!(theme.pick(&[0], |_| true), None);
    }

    #[test]
    fn bad_words_are_refused() {
        let custom = |word: &str| NameTheme::custom(vec![word.into()], vec!["Fox".into()]);
        for bad in ["", "../x", "a b", "Ä", "a\0", &"x".repeat(50)] {
            assert!(custom(bad).is_err(), "{bad:?}");
        }
        assert!(custom("-x").is_err(), "the name would start with a dash");
        assert!(NameTheme::custom(vec!["A".into()], vec!["ll".into()]).is_err(), "All is reserved");
        assert!(NameTheme::custom(vec![], vec!["Fox".into()]).is_err());
    }
}
