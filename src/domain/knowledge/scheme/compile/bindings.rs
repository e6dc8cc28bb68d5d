//! Forms that bind variables, and bodies with definitions in them.

use super::super::code::{BindingOrder, DefineLevel, Node, NodeId, Target};
use super::super::dialect::canonical;
use super::super::fault::{Stop, excerpt};
use super::super::syntax::{Form, Syntax};
use super::super::value::NameId;
use super::compiler::Compiler;

const LET_EXAMPLE: &str = "as in (let ((x 1) (y 2)) (+ x y)) or (let [x 1 y 2] (+ x y))";

impl<'w> Compiler<'_, 'w> {
    /// A body: its definitions are visible in all of it.
    pub(super) fn body(&mut self, forms: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        self.inside += 1;
        let body = self.body_inside(forms, place);
        self.inside -= 1;
        body
    }

    fn body_inside(&mut self, forms: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let mut names = Vec::new();
        let mut parts = Vec::new();
        for form in forms {
            match defined_name(form) {
                Some(name) => {
                    names.push(self.heap.name_id(name)?);
                    parts.push(self.definition(form, DefineLevel::Body)?);
                }
                None => parts.push(self.expression(form)?),
            }
        }
        let body = match parts.as_slice() {
            [] => self.nil(place)?,
            [one] => *one,
            _ => self.add(Node::Body(parts), place)?,
        };
        if names.is_empty() { Ok(body) } else { self.add(Node::Scope { names, body }, place) }
    }

    pub(super) fn begin(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let is_loop = |first: &Syntax| {
            first.list().is_some_and(|items| !items.is_empty() && items.iter().all(|it| it.list().is_some()))
        };
        if rest.first().is_some_and(is_loop) && rest.len() > 1 && rest[1].list().is_some() {
            let first = rest[0].list().and_then(<[Syntax]>::first).and_then(Syntax::list);
            if first.is_some_and(|parts| parts.len() == 3 && parts[0].word().is_some()) {
                return Err(Stop::wrong("loops with `do` are not known here: use map, fold or a named let"));
            }
        }
        if self.inside == 0 {
            let parts = self.expressions(rest)?;
            return if parts.is_empty() { self.nil(place) } else { self.add(Node::Body(parts), place) };
        }
        self.body(rest, place)
    }

    /// Scheme's `let` binds at once; with a vector it is Clojure's, which binds one by one. With a name it is a loop.
    pub(super) fn let_form(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        match rest {
            [name, bindings, body @ ..] if name.word().is_some() => {
                self.named_let(name, bindings, body, place)
            }
            [bindings, body @ ..] => {
                let order = match bindings.form {
                    Form::Vector(_) => BindingOrder::OneByOne,
                    _ => BindingOrder::AtOnce,
                };
                self.let_with(bindings, body, order, place)
            }
            [] => Err(Stop::wrong(format!("expected variables and a body, {LET_EXAMPLE}"))),
        }
    }

    pub(super) fn let_in_order(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        match rest {
            [bindings, body @ ..] => self.let_with(bindings, body, BindingOrder::OneByOne, place),
            [] => Err(Stop::wrong(format!("expected variables and a body, {LET_EXAMPLE}"))),
        }
    }

    fn let_with(
        &mut self,
        bindings: &Syntax,
        body: &[Syntax],
        order: BindingOrder,
        place: usize,
    ) -> Result<NodeId, Stop> {
        let bindings = self.bindings(bindings)?;
        let body = self.body(body, place)?;
        self.add(Node::Let { order, bindings, body }, place)
    }

    /// `((x 1) (y 2))`, `[x 1 y 2]`, `(x 1 y 2)`, `((x 1) y)`
    pub(super) fn bindings(&mut self, syntax: &Syntax) -> Result<Vec<(Target, NodeId)>, Stop> {
        self.binding_pairs(syntax)?
            .into_iter()
            .map(|(target, value)| {
                let value = match value {
                    Some(value) => self.expression(value)?,
                    None => self.nil(target.place)?,
                };
                Ok((self.target(target)?, value))
            })
            .collect()
    }

    pub(super) fn binding_pairs<'s>(
        &self,
        syntax: &'s Syntax,
    ) -> Result<Vec<(&'s Syntax, Option<&'s Syntax>)>, Stop> {
        let Some(items) = syntax.items() else {
            return Err(Stop::wrong(format!("expected variables, {LET_EXAMPLE}")).at(syntax.place));
        };
        let is_pair = |item: &Syntax| match &item.form {
            Form::List(parts) => !parts.is_empty() && parts.len() <= 2,
            Form::Vector(parts) => syntax.vector().is_none() && parts.len() == 2,
            _ => false,
        };
        let are_pairs = items.iter().all(|item| is_pair(item) || item.word().is_some())
            && items.iter().any(is_pair)
            && (syntax.vector().is_none() || items.iter().all(is_pair));
        if are_pairs {
            let pair = |item: &'s Syntax| match item.items() {
                Some([target, value, ..]) => (target, Some(value)),
                Some([target]) => (target, None),
                _ => (item, None),
            };
            return Ok(items.iter().map(pair).collect());
        }
        if !items.len().is_multiple_of(2) {
            let message = format!("a variable has no value, {LET_EXAMPLE}");
            return Err(Stop::wrong(message).at(syntax.place));
        }
        Ok(items.chunks_exact(2).map(|pair| (&pair[0], Some(&pair[1]))).collect())
    }

    pub(super) fn letrec(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let Some((bindings, body)) = rest.split_first() else {
            return Err(Stop::wrong(format!("expected variables and a body, {LET_EXAMPLE}")));
        };
        let pairs = self.bindings(bindings)?;
        let body = self.body(body, place)?;
        let mut names = Vec::new();
        let mut parts = Vec::new();
        for (target, value) in pairs {
            let Target::Name(name) = target else {
                return Err(Stop::wrong("letrec binds names alone"));
            };
            names.push(name);
            parts.push(self.add(Node::Define { name, value, level: DefineLevel::Body }, place)?);
        }
        parts.push(body);
        let body = self.add(Node::Body(parts), place)?;
        self.add(Node::Scope { names, body }, place)
    }

    pub(super) fn if_let(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let [bindings, then, otherwise @ ..] = rest else {
            return Err(Stop::wrong("expected a variable and two values, as in (if-let [x (f)] x 0)"));
        };
        let then = self.expression(then)?;
        let otherwise = match otherwise.first() {
            Some(otherwise) => self.expression(otherwise)?,
            None => self.nil(place)?,
        };
        self.let_if(bindings, then, otherwise, place)
    }

    pub(super) fn when_let(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let Some((bindings, body)) = rest.split_first() else {
            return Err(Stop::wrong("expected a variable and a body, as in (when-let [x (f)] x)"));
        };
        let then = self.body(body, place)?;
        let otherwise = self.nil(place)?;
        self.let_if(bindings, then, otherwise, place)
    }

    /// The value is bound to a name that nobody can write, tested, and then bound to its target.
    fn let_if(
        &mut self,
        bindings: &Syntax,
        then: NodeId,
        otherwise: NodeId,
        place: usize,
    ) -> Result<NodeId, Stop> {
        let mut bindings = self.bindings(bindings)?;
        let (Some((target, value)), true) = (bindings.pop(), bindings.is_empty()) else {
            return Err(Stop::wrong("expected one variable and its value"));
        };
        let hidden = self.heap.name_id("(tested)")?;
        let (test, again) = (self.add(Node::Name(hidden), place)?, self.add(Node::Name(hidden), place)?);
        let order = BindingOrder::OneByOne;
        let then = self.add(Node::Let { order, bindings: vec![(target, again)], body: then }, place)?;
        let body = self.add(Node::If { test, then, otherwise }, place)?;
        self.add(Node::Let { order, bindings: vec![(Target::Name(hidden), value)], body }, place)
    }

    /// What a value is bound to: a name, or a form that takes it apart.
    pub(super) fn target(&mut self, syntax: &Syntax) -> Result<Target, Stop> {
        match &syntax.form {
            Form::Word(_) => Ok(Target::Name(self.name_of(syntax)?)),
            Form::Vector(items) | Form::List(items) => {
                let mut parts = Vec::new();
                let mut rest = None;
                let mut items = items.iter();
                while let Some(item) = items.next() {
                    match item.word() {
                        Some("&" | "." | "&rest") => {
                            rest = items.next().map(|rest| self.target(rest)).transpose()?.map(Box::new);
                        }
                        _ if item.keyword() == Some("as") => {
                            items.next();
                        }
                        _ => parts.push(self.target(item)?),
                    }
                }
                Ok(Target::Parts { parts, rest })
            }
            Form::Dict(items) => self.keys_target(items),
            _ => Err(Stop::wrong("expected the name of a variable").at(syntax.place)),
        }
    }

    fn keys_target(&mut self, items: &[Syntax]) -> Result<Target, Stop> {
        let mut keys = Vec::new();
        let mut whole = None;
        for pair in items.chunks_exact(2) {
            match (&pair[0].form, &pair[1].form) {
                (Form::Keyword(word), Form::Vector(names)) if word == "keys" => {
                    for name in names.iter().filter_map(Syntax::word) {
                        let id = self.heap.name_id(name)?;
                        keys.push((id, id));
                    }
                }
                (Form::Keyword(word), Form::Word(name)) if word == "as" => {
                    whole = Some(self.heap.name_id(name)?);
                }
                (Form::Word(name), Form::Keyword(key)) => {
                    keys.push((self.heap.name_id(name)?, self.heap.name_id(key)?));
                }
                (Form::Keyword(word), _) if word == "or" => {}
                _ => return Err(Stop::wrong("expected {:keys [a b]} or {a :key}").at(pair[0].place)),
            }
        }
        Ok(Target::Keys { keys, whole })
    }

    pub(super) fn name_of(&mut self, syntax: &Syntax) -> Result<NameId, Stop> {
        match syntax.word() {
            Some(word) => {
                let name = self.heap.name_id(word)?;
                self.bound.insert(name);
                Ok(name)
            }
            None => Err(Stop::wrong("expected the name of a variable").at(syntax.place)),
        }
    }

    /// A `define` outside of the top and of the beginning of a body would define nothing.
    pub(super) fn check_level(&self, form: &str) -> Result<DefineLevel, Stop> {
        if self.inside == 0 {
            return Ok(DefineLevel::Top);
        }
        Err(Stop::wrong(format!("`{}` belongs directly into a body: use let here", excerpt(form))))
    }
}

/// The name that a form defines, if it is a definition.
fn defined_name(form: &Syntax) -> Option<&str> {
    let items = form.list()?;
    let [head, name, ..] = items else { return None };
    match canonical(head.word()?) {
        "define" | "defun" => match name.list() {
            Some(parts) => parts.first()?.word(),
            None => name.word(),
        },
        _ => None,
    }
}
