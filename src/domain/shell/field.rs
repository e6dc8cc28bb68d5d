//! A word after all expansions: one argument of a program.

use std::rc::Rc;

/// Placeholder for text that is unknown before the command runs; no argument can contain it.
const UNKNOWN: char = '\0';

/// Maximum length of a glob; a longer word is text and not a file name.
pub const MAX_GLOB: usize = 4096;

/// One character of a field under construction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FieldChar {
    pub c: char,
    /// Glob characters are literal in it.
    pub is_quoted: bool,
}

impl FieldChar {
    pub const UNKNOWN: Self = Self { c: UNKNOWN, is_quoted: true };
}

/// One argument of a program.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Field {
    /// The text with glob characters taken literally.
    pub text: String,
    /// The glob in `globset` syntax, if it is one.
    pub pattern: Option<String>,
    /// It may be any file below that path, like `{}` of `find`.
    pub is_below: bool,
    /// The characters of a glob as written.
    pub letters: Option<Rc<[FieldChar]>>,
}

/// The value of a variable.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VariableValue {
    pub text: Rc<str>,
    /// The value is each file that this glob matches in turn, as in `for f in *.rs`.
    pub glob: Option<Rc<[FieldChar]>>,
}

impl VariableValue {
    pub fn literal(text: impl Into<Rc<str>>) -> Self {
        Self { text: text.into(), glob: None }
    }

    /// The argument as a variable's value, if it is known.
    pub fn of(field: &Field) -> Option<Self> {
        let is_lost = field.is_below || (field.pattern.is_some() && field.letters.is_none());
        (field.is_known() && !is_lost)
            .then(|| Self { text: Rc::from(field.text.as_str()), glob: field.letters.clone() })
    }
}

impl Field {
    pub fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub fn unknown() -> Self {
        Self::literal(UNKNOWN)
    }

    pub fn new(letters: &[FieldChar]) -> Self {
        let text: String = letters.iter().map(|letter| letter.c).collect();
        if letters.len() > MAX_GLOB {
            return Self::literal(text);
        }
        let classes = Classes::new(letters);
        let is_active =
            |at: usize, letter: &FieldChar| !letter.is_quoted && (letter.c != '[' || classes.begin_at(at));
        let has_glob = letters
            .iter()
            .enumerate()
            .any(|(at, letter)| matches!(letter.c, '*' | '?' | '[') && is_active(at, letter));
        if !has_glob {
            return Self::literal(text);
        }
        let mut pattern = String::new();
        let mut in_class = false;
        for (at, letter) in letters.iter().enumerate() {
            match letter.c {
                '[' if !in_class && is_active(at, letter) => {
                    in_class = true;
                    pattern.push('[');
                }
                ']' if in_class && !letter.is_quoted => {
                    in_class = false;
                    pattern.push(']');
                }
                c if in_class => pattern.push(c),
                c @ ('*' | '?') if !letter.is_quoted => pattern.push(c),
                c => push_escaped(&mut pattern, c),
            }
        }
        Self { text, pattern: Some(pattern), is_below: false, letters: Some(Rc::from(letters)) }
    }

    pub fn is_known(&self) -> bool {
        !self.text.contains(UNKNOWN)
    }

    /// The part after `prefix`, which must not contain a glob.
    pub fn after(&self, prefix: &str) -> Option<Self> {
        let text = self.text.strip_prefix(prefix)?.to_string();
        let pattern = match &self.pattern {
            Some(pattern) => Some(pattern.strip_prefix(prefix)?.to_string()),
            None => None,
        };
        Some(Self { text, pattern, is_below: self.is_below, letters: None })
    }

    /// The last component; `None` for a path that ends in `.` or `..`.
    pub fn base(&self) -> Option<Self> {
        let base = |path: &str| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_string();
        let text = base(&self.text);
        let is_name = !matches!(text.as_str(), "" | "." | "..") && !self.is_below;
        is_name.then(|| Self { text, pattern: self.pattern.as_deref().map(base), ..Self::default() })
    }

    /// `self/name`.
    pub fn join(&self, name: &Self) -> Self {
        self.append("/", Some(name))
    }

    /// With `text` appended.
    pub fn with(&self, text: &str) -> Self {
        self.append(text, None)
    }

    fn append(&self, separator: &str, name: Option<&Self>) -> Self {
        let separator = if separator == "/" && self.text.ends_with('/') { "" } else { separator };
        let name = name.cloned().unwrap_or_default();
        let is_pattern = self.pattern.is_some() || name.pattern.is_some();
        let pattern =
            is_pattern.then(|| format!("{}{}{}", self.as_pattern(), escape(separator), name.as_pattern()));
        let text = format!("{}{separator}{}", self.text, name.text);
        Self { text, pattern, is_below: name.is_below, letters: None }
    }

    /// With each `mark` replaced, as `find` and `xargs` do.
    pub fn replace(&self, mark: &str, by: &Self) -> Self {
        if mark.is_empty() || !self.text.contains(mark) {
            return self.clone();
        }
        let text = self.text.replace(mark, &by.text);
        let is_pattern = self.pattern.is_some() || by.pattern.is_some();
        let pattern = is_pattern.then(|| self.as_pattern().replace(&escape(mark), &by.as_pattern()));
        if self.text == mark {
            return by.clone();
        }
        Self { text, pattern, ..Self::default() }
    }

    pub fn as_pattern(&self) -> String {
        self.pattern.clone().unwrap_or_else(|| escape(&self.text))
    }
}

/// A glob that matches exactly `text`.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    text.chars().for_each(|c| push_escaped(&mut escaped, c));
    escaped
}

fn push_escaped(pattern: &mut String, c: char) {
    match c {
        '*' | '?' | '[' | ']' | '{' | '}' => pattern.extend(['[', c, ']']),
        '\\' => pattern.push_str("\\\\"),
        c => pattern.push(c),
    }
}

/// Finds where character classes such as `[a-z]` may end.
struct Classes<'a> {
    letters: &'a [FieldChar],
    /// For each position, whether a `]` follows before the next `/`.
    closes: Vec<bool>,
}

impl<'a> Classes<'a> {
    fn new(letters: &'a [FieldChar]) -> Self {
        let mut closes = vec![false; letters.len() + 1];
        for (at, letter) in letters.iter().enumerate().rev() {
            closes[at] = match letter.c {
                '/' => false,
                ']' if !letter.is_quoted => true,
                _ => closes[at + 1],
            };
        }
        Self { letters, closes }
    }

    /// Whether the `[` at `at` starts a class rather than being literal.
    fn begin_at(&self, at: usize) -> bool {
        let is_negated = self.letters.get(at + 1).is_some_and(|letter| matches!(letter.c, '!' | '^'));
        // A `]` in first position belongs to the class.
        let first = at + 1 + usize::from(is_negated);
        let is_name = self.letters.get(first).is_some_and(|letter| letter.c != '/');
        is_name && self.closes[first + 1]
    }
}
