//! Forms that choose: `if`, `cond`, `case` and their kin.

use super::super::code::{CondClause, CondThen, Node, NodeId};
use super::super::fault::Stop;
use super::super::syntax::{Form, Syntax};
use super::super::value::Value;
use super::compiler::Compiler;

impl<'w> Compiler<'_, 'w> {
    pub(super) fn if_form(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let [test, then, otherwise @ ..] = rest else {
            return Err(Stop::wrong("expected a test and two values, as in (if (> 2 1) \"yes\" \"no\")"));
        };
        let (test, then) = (self.expression(test)?, self.expression(then)?);
        let otherwise = self.body_or_nil(otherwise, place)?;
        self.add(Node::If { test, then, otherwise }, place)
    }

    pub(super) fn if_not(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let [test, then, otherwise @ ..] = rest else {
            return Err(Stop::wrong(
                "expected a test and two values, as in (if-not (empty? x) \"some\" \"none\")",
            ));
        };
        let (test, otherwise_then) = (self.expression(test)?, self.expression(then)?);
        let then = self.body_or_nil(otherwise, place)?;
        self.add(Node::If { test, then, otherwise: otherwise_then }, place)
    }

    pub(super) fn when(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let Some((test, body)) = rest.split_first() else {
            return Err(Stop::wrong("expected a test, as in (when (> 2 1) \"yes\")"));
        };
        let (test, then) = (self.expression(test)?, self.body_or_nil(body, place)?);
        let otherwise = self.nil(place)?;
        self.add(Node::If { test, then, otherwise }, place)
    }

    pub(super) fn unless(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let Some((test, body)) = rest.split_first() else {
            return Err(Stop::wrong("expected a test, as in (unless (> 1 2) \"yes\")"));
        };
        let (test, otherwise) = (self.expression(test)?, self.body_or_nil(body, place)?);
        let then = self.nil(place)?;
        self.add(Node::If { test, then, otherwise }, place)
    }

    fn body_or_nil(&mut self, forms: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        match forms {
            [] => self.nil(place),
            [one] => self.expression(one),
            _ => {
                let parts = self.expressions(forms)?;
                self.add(Node::Body(parts), place)
            }
        }
    }

    /// Clauses in lists, as in Scheme, or tests and values in turn, as in Clojure.
    pub(super) fn cond(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let mut clauses = Vec::new();
        if is_in_turn(rest) {
            for pair in rest.chunks(2) {
                let [test, value] = pair else {
                    return Err(Stop::wrong("the last test has no value").at(pair[0].place));
                };
                let then = CondThen::Body(self.expression(value)?);
                clauses.push(CondClause { test: self.cond_test(test)?, then });
            }
        } else {
            for clause in rest {
                clauses.push(self.cond_clause(clause)?);
            }
        }
        self.add(Node::Cond(clauses), place)
    }

    fn cond_test(&mut self, test: &Syntax) -> Result<NodeId, Stop> {
        if test.is_otherwise() {
            return self.constant(Value::Truth(true), test.place);
        }
        self.expression(test)
    }

    fn cond_clause(&mut self, clause: &Syntax) -> Result<CondClause, Stop> {
        let parts = clause.items().and_then(<[Syntax]>::split_first);
        let Some((test, body)) = parts else {
            let message = "expected a clause in a list, as in (cond ((> 2 1) \"more\") (else \"less\"))";
            return Err(Stop::wrong(message).at(clause.place));
        };
        let test = self.cond_test(test)?;
        let then = match body {
            [] => CondThen::Test,
            [arrow, function] if arrow.word() == Some("=>") => CondThen::Function(self.expression(function)?),
            body => CondThen::Body(self.body_or_nil(body, clause.place)?),
        };
        Ok(CondClause { test, then })
    }

    pub(super) fn case(&mut self, rest: &[Syntax], place: usize) -> Result<NodeId, Stop> {
        let Some((subject, clauses)) = rest.split_first() else {
            return Err(Stop::wrong("expected a value, as in (case 'a ((a b) 1) (else 2))"));
        };
        let subject = self.expression(subject)?;
        let mut chosen = Vec::new();
        let mut otherwise = None;
        if clauses.iter().all(|clause| clause.list().is_some_and(|parts| parts.len() >= 2)) {
            for clause in clauses {
                let Some((test, body)) = clause.items().and_then(<[Syntax]>::split_first) else { continue };
                let body = self.body_or_nil(body, clause.place)?;
                if test.is_otherwise() {
                    otherwise = Some(body);
                } else {
                    chosen.push((self.case_values(test)?, body));
                }
            }
        } else {
            for pair in clauses.chunks(2) {
                match pair {
                    [test, value] => {
                        let value = self.expression(value)?;
                        chosen.push((self.case_values(test)?, value));
                    }
                    [default] => otherwise = Some(self.expression(default)?),
                    _ => {}
                }
            }
        }
        let otherwise = match otherwise {
            Some(otherwise) => otherwise,
            None => self.nil(place)?,
        };
        self.add(Node::Case { subject, clauses: chosen, otherwise }, place)
    }

    /// `(a b)` means one of both.
    fn case_values(&mut self, test: &Syntax) -> Result<Vec<Value<'w>>, Stop> {
        match test.list() {
            Some([quote, inner]) if quote.word() == Some("quote") => Ok(vec![self.datum(inner)?]),
            Some(several) => several.iter().map(|one| self.datum(one)).collect(),
            None => match &test.form {
                Form::Quote(inner) => Ok(vec![self.datum(inner)?]),
                _ => Ok(vec![self.datum(test)?]),
            },
        }
    }
}

/// Whether the tests and values of a `cond` follow each other without lists around them.
fn is_in_turn(rest: &[Syntax]) -> bool {
    if !rest.iter().all(|clause| clause.items().is_some_and(|parts| !parts.is_empty())) {
        return true;
    }
    let is_clause = |clause: &Syntax| {
        let head = clause.items().and_then(<[Syntax]>::first);
        head.is_some_and(|head| head.list().is_some() || head.is_otherwise())
    };
    !rest.iter().any(is_clause) && rest.len().is_multiple_of(2)
}
