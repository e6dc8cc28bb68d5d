//! Arbitrary text is read in bounded time and without a panic.

use proptest::prelude::*;

use super::{Fake, nasty, predict_command, read};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_read(text in "\\PC{0,200}") {
        read(&text);
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_soup_of_shell_is_read(words in prop::collection::vec(0..WORDS.len(), 0..60), blanks: bool) {
        let words: Vec<&str> = words.into_iter().map(|word| WORDS[word]).collect();
        read(&words.join(if blanks { " " } else { "" }));
    }

    #[test]
    fn a_path_is_absolute(words in prop::collection::vec(0..WORDS.len(), 0..30)) {
        let words: Vec<&str> = words.into_iter().map(|word| WORDS[word]).collect();
        for written in predict_command(&words.join(" "), "/w", &Fake).writes {
            prop_assert!(written.path.starts_with('/'), "{}", written.path);
            prop_assert!(!written.is_pattern || globset::Glob::new(&written.path).is_ok(), "{}", written.path);
        }
    }
}

const WORDS: [&str; 78] = [
    "rm", "a", "b*", ";", "\n", "&&", "||", "|", "&", "(", ")", "{", "}", "$(", "`", "\"", "'", "\\", "$",
    "${", ">", ">>", "<", "<<", "<<EOF", "EOF", "<<<", "<(", ">(", "&>", ">&", "2", "if", "then", "else",
    "elif", "fi", "for", "in", "do", "done", "while", "case", "esac", ";;", "[[", "]]", "((", "))", "$((",
    "!", "function", "f", "()", "sed", "-i", "git", "checkout", "cp", "mv", "-r", "-t", "tar", "xf", "find",
    "-exec", "{}", "xargs", "bash", "-c", "cd", "src", "F=x", "$F", "\"$@\"", "{a,b}", "[", "ä",
];

#[test]
fn anything_nasty_is_read() {
    // The time for 1 MiB is measured in a release build: `cargo bench -- readers`.
    for command in nasty::commands(128 * 1024) {
        read(&command);
    }
}

#[test]
fn what_multiplies_is_given_up() {
    let doubled = "f0() { rm a; }; ".to_string()
        + &(1..40).map(|n| format!("f{n}() {{ f{}; f{}; }}; ", n - 1, n - 1)).collect::<String>()
        + "f39";
    assert!(read(&doubled).is_opaque);
    let nested = "for i in {1..100}; do ".repeat(20) + "rm $i" + &"; done".repeat(20);
    assert!(read(&nested).is_opaque);
    let loops = "while x; do i=$i$i; ".repeat(40) + &"done; ".repeat(40);
    read(&loops);
}

#[test]
fn depth_is_bounded_and_what_fits_is_read() {
    let nested = |depth: usize| format!("{}rm a{}", "( ".repeat(depth), " )".repeat(depth));
    assert_eq!(read(&nested(20)).writes.len(), 1);
    assert!(read(&nested(100)).is_opaque);
    let substituted = |depth: usize| format!("rm b; {}rm a{}", "echo $(".repeat(depth), ")".repeat(depth));
    assert_eq!(read(&substituted(10)).writes.len(), 2);
    let too_deep = read(&substituted(100));
    assert!(too_deep.is_opaque && too_deep.writes.len() == 1, "what comes before is kept");
}

#[test]
fn a_command_that_is_too_long_is_read_as_far_as_that() {
    let long = format!("rm a; echo {}; rm b", "ä".repeat(super::super::MAX_COMMAND));
    let reading = read(&long);
    assert!(reading.is_opaque && reading.writes.len() == 1);
    let here = format!("cat > a <<'EOF'\n{}\nEOF\nrm b", "text (\n".repeat(100_000));
    let reading = read(&here);
    assert!(!reading.is_opaque && reading.writes.len() == 2, "a large here-document is no fault");
}
