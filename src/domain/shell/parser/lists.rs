//! Parses lists of commands: pipelines, `&&`, `||`, `;` and `&`. The parser begins here.
//!
//! It reads each byte a bounded number of times and nests at most [`MAX_DEPTH`] levels, so no input makes it slow or
//! overflows the stack. Commands before a syntax error are kept, because a shell runs them too.

use std::rc::Rc;

use super::here_document::PendingHere;
use super::syntax::{
    Assigned, Assignment, Chain, CommandList, Compound, LogicalOperator, ShellNode, Simple, Word, WordPart,
};

/// Maximum nesting of commands.
pub const MAX_DEPTH: usize = 50;

/// Maximum number of commands and parts of words.
const MAX_PARTS: usize = 20_000;

/// Maximum length of an array index, in bytes.
const MAX_INDEX: usize = 256;

/// The text is not a valid command, or one that we do not support.
#[derive(Debug)]
pub struct SyntaxError;

pub type Parse<T> = Result<T, SyntaxError>;

/// How far a text was parsed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ParseEnd {
    Whole,
    /// The rest is not a valid command, or one that we do not support.
    Broken,
    /// It has too many parts.
    TooLong,
}

/// Parses the commands of `text`. `depth` is its nesting depth inside other commands.
pub fn parse(text: &str, depth: usize) -> (CommandList, ParseEnd) {
    Parser::new(text, depth).all()
}

pub struct Parser<'t> {
    pub text: &'t str,
    pub at: usize,
    pub depth: usize,
    /// Here-documents whose text starts after this line.
    pub pending: Vec<PendingHere>,
    /// Number of commands and parts of words so far, including those in nested texts.
    pub count: usize,
}

const OPENERS: [&str; 10] = ["if", "while", "until", "for", "select", "case", "function", "{", "[[", "time"];
const CLOSERS: [&str; 8] = ["then", "do", "done", "fi", "elif", "else", "esac", "}"];

impl<'t> Parser<'t> {
    pub fn new(text: &'t str, depth: usize) -> Self {
        Self { text, at: 0, depth, pending: Vec::new(), count: 0 }
    }

    /// Parses all commands.
    pub fn all(&mut self) -> (CommandList, ParseEnd) {
        let mut list = CommandList::new();
        let is_whole = self.list(&mut list).is_ok() && self.at_end();
        self.read_heres();
        let end = match (is_whole, self.count > MAX_PARTS) {
            (true, _) => ParseEnd::Whole,
            (false, true) => ParseEnd::TooLong,
            (false, false) => ParseEnd::Broken,
        };
        (list, end)
    }

    pub fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub fn at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    pub fn looks_at(&self, what: &str) -> bool {
        self.text.as_bytes()[self.at..].starts_with(what.as_bytes())
    }

    pub fn take(&mut self, what: &str) -> bool {
        let is_there = self.looks_at(what);
        self.at += if is_there { what.len() } else { 0 };
        is_there
    }

    pub(in crate::domain::shell) fn need(&mut self, what: &str) -> Parse<()> {
        if self.take(what) { Ok(()) } else { Err(SyntaxError) }
    }

    /// Counts one command or part of a word. Nobody writes commands with more than [`MAX_PARTS`].
    pub fn count(&mut self) -> Parse<()> {
        self.count_many(1)
    }

    pub fn count_many(&mut self, parts: usize) -> Parse<()> {
        self.count += parts;
        if self.count > MAX_PARTS { Err(SyntaxError) } else { Ok(()) }
    }

    /// Parses something one nesting level deeper.
    pub fn deeper<T>(&mut self, what: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_DEPTH {
            return Err(SyntaxError);
        }
        self.depth += 1;
        let result = what(self);
        self.depth -= 1;
        result
    }

