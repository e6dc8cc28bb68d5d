//! Texts that are typed into the prompt line of a program.

/// What begins a command of the program itself in the prompt lines of many, or the name of a file to be read.
const COMMAND_MARKS: [char; 4] = ['/', '!', '#', '@'];

/// The first character that would act as a key: the end of a paste, or Enter.
pub fn acting_character(text: &str) -> Option<char> {
    text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'))
}

/// Whether a program may take the text for one of its own commands. Blanks before it don't count: programs trim them.
pub fn reads_as_command(text: &str) -> bool {
    text.trim_start().starts_with(COMMAND_MARKS)
}

/// The text without whitespace, and without the space of no width that some programs draw their cursor on. A narrow screen
/// wraps what is typed, so only the rest can be compared.
pub fn without_blanks(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '\u{200b}').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_act_as_keys() {
        assert_eq!(acting_character("one\n\ttwo → 日本語"), None);
        assert_eq!(acting_character("a\u{1b}[201~\rb"), Some('\u{1b}'));
        assert_eq!(acting_character("a\u{9b}201~"), Some('\u{9b}'));
        assert_eq!(acting_character("a\r\n"), Some('\r'));
    }

    #[test]
    fn blanks_before_a_command_do_not_make_it_text() {
        for text in ["/exit", " /exit", "\n\t!ls", "\u{a0}# x", "@file"] {
            assert!(reads_as_command(text), "{text:?}");
        }
        assert!(!reads_as_command("Run: /review"));
    }
}
