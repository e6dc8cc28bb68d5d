//! Parses words and what they contain: quotes, variables, substitutions.

use super::lists::{Parse, ParseEnd, Parser, SyntaxError, name_length};
use super::syntax::{Word, WordPart};

/// Whether the byte ends an unquoted word.
fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}

impl Parser<'_> {
    /// Parses the next word; `None` if there is none here.
    pub fn word(&mut self) -> Parse<Option<Word>> {
        let start = self.at;
        let mut word = Word::new();
        if self.looks_at("<(") || self.looks_at(">(") {
            self.at += 2;
            word.push(WordPart::Process(self.body_in_parens()?));
        }
        while let Some(byte) = self.peek() {
            if ends_word(byte) {
                break;
            }
            self.piece(&mut word, byte, ends_word)?;
        }
        Ok((self.at > start).then_some(word))
    }

    /// Parses one unquoted piece.
    fn piece(&mut self, word: &mut Word, byte: u8, ends: fn(u8) -> bool) -> Parse<()> {
        self.count()?;
        match byte {
            b'\'' => {
                let rest = &self.text[self.at + 1..];
                let end = rest.find('\'').ok_or(SyntaxError)?;
                word.push(WordPart::Quoted(rest[..end].to_string()));
                self.at += end + 2;
            }
            b'"' => {
                self.at += 1;
                let mut pieces = self.quoted_text(Some(b'"'))?;
                // Empty quotes are a word, too.
                word.push(WordPart::Quoted(String::new()));
                word.append(&mut pieces);
            }
            b'\\' => self.escaped(word),
            b'`' => word.push(self.backticks(false)?),
            b'$' => word.push(self.dollar(false)?),
            _ => {
                let rest = &self.text[self.at..];
                let is_end = |byte: u8| ends(byte) || matches!(byte, b'\'' | b'"' | b'\\' | b'`' | b'$');
                let length = rest.bytes().position(is_end).unwrap_or(rest.len()).max(1);
                word.push(WordPart::Bare(rest[..length].to_string()));
                self.at += length;
            }
        }
        Ok(())
    }

    fn escaped(&mut self, word: &mut Word) {
        self.at += 1;
        let Some(next) = self.text[self.at..].chars().next() else {
            word.push(WordPart::Quoted("\\".to_string()));
            return;
        };
        self.at += next.len_utf8();
        if next != '\n' {
            word.push(WordPart::Quoted(next.to_string()));
        }
    }

    /// Parses text as within double quotes, up to `end` or the end of the text.
    pub fn quoted_text(&mut self, end: Option<u8>) -> Parse<Word> {
        let mut pieces = Word::new();
        let mut plain = String::new();
        loop {
            let Some(byte) = self.peek() else {
                if end.is_some() {
                    return Err(SyntaxError);
                }
                break;
            };
            match byte {
                _ if Some(byte) == end => {
                    self.at += 1;
                    break;
                }
                b'\\' => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'\n') => self.at += 1,
                        Some(next @ (b'$' | b'`' | b'"' | b'\\')) => {
                            plain.push(next as char);
                            self.at += 1;
                        }
                        _ => plain.push('\\'),
                    }
                }
                b'$' | b'`' => {
                    self.count()?;
                    pieces.push(WordPart::Quoted(std::mem::take(&mut plain)));
                    pieces.push(if byte == b'$' { self.dollar(true)? } else { self.backticks(true)? });
                }
                _ => {
                    let rest = &self.text[self.at..];
                    let is_end = |byte: u8| Some(byte) == end || matches!(byte, b'\\' | b'$' | b'`');
                    let length = rest.bytes().position(is_end).unwrap_or(rest.len());
                    plain.push_str(&rest[..length]);
                    self.at += length;
                }
            }
        }
        pieces.push(WordPart::Quoted(plain));
        Ok(pieces)
    }

    /// Parses `` `…` ``. One level of backslashes is removed before its content is parsed.
    fn backticks(&mut self, quoted: bool) -> Parse<WordPart> {
        self.at += 1;
        let mut script = String::new();
        loop {
            let rest = &self.text[self.at..];
            let length = rest.find(['`', '\\']).ok_or(SyntaxError)?;
            script.push_str(&rest[..length]);
            self.at += length + 1;
            if rest.as_bytes()[length] == b'`' {
                break;
            }
            match self.peek() {
                Some(next @ (b'`' | b'\\' | b'$')) => {
                    script.push(next as char);
                    self.at += 1;
                }
                _ => script.push('\\'),
            }
        }
        let depth = self.depth;
        self.deeper(|parser| {
            let mut inner = Parser::new(&script, depth + 1);
            inner.count = parser.count;
            let (list, end) = inner.all();
            parser.count = inner.count;
            if end == ParseEnd::Whole {
                Ok(WordPart::Output { list, is_quoted: quoted })
            } else {
                Err(SyntaxError)
            }
        })
    }

    fn dollar(&mut self, quoted: bool) -> Parse<WordPart> {
        self.at += 1;
        match self.peek() {
            Some(b'(') => {
                if self.looks_at("((")
                    && let Some((_, pieces)) = self.arithmetic(2)?
                {
                    return Ok(WordPart::Other(pieces));
                }
                self.at += 1;
                Ok(WordPart::Output { list: self.body_in_parens()?, is_quoted: quoted })
            }
            Some(b'{') => {
                self.at += 1;
                self.deeper(|parser| parser.braced(quoted))
            }
            Some(b'\'') if !quoted => self.ansi_quoted(),
            Some(b'"') if !quoted => {
                self.at += 1;
                Ok(WordPart::Default {
                    name: String::new(),
                    word: self.quoted_text(Some(b'"'))?,
                    is_quoted: true,
                })
            }
            Some(byte) if byte.is_ascii_digit() || b"@*#?$!-".contains(&byte) => {
                self.at += 1;
                Ok(WordPart::Variable { name: (byte as char).to_string(), is_quoted: quoted })
            }
            _ => match self.name() {
                Some(name) => Ok(WordPart::Variable { name, is_quoted: quoted }),
                None => Ok(WordPart::Quoted("$".to_string())),
            },
        }
    }

    /// Parses `${…}` after the brace.
    fn braced(&mut self, quoted: bool) -> Parse<WordPart> {
        let rest = &self.text[self.at..];
        let special = rest.bytes().take_while(u8::is_ascii_digit).count().max(name_length(rest));
        let length = match rest.as_bytes().first() {
            _ if special > 0 => special,
            Some(b'@' | b'*' | b'?' | b'$' | b'!' | b'-' | b'#') if rest.as_bytes().get(1) == Some(&b'}') => {
                1
            }
            _ => 0,
        };
        let name = rest[..length].to_string();
        if length > 0 && rest.as_bytes().get(length) == Some(&b'}') {
            self.at += length + 1;
            return Ok(WordPart::Variable { name, is_quoted: quoted });
        }
        let is_default = length > 0 && (rest[length..].starts_with(":-") || rest[length..].starts_with('-'));
        self.at +=
            if is_default { length + 1 + usize::from(rest.as_bytes()[length] == b':') } else { length };
        let mut word = Word::new();
        loop {
            match self.peek().ok_or(SyntaxError)? {
                b'}' => {
                    self.at += 1;
                    break;
                }
                // Within double quotes, a single quote is an ordinary character.
                b'\'' if quoted => {
                    self.at += 1;
                    word.push(WordPart::Quoted("'".to_string()));
                }
                byte => self.piece(&mut word, byte, |byte| byte == b'}')?,
            }
        }
        Ok(if is_default {
            WordPart::Default { name, word, is_quoted: quoted }
        } else {
            WordPart::Other(word)
        })
    }

    /// `$'…'`
    fn ansi_quoted(&mut self) -> Parse<WordPart> {
        self.at += 1;
        let mut text = String::new();
        let mut chars = self.text[self.at..].char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '\'' => {
                    self.at += at + 1;
                    return Ok(WordPart::Quoted(text));
                }
                '\\' => {
                    let (_, escape) = chars.next().ok_or(SyntaxError)?;
                    let (radix, most) = match escape {
                        'x' => (16, 2),
                        'u' => (16, 4),
                        'U' => (16, 8),
                        '0'..='7' => (8, 3),
                        _ => (0, 0),
                    };
                    if radix == 0 {
                        text.push(simple_escape(escape));
                        continue;
                    }
                    let mut code = if radix == 8 { escape.to_digit(8).unwrap_or(0) } else { 0 };
                    let mut left = if radix == 8 { most - 1 } else { most };
                    while left > 0
                        && let Some(digit) = chars.peek().and_then(|(_, c)| c.to_digit(radix))
                    {
                        code = code.wrapping_mul(radix).wrapping_add(digit);
                        left -= 1;
                        chars.next();
                    }
                    text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                c => text.push(c),
            }
        }
        Err(SyntaxError)
    }

    /// The position after the `))` that closes the arithmetic whose `((` is `open` bytes long; `None` if it is not
    /// arithmetic. The bytes scanned here are parsed again later, so they count as parts.
    fn arithmetic_end(&mut self, open: usize) -> Parse<Option<usize>> {
        let end = closing_parens(self.text.as_bytes(), self.at + open);
        let looked_at = end.unwrap_or_else(|looked_at| looked_at) - self.at;
        self.count_many(looked_at / BYTES_PER_PART)?;
        Ok(end.ok())
    }

    /// Parses `((…))` and the substitutions in it; `None` if it is not arithmetic.
    pub fn arithmetic(&mut self, open: usize) -> Parse<Option<(String, Word)>> {
        let Some(end) = self.arithmetic_end(open)? else { return Ok(None) };
        let text = self.text.get(self.at + open..end - 2).ok_or(SyntaxError)?.to_string();
        self.at = end;
        let mut inner = Parser::new(&text, self.depth);
        inner.count = self.count;
        let pieces = inner.deeper(|inner| inner.quoted_text(None));
        self.count = inner.count;
        Ok(Some((text, pieces?)))
    }
}

/// Number of bytes of look-ahead that count as one part of a word.
const BYTES_PER_PART: usize = 64;

/// The position after the `))` that closes what is open at `at`. The error is how far it had to look to find none.
fn closing_parens(bytes: &[u8], mut at: usize) -> Result<usize, usize> {
    let mut depth = 2;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\'' | b'"' => {
                let closing = bytes[at + 1..].iter().position(|other| other == byte);
                at += 1 + closing.ok_or(bytes.len())?;
            }
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 1 && bytes.get(at) != Some(&b')') && bytes.get(at - 1) == Some(&b')') {
            // `((a) …` is a subshell, unless more is opened before the end.
            return Err(at);
        }
        if depth == 0 {
            return Ok(at);
        }
    }
    Err(bytes.len())
}

fn simple_escape(escape: char) -> char {
    match escape {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'e' | 'E' => '\u{1b}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        other => other,
    }
}
