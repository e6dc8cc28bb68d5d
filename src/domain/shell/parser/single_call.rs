//! Parses commands that consist of one program call without any shell feature.

/// The words of such a command, as the program gets them; `None` if the shell might do anything else.
///
/// Commands are permitted without asking the user because of this, so it accepts little: words, quotes without
/// expansions, blanks.
pub fn plain_words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = command.trim_matches([' ', '\t']);
    while !rest.is_empty() {
        let mut word = String::new();
        while let Some(first) = rest.chars().next().filter(|first| !matches!(first, ' ' | '\t')) {
            let (text, after) = match first {
                '\'' => rest[1..].split_once('\'')?,
                '"' => {
                    let (text, after) = rest[1..].split_once('"')?;
                    // Some shells expand `!` too.
                    (!text.contains(['$', '`', '\\', '!'])).then_some((text, after))?
                }
                plain if plain.is_alphanumeric() || "_@%+=:,./-".contains(plain) => {
                    rest.split_at(plain.len_utf8())
                }
                _ => return None,
            };
            word.push_str(text);
            rest = after;
        }
        words.push(word);
        rest = rest.trim_start_matches([' ', '\t']);
    }
    // A first word that contains `=` is an assignment, not a program.
    words.first().is_some_and(|program| !program.is_empty() && !program.contains('=')).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_and_nothing_else() {
        let check = |command: &str, expected: &[&str]| {
            assert_eq!(
                plain_words(command).as_deref(),
                Some(&expected.iter().map(|word| word.to_string()).collect::<Vec<_>>()[..]),
                "{command}"
            );
        };
        check("msg", &["msg"]);
        check("  msg whoami --json\t", &["msg", "whoami", "--json"]);
        check("msg send A \"it's done; all of it\"", &["msg", "send", "A", "it's done; all of it"]);
        check("msg send A 'costs $5 `or` \"so\"\n> x'", &["msg", "send", "A", "costs $5 `or` \"so\"\n> x"]);
        check("msg send A '' a'b'\"c\"", &["msg", "send", "A", "", "abc"]);
        check("m'sg' über", &["msg", "über"]);
    }

    #[test]
    fn whatever_might_be_more_is_none() {
        for command in [
            "",
            " ",
            "''",
            "A=b msg",
            "msg\nrm x",
            "msg; rm x",
            "msg && rm x",
            "msg & rm x",
            "msg | sh",
            "msg > x",
            "msg < x",
            "msg $x",
            "msg $(rm x)",
            "msg `rm x`",
            "msg \"$(rm x)\"",
            "msg \"`rm x`\"",
            "msg \"\\\"; rm x\"",
            "msg a\\ b",
            "msg 'a",
            "msg \"a",
            "(msg)",
            "{ msg; }",
            "! msg",
            "msg #x",
            "msg *",
            "msg ?",
            "msg [a]",
            "msg ~",
            "msg {a,b}",
            "msg \"!x\"",
            "msg\u{a0}x",
            "msg\rx",
        ] {
            assert_eq!(plain_words(command), None, "{command:?}");
        }
    }
}
