//! The evaluator: a machine with a stack of its own, so that the depth of calls is a budget and not the thread's stack.
//!
//! What a node waits for is a [`Pending`] on the stack. The last thing that a function does leaves nothing there, so tail
//! calls need no room.

use std::collections::HashMap;

use super::builtins::builtin_index;
use super::code::{BindingOrder, Code, CondThen, DefineLevel, Node, NodeId};
use super::dialect::canonical;
use super::fault::{Stop, WantedItem, excerpt};
use super::fields::field_name;
use super::heap::{Closure, Heap, Scope};
use super::help::help;
use super::outcome::{EachCall, FoldCall, SortCall};
use super::value::{Derived, ListView, NameId, Value};
use crate::domain::knowledge::RecordKind;

/// What happens to the value of the node that is being evaluated.
pub(super) enum Pending<'w> {
    If {
        node: NodeId,
        scope: Scope,
    },
    Cond {
        node: NodeId,
        clause: usize,
        scope: Scope,
    },
    Case {
        node: NodeId,
        scope: Scope,
    },
    /// The value is a function to call with this argument.
    CallWith {
        argument: Value<'w>,
    },
    /// The next part of `and`, `or` or a body.
    Part {
        node: NodeId,
        next: usize,
        scope: Scope,
    },
    Let {
        node: NodeId,
        next: usize,
        outer: Scope,
        scope: Scope,
    },
    Define {
        node: NodeId,
        scope: Scope,
    },
    /// The function and the arguments so far are on the stack of values.
    Call {
        node: NodeId,
        next: usize,
        scope: Scope,
    },
    Each {
        call: Box<EachCall<'w>>,
        place: usize,
    },
    Fold {
        call: Box<FoldCall<'w>>,
        place: usize,
    },
    Sort {
        call: Box<SortCall<'w>>,
        place: usize,
    },
    /// The functions that are called with the value, from this one down to the first.
    Compose {
        functions: ListView,
        next: usize,
        place: usize,
    },
    Negate,
}

/// What the machine does next.
pub(super) enum Step<'w> {
    Evaluate(NodeId, Scope),
    Return(Value<'w>),
    Apply { function: Value<'w>, arguments: Vec<Value<'w>>, place: usize },
}

pub(super) struct Machine<'c, 'h, 'w> {
    pub(super) code: &'c Code<'w>,
    pub(super) heap: &'h mut Heap<'w>,
    pub(super) pending: Vec<Pending<'w>>,
    values: Vec<Value<'w>>,
    globals: HashMap<NameId, Value<'w>>,
}

impl<'c, 'h, 'w> Machine<'c, 'h, 'w> {
    pub(super) fn new(code: &'c Code<'w>, heap: &'h mut Heap<'w>) -> Self {
        Self { code, heap, pending: Vec::new(), values: Vec::new(), globals: HashMap::new() }
    }

