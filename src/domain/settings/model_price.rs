//! What a model costs.

/// What a model costs, in millionths of a dollar for a million tokens.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ModelPrice {
    /// As its harness calls it. With a `*` at the end: all models whose names begin so.
    pub model: String,
    pub input: u64,
    pub output: u64,
    /// Without a price of its own, a token of the cache costs as much as another one that is read.
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
}

impl ModelPrice {
    /// What so many tokens cost, in millionths of a dollar, rounded up: read, written, read from the cache, put there.
    pub fn micros(&self, [input, output, cache_read, cache_write]: [u64; 4]) -> u64 {
        let parts = [
            (input, self.input),
            (output, self.output),
            (cache_read, self.cache_read.unwrap_or(self.input)),
            (cache_write, self.cache_write.unwrap_or(self.input)),
        ];
        let cost = |(tokens, price): &(u64, u64)| u128::from(*tokens).saturating_mul(u128::from(*price));
        let sum = parts.iter().map(cost).fold(0, u128::saturating_add);
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}
