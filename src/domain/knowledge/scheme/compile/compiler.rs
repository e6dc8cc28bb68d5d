//! The compiler, and which form is compiled by what.

use std::collections::HashSet;

use super::super::builtins::builtin_index;
use super::super::code::{Code, Node, NodeId};
use super::super::dialect::canonical;
use super::super::fault::{Stop, excerpt};
use super::super::heap::Heap;
use super::super::syntax::{Form, Syntax};
use super::super::value::{NameId, Value};

/// Compiles the expressions of a text.
pub(in crate::domain::knowledge::scheme) fn compile<'w>(
    heap: &mut Heap<'w>,
    forms: &[Syntax],
) -> Result<Code<'w>, Stop> {
    let mut compiler = Compiler { heap, code: Code::default(), inside: 0, bound: HashSet::new() };
    for form in forms {
        let node = compiler.expression(form)?;
        compiler.code.top.push(node);
    }
    Ok(compiler.code)
}

pub(super) struct Compiler<'h, 'w> {
    pub(super) heap: &'h mut Heap<'w>,
    pub(super) code: Code<'w>,
    /// How many bodies are around: 0 at the top, where `define` makes a global variable.
    pub(super) inside: usize,
    /// Names that the text binds. They are not forms: `(let loop ((i 0)) (loop (+ i 1)))`.
    pub(super) bound: HashSet<NameId>,
}

