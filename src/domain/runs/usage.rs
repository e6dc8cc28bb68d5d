//! What a worker used, as far as its harness reports it. What is not reported is not known, which is not 0.

use super::money::MicroUsd;

/// Tokens and turns.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Usage {
    /// Tokens that the model read, without those of its cache.
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
    pub turns: Option<u64>,
}

impl Usage {
    /// The sum. A part that neither reports stays unknown.
    pub fn plus(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        Self {
            input: sum(self.input, other.input),
            output: sum(self.output, other.output),
            cache_read: sum(self.cache_read, other.cache_read),
            cache_write: sum(self.cache_write, other.cache_write),
            turns: sum(self.turns, other.turns),
        }
    }

    /// All tokens that count against a budget: read, written and put into the cache, but not read from there. `None`
    /// if none are reported.
    pub fn tokens(self) -> Option<u64> {
        let parts = [self.input, self.output, self.cache_write];
        let known = parts.into_iter().flatten();
        parts.iter().any(Option::is_some).then(|| known.fold(0, u64::saturating_add))
    }
}

/// What a run cost.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Cost {
    /// Its harness said so.
    Reported(MicroUsd),
    /// Its tokens times configured prices.
    Computed(MicroUsd),
    #[default]
    Unknown,
}

impl Cost {
    pub fn amount(self) -> Option<MicroUsd> {
        match self {
            Self::Reported(amount) | Self::Computed(amount) => Some(amount),
            Self::Unknown => None,
        }
    }

    /// What the amount rests on: `reported`, `computed` or `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reported(_) => "reported",
            Self::Computed(_) => "computed",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_reports_stays_unknown() {
        let one = Usage { input: Some(3), ..Usage::default() };
        let sum = one.plus(Usage { input: Some(4), output: Some(1), ..Usage::default() });
        assert_eq!(sum, Usage { input: Some(7), output: Some(1), ..Usage::default() });
        assert_eq!(sum.tokens(), Some(8));
        assert_eq!(Usage { cache_read: Some(9), turns: Some(1), ..Usage::default() }.tokens(), None);
    }
}
