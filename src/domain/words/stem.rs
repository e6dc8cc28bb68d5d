//! The stems of English words.

use std::borrow::Cow;

/// Cuts off the usual English endings, so that `tokens` and `token` are one word. The word is in lower case.
pub fn stem(word: &str) -> String {
    if !word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return word.to_string();
    }
    let word = singular(word);
    let word = without_participle(&word);
    match word.strip_suffix('e') {
        Some(rest) if word.len() > 4 => rest.to_string(),
        _ => word.to_string(),
    }
}

fn singular(word: &str) -> Cow<'_, str> {
    if word.len() <= 3 {
        return word.into();
    }
    if let Some(rest) = word.strip_suffix("ies") {
        return format!("{rest}y").into();
    }
    if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
        return word.into();
    }
    if let Some(rest) = word.strip_suffix("es")
        && ["s", "x", "z", "ch", "sh"].into_iter().any(|end| rest.ends_with(end))
    {
        return rest.into();
    }
    word.strip_suffix('s').unwrap_or(word).into()
}

fn without_participle(word: &str) -> &str {
    for ending in ["ing", "ed"] {
        let Some(rest) = word.strip_suffix(ending) else { continue };
        let has_vowel = rest.contains(['a', 'e', 'i', 'o', 'u', 'y']);
        if rest.len() < 3 || !has_vowel || rest.ends_with('e') {
            continue;
        }
        let bytes = rest.as_bytes();
        let is_doubled = bytes[bytes.len() - 1] == bytes[bytes.len() - 2];
        // `running` is `run`, but `calling` is `call`.
        return match is_doubled && !rest.ends_with(['l', 's', 'z']) {
            true => &rest[..rest.len() - 1],
            false => rest,
        };
    }
    word
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn usual_endings_are_cut_off() {
        for (word, expected) in [
            ("policies", "policy"),
            ("matches", "match"),
            ("mapping", "map"),
            ("calling", "call"),
            ("parsed", "pars"),
            ("status", "status"),
            ("red", "red"),
            ("größen", "größen"),
            ("404s", "404s"),
        ] {
            assert_eq!(stem(word), expected);
        }
    }
}
