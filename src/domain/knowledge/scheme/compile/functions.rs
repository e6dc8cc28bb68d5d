//! Forms that make functions.

use super::super::code::{BindingOrder, DefineLevel, Lambda, Node, NodeId, Target};
use super::super::dialect::canonical;
use super::super::fault::Stop;
use super::super::syntax::{Form, Syntax};
use super::super::value::NameId;
use super::compiler::Compiler;

/// The parameters of a function.
struct Parameters {
    targets: Vec<Target>,
    required: usize,
    rest: Option<Target>,
    /// Parameters that have a value if the caller gives none.
    defaults: Vec<(Target, NodeId)>,
}

impl<'w> Compiler<'_, 'w> {
    /// `(lambda (x) …)`, `(fn [x] …)`, `(fn name [x] …)`, `(lambda args …)`
    pub(super) fn lambda(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        match rest {
            [name, parameters, body @ ..] if name.word().is_some() && parameters.vector().is_some() => {
                let id = self.name_of(name)?;
                let function = self.function(Some(id), parameters, body, place)?;
                let define =
                    self.add(Node::Define { name: id, value: function, level: DefineLevel::Body }, place)?;
                let own = self.add(Node::Name(id), place)?;
                let body = self.add(Node::Body(vec![define, own]), place)?;
                self.add(Node::Scope { names: vec![id], body }, place)
            }
            [parameters, body @ ..] => self.function(None, parameters, body, place),
            [] => Err(Stop::wrong("expected parameters and a body, as in (lambda (x) (* x 2))")),
        }
    }

    pub(super) fn function(
        &mut self,
        name: Option<NameId>,
        parameters: &Syntax,
        body: &[Syntax],
        place: usize,
    ) -> Result<NodeId, Stop> {
        let parameters = self.parameters(parameters)?;
        let recur = body.iter().any(mentions_recur).then(|| self.heap.name_id("recur")).transpose()?;
        let body = self.body(body, place)?;
        let Parameters { targets, required, rest, defaults } = parameters;
        let order = BindingOrder::OneByOne;
        let body = match defaults.is_empty() {
            true => body,
            false => self.add(Node::Let { order, bindings: defaults, body }, place)?,
        };
        let lambda = self.code.add_lambda(Lambda { name, targets, required, rest, body, recur });
        self.add(Node::Lambda(lambda), place)
    }

    fn parameters(&mut self, syntax: &Syntax) -> Result<Parameters, Stop> {
        if syntax.word().is_some() {
            let rest = Some(self.target(syntax)?);
            return Ok(Parameters { targets: Vec::new(), required: 0, rest, defaults: Vec::new() });
        }
        let Some(items) = syntax.items() else {
            let message = "expected parameters in a list, as in (lambda (x) (* x 2))";
            return Err(Stop::wrong(message).at(syntax.place));
        };
        let mut targets = Vec::new();
        let mut rest = None;
        let mut required = None;
        let mut defaults = Vec::new();
        let mut items = items.iter();
        while let Some(item) = items.next() {
            match item.word() {
                Some("&" | "." | "&rest" | "#!rest") => {
                    rest = items.next().map(|rest| self.target(rest)).transpose()?;
                }
                Some("&optional" | "&key" | "#!optional") => required = Some(targets.len()),
                _ => match (required, item.list()) {
                    (Some(_), Some([target, default])) => {
                        let name = self.name_of(target)?;
                        let given = self.add(Node::Name(name), item.place)?;
                        let default = self.expression(default)?;
                        let either = self.add(Node::Or(vec![given, default]), item.place)?;
                        defaults.push((Target::Name(name), either));
                        targets.push(Target::Name(name));
                    }
                    _ => targets.push(self.target(item)?),
                },
            }
        }
        let required = required.unwrap_or(targets.len());
        Ok(Parameters { targets, required, rest, defaults })
    }

    /// `#(+ % 1)`: `%` and `%1` are the first argument, `%2` the second, `%&` the rest.
    pub(super) fn short_function(&mut self, items: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let body = Syntax { form: Form::List(items.to_vec()), place };
        let mut highest = 0;
        let mut has_rest = false;
        let mut open: Vec<&Syntax> = vec![&body];
        while let Some(syntax) = open.pop() {
            match syntax.word() {
                Some("%") => highest = highest.max(1),
                Some("%&") => has_rest = true,
                Some(word) => {
                    let number = word.strip_prefix('%').and_then(|digits| digits.parse::<usize>().ok());
                    highest = highest.max(number.unwrap_or(0).min(20));
                }
                None => open.extend(syntax.children()),
            }
        }
        let mut targets = Vec::new();
        for number in 1..=highest {
            targets.push(Target::Name(self.heap.name_id(&format!("%{number}"))?));
        }
        let rest = if has_rest { Some(Target::Name(self.heap.name_id("%&")?)) } else { None };
        let inner = self.body(std::slice::from_ref(&body), place)?;
        // `%` is another name of `%1`.
        let (percent, first) = (self.heap.name_id("%")?, self.heap.name_id("%1")?);
        let inner = if highest > 0 {
            let value = self.add(Node::Name(first), place)?;
            let order = BindingOrder::OneByOne;
            let bindings = vec![(Target::Name(percent), value)];
            self.add(Node::Let { order, bindings, body: inner }, place)?
        } else {
            inner
        };
        let required = targets.len();
        let lambda = Lambda { name: None, targets, required, rest, body: inner, recur: None };
        let lambda = self.code.add_lambda(lambda);
        self.add(Node::Lambda(lambda), place)
    }

    pub(super) fn define(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let level = self.check_level("define")?;
        self.define_at(rest, level, place)
    }

    pub(super) fn defun(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let level = self.check_level("defun")?;
        self.defun_at(rest, level, place)
    }

    /// A definition in a body.
    pub(super) fn definition(&mut self, form: &Syntax, level: DefineLevel) -> Result<NodeId, Stop> {
        let Some((head, rest)) = form.list().and_then(<[Syntax]>::split_first) else {
            return Err(Stop::wrong("expected a definition").at(form.place));
        };
        let node = match head.word().map(canonical) {
            Some("defun") => self.defun_at(rest, level, form.place),
            _ => self.define_at(rest, level, form.place),
        };
        node.map_err(|stop| stop.at(form.place))
    }

    fn define_at(&mut self, rest: &[Syntax], level: DefineLevel, place: usize) -> Result<NodeId, Stop> {
        let Some((target, values)) = rest.split_first() else {
            return Err(Stop::wrong("expected a name and a value, as in (define least 0.8)"));
        };
        if let Some((name, parameters)) = target.list().and_then(<[Syntax]>::split_first) {
            let name = self.name_of(name)?;
            let parameters = Syntax { form: Form::List(parameters.to_vec()), place: target.place };
            let value = self.function(Some(name), &parameters, values, place)?;
            return self.add(Node::Define { name, value, level }, place);
        }
        let name = self.name_of(target)?;
        // In Clojure and Common Lisp a description may stand before or after the value.
        let value = match values {
            [] => self.nil(place)?,
            [described, value] if matches!(described.form, Form::Text(_)) => self.expression(value)?,
            [value, ..] => self.expression(value)?,
        };
        self.add(Node::Define { name, value, level }, place)
    }

    /// `(defun f (x) …)`, `(defn f "what it does" [x] …)`
    fn defun_at(&mut self, rest: &[Syntax], level: DefineLevel, place: usize) -> Result<NodeId, Stop> {
        let (name, parameters, body) = match rest {
            [name, described, parameters, body @ ..] if matches!(described.form, Form::Text(_)) => {
                (name, parameters, body)
            }
            [name, parameters, body @ ..] => (name, parameters, body),
            _ => return Err(Stop::wrong("expected a name, parameters and a body, as in (defun f (x) x)")),
        };
        let name = self.name_of(name)?;
        let value = self.function(Some(name), parameters, body, place)?;
        self.add(Node::Define { name, value, level }, place)
    }

    /// `(labels ((f (x) …)) …)`, `(letfn [(f [x] …)] …)`
    pub(super) fn labels(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let functions = rest.first().and_then(Syntax::items);
        let Some(functions) = functions else {
            return Err(Stop::wrong("expected functions, as in (labels ((f (x) (* x 2))) (f 4))"));
        };
        let mut names = Vec::new();
        let mut parts = Vec::new();
        self.inside += 1;
        for function in functions {
            let Some(items) = function.list() else {
                return Err(Stop::wrong("expected a function, as in (f (x) (* x 2))").at(function.place));
            };
            if let Some(name) = items.first() {
                names.push(self.name_of(name)?);
            }
            parts.push(self.defun_at(items, DefineLevel::Body, function.place)?);
        }
        self.inside -= 1;
        parts.push(self.body(&rest[1..], place)?);
        let body = self.add(Node::Body(parts), place)?;
        self.add(Node::Scope { names, body }, place)
    }
}

fn mentions_recur(syntax: &Syntax) -> bool {
    let mut open = vec![syntax];
    while let Some(syntax) = open.pop() {
        if syntax.word() == Some("recur") {
            return true;
        }
        open.extend(syntax.children());
    }
    false
}
