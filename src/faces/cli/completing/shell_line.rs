//! A line as it is being typed in bash: its words without their quotes, and how a value is inserted.
//!
//! Bash takes words apart at `=`, `:` and `@` too, and replaces only the last part. So the line is read here, and of each
//! value only that part is returned, quoted as the person began to quote it.

/// What quotes the end of the line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Quoting {
    None,
    Single,
    Double,
}

/// The line up to the cursor.
#[derive(Debug)]
pub(super) struct BashLine {
    /// The words before the one at the cursor, the program first.
    pub(super) words: Vec<String>,
    /// The word at the cursor; empty after a blank.
    pub(super) typed: String,
    /// For each character of the word at the cursor that bash might take it apart at: the character, and the length of the
    /// word up to and with it, in bytes without quotes.
    breaks: Vec<(char, usize)>,
    /// The length of the word up to a quote that is still open.
    open_quote: usize,
    quoting: Quoting,
}

impl BashLine {
    pub(super) fn read(line: &str) -> Self {
        let mut read = Self {
            words: Vec::new(),
            typed: String::new(),
            breaks: Vec::new(),
            open_quote: 0,
            quoting: Quoting::None,
        };
        let (mut in_word, mut chars) = (false, line.chars().peekable());
        while let Some(c) = chars.next() {
            match (read.quoting, c) {
                (Quoting::None, ' ' | '\t' | '\n') => {
                    if std::mem::take(&mut in_word) {
                        read.end_word();
                    }
                    continue;
                }
                (Quoting::None, '\\') => read.typed.extend(chars.next()),
                (Quoting::Double, '\\') => match chars.peek() {
                    Some('"' | '\\' | '$' | '`') => read.typed.extend(chars.next()),
                    _ => read.typed.push('\\'),
                },
                (Quoting::None, '\'') => read.open(Quoting::Single),
                (Quoting::None, '"') => read.open(Quoting::Double),
                (Quoting::Single, '\'') | (Quoting::Double, '"') => {
                    read.quoting = Quoting::None;
                    read.breaks.push((c, read.typed.len()));
                }
                (Quoting::None, c) => {
                    read.typed.push(c);
                    read.breaks.push((c, read.typed.len()));
                }
                (_, c) => read.typed.push(c),
            }
            in_word = true;
        }
        // `A=1 msg send`: what is set for the program comes first.
        let is_set = |word: &String| word.split_once('=').is_some_and(|(name, _)| is_variable(name));
        while read.words.len() > 1 && is_set(&read.words[0]) {
            read.words.remove(0);
        }
        read
    }

    fn end_word(&mut self) {
        self.words.push(std::mem::take(&mut self.typed));
        self.breaks.clear();
    }

    fn open(&mut self, quoting: Quoting) {
        self.quoting = quoting;
        self.open_quote = self.typed.len();
    }

    /// What bash has to insert for that value, which begins as what was typed; `None` if these quotes can't hold it.
    pub(super) fn insert(&self, value: &str, word_breaks: &str) -> Option<String> {
        let last_break = self.breaks.iter().rev().find(|(c, _)| word_breaks.contains(*c));
        match self.quoting {
            Quoting::None => Some(escaped(value.get(last_break.map_or(0, |(_, end)| *end)..)?)),
            Quoting::Single => {
                value.get(self.open_quote..).filter(|rest| !rest.contains('\'')).map(str::to_string)
            }
            // A `!` in them would mean an earlier line.
            Quoting::Double => {
                let rest = value.get(self.open_quote..).filter(|rest| !rest.contains('!'))?;
                Some(
                    rest.chars()
                        .flat_map(|c| "\"\\$`".contains(c).then_some('\\').into_iter().chain([c]))
                        .collect(),
                )
            }
        }
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// With a backslash before each character that a shell might take for something.
fn escaped(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,".contains(c) || !c.is_ascii();
    text.chars().flat_map(|c| (!is_plain(c)).then_some('\\').into_iter().chain([c])).collect()
}

#[cfg(test)]
mod tests {
    use super::BashLine;

    const BREAKS: &str = " \t\n\"'@><=;|&(:";

    #[test]
    fn a_line_is_read_as_bash_reads_it() {
        for (line, words, typed) in [
            ("msg send ", &["msg", "send"][..], ""),
            ("msg send A", &["msg", "send"], "A"),
            ("  msg   send @al", &["msg", "send"], "@al"),
            ("A=1 B=x msg send ", &["msg", "send"], ""),
            (r"msg contest src/\*\ ", &["msg", "contest"], "src/* "),
            ("msg send 'two words' x", &["msg", "send", "two words"], "x"),
            (r#"msg send "a\"b\c" x"#, &["msg", "send", r#"a"b\c"#], "x"),
            ("msg contest \"src/a b", &["msg", "contest"], "src/a b"),
            ("msg contest ''", &["msg", "contest"], ""),
            ("msg --mesh '' send x", &["msg", "--mesh", "", "send"], "x"),
            ("", &[], ""),
            ("msg \\", &["msg"], ""),
        ] {
            let read = BashLine::read(line);
            assert_eq!(
                (read.words.iter().map(String::as_str).collect::<Vec<_>>(), &*read.typed),
                (words.to_vec(), typed),
                "{line}"
            );
        }
    }

    #[test]
    fn only_the_last_part_is_inserted() {
        for (line, value, inserted) in [
            ("msg send ", "@all", Some("@all")),
            ("msg send @a", "@all", Some("all")),
            ("msg send @harness:o", "@harness:other", Some("other")),
            ("msg send A,B", "A,Bob", Some("A,Bob")),
            ("msg send --kind=q", "--kind=question", Some("question")),
            ("msg contest s", "src/$(touch x);y", Some(r"src/\$\(touch\ x\)\;y")),
            (r"msg contest src/\*", "src/*.rs", Some(r"src/\*.rs")),
            (r"msg contest a\@", "a@b:c", Some("a@b:c")),
            ("msg contest '@g", "@git/$HEAD", Some("@git/$HEAD")),
            ("msg contest 'a", "a'b", None),
            ("msg contest \"a", "a$b\"", Some(r#"a\$b\""#)),
            ("msg contest \"a", "a!b", None),
            ("msg contest x@\"a", "x@a b", Some("a b")),
            ("msg contest \"x y\"/", "x y/z z", Some(r"/z\ z")),
            ("msg show", "äö ü", Some(r"äö\ ü")),
        ] {
            assert_eq!(BashLine::read(line).insert(value, BREAKS).as_deref(), inserted, "{line} {value}");
        }
        // Whoever has taken them out of $COMP_WORDBREAKS gets whole words.
        assert_eq!(BashLine::read("msg send @a").insert("@all", " ").as_deref(), Some("@all"));
    }
}
