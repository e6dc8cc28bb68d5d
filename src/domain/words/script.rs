//! Scripts that put no spaces between words.

/// Han, kana and other scripts that put no spaces between words.
pub fn is_without_spaces(char: char) -> bool {
    matches!(
        char,
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3040}'..='\u{30FF}'
            | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{2FA1F}'
    )
}

/// Calls `take` with each pair of neighbouring characters, or with the only one.
pub fn each_pair(run: &str, take: &mut dyn FnMut(&str)) {
    let bounds: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    if bounds.len() == 2 {
        return take(run);
    }
    bounds.windows(3).for_each(|pair| take(&run[pair[0]..pair[2]]));
}