    pub fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\\') if self.looks_at("\\\n") => self.at += 2,
                Some(b'\\') if self.looks_at("\\\r\n") => self.at += 3,
                Some(b'#') => {
                    let rest = &self.text[self.at..];
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// Skips blanks, comments and line ends.
    pub(in crate::domain::shell) fn skip_lines(&mut self) {
        loop {
            self.skip_blanks();
            if !self.take("\n") {
                return;
            }
            self.read_heres();
        }
    }

    /// The next plain word, if it may be a keyword.
    pub(in crate::domain::shell) fn keyword(&self) -> &'t str {
        let rest = &self.text[self.at..];
        let is_end = |c: char| c.is_ascii_whitespace() || ";&|()<>".contains(c);
        // The longest keyword is `function`.
        let end = rest.char_indices().take(9).find(|(_, c)| is_end(*c)).map(|(at, _)| at);
        end.map_or(if rest.len() < 9 { rest } else { "" }, |end| &rest[..end])
    }

    pub(in crate::domain::shell) fn need_keyword(&mut self, word: &str) -> Parse<()> {
        self.skip_lines();
        if self.keyword() == word { self.need(word) } else { Err(SyntaxError) }
    }

    /// Parses commands until something that cannot start one.
    pub fn list(&mut self, into: &mut CommandList) -> Parse<()> {
        loop {
            self.skip_lines();
            if self.at_end()
                || self.looks_at(")")
                || self.looks_at(";;")
                || self.looks_at(";&")
                || CLOSERS.contains(&self.keyword())
            {
                return Ok(());
            }
            let chain = self.chain()?;
            into.push(chain);
            self.skip_blanks();
            match self.peek() {
                Some(b';') if !self.looks_at(";;") && !self.looks_at(";&") => self.at += 1,
                Some(b'\n' | b')' | b';') | None => {}
                // After `&`, or after a compound command: `{ a; } }`.
                Some(_) if into.last().is_some_and(|chain| chain.in_background) => {}
                Some(_) if CLOSERS.contains(&self.keyword()) => {}
                Some(_) => return Err(SyntaxError),
            }
        }
    }

    pub(in crate::domain::shell) fn body(&mut self) -> Parse<CommandList> {
        self.deeper(|parser| {
            let mut list = CommandList::new();
            parser.list(&mut list)?;
            Ok(list)
        })
    }

    /// Parses the content of `$(…)` and similar, with the closing parenthesis.
    pub fn body_in_parens(&mut self) -> Parse<CommandList> {
        let list = self.body()?;
        self.need(")")?;
        Ok(list)
    }

    fn chain(&mut self) -> Parse<Chain> {
        let first = self.pipeline()?;
        let mut chain = Chain { first, rest: Vec::new(), in_background: false };
        loop {
            self.skip_blanks();
            let join = if self.take("&&") {
                LogicalOperator::And
            } else if self.take("||") {
                LogicalOperator::Or
            } else {
                break;
            };
            self.skip_lines();
            chain.rest.push((join, self.pipeline()?));
        }
        chain.in_background = self.take("&");
        Ok(chain)
    }

    fn pipeline(&mut self) -> Parse<ShellNode> {
        let mut is_negated = false;
        loop {
            self.skip_blanks();
            if self.keyword() == "!" {
                self.at += 1;
                is_negated = true;
            } else {
                break;
            }
        }
        let first = self.command()?;
        let mut stages = vec![first];
        loop {
            self.skip_blanks();
            if self.looks_at("||") || !(self.take("|&") || self.take("|")) {
                break;
            }
            self.skip_lines();
            stages.push(self.command()?);
        }
        let node = if stages.len() == 1 { stages.remove(0) } else { ShellNode::Pipeline(stages) };
        Ok(if is_negated { ShellNode::Not(Box::new(node)) } else { node })
    }

