//! Data in the text: what is quoted, and templates.

use super::super::code::NodeId;
use super::super::fault::Stop;
use super::super::syntax::{Form, Syntax};
use super::super::value::Value;
use super::compiler::Compiler;

impl<'w> Compiler<'_, 'w> {
    /// The value of what is quoted.
    pub(super) fn datum(&mut self, syntax: &Syntax) -> Result<Value<'w>, Stop> {
        Ok(match &syntax.form {
            Form::Nil => Value::Nil,
            Form::Truth(truth) => Value::Truth(*truth),
            Form::Integer(integer) => Value::Integer(*integer),
            Form::Float(float) => Value::Float(*float),
            Form::Text(text) => self.heap.text(text.clone())?,
            Form::Word(word) => self.heap.symbol(word)?,
            Form::Keyword(word) => self.heap.keyword(word)?,
            Form::List(items) | Form::Vector(items) | Form::Short(items) => {
                // `(a . b)` is a list of both: there are no pairs that are not lists.
                let items = items.iter().filter(|item| item.word() != Some("."));
                let items = items.map(|item| self.datum(item)).collect::<Result<_, _>>()?;
                self.heap.list(items)?
            }
            Form::Dict(items) => {
                let items: Vec<Value<'w>> =
                    items.iter().map(|item| self.datum(item)).collect::<Result<_, _>>()?;
                let mut entries = Vec::new();
                for pair in items.chunks_exact(2) {
                    self.heap.put_entry(&mut entries, pair[0], pair[1])?;
                }
                self.heap.dict(entries)?
            }
            Form::Quote(inner) | Form::Template(inner) | Form::Unquote(inner) | Form::Splice(inner) => {
                let parts = vec![self.heap.symbol("quote")?, self.datum(inner)?];
                self.heap.list(parts)?
            }
        })
    }

    /// A list of which some parts are evaluated: `` `(:name ,(@ p :name)) ``.
    pub(super) fn template(&mut self, syntax: &Syntax) -> Result<NodeId, Stop> {
        let place = syntax.place;
        match &syntax.form {
            Form::Unquote(inner) => self.expression(inner),
            Form::List(items) | Form::Vector(items) => {
                let mut lists = Vec::new();
                for item in items {
                    lists.push(match &item.form {
                        Form::Splice(inner) => self.expression(inner)?,
                        _ => {
                            let part = self.template(item)?;
                            self.call_builtin("list", vec![part], item.place)?
                        }
                    });
                }
                self.call_builtin("append", lists, place)
            }
            Form::Dict(items) => {
                let parts = items.iter().map(|item| self.template(item)).collect::<Result<_, _>>()?;
                self.call_builtin("hash-map", parts, place)
            }
            _ => {
                let value = self.datum(syntax)?;
                self.constant(value, place)
            }
        }
    }
}