impl<'w> Compiler<'_, 'w> {
    pub(super) fn add(&mut self, node: Node<'w>, place: usize) -> Result<NodeId, Stop> {
        self.heap.meter.cells(1)?;
        Ok(self.code.add(node, place))
    }

    pub(super) fn constant(&mut self, value: Value<'w>, place: usize) -> Result<NodeId, Stop> {
        self.add(Node::Constant(value), place)
    }

    pub(super) fn nil(&mut self, place: usize) -> Result<NodeId, Stop> {
        self.constant(Value::Nil, place)
    }

    /// A call of a builtin function.
    pub(super) fn call_builtin(
        &mut self,
        name: &str,
        arguments: Vec<NodeId>,
        place: usize,
    ) -> Result<NodeId, Stop> {
        let function = builtin_index(name).map_or(Value::Nil, Value::Builtin);
        let mut parts = vec![self.constant(function, place)?];
        parts.extend(arguments);
        self.add(Node::Call(parts), place)
    }

    pub(super) fn expressions(&mut self, forms: &[Syntax]) -> Result<Vec<NodeId>, Stop> {
        forms.iter().map(|form| self.expression(form)).collect()
    }

    pub(super) fn expression(&mut self, syntax: &Syntax) -> Result<NodeId, Stop> {
        let place = syntax.place;
        match &syntax.form {
            Form::Word(word) => {
                let name = self.heap.name_id(word)?;
                self.add(Node::Name(name), place)
            }
            Form::List(items) => match items.split_first() {
                None => {
                    let empty = self.heap.list(Vec::new())?;
                    self.constant(empty, place)
                }
                Some((head, arguments)) => self.form_or_call(head, arguments, place),
            },
            Form::Vector(items) => {
                let items = self.expressions(items)?;
                self.call_builtin("list", items, place)
            }
            Form::Dict(items) => {
                let items = self.expressions(items)?;
                self.call_builtin("hash-map", items, place)
            }
            Form::Short(items) => self.short_function(items, place),
            Form::Quote(inner) => {
                let value = self.datum(inner)?;
                self.constant(value, place)
            }
            Form::Template(inner) => self.template(inner),
            Form::Unquote(_) | Form::Splice(_) => {
                Err(Stop::wrong("a comma belongs inside of a template that begins with a backquote")
                    .at(place))
            }
            _ => {
                let value = self.datum(syntax)?;
                self.constant(value, place)
            }
        }
    }

    pub(super) fn call(&mut self, head: &Syntax, arguments: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let mut parts = vec![self.expression(head)?];
        parts.extend(self.expressions(arguments)?);
        self.add(Node::Call(parts), place)
    }

    fn form_or_call(&mut self, head: &Syntax, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let Some(word) = head.word() else { return self.call(head, rest, place) };
        if self.bound.contains(&self.heap.name_id(word)?) {
            return self.call(head, rest, place);
        }
        let node = match canonical(word) {
            "lambda" => self.lambda(rest, place),
            "define" => self.define(rest, place),
            "defun" => self.defun(rest, place),
            "let" => self.let_form(rest, place),
            "let*" => self.let_in_order(rest, place),
            "letrec" => self.letrec(rest, place),
            "labels" => self.labels(rest, place),
            "loop" => self.loop_form(rest, place),
            "if" => self.if_form(rest, place),
            "if-not" => self.if_not(rest, place),
            "when" => self.when(rest, place),
            "unless" => self.unless(rest, place),
            "if-let" => self.if_let(rest, place),
            "when-let" => self.when_let(rest, place),
            "cond" => self.cond(rest, place),
            "case" => self.case(rest, place),
            "and" => {
                let parts = self.expressions(rest)?;
                self.add(Node::And(parts), place)
            }
            "or" => {
                let parts = self.expressions(rest)?;
                self.add(Node::Or(parts), place)
            }
            "begin" => self.begin(rest, place),
            "quote" => {
                let value = self.datum(self.only(rest, "(quote x)")?)?;
                self.constant(value, place)
            }
            "function" => self.expression(self.only(rest, "(function count)")?),
            "->" => self.thread(rest, Thread::First),
            "->>" => self.thread(rest, Thread::Last),
            "for" => self.comprehension(rest, place),
            "help" => self.help(rest, place),
            "comment" | "declare" | "ns" | "require" | "in-package" => self.nil(place),
            "set!" => Err(Stop::wrong(format!(
                "`{}` would change something, and nothing can be changed here: use let, define or fold",
                excerpt(word)
            ))),
            _ => return self.call(head, rest, place),
        };
        node.map_err(|stop| stop.at(place))
    }

    pub(super) fn only<'s>(&self, rest: &'s [Syntax], example: &str) -> Result<&'s Syntax, Stop> {
        match rest {
            [one] => Ok(one),
            _ => Err(Stop::wrong(format!("expected one part, as in {example}"))),
        }
    }

    /// `(->> x (f a) g)` is `(g (f a x))`.
    fn thread(&mut self, rest: &[Syntax], thread: Thread) -> Result<NodeId, Stop> {
        let Some((first, steps)) = rest.split_first() else {
            return Err(Stop::wrong("expected a value, as in (->> (get-decisions) (map :name))"));
        };
        let mut value = self.expression(first)?;
        for step in steps {
            let (head, arguments) = match step.list().and_then(<[Syntax]>::split_first) {
                Some((head, _)) if head.word().is_some_and(|word| canonical(word) == "lambda") => {
                    (step, &[][..])
                }
                Some((head, arguments)) => (head, arguments),
                None => (step, &[][..]),
            };
            let mut parts = vec![self.expression(head)?];
            if thread == Thread::First {
                parts.push(value);
            }
            parts.extend(self.expressions(arguments)?);
            if thread == Thread::Last {
                parts.push(value);
            }
            value = self.add(Node::Call(parts), step.place)?;
        }
        Ok(value)
    }

    fn help(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let topic = match rest.first().map(|topic| &topic.form) {
            None => None,
            Some(Form::Word(word) | Form::Keyword(word) | Form::Text(word)) => Some(word.clone()),
            Some(Form::Quote(inner)) => inner.word().map(str::to_string),
            Some(_) => return Err(Stop::wrong("expected a name, as in (help take)")),
        };
        self.add(Node::Help(topic), place)
    }
}

/// Where `->` and `->>` put what they pass on.
#[derive(Clone, Copy, PartialEq)]
enum Thread {
    First,
    Last,
}
