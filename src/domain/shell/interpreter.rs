//! Interprets a parsed command without running it, and records which paths it writes.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::field::{Field, VariableValue};
use super::links::Links;
use super::parser::lists::{MAX_DEPTH, ParseEnd, parse};
use super::parser::syntax::{
    Assigned, Chain, CommandList, Compound, LogicalOperator, Redirect, ShellNode, Simple, Word, WordPart,
};
use super::programs::git_needs::GitNeed;
use super::runs::{OutcomeEvidence, ProgramRun, of_parts};
pub use super::state::{ShellState, Stdin};
use super::{CommandPrediction, Extent, ShellEnvironment};

/// Maximum number of steps: a command, an expansion or 256 characters of a variable are one step each.
const MAX_STEPS: usize = 4_000;

/// Number of bytes of text that is only passed on per step.
pub const BYTES_PER_STEP: usize = 1024;

/// Number of variables and functions that make each command one step longer, because they are copied when they
/// change.
const NAMES_PER_STEP: usize = 64;

/// Maximum number of programs reported.
const MOST_RUNS: usize = 100;

/// Maximum number of needed parts of repositories reported.
const MOST_NEEDS: usize = 100;

/// Where the output of a command goes.
#[derive(Debug, Eq, PartialEq)]
enum Target {
    Elsewhere,
    /// To this file only, replacing its content.
    File(String),
    Files,
}

/// A program and its arguments.
pub struct ProgramCall<'a> {
    pub name: &'a str,
    pub arguments: &'a [Field],
}

pub struct ShellInterpreter<'w> {
    pub world: &'w dyn ShellEnvironment,
    pub(in crate::domain::shell) reading: CommandPrediction,
    pub(in crate::domain::shell) seen: HashSet<(String, Extent, bool)>,
    /// Links that the command makes itself.
    pub links: Links,
    /// Directories that the command makes itself.
    pub made: HashSet<String>,
    /// Files that the command writes itself, with their new content if it is known.
    pub(in crate::domain::shell) contents: HashMap<String, Option<String>>,
    steps: usize,
    pub depth: usize,
    /// Functions with the state they were defined in, until they are called.
    uncalled: Vec<(String, Rc<ShellNode>, ShellState)>,
    running: Vec<String>,
    /// The next stage of the pipeline uses its input, so the content of a file printed into it matters.
    pub is_piped: bool,
    /// Number of writes, known or not.
    pub noted: usize,
    /// Number of writes with an unknown path.
    pub unknown: usize,
    pub runs: Vec<ProgramRun>,
    /// The directories in which the command itself checks out another branch, each with its name if it is known.
    pub checked_out: HashMap<String, Option<String>>,
    /// What the outcome of the whole command line says about the part being followed.
    pub evidence: OutcomeEvidence,
}

impl<'w> ShellInterpreter<'w> {
    pub fn read(command: &str, cwd: &str, world: &'w dyn ShellEnvironment) -> CommandPrediction {
        let mut interpreter = Self {
            world,
            reading: CommandPrediction::default(),
            seen: HashSet::new(),
            links: Links::default(),
            made: HashSet::new(),
            contents: HashMap::new(),
            steps: 0,
            depth: 0,
            uncalled: Vec::new(),
            running: Vec::new(),
            is_piped: false,
            noted: 0,
            unknown: 0,
            runs: Vec::new(),
            checked_out: HashMap::new(),
            evidence: OutcomeEvidence::ALL,
        };
        let mut state = ShellState {
            dir: Some(cwd.to_string()),
            instead: Rc::default(),
            doubted: Rc::default(),
            old_dir: None,
            dirs: Rc::default(),
            variables: Rc::default(),
            arguments: None,
            functions: Rc::default(),
            stdin: Stdin::Unknown,
            is_over: false,
        };
        interpreter.script(&mut state, command);
        // The bodies of functions that are never called count as writes but not as runs, and need no part of a repository.
        let runs = std::mem::take(&mut interpreter.runs);
        let git_needs = std::mem::take(&mut interpreter.reading.git_needs);
        while let Some((name, body, mut state)) = interpreter.uncalled.pop() {
            interpreter.running.push(name);
            interpreter.node(&mut state, &body);
            interpreter.running.pop();
        }
        CommandPrediction { runs, git_needs, ..interpreter.reading }
    }

