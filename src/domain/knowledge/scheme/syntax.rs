//! The text of an expression as a tree, before it is known what its lists mean.

/// A part of the text, and where it begins, in bytes.
#[derive(Clone, Debug)]
pub(super) struct Syntax {
    pub(super) form: Form,
    pub(super) place: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Form {
    Nil,
    Truth(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    /// A name.
    Word(String),
    /// `:name`
    Keyword(String),
    /// `( )`
    List(Vec<Syntax>),
    /// `[ ]`
    Vector(Vec<Syntax>),
    /// `{ }`, as pairs
    Dict(Vec<Syntax>),
    /// `#( )`: a function of `%`
    Short(Vec<Syntax>),
    /// `'x`
    Quote(Box<Syntax>),
    /// `` `x ``
    Template(Box<Syntax>),
    /// `,x` in a template
    Unquote(Box<Syntax>),
    /// `,@x` in a template
    Splice(Box<Syntax>),
}

impl Syntax {
    pub(super) fn word(&self) -> Option<&str> {
        match &self.form {
            Form::Word(word) => Some(word),
            _ => None,
        }
    }

    pub(super) fn keyword(&self) -> Option<&str> {
        match &self.form {
            Form::Keyword(word) => Some(word),
            _ => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Syntax]> {
        match &self.form {
            Form::List(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn vector(&self) -> Option<&[Syntax]> {
        match &self.form {
            Form::Vector(items) => Some(items),
            _ => None,
        }
    }

    /// The parts of `( )` or `[ ]`; `nil` has none.
    pub(super) fn items(&self) -> Option<&[Syntax]> {
        match &self.form {
            Form::List(items) | Form::Vector(items) => Some(items),
            Form::Nil => Some(&[]),
            _ => None,
        }
    }

    /// Whether it is the last test of a `cond`: `else`, `t`, `:else`.
    pub(super) fn is_otherwise(&self) -> bool {
        match &self.form {
            Form::Truth(truth) => *truth,
            Form::Word(word) => matches!(word.as_str(), "else" | "t" | "otherwise"),
            Form::Keyword(word) => matches!(word.as_str(), "else" | "default" | "otherwise"),
            _ => false,
        }
    }

    pub(super) fn children(&self) -> &[Syntax] {
        match &self.form {
            Form::List(items) | Form::Vector(items) | Form::Dict(items) | Form::Short(items) => items,
            Form::Quote(one) | Form::Template(one) | Form::Unquote(one) | Form::Splice(one) => {
                std::slice::from_ref(one)
            }
            _ => &[],
        }
    }
}
