//! Expressions against a sample of the knowledge.

mod sample;

mod budgets;
mod corpus;
mod examples;
mod faults;
mod meanings;
mod soup;

use super::{QueryAnswer, QueryBudget, QueryWorld, evaluate};

/// Evaluates an expression over the sample.
fn ask(text: &str) -> QueryAnswer {
    let (snapshot, facts) = (sample::snapshot(), sample::SampleFacts::default());
    let world = QueryWorld { snapshot: &snapshot, facts: &facts };
    evaluate(text, &world, QueryBudget::default())
}