    pub fn set_opaque(&mut self) {
        self.reading.is_opaque = true;
    }

    /// Stops here; the rest is not read.
    pub(in crate::domain::shell) fn cut_short(&mut self) {
        self.reading.is_cut_short = true;
        self.set_opaque();
    }

    /// Counts steps; `false` once there are too many. It bounds the time for any command, however it loops.
    pub fn spend(&mut self, steps: usize) -> bool {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MAX_STEPS {
            self.cut_short();
        }
        self.steps <= MAX_STEPS
    }

    /// Follows something one nesting level deeper, unless that is too deep.
    pub fn deeper<T: Default>(&mut self, what: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= MAX_DEPTH {
            self.cut_short();
            return T::default();
        }
        self.depth += 1;
        let result = what(self);
        self.depth -= 1;
        result
    }

    /// Follows something about which the outcome of the whole says `evidence`.
    pub fn with_evidence<T>(&mut self, evidence: OutcomeEvidence, what: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.evidence, evidence);
        let result = what(self);
        self.evidence = before;
        result
    }

    /// Notes that a program is run.
    pub fn note_run(&mut self, state: &ShellState, name: &Field, arguments: &[Field]) {
        if !name.is_known() || self.runs.len() >= MOST_RUNS {
            return;
        }
        let text = |field: &Field| (field.is_known() && field.pattern.is_none()).then(|| field.text.clone());
        let program = name.text.rsplit('/').next().unwrap_or(&name.text).to_string();
        let dir = state.dir.clone().filter(|_| state.instead.is_empty());
        let mut evidence = self.evidence;
        // Whether it ran at all depends on whether its directory exists.
        evidence.shows_failure &=
            dir.as_deref().is_some_and(|dir| self.made.contains(dir) || self.world.is_dir(dir));
        self.runs.push(ProgramRun {
            program,
            arguments: arguments.iter().map(text).collect(),
            dir,
            evidence,
        });
    }

    /// Notes that a git command needs a part of a repository.
    pub fn note_git_need(&mut self, need: GitNeed) {
        let needs = &mut self.reading.git_needs;
        let is_same = |known: &GitNeed| known.part == need.part && known.dir == need.dir;
        if needs.len() < MOST_NEEDS && !needs.iter().any(is_same) {
            needs.push(need);
        }
    }

    /// Follows a script, as given to `sh -c`.
    pub fn script(&mut self, state: &mut ShellState, text: &str) -> Option<String> {
        if !self.spend(text.len() / BYTES_PER_STEP) {
            return None;
        }
        let (list, ending) = parse(text, self.depth);
        match ending {
            ParseEnd::Whole => {}
            ParseEnd::Broken => self.set_opaque(),
            ParseEnd::TooLong => self.cut_short(),
        }
        self.deeper(|interpreter| interpreter.list(state, &list))
    }

    /// Follows commands and returns their output, if known. The methods below do the same.
    pub fn list(&mut self, state: &mut ShellState, list: &CommandList) -> Option<String> {
        let mut output = None;
        for (at, chain) in list.iter().enumerate() {
            let outer = std::mem::take(&mut state.doubted);
            // The outcome of a list is that of its last command.
            let evidence = if at + 1 == list.len() { self.evidence } else { OutcomeEvidence::NOTHING };
            output = self.with_evidence(evidence, |interpreter| interpreter.chain(state, chain));
            state.settle();
            state.doubted = outer;
        }
        output.filter(|_| list.len() == 1)
    }

    fn chain(&mut self, state: &mut ShellState, chain: &Chain) -> Option<String> {
        if chain.in_background {
            let mut own = state.clone();
            self.with_evidence(OutcomeEvidence::NOTHING, |interpreter| interpreter.joined(&mut own, chain));
            return None;
        }
        self.joined(state, chain)
    }

    fn joined(&mut self, state: &mut ShellState, chain: &Chain) -> Option<String> {
        let mut before = state.clone();
        let outer = self.evidence;
        let evidence = of_parts(chain, outer);
        self.evidence = evidence[0];
        let output = self.node(state, &chain.first);
        for ((join, node), evidence) in chain.rest.iter().zip(&evidence[1..]) {
            self.evidence = *evidence;
            match join {
                // Runs only if the command before succeeded.
                LogicalOperator::And => {
                    before = state.clone();
                    self.node(state, node);
                }
                // Runs only if the command before failed.
                LogicalOperator::Or => {
                    let mut other = ShellState { is_over: false, ..before.clone() };
                    other.settle();
                    self.node(&mut other, node);
                    let is_doubted = !std::mem::take(&mut state.doubted).is_empty();
                    if is_doubted && !other.is_over && other.dir.is_some() && other.dir != state.dir {
                        let mut places = vec![state.dir.clone()];
                        places.extend(other.places());
                        other.go_to_one_of(&places);
                    }
                    *state = ShellState::either(vec![state.clone(), other]);
                }
            }
        }
        self.evidence = outer;
        output.filter(|_| chain.rest.is_empty())
    }

    pub fn node(&mut self, state: &mut ShellState, node: &ShellNode) -> Option<String> {
        match node {
            ShellNode::Simple(simple) => self.simple(state, simple),
            ShellNode::Pipeline(stages) => self.pipeline(state, stages),
            ShellNode::Compound(compound, redirects) => {
                let before = state.stdin.clone();
                let target = self.redirects(state, redirects);
                let output = self.deeper(|interpreter| interpreter.compound(state, compound));
                state.stdin = before;
                output.filter(|_| target == Target::Elsewhere)
            }
            ShellNode::Function { name, body } => {
                if !self.spend(1 + state.functions.len() / NAMES_PER_STEP) {
                    return None;
                }
                self.uncalled.push((name.clone(), Rc::clone(body), state.clone()));
                Rc::make_mut(&mut state.functions).insert(name.clone(), Rc::clone(body));
                None
            }
            ShellNode::Not(node) => {
                self.with_evidence(OutcomeEvidence::NOTHING, |interpreter| interpreter.node(state, node))
            }
        }
    }

    fn pipeline(&mut self, state: &ShellState, stages: &[ShellNode]) -> Option<String> {
        let mut stdin = state.stdin.clone();
        let mut output = None;
        for (at, stage) in stages.iter().enumerate() {
            let mut own = ShellState { stdin, ..state.clone() };
            let before = std::mem::replace(&mut self.is_piped, stages.get(at + 1).is_some_and(uses_stdin));
            let is_last = at + 1 == stages.len();
            let evidence = if is_last { self.evidence.of_last_stage() } else { OutcomeEvidence::NOTHING };
            output = self.with_evidence(evidence, |interpreter| interpreter.node(&mut own, stage));
            self.is_piped = before;
            stdin = output.as_deref().map_or(Stdin::Unknown, |text| Stdin::Text(Rc::from(text)));
        }
        output
    }

    fn compound(&mut self, state: &mut ShellState, compound: &Compound) -> Option<String> {
        match compound {
            Compound::Subshell(list) => self.list(&mut state.clone(), list),
            Compound::Group(list) => self.list(state, list),
            // Which parts run, and how often, is unknown.
            other => {
                self.with_evidence(OutcomeEvidence::NOTHING, |interpreter| {
                    interpreter.branches(state, other);
                });
                None
            }
        }
    }

    fn simple(&mut self, state: &mut ShellState, simple: &Simple) -> Option<String> {
        if !self.spend(1 + (state.variables.len() + state.functions.len()) / NAMES_PER_STEP) {
            return None;
        }
        let fields = self.fields(state, &simple.words);
        let mut own = state.clone();
        for assignment in &simple.assignments {
            let value = match &assignment.value {
                Assigned::Word(word) => self.assigned(state, word),
                Assigned::Other(words) => {
                    self.fields(state, words);
                    None
                }
            };
            // Assignments before a command apply to that command, but not to its own words.
            let target = if fields.is_empty() { &mut *state } else { &mut own };
            target.set(&assignment.name, value);
        }
        let target = self.redirects(&mut own, &simple.redirects);
        let (name, arguments) = fields.split_first()?;
        let stdin = std::mem::replace(&mut state.stdin, own.stdin);
        let output = if simple.assignments.is_empty() {
            self.call(state, name, arguments)
        } else {
            let variables = std::mem::replace(&mut state.variables, own.variables);
            let output = self.call(state, name, arguments);
            state.variables = variables;
            output
        };
        state.stdin = stdin;
        match target {
            Target::Elsewhere => output,
            Target::File(path) => {
                self.contents.insert(path, output);
                None
            }
            Target::Files => None,
        }
    }

    /// Follows redirections and returns where the output goes.
    fn redirects(&mut self, state: &mut ShellState, redirects: &[Redirect]) -> Target {
        let mut output = Target::Elsewhere;
        for redirect in redirects {
            match redirect {
                Redirect::Write { operator, target } => {
                    let target = self.single(state, target);
                    self.write(state, &target, Extent::File, operator);
                    let path =
                        state.path(&target.text).filter(|_| target.is_known() && target.pattern.is_none());
                    output = match (output, path) {
                        (Target::Elsewhere, Some(path)) if matches!(*operator, ">" | ">|") => {
                            Target::File(path)
                        }
                        _ => Target::Files,
                    };
                }
                Redirect::Duplicate(target) => {
                    let target = self.single(state, target);
                    let digits = target.text.trim_end_matches('-');
                    if target.is_known() && !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                        self.write(state, &target, Extent::File, ">&");
                        output = Target::Files;
                    }
                }
                Redirect::Read(source) => state.stdin = Stdin::Path(self.single(state, source)),
                Redirect::Text(word) => state.stdin = self.stdin_text(state, word),
                Redirect::Here(slot) => {
                    state.stdin = slot.get().map_or(Stdin::Unknown, |word| self.stdin_text(state, word));
                }
            }
        }
        output
    }

    fn stdin_text(&mut self, state: &mut ShellState, word: &Word) -> Stdin {
        let field = self.single(state, word);
        if field.is_known() { Stdin::Text(Rc::from(field.text)) } else { Stdin::Unknown }
    }

    /// Follows a function call.
    pub fn function(
        &mut self,
        state: &mut ShellState,
        name: &str,
        body: &Rc<ShellNode>,
        arguments: &[Field],
    ) {
        if self.running.iter().any(|running| running == name) {
            // It is recursive: where that ends is unknown.
            self.set_opaque();
            return;
        }
        self.uncalled.retain(|(_, uncalled, _)| !Rc::ptr_eq(uncalled, body));
        let own = arguments.iter().map(VariableValue::of).collect();
        let before = state.arguments.replace(Rc::new(own));
        self.running.push(name.to_string());
        self.deeper(|interpreter| interpreter.node(state, body));
        self.running.pop();
        state.arguments = before;
        state.is_over = false;
    }

    /// The whole standard input, if known.
    pub fn stdin(&mut self, state: &ShellState) -> Option<String> {
        match &state.stdin {
            Stdin::Unknown => None,
            Stdin::Text(text) => self.spend(text.len() / BYTES_PER_STEP).then(|| text.to_string()),
            Stdin::Path(field) => self.content(state, field),
        }
    }
}

/// Whether the writes of the command may depend on its standard input.
fn uses_stdin(node: &ShellNode) -> bool {
    let ShellNode::Simple(simple) = node else {
        return true;
    };
    match simple.words.first().map(Vec::as_slice) {
        Some([WordPart::Bare(name)]) => {
            ["patch", "git", "sh", "bash", "zsh", "dash", "xargs", "sudo", "cat", "apply_patch"]
                .contains(&name.as_str())
        }
        _ => false,
    }
}
