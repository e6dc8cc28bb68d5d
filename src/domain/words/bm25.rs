//! BM25: how much the words of a query count in a text that has them.

/// How soon more of the same word counts no more.
const SATURATION: f32 = 1.2;
/// How much of the score depends on how many of the words match.
const COVERAGE: f32 = 0.3;

/// How telling a word is that so many of all texts have.
pub fn rarity(all: usize, having: usize) -> f32 {
    let (all, having) = (all as f32, having as f32);
    (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
}

/// What a word counts that weighs so much in a text: more, but less and less.
pub fn saturated(weight: f32) -> f32 {
    (SATURATION + 1.0) * weight / (SATURATION + weight)
}

/// What is left of the score of a text that has only some of the words: bit by bit of `found` those of these rarities.
pub fn coverage(rarities: &[f32], found: u64) -> f32 {
    let matched = rarities.iter().enumerate().filter(|(number, _)| found & 1 << number != 0);
    let all: f32 = rarities.iter().sum();
    1.0 - COVERAGE + COVERAGE * matched.map(|(_, rarity)| rarity).sum::<f32>() / all
}
