//! State of a shell at one moment: directory, variables, functions.

use std::collections::HashMap;
use std::rc::Rc;

use super::field::{Field, VariableValue};
use super::parser::syntax::ShellNode;

/// Maximum length of a path that any system accepts.
const MAX_PATH: usize = 4096;

/// Maximum number of directories where the shell may be; with more, the directory is unknown.
const MAX_PLACES: usize = 8;

/// State of a shell at one moment.
#[derive(Clone)]
pub struct ShellState {
    /// The working directory; `None` if unknown, for example after `cd "$X"`.
    pub dir: Option<String>,
    /// Other possible directories if an earlier `cd` failed; `None` is an unknown directory.
    pub instead: Rc<Vec<Option<String>>>,
    /// The same for a `cd` in the present chain: what follows its `&&` runs only if it succeeded.
    pub doubted: Rc<Vec<Option<String>>>,
    /// `$OLDPWD`.
    pub old_dir: Option<String>,
    /// The `pushd` stack.
    pub dirs: Rc<Vec<Option<String>>>,
    /// Variables that the command set; `None` if the value is unknown.
    pub variables: Rc<HashMap<String, Option<VariableValue>>>,
    /// `$1`, `$2` and so on.
    pub arguments: Option<Rc<Vec<Option<VariableValue>>>>,
    pub functions: Rc<HashMap<String, Rc<ShellNode>>>,
    pub stdin: Stdin,
    /// After `exit`, `return` or `break`: commands that follow do not start from this state.
    pub is_over: bool,
}

/// The standard input of a command.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Stdin {
    Unknown,
    Text(Rc<str>),
    /// A file.
    Path(Field),
}

impl ShellState {
    pub fn set(&mut self, name: &str, value: Option<VariableValue>) {
        let value = value.filter(|value| value.text.len() <= super::MAX_COMMAND / 16);
        Rc::make_mut(&mut self.variables).insert(name.to_string(), value);
    }

    /// The absolute path, if it is known and not too long.
    pub fn path(&self, text: &str) -> Option<String> {
        join(self.dir.as_deref(), text)
    }

    /// The directory, if it is certain.
    pub fn sure_dir(&self) -> Option<String> {
        self.dir.clone().filter(|_| self.instead.is_empty())
    }

    /// All possible directories.
    pub fn places(&self) -> Vec<Option<String>> {
        std::iter::once(&self.dir).chain(self.instead.iter()).cloned().collect()
    }

    /// Sets the directory, with certainty.
    pub fn go(&mut self, dir: Option<String>) {
        self.dir = dir;
        self.instead = Rc::default();
    }

    /// Sets the directory to the first of `places`, or possibly one of the others.
    pub fn go_to_one_of(&mut self, places: &[Option<String>]) {
        let mut instead: Vec<Option<String>> = Vec::new();
        let (dir, others) =
            places.split_first().map_or((None, [].as_slice()), |(dir, rest)| (dir.clone(), rest));
        for place in others {
            if *place != dir && !instead.contains(place) && instead.len() <= MAX_PLACES {
                instead.push(place.clone());
            }
        }
        let is_lost = dir.is_none() || instead.len() >= MAX_PLACES;
        self.dir = dir.filter(|_| !is_lost);
        self.instead = if is_lost { Rc::default() } else { Rc::new(instead) };
    }

    /// Changes the directory to `text` from each possible directory.
    pub fn enter(&mut self, text: &str) {
        let places: Vec<_> = self.places().iter().map(|place| join(place.as_deref(), text)).collect();
        self.go_to_one_of(&places);
    }

    /// Ends a chain: the next command runs even if a `cd` in it failed.
    pub fn settle(&mut self) {
        if !self.doubted.is_empty() {
            let mut places = self.places();
            places.extend(std::mem::take(&mut self.doubted).iter().cloned());
            self.go_to_one_of(&places);
        }
    }

    /// Updates the variables that `cd` sets.
    pub fn moved_from(&mut self, old: Option<String>) {
        self.old_dir = old.filter(|_| self.doubted.is_empty() && self.instead.is_empty());
        for name in ["PWD", "OLDPWD"] {
            if self.variables.contains_key(name) {
                self.set(name, None);
            }
        }
    }

    /// Merges states of which any may be the real one: only what they agree on is known.
    pub fn either(mut states: Vec<Self>) -> Self {
        if states.iter().any(|state| !state.is_over) {
            states.retain(|state| !state.is_over);
        }
        let mut merged = states.swap_remove(0);
        for other in states {
            if merged.dir != other.dir {
                merged.go(None);
            } else if merged.instead != other.instead {
                let mut places = merged.places();
                places.extend(other.instead.iter().cloned());
                merged.go_to_one_of(&places);
            }
            if merged.doubted != other.doubted {
                let doubted = Rc::make_mut(&mut merged.doubted);
                doubted.extend(other.doubted.iter().cloned());
                if doubted.len() > MAX_PLACES {
                    *doubted = vec![None];
                }
            }
            if merged.old_dir != other.old_dir {
                merged.old_dir = None;
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

    /// Forgets every variable that an arithmetic expression mentions, because it may have changed it.
    pub fn forget_names_in(&mut self, text: &str) {
        let names = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for name in names.filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')) {
            if self.variables.contains_key(name) {
                self.set(name, None);
            }
        }
    }
}

/// The absolute path, if it is known and not too long.
pub fn join(dir: Option<&str>, text: &str) -> Option<String> {
    if text.len() + dir.map_or(0, str::len) > MAX_PATH {
        return None;
    }
    if text.starts_with('/') {
        return Some(text.to_string());
    }
    let dir = dir?;
    Some(if dir.ends_with('/') { format!("{dir}{text}") } else { format!("{dir}/{text}") })
}
