//! What our search is compared with.

/// The words of a text in lower case.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The places of the scores above 0, the highest first.
fn ranked(scores: impl Iterator<Item = f64>) -> Vec<usize> {
    let mut scored: Vec<(usize, f64)> = scores.enumerate().filter(|(_, score)| *score > 0.0).collect();
    scored.sort_by(|one, other| other.1.total_cmp(&one.1));
    scored.into_iter().map(|(place, _)| place).collect()
}

pub mod grep {
    /// The texts that contain most of the words of the query, as `grep -i` finds them.
    pub fn search(texts: &[String], query: &str) -> Vec<usize> {
        let words = super::words(query);
        let lower = texts.iter().map(|text| text.to_lowercase());
        super::ranked(
            lower.map(|text| words.iter().filter(|word| text.contains(word.as_str())).count() as f64),
        )
    }
}

pub mod plain_bm25 {
    use std::collections::HashMap;

    const SATURATION: f64 = 1.2;
    const LENGTH: f64 = 0.75;

    /// BM25 over lower-case words, with the usual parameters, and nothing else.
    pub struct PlainBm25 {
        counts: Vec<HashMap<String, f64>>,
        lengths: Vec<f64>,
        average: f64,
    }

    impl PlainBm25 {
        pub fn new(texts: &[String]) -> Self {
            let words: Vec<Vec<String>> = texts.iter().map(|text| super::words(text)).collect();
            let lengths: Vec<f64> = words.iter().map(|words| words.len() as f64).collect();
            let counts = words.into_iter().map(|words| {
                let mut counts: HashMap<String, f64> = HashMap::new();
                words.into_iter().for_each(|word| *counts.entry(word).or_default() += 1.0);
                counts
            });
            let average = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
            Self { counts: counts.collect(), average, lengths }
        }

        pub fn search(&self, query: &str) -> Vec<usize> {
            let words = super::words(query);
            let rarity = |word: &String| {
                let having = self.counts.iter().filter(|counts| counts.contains_key(word)).count() as f64;
                (1.0 + (self.counts.len() as f64 - having + 0.5) / (having + 0.5)).ln()
            };
            let rarities: Vec<f64> = words.iter().map(rarity).collect();
            let score = |(counts, length): (&HashMap<String, f64>, &f64)| {
                let norm = SATURATION * (1.0 - LENGTH + LENGTH * length / self.average);
                let part = |(word, rarity): (&String, &f64)| {
                    let count = counts.get(word).copied().unwrap_or(0.0);
                    rarity * count * (SATURATION + 1.0) / (count + norm)
                };
                words.iter().zip(&rarities).map(part).sum::<f64>()
            };
            super::ranked(self.counts.iter().zip(&self.lengths).map(score))
        }
    }
}
