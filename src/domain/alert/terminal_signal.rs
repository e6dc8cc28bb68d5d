//! The bytes that make a terminal ring, or its desktop show a notification.

/// What stands between a program and the terminal that a person looks at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TerminalHost {
    /// Nothing.
    Terminal,
    /// tmux, which passes sequences on only if they are wrapped.
    Tmux,
}

const TITLE: &str = "msg";

/// The bell. tmux passes it on as it is.
pub fn bell() -> String {
    "\u{7}".to_string()
}

/// A notification by OSC 9. The line comes after words of ours: a number and a semicolon at its start would mean
/// something else to some terminals.
pub fn osc9(line: &str, host: TerminalHost) -> String {
    wrapped(&format!("\u{1b}]9;{TITLE}: {}\u{7}", plain(line)), host)
}

/// A notification by OSC 777, with a title.
pub fn osc777(line: &str, host: TerminalHost) -> String {
    // A semicolon separates fields.
    wrapped(&format!("\u{1b}]777;notify;{TITLE};{}\u{7}", plain(line).replace(';', ",")), host)
}

/// The text without control characters, whatever it was before: one of them would end the sequence.
fn plain(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).collect()
}

fn wrapped(sequence: &str, host: TerminalHost) -> String {
    match host {
        TerminalHost::Terminal => sequence.to_string(),
        TerminalHost::Tmux => format!("\u{1b}Ptmux;{}\u{1b}\\", sequence.replace('\u{1b}', "\u{1b}\u{1b}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes() {
        assert_eq!(bell(), "\u{7}");
        assert_eq!(osc9("hi; 4", TerminalHost::Terminal), "\u{1b}]9;msg: hi; 4\u{7}");
        assert_eq!(osc777("a;b", TerminalHost::Terminal), "\u{1b}]777;notify;msg;a,b\u{7}");
        assert_eq!(osc9("hi", TerminalHost::Tmux), "\u{1b}Ptmux;\u{1b}\u{1b}]9;msg: hi\u{7}\u{1b}\\");
    }

    #[test]
    fn nothing_in_the_text_ends_the_sequence() {
        let evil = "x\u{7}\u{1b}]0;owned\u{7}\u{1b}\\\u{9c}\u{9d}\n\r\0y";
        let sequence = osc9(evil, TerminalHost::Terminal);
        let inner = sequence.strip_prefix("\u{1b}]").unwrap().strip_suffix('\u{7}').unwrap();
        assert_eq!(inner, "9;msg: x]0;owned\\y");
        let wrapped = osc777(evil, TerminalHost::Tmux);
        let inner =
            wrapped.strip_prefix("\u{1b}Ptmux;\u{1b}\u{1b}]").unwrap().strip_suffix("\u{7}\u{1b}\\").unwrap();
        assert!(!inner.chars().any(char::is_control), "{inner:?}");
    }
}
