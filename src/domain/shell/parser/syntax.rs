//! Syntax tree of a command line.

use std::cell::OnceCell;
use std::rc::Rc;

/// A sequence of commands.
pub type CommandList = Vec<Chain>;

/// Commands joined by `&&` and `||`.
#[derive(Debug)]
pub struct Chain {
    pub first: ShellNode,
    pub rest: Vec<(LogicalOperator, ShellNode)>,
    /// It ends in `&`.
    pub in_background: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LogicalOperator {
    And,
    Or,
}

#[derive(Debug)]
pub enum ShellNode {
    Simple(Simple),
    /// Two or more stages, each in its own process.
    Pipeline(Vec<ShellNode>),
    Compound(Compound, Vec<Redirect>),
    Function {
        name: String,
        body: Rc<ShellNode>,
    },
    /// `! …`
    Not(Box<ShellNode>),
}

#[derive(Debug)]
pub enum Compound {
    Subshell(CommandList),
    Group(CommandList),
    /// Pairs of condition and body, and the body of `else`.
    If(Vec<(CommandList, CommandList)>, Option<CommandList>),
    While(CommandList, CommandList),
    /// Without `values` it iterates over `$@`.
    For {
        name: String,
        values: Option<Vec<Word>>,
        body: CommandList,
    },
    Case {
        word: Word,
        arms: Vec<(Vec<Word>, CommandList)>,
    },
    /// `[[ … ]]`
    Test(Vec<Word>),
    /// `(( … ))`
    Arithmetic(String, Vec<WordPart>),
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
    /// `x+=y`, `x[1]=y`, `x=(a b)`: the resulting value is not tracked.
    Other(Vec<Word>),
}

pub type Word = Vec<WordPart>;

/// A part of a word.
#[derive(Debug)]
pub enum WordPart {
    /// Unquoted: globs and braces are active in it.
    Bare(String),
    Quoted(String),
    Variable {
        name: String,
        is_quoted: bool,
    },
    /// `${name:-word}`
    Default {
        name: String,
        word: Word,
        is_quoted: bool,
    },
    /// `$(…)`
    Output {
        list: CommandList,
        is_quoted: bool,
    },
    /// `<(…)`, `>(…)`
    Process(CommandList),
    /// Anything else with an unknown value; its content may have side effects.
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
    /// Filled at the end of the line.
    Here(Rc<OnceCell<Word>>),
}
