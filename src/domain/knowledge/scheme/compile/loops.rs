//! Loops: named `let`, Clojure's `loop` and `for`, and the plain ones of Common Lisp's `loop`.

use super::super::code::{BindingOrder, Lambda, Node, NodeId, Target};
use super::super::fault::{Stop, excerpt};
use super::super::syntax::{Form, Syntax};
use super::compiler::Compiler;

/// How many clauses a loop may have. The compiler calls itself that often.
const MAX_CLAUSES: usize = 16;

/// One clause of a loop over lists.
enum Clause<'s> {
    Over(&'s Syntax, NodeId),
    When(NodeId),
    Unless(NodeId),
    Let(&'s Syntax),
}

impl<'w> Compiler<'_, 'w> {
    /// `(let next ((i 0)) … (next (+ i 1)))`
    pub(super) fn named_let(
        &mut self,
        name: &Syntax,
        bindings: &Syntax,
        body: &[Syntax],
        place: usize,
    ) -> Result<NodeId, Stop> {
        let name = self.name_of(name)?;
        let pairs = self.bindings(bindings)?;
        let body = self.body(body, place)?;
        let (targets, values): (Vec<Target>, Vec<NodeId>) = pairs.into_iter().unzip();
        let required = targets.len();
        let lambda = Lambda { name: Some(name), targets, required, rest: None, body, recur: Some(name) };
        let lambda = self.code.add_lambda(lambda);
        let mut parts = vec![self.add(Node::Lambda(lambda), place)?];
        parts.extend(values);
        self.add(Node::Call(parts), place)
    }

    pub(super) fn loop_form(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        match rest {
            [first, ..] if first.word().is_some() || first.keyword().is_some() => self.word_loop(rest, place),
            [bindings, body @ ..] => {
                let recur = Syntax { form: Form::Word("recur".to_string()), place };
                self.named_let(&recur, bindings, body, place)
            }
            [] => Err(Stop::wrong(
                "expected variables and a body, as in (loop [i 0] (if (> i 9) i (recur (+ i 1))))",
            )),
        }
    }

    /// `(for [d (get-decisions) :when (:impact d)] (:name d))`
    pub(super) fn comprehension(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let Some((Some(items), body)) = rest.split_first().map(|(first, body)| (first.items(), body)) else {
            return Err(Stop::wrong(
                "expected variables and a body, as in (for [d (get-decisions)] (:name d))",
            ));
        };
        // Racket and Common Lisp write one list for each variable, or one without a vector.
        let is_pairs = items.iter().all(|item| item.items().is_some_and(|pair| pair.len() == 2));
        let flat: Vec<&Syntax> =
            if is_pairs { items.iter().flat_map(Syntax::children).collect() } else { items.iter().collect() };
        let mut clauses = Vec::new();
        for pair in flat.chunks(2) {
            let [target, value] = pair else {
                return Err(Stop::wrong("a variable has no list to go over").at(pair[0].place));
            };
            clauses.push(match target.keyword() {
                None => Clause::Over(target, self.expression(value)?),
                Some("when" | "if") => Clause::When(self.expression(value)?),
                Some("let") => Clause::Let(value),
                Some(other) => {
                    let message = format!("`:{}` is not known here: use :when or :let", excerpt(other));
                    return Err(Stop::wrong(message).at(target.place));
                }
            });
        }
        let body = self.body(body, place)?;
        let body = self.call_builtin("list", vec![body], place)?;
        self.nest(&clauses, body, place)
    }

    /// Builds the loop from the inside: what comes out of it is appended.
    fn nest(&mut self, clauses: &[Clause<'_>], body: NodeId, place: usize) -> Result<NodeId, Stop> {
        if clauses.len() > MAX_CLAUSES {
            return Err(Stop::wrong(format!("a loop has at most {MAX_CLAUSES} clauses")));
        }
        let mut inner = body;
        for clause in clauses.iter().rev() {
            inner = match clause {
                Clause::Over(target, list) => {
                    let targets = vec![self.target(target)?];
                    let lambda =
                        Lambda { name: None, targets, required: 1, rest: None, body: inner, recur: None };
                    let lambda = self.code.add_lambda(lambda);
                    let function = self.add(Node::Lambda(lambda), place)?;
                    self.call_builtin("mapcat", vec![function, *list], place)?
                }
                Clause::When(test) => {
                    let otherwise = self.nil(place)?;
                    self.add(Node::If { test: *test, then: inner, otherwise }, place)?
                }
                Clause::Unless(test) => {
                    let then = self.nil(place)?;
                    self.add(Node::If { test: *test, then, otherwise: inner }, place)?
                }
                Clause::Let(bindings) => {
                    let bindings = self.bindings(bindings)?;
                    self.add(Node::Let { order: BindingOrder::OneByOne, bindings, body: inner }, place)?
                }
            };
        }
        Ok(inner)
    }

    /// `(loop for x in xs when (p x) collect (f x))`
    fn word_loop(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let mut clauses = Vec::new();
        let mut words = rest;
        loop {
            let word = words.first().and_then(|word| word.word().or_else(|| word.keyword()));
            match (word.map(str::to_ascii_lowercase).as_deref(), words) {
                (Some("for" | "as"), [_, target, over, list, after @ ..])
                    if matches!(over.word().or_else(|| over.keyword()), Some("in" | "across" | "being")) =>
                {
                    clauses.push(Clause::Over(target, self.expression(list)?));
                    words = after;
                }
                (Some("for" | "as"), [_, target, from, first, to, last, after @ ..])
                    if from.word() == Some("from") =>
                {
                    let (first, last) = (self.expression(first)?, self.expression(last)?);
                    let end = match to.word() {
                        Some("below") => last,
                        _ => self.call_builtin("inc", vec![last], to.place)?,
                    };
                    clauses.push(Clause::Over(target, self.call_builtin("range", vec![first, end], place)?));
                    words = after;
                }
                (Some("when" | "if"), [_, test, after @ ..]) => {
                    clauses.push(Clause::When(self.expression(test)?));
                    words = after;
                }
                (Some("unless"), [_, test, after @ ..]) => {
                    clauses.push(Clause::Unless(self.expression(test)?));
                    words = after;
                }
                (Some(word), [_, value, ..]) => {
                    let Some(whole) = whole_of(word) else {
                        let message = format!(
                            "`{}` is not known in a loop: use for … in … when … collect …",
                            excerpt(word)
                        );
                        return Err(Stop::wrong(message).at(words[0].place));
                    };
                    let value = self.expression(value)?;
                    return self.collected(word, whole, value, &clauses, place);
                }
                _ => return Err(Stop::wrong("expected a loop, as in (loop for x in xs collect (f x))")),
            }
        }
    }

    fn collected(
        &mut self,
        word: &str,
        whole: &str,
        value: NodeId,
        clauses: &[Clause<'_>],
        place: usize,
    ) -> Result<NodeId, Stop> {
        let body = if word.starts_with("append") || word.starts_with("nconc") {
            value
        } else {
            self.call_builtin("list", vec![value], place)?
        };
        let list = self.nest(clauses, body, place)?;
        if whole == "count-if" {
            let identity = self.heap.name_id("identity")?;
            let identity = self.add(Node::Name(identity), place)?;
            return self.call_builtin(whole, vec![identity, list], place);
        }
        self.call_builtin(whole, vec![list], place)
    }
}

/// What is made of all that a loop collects.
fn whole_of(word: &str) -> Option<&'static str> {
    Some(match word {
        "collect" | "collecting" | "append" | "appending" | "nconc" => "as-list",
        "sum" | "summing" => "sum",
        "count" | "counting" => "count-if",
        "maximize" | "maximizing" => "max",
        "minimize" | "minimizing" => "min",
        _ => return None,
    })
}
