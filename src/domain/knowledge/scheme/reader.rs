//! Reads the text of an expression. It knows the notations of Scheme, Clojure and Common Lisp.

use super::budget::QueryLimit;
use super::fault::{Stop, excerpt};
use super::syntax::{Form, Syntax};

/// How deeply an expression may be nested. The reader and the compiler call themselves that often.
const MAX_NESTING: usize = 100;

/// Reads all expressions of a text.
pub(super) fn read(text: &str) -> Result<Vec<Syntax>, Stop> {
    let mut reader = Reader { text, place: 0, nesting: 0, templates: 0 };
    let mut forms = Vec::new();
    while reader.skip_blanks()? {
        forms.push(reader.form()?);
    }
    Ok(forms)
}

/// Makes a form of what follows a prefix.
type Prefixed = fn(Box<Syntax>) -> Form;
/// Makes a form of what is between brackets.
type Bracketed = fn(Vec<Syntax>) -> Form;

struct Reader<'t> {
    text: &'t str,
    place: usize,
    nesting: usize,
    /// How many templates are open. Outside of them a comma is a blank, as in Clojure.
    templates: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.place..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_line(&mut self) {
        self.place += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    /// Whether something follows the blanks and comments.
    fn skip_blanks(&mut self) -> Result<bool, Stop> {
        while let Some(char) = self.peek() {
            let is_blank = char.is_whitespace() || char == ',' && self.templates == 0 || char == '\u{feff}';
            if is_blank {
                self.place += char.len_utf8();
            } else if char == ';' || self.rest().starts_with("#!") && self.place == 0 {
                self.skip_line();
            } else if self.rest().starts_with("#|") {
                self.skip_block()?;
            } else if self.rest().starts_with("#_") || self.rest().starts_with("#;") {
                let place = self.place;
                self.place += 2;
                if !self.skip_blanks_below()? {
                    return Err(Stop::wrong("nothing follows `#_`").at(place));
                }
                self.form()?;
            } else {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// `#_ #_ a b` nests.
    fn skip_blanks_below(&mut self) -> Result<bool, Stop> {
        self.enter()?;
        let found = self.skip_blanks();
        self.nesting -= 1;
        found
    }

    fn skip_block(&mut self) -> Result<(), Stop> {
        let place = self.place;
        let mut open = 0;
        loop {
            let rest = self.rest();
            if rest.starts_with("#|") {
                open += 1;
                self.place += 2;
            } else if rest.starts_with("|#") {
                open -= 1;
                self.place += 2;
                if open == 0 {
                    return Ok(());
                }
            } else {
                match self.peek() {
                    Some(char) => self.place += char.len_utf8(),
                    None => return Err(Stop::wrong("the comment that begins here has no `|#`").at(place)),
                }
            }
        }
    }

    fn enter(&mut self) -> Result<(), Stop> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING { Err(QueryLimit::Depth.into()) } else { Ok(()) }
    }

    fn form(&mut self) -> Result<Syntax, Stop> {
        self.enter()?;
        let place = self.place;
        let form = self.form_inside(place);
        self.nesting -= 1;
        Ok(Syntax { form: form?, place })
    }

    fn form_inside(&mut self, place: usize) -> Result<Form, Stop> {
        const PREFIXES: [(&str, Prefixed); 5] = [
            ("'", Form::Quote),
            ("`", Form::Template),
            (",@", Form::Splice),
            ("~@", Form::Splice),
            (",", Form::Unquote),
        ];
        const OPENINGS: [(&str, char, Bracketed); 6] = [
            ("#(", ')', Form::Short),
            ("#{", '}', Form::Vector),
            ("#[", ']', Form::Vector),
            ("(", ')', Form::List),
            ("[", ']', Form::Vector),
            ("{", '}', Form::Dict),
        ];
        if self.rest().starts_with("#'") {
            self.place += 2;
            return self.after_prefix(place).map(|syntax| syntax.form);
        }
        if self.templates > 0 && self.rest().starts_with('~') && !self.rest().starts_with("~@") {
            self.place += 1;
            return self.unquoted(place, Form::Unquote);
        }
        for (prefix, make) in PREFIXES {
            if self.rest().starts_with(prefix) && (self.templates > 0 || prefix != "~@") {
                self.place += prefix.len();
                return match prefix {
                    "'" => Ok(make(Box::new(self.after_prefix(place)?))),
                    "`" => self.template(place),
                    _ => self.unquoted(place, make),
                };
            }
        }
        for (opening, closing, make) in OPENINGS {
            if self.rest().starts_with(opening) {
                self.place += opening.len();
                return Ok(make(self.items(place, closing)?));
            }
        }
        match self.peek() {
            Some('"') => self.string(place).map(Form::Text),
            Some(char @ (')' | ']' | '}')) => Err(Stop::wrong(format!("`{char}` closes nothing")).at(place)),
            _ if self.rest().starts_with("#\"") => {
                self.place += 1;
                self.string(place).map(Form::Text)
            }
            _ if self.rest().starts_with("#\\") => Ok(self.character()),
            _ => self.atom(place),
        }
    }

    fn after_prefix(&mut self, place: usize) -> Result<Syntax, Stop> {
        if !self.skip_blanks()? {
            return Err(Stop::wrong("nothing follows this prefix").at(place));
        }
        self.form()
    }

    fn template(&mut self, place: usize) -> Result<Form, Stop> {
        self.templates += 1;
        let inner = self.after_prefix(place);
        self.templates -= 1;
        Ok(Form::Template(Box::new(inner?)))
    }

    fn unquoted(&mut self, place: usize, make: Prefixed) -> Result<Form, Stop> {
        let templates = std::mem::take(&mut self.templates);
        let inner = self.after_prefix(place);
        self.templates = templates;
        Ok(make(Box::new(inner?)))
    }

    fn items(&mut self, place: usize, closing: char) -> Result<Vec<Syntax>, Stop> {
        let mut items = Vec::new();
        while self.skip_blanks()? {
            match self.peek() {
                Some(char) if char == closing => {
                    self.place += 1;
                    return Ok(items);
                }
                Some(char @ (')' | ']' | '}')) => {
                    let message = format!("`{char}` stands where `{closing}` is expected");
                    return Err(Stop::wrong(message).at(self.place));
                }
                _ => items.push(self.form()?),
            }
        }
        Err(Stop::wrong(format!("`{closing}` is missing for what opens here")).at(place))
    }

    fn string(&mut self, place: usize) -> Result<String, Stop> {
        self.place += 1;
        let mut text = String::new();
        while let Some(char) = self.peek() {
            self.place += char.len_utf8();
            match char {
                '"' => return Ok(text),
                '\\' => {
                    let Some(escaped) = self.peek() else { break };
                    self.place += escaped.len_utf8();
                    match escaped {
                        'n' => text.push('\n'),
                        't' => text.push('\t'),
                        'r' => text.push('\r'),
                        '"' | '\\' => text.push(escaped),
                        // A class of a regular expression: `\d`.
                        other => text.extend(['\\', other]),
                    }
                }
                char => text.push(char),
            }
        }
        Err(Stop::wrong("`\"` is missing for the string that begins here").at(place))
    }

    /// `#\a`, `#\space`: a string of one character.
    fn character(&mut self) -> Form {
        self.place += 2;
        let first = self.peek().map_or(0, char::len_utf8);
        let more = self.rest()[first..].find(|char: char| !char.is_alphanumeric());
        let end = first + more.unwrap_or(self.rest().len() - first);
        let word = self.rest()[..end].to_string();
        self.place += end;
        Form::Text(match word.to_ascii_lowercase().as_str() {
            "space" => " ".to_string(),
            "newline" => "\n".to_string(),
            "tab" => "\t".to_string(),
            _ => word,
        })
    }

    fn atom(&mut self, place: usize) -> Result<Form, Stop> {
        let is_end = |char: char| {
            char.is_whitespace() || matches!(char, '(' | ')' | '[' | ']' | '{' | '}' | '"' | ';' | ',' | '`')
        };
        let end = self.rest().find(is_end).unwrap_or(self.rest().len());
        let word = self.rest()[..end].to_string();
        self.place += end;
        if word.is_empty() {
            return Err(Stop::wrong("this character means nothing here").at(place));
        }
        if let Some(number) = number(&word) {
            return Ok(number);
        }
        Ok(match word.as_str() {
            "nil" | "NIL" | "#nil" | "#!null" => Form::Nil,
            "true" | "#t" | "#true" | "T" => Form::Truth(true),
            "false" | "#f" | "#false" => Form::Truth(false),
            _ => match keyword(&word) {
                Some(keyword) => Form::Keyword(keyword.to_string()),
                None if word.starts_with('#') => {
                    let message = format!("`{}` is not a notation that is known here", excerpt(&word));
                    return Err(Stop::wrong(message).at(place));
                }
                None => Form::Word(word),
            },
        })
    }
}

/// `:name`, `::name`, `#:name`, `@name`, `.name` and `.-name` all name a field.
fn keyword(word: &str) -> Option<&str> {
    let prefixes = ["#:", "::", ":", "@", ".-", "."];
    let name = prefixes.iter().find_map(|prefix| word.strip_prefix(prefix))?;
    let is_name = name.starts_with(|char: char| char.is_alphabetic()) || word.starts_with(':');
    (is_name && !name.is_empty()).then_some(name)
}

fn number(word: &str) -> Option<Form> {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    let starts_as_number = digits.starts_with(|char: char| char.is_ascii_digit())
        || digits.strip_prefix('.').is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()));
    if !starts_as_number {
        return None;
    }
    if let Ok(integer) = word.parse() {
        return Some(Form::Integer(integer));
    }
    if let Some((above, below)) = word.split_once('/') {
        let (above, below): (f64, f64) = (above.parse().ok()?, below.parse().ok()?);
        return (below != 0.0).then_some(Form::Float(above / below));
    }
    word.parse().ok().filter(|float: &f64| float.is_finite()).map(Form::Float)
}
