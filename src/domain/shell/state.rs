//! What a shell knows at one moment: where it is, its variables and functions.

use std::collections::HashMap;
use std::rc::Rc;

use super::field::{Field, Value};
use super::syntax::Node;

/// No system takes a path that is longer.
const MAX_PATH: usize = 4096;

/// What the shell knows at one moment.
#[derive(Clone)]
pub struct State {
    /// Unknown after `cd "$X"`.
    pub dir: Option<String>,
    /// Where `popd` goes back to.
    pub dirs: Rc<Vec<Option<String>>>,
    /// Those that the command set; `None` where the value isn't known.
    pub variables: Rc<HashMap<String, Option<Value>>>,
    /// `$1`, `$2` and so on.
    pub arguments: Option<Rc<Vec<Option<Value>>>>,
    pub functions: Rc<HashMap<String, Rc<Node>>>,
    pub stdin: Stdin,
    /// `exit`, `return` or `break`: what comes after it doesn't start from here.
    pub is_over: bool,
}

/// What a command gets on its standard input.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Stdin {
    Unknown,
    Text(Rc<str>),
    /// A file.
    Path(Field),
}

impl State {
    pub fn set(&mut self, name: &str, value: Option<Value>) {
        let value = value.filter(|value| value.text.len() <= super::MAX_COMMAND / 16);
        Rc::make_mut(&mut self.variables).insert(name.to_string(), value);
    }

    /// An absolute path, where it is known and can be one.
    pub fn path(&self, text: &str) -> Option<String> {
        if text.len() + self.dir.as_ref().map_or(0, String::len) > MAX_PATH {
            return None;
        }
        if text.starts_with('/') {
            return Some(text.to_string());
        }
        let dir = self.dir.as_deref()?;
        Some(if dir.ends_with('/') { format!("{dir}{text}") } else { format!("{dir}/{text}") })
    }

    /// What is known if any of `states` may be the one.
    pub fn either(mut states: Vec<Self>) -> Self {
        if states.iter().any(|state| !state.is_over) {
            states.retain(|state| !state.is_over);
        }
        let mut merged = states.swap_remove(0);
        for other in states {
            if merged.dir != other.dir {
                merged.dir = None;
            }
            if merged.dirs != other.dirs {
                merged.dirs = Rc::default();
            }
            if merged.arguments != other.arguments {
                merged.arguments = None;
            }
            if !Rc::ptr_eq(&merged.variables, &other.variables) {
                let variables = Rc::make_mut(&mut merged.variables);
                for (name, value) in variables.iter_mut() {
                    if other.variables.get(name) != Some(value) {
                        *value = None;
                    }
                }
                for name in other.variables.keys() {
                    variables.entry(name.clone()).or_insert(None);
                }
            }
            if !Rc::ptr_eq(&merged.functions, &other.functions) {
                let functions = Rc::make_mut(&mut merged.functions);
                functions.extend(other.functions.iter().map(|(name, body)| (name.clone(), Rc::clone(body))));
            }
        }
        merged
    }

    /// Arithmetic may have changed any name that it mentions.
    pub fn forget_names_in(&mut self, text: &str) {
        let names = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for name in names.filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')) {
            if self.variables.contains_key(name) {
                self.set(name, None);
            }
        }
    }
}
