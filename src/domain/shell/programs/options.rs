//! Splits the arguments of a program into flags, their values and operands.

use crate::domain::shell::field::Field;

/// Maximum number of letters read as flags after one dash; longer words are text that happens to start with a dash.
const MAX_LETTERS: usize = 64;

/// Flags that take a value, so that the value is not mistaken for an operand.
#[derive(Clone, Copy, Debug, Default)]
pub struct ValueFlags {
    /// Letters whose value is the rest of the word or the next word.
    pub short: &'static str,
    /// Letters whose optional value is the rest of the word.
    pub attached: &'static str,
    /// Long names, without dashes, whose value may be the next word.
    pub long: &'static str,
}

#[derive(Debug, Default)]
pub struct ProgramOptions {
    /// `-x` or `--name`, and its value.
    flags: Vec<(String, Option<Field>)>,
    pub operands: Vec<Field>,
    /// The number of operands before `--`.
    pub before_dashes: Option<usize>,
}

impl ProgramOptions {
    pub fn parse(arguments: &[Field], takes: ValueFlags) -> Self {
        Self::read(arguments, takes, false).0
    }

    /// Parses only the flags before the first operand, and returns how many words they take: the rest is another
    /// command.
    pub fn leading(arguments: &[Field], takes: ValueFlags) -> (Self, usize) {
        Self::read(arguments, takes, true)
    }

    fn read(arguments: &[Field], takes: ValueFlags, only_leading: bool) -> (Self, usize) {
        let mut options = Self::default();
        let mut at = 0;
        while let Some(field) = arguments.get(at) {
            let text = field.text.as_str();
            let next = arguments.get(at + 1);
            at += 1;
            if text == "--" {
                options.before_dashes = Some(options.operands.len());
                if !only_leading {
                    options.operands.extend_from_slice(&arguments[at..]);
                    at = arguments.len();
                }
                break;
            } else if text.starts_with("--") {
                at += options.long(field, next, takes);
            } else if text.len() > 1 && text.starts_with('-') {
                at += options.short(field, next, takes);
            } else if only_leading {
                at -= 1;
                break;
            } else {
                options.operands.push(field.clone());
            }
        }
        // The value of the last flag may be missing.
        (options, at.min(arguments.len()))
    }

    /// Adds a long flag and returns how many further words it takes.
    fn long(&mut self, field: &Field, next: Option<&Field>, takes: ValueFlags) -> usize {
        if let Some((name, _)) = field.text.split_once('=') {
            let value = field.after(&format!("{name}=")).unwrap_or_else(Field::unknown);
            self.flags.push((name.to_string(), Some(value)));
            return 0;
        }
        let has_value = takes.long.split(' ').any(|name| field.text[2..] == *name);
        let value = next.filter(|_| has_value).cloned();
        self.flags.push((field.text.clone(), value));
        usize::from(has_value)
    }

    fn short(&mut self, field: &Field, next: Option<&Field>, takes: ValueFlags) -> usize {
        for (at, letter) in field.text.char_indices().skip(1).take(MAX_LETTERS) {
            let end = at + letter.len_utf8();
            let rest = || field.after(&field.text[..end]).unwrap_or_else(Field::unknown);
            let is_last = end == field.text.len();
            let name = format!("-{letter}");
            if takes.attached.contains(letter) {
                self.flags.push((name, (!is_last).then(rest)));
                return 0;
            }
            if takes.short.contains(letter) {
                let value = if is_last { next.cloned() } else { Some(rest()) };
                self.flags.push((name, value));
                return usize::from(is_last);
            }
            self.flags.push((name, None));
        }
        0
    }

    /// The first flag of `names` (separated by blanks) that is given.
    pub fn given<'n>(&self, names: &'n str) -> Option<&'n str> {
        names.split_ascii_whitespace().find(|name| self.flags.iter().any(|(flag, _)| flag == name))
    }

    pub fn has(&self, names: &str) -> bool {
        self.given(names).is_some()
    }

    pub fn values<'s>(&'s self, names: &str) -> impl Iterator<Item = &'s Field> {
        self.flags
            .iter()
            .filter(move |(flag, _)| names.split_ascii_whitespace().any(|name| name == flag))
            .filter_map(|(_, value)| value.as_ref())
    }

    pub fn value<'s>(&'s self, names: &str) -> Option<&'s Field> {
        self.values(names).last()
    }
}