    /// Evaluates a node to the end.
    pub(super) fn run(&mut self, node: NodeId) -> Result<Value<'w>, Stop> {
        let mut step = Step::Evaluate(node, Scope::default());
        loop {
            self.heap.meter.steps(1)?;
            self.heap.meter.depth(self.pending.len())?;
            step = match step {
                Step::Evaluate(node, scope) => {
                    self.evaluate(node, scope).map_err(|stop| stop.at(self.code.place(node)))?
                }
                Step::Apply { function, arguments, place } => {
                    self.apply(function, arguments, place).map_err(|stop| stop.at(place))?
                }
                Step::Return(value) => match self.pending.pop() {
                    None => return Ok(value),
                    Some(pending) => self.resume(pending, value)?,
                },
            };
        }
    }

    fn evaluate(&mut self, id: NodeId, scope: Scope) -> Result<Step<'w>, Stop> {
        let (pending, first) = match self.code.node(id) {
            Node::Constant(value) => return Ok(Step::Return(*value)),
            Node::Name(name) => return self.variable(*name, scope).map(Step::Return),
            Node::Lambda(lambda) => {
                return self.heap.closure(Closure { lambda: *lambda, scope }).map(Step::Return);
            }
            Node::Help(topic) => return help(self.heap, topic.as_deref()).map(Step::Return),
            Node::If { test, .. } => (Pending::If { node: id, scope }, *test),
            Node::Cond(clauses) => match clauses.first() {
                None => return Ok(Step::Return(Value::Nil)),
                Some(first) => (Pending::Cond { node: id, clause: 0, scope }, first.test),
            },
            Node::Case { subject, .. } => (Pending::Case { node: id, scope }, *subject),
            Node::And(parts) | Node::Or(parts) | Node::Body(parts) => match parts.as_slice() {
                [] => return Ok(Step::Return(Value::Truth(matches!(self.code.node(id), Node::And(_))))),
                [only] => return Ok(Step::Evaluate(*only, scope)),
                [first, ..] => (Pending::Part { node: id, next: 1, scope }, *first),
            },
            Node::Scope { names, body } => {
                let mut inner = scope;
                for name in names {
                    inner = self.heap.bind(inner, *name, None)?;
                }
                return Ok(Step::Evaluate(*body, inner));
            }
            Node::Let { bindings, body, .. } => match bindings.first() {
                None => return Ok(Step::Evaluate(*body, scope)),
                Some((_, value)) => (Pending::Let { node: id, next: 0, outer: scope, scope }, *value),
            },
            Node::Define { value, .. } => (Pending::Define { node: id, scope }, *value),
            Node::Call(parts) => (Pending::Call { node: id, next: 1, scope }, parts[0]),
        };
        self.pending.push(pending);
        Ok(Step::Evaluate(first, scope))
    }

    /// Goes on with what waited for a value.
    fn resume(&mut self, pending: Pending<'w>, value: Value<'w>) -> Result<Step<'w>, Stop> {
        match pending {
            Pending::If { node, scope } => {
                let Node::If { then, otherwise, .. } = self.code.node(node) else { return broken() };
                Ok(Step::Evaluate(if value.is_true() { *then } else { *otherwise }, scope))
            }
            Pending::Cond { node, clause, scope } => self.resume_cond(node, clause, scope, value),
            Pending::Case { node, scope } => self.resume_case(node, scope, value),
            Pending::CallWith { argument } => {
                Ok(Step::Apply { function: value, arguments: vec![argument], place: 0 })
            }
            Pending::Part { node, next, scope } => self.resume_part(node, next, scope, value),
            Pending::Let { node, next, outer, scope } => self
                .resume_let(node, next, (outer, scope), value)
                .map_err(|stop| stop.at(self.code.place(node))),
            Pending::Define { node, scope } => {
                let Node::Define { name, level, .. } = self.code.node(node) else { return broken() };
                match level {
                    DefineLevel::Top => {
                        self.heap.meter.cells(1)?;
                        self.globals.insert(*name, value);
                    }
                    DefineLevel::Body => self.heap.define(scope, *name, value),
                }
                Ok(Step::Return(Value::Symbol(*name)))
            }
            Pending::Call { node, next, scope } => {
                let Node::Call(parts) = self.code.node(node) else { return broken() };
                self.values.push(value);
                if let Some(part) = parts.get(next) {
                    self.pending.push(Pending::Call { node, next: next + 1, scope });
                    return Ok(Step::Evaluate(*part, scope));
                }
                let arguments = self.values.split_off(self.values.len() - (parts.len() - 1));
                let function = self.values.pop().unwrap_or(Value::Nil);
                Ok(Step::Apply { function, arguments, place: self.code.place(node) })
            }
            Pending::Each { call, place } => {
                self.resume_each(call, value, place).map_err(|stop| stop.at(place))
            }
            Pending::Fold { call, place } => {
                self.resume_fold(call, value, place).map_err(|stop| stop.at(place))
            }
            Pending::Sort { call, place } => {
                self.resume_sort(call, value, place).map_err(|stop| stop.at(place))
            }
            Pending::Compose { functions, next, place } => {
                let function = self.heap.cells(functions)[next];
                if next > 0 {
                    self.pending.push(Pending::Compose { functions, next: next - 1, place });
                }
                Ok(Step::Apply { function, arguments: vec![value], place })
            }
            Pending::Negate => Ok(Step::Return(Value::Truth(!value.is_true()))),
        }
    }

    fn resume_cond(
        &mut self,
        node: NodeId,
        clause: usize,
        scope: Scope,
        value: Value<'w>,
    ) -> Result<Step<'w>, Stop> {
        let Node::Cond(clauses) = self.code.node(node) else { return broken() };
        if value.is_true() {
            return Ok(match clauses[clause].then {
                CondThen::Test => Step::Return(value),
                CondThen::Body(body) => Step::Evaluate(body, scope),
                CondThen::Function(function) => {
                    self.pending.push(Pending::CallWith { argument: value });
                    Step::Evaluate(function, scope)
                }
            });
        }
        match clauses.get(clause + 1) {
            None => Ok(Step::Return(Value::Nil)),
            Some(next) => {
                self.pending.push(Pending::Cond { node, clause: clause + 1, scope });
                Ok(Step::Evaluate(next.test, scope))
            }
        }
    }

    fn resume_case(&mut self, node: NodeId, scope: Scope, value: Value<'w>) -> Result<Step<'w>, Stop> {
        let Node::Case { clauses, otherwise, .. } = self.code.node(node) else { return broken() };
        for (values, body) in clauses {
            for one in values {
                if self.heap.are_equal(value, *one)? {
                    return Ok(Step::Evaluate(*body, scope));
                }
            }
        }
        Ok(Step::Evaluate(*otherwise, scope))
    }

    fn resume_part(
        &mut self,
        node: NodeId,
        next: usize,
        scope: Scope,
        value: Value<'w>,
    ) -> Result<Step<'w>, Stop> {
        let parts = match self.code.node(node) {
            Node::And(_) if !value.is_true() => return Ok(Step::Return(value)),
            Node::Or(_) if value.is_true() => return Ok(Step::Return(value)),
            Node::And(parts) | Node::Or(parts) | Node::Body(parts) => parts,
            _ => return broken(),
        };
        if next + 1 < parts.len() {
            self.pending.push(Pending::Part { node, next: next + 1, scope });
        }
        Ok(Step::Evaluate(parts[next], scope))
    }

    fn resume_let(
        &mut self,
        node: NodeId,
        next: usize,
        (outer, scope): (Scope, Scope),
        value: Value<'w>,
    ) -> Result<Step<'w>, Stop> {
        let code = self.code;
        let Node::Let { order, bindings, body } = code.node(node) else { return broken() };
        let scope = self.bind_target(scope, &bindings[next].0, value)?;
        match bindings.get(next + 1) {
            None => Ok(Step::Evaluate(*body, scope)),
            Some((_, value)) => {
                self.pending.push(Pending::Let { node, next: next + 1, outer, scope });
                let visible = if *order == BindingOrder::AtOnce { outer } else { scope };
                Ok(Step::Evaluate(*value, visible))
            }
        }
    }

    /// A variable, a function, or the name of a field, which stands for itself.
    pub(super) fn variable(&mut self, name: NameId, scope: Scope) -> Result<Value<'w>, Stop> {
        if let Some(value) = self.heap.lookup(scope, name)? {
            return Ok(value);
        }
        if let Some(value) = self.globals.get(&name) {
            return Ok(*value);
        }
        let text = self.heap.name(name).to_string();
        let found = match text.as_str() {
            "t" | "else" | "otherwise" => Some(Value::Truth(true)),
            _ => builtin_index(canonical(&text)).map(Value::Builtin),
        };
        let found = match found {
            Some(found) => Some(found),
            None => accessor(&text).map(|field| self.heap.derive(Derived::Accessor(field))).transpose()?,
        };
        if let Some(found) = found {
            self.globals.insert(name, found);
            return Ok(found);
        }
        let mut variables = self.heap.variables(scope);
        variables.extend(self.globals.keys().take(64).map(|name| self.heap.name(*name).to_string()));
        let wanted = WantedItem::Name { text: text.clone(), variables };
        Err(Stop::wanting(format!("`{}` is not defined", excerpt(&text)), wanted))
    }
}

/// `confidence`, `record-confidence` and `decision-status` name fields.
fn accessor(name: &str) -> Option<&'static str> {
    if let Some(field) = field_name(name) {
        return Some(field);
    }
    let (kind, field) = name.split_once('-')?;
    (kind == "record" || RecordKind::parse(kind).is_some()).then(|| field_name(field)).flatten()
}

/// A pending that belongs to another kind of node. The machine makes none.
fn broken<T>() -> Result<T, Stop> {
    Err(Stop::wrong("the evaluator lost its place: report this expression"))
}
