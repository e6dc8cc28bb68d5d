//! Words that say nothing about what a text is about: English ones, and in prompts those of every change.

use std::cmp::Ordering;

/// Whether it says nothing about where a prompt leads. The word is in lower case.
pub fn is_stop_word(word: &str) -> bool {
    has_word(ENGLISH, word) || has_word(CHANGES, word)
}

/// Whether it says nothing in any text. The word is in lower case.
pub fn is_english_stop_word(word: &str) -> bool {
    has_word(ENGLISH, word)
}

/// Whether a list of words in alphabetical order, one blank apart, has that one. Nearly every hook asks for only a few
/// words, so a set of all of them would cost more than it saves.
fn has_word(list: &str, word: &str) -> bool {
    let bytes = list.as_bytes();
    let (mut low, mut high) = (0, bytes.len());
    while low < high {
        let middle = (low + high) / 2;
        let start = bytes[low..middle].iter().rposition(|byte| *byte == b' ').map_or(low, |at| low + at + 1);
        let end = bytes[middle..high].iter().position(|byte| *byte == b' ').map_or(high, |at| middle + at);
        match bytes[start..end].cmp(word.as_bytes()) {
            Ordering::Equal => return true,
            Ordering::Less => low = end + 1,
            Ordering::Greater => high = start.saturating_sub(1),
        }
    }
    false
}

const ENGLISH: &str = "\
    a about above across actually after again against all almost also although always am an and another any anyone \
    anything are aren around as ask asked at away back be became because become been before being below best better \
    between both but by call came can cannot cant come could did didn do does doesn doing don done down during each \
    either else enough even ever every everything exactly few find first for found from further get gets getting \
    give given go goes going gone good got had has have haven having he hello help her here hers hey hi him his how \
    however i if im in instead into is isn it its itself just keep kind know last later least less let lets like \
    likely little ll look looks lot made make makes making many may maybe me mean might mine more most much must my \
    need needs never next no none nor not nothing now of off often ok okay on once one only onto or other others our \
    ours out over own part per perhaps please possible probably put quite rather re really right s same say says see \
    seem seems several shall she should shouldn show since so some someone something sometimes soon still such sure \
    t take takes tell than thank thanks that the their theirs them then there these they thing things think this \
    those though through thus to together too tried try trying turn two under until up upon us use used uses using \
    usually ve very via want wants was wasn way we well went were weren what whatever when where whether which while \
    who whole whom why will with within without won work works would wouldn yes yet you your yours yourself";

const CHANGES: &str = "\
    add added adding adds adjust allow allowed allows apply avoid bug bugfix bugs bump change changed changes \
    changing chore clean cleanup code commit commits complete convert correct correctly create created creates \
    current default delete deleted deletes doc docs document documentation drop dropped edit ensure error errors \
    existing expose extend extract feat feature file files fix fixed fixes fixing handle handled handles handling \
    implement implementation implemented implements improve improved improvement improvements include included \
    includes initial introduce issue issues line lines main merge minor misc missing modify move moved moves moving \
    new old patch pr prepare project properly provide pull readme reduce refactor refactored refactoring release \
    remove removed removes removing rename renamed renames reorganize replace replaced replaces request resolve \
    resolved return returns reuse revert rework rewrite run running set sets simple simplify small split start stop \
    style support supported supports task temp temporary test tested testing tests tidy tmp todo tweak typo typos \
    unused update updated updates updating upgrade version wip wrong";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found_and_no_other() {
        for list in [ENGLISH, CHANGES] {
            let words: Vec<&str> = list.split(' ').collect();
            assert!(words.is_sorted_by(|a, b| a < b), "they are in order");
            assert!(words.iter().all(|word| has_word(list, word)));
            for word in &words {
                for other in [format!("{word}x"), format!("x{word}"), format!("{word} ")] {
                    assert_eq!(has_word(list, &other), words.contains(&other.as_str()), "{other}");
                }
            }
        }
        assert!(!is_stop_word("") && !is_stop_word(" ") && !is_stop_word("login") && is_stop_word("about"));
    }
}
