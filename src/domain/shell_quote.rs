//! Quotes a text as one shell word, for commands in hints and notices.

use std::borrow::Cow;

/// Returns the text as a single shell word: unchanged if no character is special to a shell, otherwise in single
/// quotes.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%,:".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn what_means_nothing_to_a_shell_stays() {
        for text in ["TASK-01", "src/auth/login.rs", "a_b+c@d%e,f:g", "0"] {
            assert_eq!(shell_word(text), text);
        }
    }

    #[test]
    fn all_else_is_in_quotes() {
        for (text, word) in [
            ("", "''"),
            ("fix it", "'fix it'"),
            ("src/**", "'src/**'"),
            ("src/[id].tsx", "'src/[id].tsx'"),
            ("~/x", "'~/x'"),
            ("#1", "'#1'"),
            ("A=1", "'A=1'"),
            ("$(rm)`rm`;rm&", "'$(rm)`rm`;rm&'"),
            ("café", "'café'"),
            ("O'Neil", r"'O'\''Neil'"),
            ("'", r"''\'''"),
        ] {
            assert_eq!(shell_word(text), word);
        }
    }
}