    fn command(&mut self) -> Parse<ShellNode> {
        self.count()?;
        self.skip_blanks();
        let word = self.keyword();
        let arithmetic = if self.looks_at("((") { self.arithmetic(2)? } else { None };
        let compound = if let Some((text, pieces)) = arithmetic {
            Compound::Arithmetic(text, pieces)
        } else if self.take("(") {
            Compound::Subshell(self.body_in_parens()?)
        } else if word == "time" {
            self.at += 4;
            self.skip_blanks();
            while self.keyword() == "-p" {
                self.at += 2;
                self.skip_blanks();
            }
            return self.deeper(Self::command);
        } else if OPENERS.contains(&word) {
            self.at += word.len();
            if word == "function" {
                return self.function();
            }
            self.compound(word)?
        } else {
            return self.simple();
        };
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => return Ok(ShellNode::Compound(compound, redirects)),
            }
        }
    }

    fn function(&mut self) -> Parse<ShellNode> {
        self.skip_blanks();
        let rest = &self.text[self.at..];
        let end =
            rest.find(|c: char| c.is_ascii_whitespace() || "(){};&|<>".contains(c)).ok_or(SyntaxError)?;
        let name = rest[..end].to_string();
        self.at += end;
        self.skip_blanks();
        if self.take("(") {
            self.skip_blanks();
            self.need(")")?;
        }
        self.function_body(name)
    }

    fn function_body(&mut self, name: String) -> Parse<ShellNode> {
        self.skip_lines();
        let body = self.deeper(Self::command)?;
        Ok(ShellNode::Function { name, body: Rc::new(body) })
    }

    fn simple(&mut self) -> Parse<ShellNode> {
        let mut simple = Simple::default();
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
                continue;
            }
            if simple.words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                simple.assignments.push(assignment);
                continue;
            }
            match self.word()? {
                Some(word) => simple.words.push(word),
                None if self.looks_at("(") => match simple.words.last_mut() {
                    // `local x=(a b)`
                    Some(word) if matches!(word.last(), Some(WordPart::Bare(text)) if text.ends_with('=')) => {
                        self.at += 1;
                        word.push(WordPart::Other(self.array()?.into_iter().flatten().collect()));
                    }
                    _ => return self.function_from(simple),
                },
                None => break,
            }
        }
        let is_empty =
            simple.words.is_empty() && simple.assignments.is_empty() && simple.redirects.is_empty();
        if is_empty { Err(SyntaxError) } else { Ok(ShellNode::Simple(simple)) }
    }

    /// Parses `name () …` after `name` has been read.
    fn function_from(&mut self, simple: Simple) -> Parse<ShellNode> {
        self.need("(")?;
        self.skip_blanks();
        self.need(")")?;
        match simple.words.as_slice() {
            [word] => match word.as_slice() {
                [WordPart::Bare(name)] => self.function_body(name.clone()),
                _ => Err(SyntaxError),
            },
            _ => Err(SyntaxError),
        }
    }

    /// Parses a name: letters, digits and `_`, not starting with a digit.
    pub fn name(&mut self) -> Option<String> {
        let length = name_length(&self.text[self.at..]);
        let name = &self.text[self.at..self.at + length];
        self.at += length;
        (length > 0).then(|| name.to_string())
    }

    fn assignment(&mut self) -> Parse<Option<Assignment>> {
        let start = self.at;
        let Some(name) = self.name() else {
            return Ok(None);
        };
        let is_indexed = self.peek() == Some(b'[') && self.skip_index();
        let adds = self.take("+=");
        if !adds && !self.take("=") {
            self.at = start;
            return Ok(None);
        }
        if self.take("(") {
            return Ok(Some(Assignment { name, value: Assigned::Other(self.array()?) }));
        }
        let word = self.word()?.unwrap_or_default();
        let value = if adds || is_indexed { Assigned::Other(vec![word]) } else { Assigned::Word(word) };
        Ok(Some(Assignment { name, value }))
    }

    /// Parses the words of `x=(a b)` after the parenthesis.
    fn array(&mut self) -> Parse<Vec<Word>> {
        self.deeper(|parser| {
            let mut words = Vec::new();
            loop {
                parser.skip_lines();
                match parser.word()? {
                    Some(word) => words.push(word),
                    None if parser.take(")") => return Ok(words),
                    None => return Err(SyntaxError),
                }
            }
        })
    }

    /// Skips `[…]` after the name of an array, if `=` or `+=` follows.
    fn skip_index(&mut self) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        let line = rest.iter().take(MAX_INDEX).take_while(|byte| !byte.is_ascii_whitespace()).count();
        let is_end = |at: &usize| rest[*at..].starts_with(b"]=") || rest[*at..].starts_with(b"]+=");
        let end = (0..line).find(is_end);
        self.at += end.map_or(0, |end| end + 1);
        end.is_some()
    }
}

/// The length of the variable name that `text` starts with.
pub fn name_length(text: &str) -> usize {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let starts_well = text.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    if starts_well { text.bytes().take_while(|byte| is_name(byte)).count() } else { 0 }
}
