//! Regular expressions in queries. They need time in proportion to the text, and no more memory than is given to them.

use std::fmt;

use regex_automata::Input;
use regex_automata::hybrid::{dfa, regex};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;

use super::budget::QueryLimit;
use super::fault::{Stop, excerpt};

const MAX_PATTERN: usize = 256;
const MAX_BYTES: usize = 256 * 1024;
/// How often the states of one search may fill that.
const MOST_CLEARS: usize = 8;

pub(super) struct TextPattern {
    regex: regex::Regex,
    cache: regex::Cache,
}

impl fmt::Debug for TextPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextPattern").finish_non_exhaustive()
    }
}

impl TextPattern {
    pub(super) fn new(pattern: &str) -> Result<Self, Stop> {
        let wrong =
            || Stop::wrong(format!("`{}` is not a regular expression that is known here", excerpt(pattern)));
        if pattern.len() > MAX_PATTERN {
            return Err(wrong());
        }
        let regex = regex::Regex::builder()
            .syntax(syntax::Config::new().unicode(false).utf8(false).nest_limit(32))
            .thompson(thompson::Config::new().utf8(false).nfa_size_limit(Some(MAX_BYTES)))
            .dfa(
                dfa::Config::new()
                    .cache_capacity(MAX_BYTES)
                    .skip_cache_capacity_check(true)
                    .minimum_cache_clear_count(Some(MOST_CLEARS)),
            )
            .build(pattern)
            .map_err(|_| wrong())?;
        let cache = regex.create_cache();
        Ok(Self { regex, cache })
    }

    /// The first part of the text that fits. A search that has to build its states again and again is given up.
    pub(super) fn find(&mut self, text: &str) -> Result<Option<String>, Stop> {
        let found = self.regex.try_search(&mut self.cache, &Input::new(text));
        let found = found.map_err(|_| Stop::Over(QueryLimit::Time))?;
        Ok(found.map(|found| String::from_utf8_lossy(&text.as_bytes()[found.range()]).into_owned()))
    }
}
