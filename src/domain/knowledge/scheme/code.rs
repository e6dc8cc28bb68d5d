//! An expression after it is known what its lists mean. The evaluator runs it.

use super::value::{NameId, Value};

/// The index of a node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct NodeId(u32);

#[derive(Debug, Default)]
pub(super) struct Code<'w> {
    nodes: Vec<(Node<'w>, usize)>,
    lambdas: Vec<Lambda>,
    /// The expressions of the text, in order.
    pub(super) top: Vec<NodeId>,
}

impl<'w> Code<'w> {
    pub(super) fn add(&mut self, node: Node<'w>, place: usize) -> NodeId {
        self.nodes.push((node, place));
        NodeId((self.nodes.len() - 1) as u32)
    }

    pub(super) fn add_lambda(&mut self, lambda: Lambda) -> u32 {
        self.lambdas.push(lambda);
        (self.lambdas.len() - 1) as u32
    }

    pub(super) fn node(&self, id: NodeId) -> &Node<'w> {
        &self.nodes[id.0 as usize].0
    }

    pub(super) fn place(&self, id: NodeId) -> usize {
        self.nodes[id.0 as usize].1
    }

    pub(super) fn lambda(&self, index: u32) -> &Lambda {
        &self.lambdas[index as usize]
    }
}

#[derive(Debug)]
pub(super) enum Node<'w> {
    Constant(Value<'w>),
    Name(NameId),
    If {
        test: NodeId,
        then: NodeId,
        otherwise: NodeId,
    },
    Cond(Vec<CondClause>),
    Case {
        subject: NodeId,
        clauses: Vec<(Vec<Value<'w>>, NodeId)>,
        otherwise: NodeId,
    },
    And(Vec<NodeId>),
    Or(Vec<NodeId>),
    Body(Vec<NodeId>),
    /// Variables whose definitions are in the body.
    Scope {
        names: Vec<NameId>,
        body: NodeId,
    },
    Let {
        order: BindingOrder,
        bindings: Vec<(Target, NodeId)>,
        body: NodeId,
    },
    Define {
        name: NameId,
        value: NodeId,
        level: DefineLevel,
    },
    Lambda(u32),
    /// The function and its arguments.
    Call(Vec<NodeId>),
    /// `(help)`, `(help all)`, `(help take)`
    Help(Option<String>),
}

#[derive(Debug)]
pub(super) struct CondClause {
    pub(super) test: NodeId,
    pub(super) then: CondThen,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum CondThen {
    /// The value is that of the test.
    Test,
    Body(NodeId),
    /// `=>`: the function is called with the value of the test.
    Function(NodeId),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum BindingOrder {
    /// No value sees the other variables.
    AtOnce,
    /// Each value sees the variables before it.
    OneByOne,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum DefineLevel {
    Top,
    Body,
}

/// What a value is bound to.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Name(NameId),
    /// `[a b & rest]`
    Parts {
        parts: Vec<Target>,
        rest: Option<Box<Target>>,
    },
    /// `{:keys [a b]}` and `{a :x}`: the variables and their keys.
    Keys {
        keys: Vec<(NameId, NameId)>,
        whole: Option<NameId>,
    },
}

#[derive(Debug)]
pub(super) struct Lambda {
    pub(super) name: Option<NameId>,
    pub(super) targets: Vec<Target>,
    /// How many of the targets need an argument.
    pub(super) required: usize,
    pub(super) rest: Option<Target>,
    pub(super) body: NodeId,
    /// The name `recur`, if its body calls itself with it.
    pub(super) recur: Option<NameId>,
}
