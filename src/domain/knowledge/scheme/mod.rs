//! Expressions: a small Scheme over a snapshot of the knowledge.
//!
//! [`evaluate`] reads a text, runs it and gives an answer: a value, what is wrong and where, or which budget was not
//! enough. It accepts what Scheme, Clojure and Common Lisp call things (`dialect.rs` is the table).
//!
//! There is no way to change anything, by type: an expression gets a [`QueryWorld`], which has shared references alone;
//! no function of the table takes or gives anything but values, and no form assigns. There is no input and no output
//! but the answer. Budgets bound steps, depth, memory, time and the size of the answer ([`QueryBudget`]); the evaluator
//! has a stack of its own (`machine.rs`), so no expression reaches the end of the thread's.

mod access;
mod arguments;
mod budget;
mod builtins;
mod calls;
mod code;
mod compare;
mod compile;
mod dialect;
mod each;
mod evaluate;
mod fault;
mod fields;
mod heap;
mod help;
mod machine;
mod outcome;
mod query_answer;
mod query_value;
mod reader;
mod show;
mod syntax;
#[cfg(test)]
mod tests;
mod text_pattern;
mod value;
mod world;

pub use budget::{QueryBudget, QueryLimit};
pub use evaluate::evaluate;
pub use query_answer::{QueryAnswer, QueryError, QueryHint};
pub use query_value::QueryValue;
pub use world::{QueryEvent, QueryFacts, QueryOutlineRow, QueryWorld};
