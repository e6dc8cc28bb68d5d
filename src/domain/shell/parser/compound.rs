//! Parses compound commands: `if`, `while`, `for`, `case`, `[[ … ]]` and groups.

use super::lists::{Parse, Parser, SyntaxError};
use super::syntax::{Chain, CommandList, Compound, ShellNode, Word};

impl Parser<'_> {
    /// Parses a compound command whose first word `word` has been read.
    pub(in crate::domain::shell) fn compound(&mut self, word: &str) -> Parse<Compound> {
        match word {
            "if" => self.branches(),
            "while" | "until" => {
                let condition = self.body()?;
                Ok(Compound::While(condition, self.loop_body()?))
            }
            "for" | "select" => self.for_loop(),
            "case" => self.case(),
            "[[" => self.test(),
            _ => {
                let list = self.body()?;
                self.need_keyword("}")?;
                Ok(Compound::Group(list))
            }
        }
    }

    pub(in crate::domain::shell) fn branches(&mut self) -> Parse<Compound> {
        let mut branches = Vec::new();
        loop {
            let condition = self.body()?;
            self.need_keyword("then")?;
            branches.push((condition, self.body()?));
            self.skip_lines();
            let word = self.keyword();
            self.at += word.len();
            match word {
                "elif" => {}
                "else" => {
                    let last = self.body()?;
                    self.need_keyword("fi")?;
                    return Ok(Compound::If(branches, Some(last)));
                }
                "fi" => return Ok(Compound::If(branches, None)),
                _ => return Err(SyntaxError),
            }
        }
    }

    pub(in crate::domain::shell) fn loop_body(&mut self) -> Parse<CommandList> {
        self.need_keyword("do")?;
        let body = self.body()?;
        self.need_keyword("done")?;
        Ok(body)
    }

    pub(in crate::domain::shell) fn for_loop(&mut self) -> Parse<Compound> {
        self.skip_blanks();
        if self.looks_at("((") {
            let (text, pieces) = self.arithmetic(2)?.ok_or(SyntaxError)?;
            self.skip_lines();
            self.take(";");
            // The number of iterations is unknown, so it is treated as a `while`.
            let node = ShellNode::Compound(Compound::Arithmetic(text, pieces), Vec::new());
            let condition = vec![Chain { first: node, rest: Vec::new(), in_background: false }];
            return Ok(Compound::While(condition, self.loop_body()?));
        }
        let name = self.name().ok_or(SyntaxError)?;
        self.skip_lines();
        let values = if self.keyword() == "in" {
            self.at += 2;
            Some(self.words()?)
        } else {
            None
        };
        self.skip_blanks();
        self.take(";");
        Ok(Compound::For { name, values, body: self.loop_body()? })
    }

    pub(in crate::domain::shell) fn words(&mut self) -> Parse<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            match self.word()? {
                Some(word) => words.push(word),
                None => return Ok(words),
            }
        }
    }

    pub(in crate::domain::shell) fn case(&mut self) -> Parse<Compound> {
        self.skip_blanks();
        let word = self.word()?.ok_or(SyntaxError)?;
        self.need_keyword("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_lines();
            if self.keyword() == "esac" {
                self.at += 4;
                return Ok(Compound::Case { word, arms });
            }
            self.take("(");
            let mut patterns = Vec::new();
            loop {
                self.skip_blanks();
                patterns.push(self.word()?.ok_or(SyntaxError)?);
                self.skip_blanks();
                if !self.take("|") {
                    break;
                }
            }
            self.need(")")?;
            arms.push((patterns, self.body()?));
            let _ = self.take(";;&") || self.take(";;") || self.take(";&");
        }
    }

    pub(in crate::domain::shell) fn test(&mut self) -> Parse<Compound> {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            if self.keyword() == "]]" {
                self.at += 2;
                return Ok(Compound::Test(words));
            }
            match self.word()? {
                Some(word) => words.push(word),
                None if self.at_end() => return Err(SyntaxError),
                // `&&`, `(`, `<` and similar.
                None => self.at += 1,
            }
        }
    }
}
