//! Branches and loops. Which of them run, and how often, is unknown, so all of them are followed.

use super::field::VariableValue;
use super::interpreter::{ShellInterpreter, ShellState};
use super::parser::syntax::{CommandList, Compound, Word};

impl ShellInterpreter<'_> {
    /// Follows a compound command with branches or loops.
    pub fn branches(&mut self, state: &mut ShellState, compound: &Compound) {
        match compound {
            Compound::Subshell(_) | Compound::Group(_) => {}
            Compound::If(branches, last) => {
                let mut ends = Vec::new();
                for (condition, body) in branches {
                    self.list(state, condition);
                    let mut own = state.clone();
                    self.list(&mut own, body);
                    ends.push(own);
                }
                let mut own = state.clone();
                if let Some(last) = last {
                    self.list(&mut own, last);
                }
                ends.push(own);
                *state = ShellState::either(ends);
            }
            Compound::While(condition, body) => self.while_loop(state, condition, body),
            Compound::For { name, values, body } => self.for_loop(state, name, values.as_deref(), body),
            Compound::Case { word, arms } => {
                self.fields(state, std::slice::from_ref(word));
                let mut ends = vec![state.clone()];
                for (patterns, body) in arms {
                    self.fields(state, patterns);
                    let mut own = state.clone();
                    self.list(&mut own, body);
                    ends.push(own);
                }
                *state = ShellState::either(ends);
            }
            Compound::Test(words) => {
                self.fields(state, words);
            }
            Compound::Arithmetic(text, pieces) => {
                self.single(state, pieces);
                state.forget_names_in(text);
            }
        }
    }

    /// Follows the loop once, and a second time with everything it changed unknown.
    fn while_loop(&mut self, state: &mut ShellState, condition: &CommandList, body: &CommandList) {
        for _ in 0..2 {
            let before = state.clone();
            self.list(state, condition);
            self.list(state, body);
            state.is_over = false;
            let is_same = before.dir == state.dir
                && before.instead == state.instead
                && before.variables == state.variables;
            *state = ShellState::either(vec![before, state.clone()]);
            if is_same {
                return;
            }
        }
    }

    fn for_loop(&mut self, state: &mut ShellState, name: &str, values: Option<&[Word]>, body: &CommandList) {
        let values: Vec<Option<VariableValue>> = match (values, &state.arguments) {
            (Some(words), _) => {
                let fields = self.fields(state, words);
                fields.iter().map(VariableValue::of).collect()
            }
            (None, Some(arguments)) => arguments.to_vec(),
            (None, None) => vec![None],
        };
        for value in values {
            if !self.spend(1) {
                return;
            }
            state.set(name, value);
            self.list(state, body);
            state.is_over = false;
        }
    }
}
