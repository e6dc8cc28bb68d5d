//! From the text of an expression to its answer.

use super::budget::{QueryBudget, QueryLimit, QueryMeter};
use super::compile::compile;
use super::fault::{Fault, Stop};
use super::heap::Heap;
use super::help::hints;
use super::machine::Machine;
use super::query_answer::{QueryAnswer, QueryError};
use super::query_value::QueryValue;
use super::reader::read;
use super::show::Shower;
use super::value::Value;
use super::world::QueryWorld;

/// Evaluates the expressions of a text. The answer is the value of the last one.
pub fn evaluate(text: &str, world: &QueryWorld<'_>, budget: QueryBudget) -> QueryAnswer {
    match value_of(text, world, budget) {
        Ok(answer) => answer,
        Err(Stop::Over(limit)) => QueryAnswer::Over(limit),
        Err(Stop::Wrong(fault)) => QueryAnswer::Wrong(located(text, *fault)),
    }
}

fn value_of(text: &str, world: &QueryWorld<'_>, budget: QueryBudget) -> Result<QueryAnswer, Stop> {
    if text.len() > budget.query_bytes {
        return Err(QueryLimit::QuerySize.into());
    }
    let forms = read(text)?;
    if forms.is_empty() {
        return Err(Stop::wrong("there is no expression: try (help)"));
    }
    let mut heap = Heap::new(*world, QueryMeter::new(budget, world.facts));
    let code = compile(&mut heap, &forms)?;
    let mut machine = Machine::new(&code, &mut heap);
    let mut value = Value::Nil;
    for node in &code.top {
        value = machine.run(*node)?;
    }
    let shown = Shower::new(budget.answer_bytes).show(&mut heap, value)?;
    let answer = match (value, heap.help, shown) {
        (Value::List(list), Some(Value::List(help)), QueryValue::List(lines)) if list == help => {
            QueryAnswer::Help(lines)
        }
        (_, _, shown) => QueryAnswer::Value(shown),
    };
    if answer.to_string().len() > budget.answer_bytes {
        return Err(QueryLimit::AnswerSize.into());
    }
    Ok(answer)
}

/// Counts lines and columns up to the place of a fault.
fn located(text: &str, fault: Fault) -> QueryError {
    let mut place = fault.place.unwrap_or(0).min(text.len());
    while !text.is_char_boundary(place) {
        place -= 1;
    }
    let before = &text[..place];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    QueryError { message: fault.message, line, column, near: hints(&fault.wanted) }
}
