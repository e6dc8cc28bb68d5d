//! From the tree of a text to code: what each form means, in whichever dialect it is written.

mod bindings;
mod branches;
mod compiler;
mod data;
mod forms;
mod functions;
mod loops;

pub(super) use compiler::compile;
pub(super) use forms::FORMS;
