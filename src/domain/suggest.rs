//! Suggestions for "did you mean …?".

/// The at most three known words most similar to `wanted`, best first; words that are not similar are left out.
pub fn suggestions<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    const ALIKE: f64 = 0.75;
    let wanted = wanted.to_lowercase();
    let mut scored: Vec<(f64, &str)> = known
        .into_iter()
        .map(|word| (strsim::jaro_winkler(&wanted, &word.to_lowercase()), word))
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, word)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::suggestions;

    #[test]
    fn near_and_far() {
        let known = ["SwiftRaven", "GoldFalcon", "SwiftRiver"];
        assert_eq!(suggestions("swiftravn", known), ["SwiftRaven", "SwiftRiver"]);
        assert!(suggestions("zzz", known).is_empty());
    }
}
