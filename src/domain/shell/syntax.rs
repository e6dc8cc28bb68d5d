//! What a command line is made of, as far as we need to know.

use std::cell::OnceCell;
use std::rc::Rc;

/// Commands one after the other.
pub type List = Vec<Chain>;

/// Commands joined by `&&` and `||`.
#[derive(Debug)]
pub struct Chain {
    pub first: Node,
    pub rest: Vec<(Join, Node)>,
    /// It ends in `&`.
    pub in_background: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Join {
    And,
    Or,
}

#[derive(Debug)]
pub enum Node {
    Simple(Simple),
    /// More than one, each in a process of its own.
    Pipeline(Vec<Node>),
    Compound(Compound, Vec<Redirect>),
    Function {
        name: String,
        body: Rc<Node>,
    },
    /// `! …`
    Not(Box<Node>),
}

#[derive(Debug)]
pub enum Compound {
    Subshell(List),
    Group(List),
    /// Condition and body in turn; what comes after `else` is the last.
    If(Vec<(List, List)>, Option<List>),
    While(List, List),
    /// `values` is absent where it runs over `$@`.
    For {
        name: String,
        values: Option<Vec<Word>>,
        body: List,
    },
    Case {
        word: Word,
        arms: Vec<(Vec<Word>, List)>,
    },
    /// `[[ … ]]`
    Test(Vec<Word>),
    /// `(( … ))`
    Arithmetic(String, Vec<Piece>),
}

#[derive(Debug, Default)]
pub struct Simple {
    pub assignments: Vec<Assignment>,
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
}

#[derive(Debug)]
pub struct Assignment {
    pub name: String,
    pub value: Assigned,
}

#[derive(Debug)]
pub enum Assigned {
    Word(Word),
    /// `x+=y`, `x[1]=y`, `x=(a b)`: what it is afterwards we don't follow.
    Other(Vec<Word>),
}

pub type Word = Vec<Piece>;

/// A part of a word.
#[derive(Debug)]
pub enum Piece {
    /// Without any quotes: globs and braces mean something in it.
    Bare(String),
    Quoted(String),
    Variable {
        name: String,
        quoted: bool,
    },
    /// `${name:-word}`
    Default {
        name: String,
        word: Word,
        quoted: bool,
    },
    /// `$(…)`
    Output {
        list: List,
        quoted: bool,
    },
    /// `<(…)`, `>(…)`
    Process(List),
    /// Anything else that gives a text we don't know; what is inside may have side effects.
    Other(Word),
}

#[derive(Debug)]
pub enum Redirect {
    Read(Word),
    Write {
        operator: &'static str,
        target: Word,
    },
    /// `>&2`, `2>&1`, but also `>&file`.
    Duplicate(Word),
    Text(Word),
    /// Filled when the line ends.
    Here(Rc<OnceCell<Word>>),
}
