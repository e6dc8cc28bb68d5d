//! Expands words into arguments: braces, `~`, variables, substitutions, word splitting.

use super::brace::{self, Atom};
use super::field::{Field, FieldChar, MAX_GLOB, VariableValue};
use super::interpreter::{BYTES_PER_STEP, ShellInterpreter, ShellState};
use super::parser::syntax::{Word, WordPart};
use super::runs::OutcomeEvidence;

/// Collects the arguments that one word expands to.
#[derive(Default)]
struct Builder {
    done: Vec<Field>,
    letters: Vec<FieldChar>,
    /// Used instead of `letters` once the word is too long to be a file name.
    long: String,
    /// A word has started, even if it is empty.
    is_begun: bool,
    /// Unquoted variables are split into several words.
    splits: bool,
    separators: Separators,
}

/// The value of `IFS`.
#[derive(Default, Eq, PartialEq)]
enum Separators {
    #[default]
    Standard,
    /// The command sets it.
    Own(VariableValue),
    /// The command sets it to an unknown value.
    Unknown,
}

impl Builder {
    fn push(&mut self, text: &str, quoted: bool) {
        self.is_begun = true;
        // A character has at most four bytes.
        if !self.long.is_empty() || text.len() > 4 * MAX_GLOB {
            self.long.extend(self.letters.drain(..).map(|letter| letter.c));
            self.long.push_str(text);
        } else {
            self.letters.extend(text.chars().map(|c| FieldChar { c, is_quoted: quoted }));
        }
    }

    fn push_unknown(&mut self) {
        self.letters.push(FieldChar::UNKNOWN);
        self.is_begun = true;
    }

    fn push_value(&mut self, value: Option<&VariableValue>, quoted: bool) {
        match value {
            None => self.push_unknown(),
            Some(value) if !quoted && self.splits && self.may_split(value) => self.push_unknown(),
            Some(VariableValue { glob: Some(letters), .. }) => {
                self.letters.extend_from_slice(letters);
                self.is_begun = true;
            }
            Some(VariableValue { text, .. }) if quoted || !self.splits => self.push(text, quoted),
            Some(VariableValue { text, .. }) => self.push_split(text),
        }
    }

    /// Whether the changed `IFS` may split it differently.
    fn may_split(&self, value: &VariableValue) -> bool {
        match &self.separators {
            Separators::Standard => false,
            Separators::Unknown => true,
            Separators::Own(own) => {
                let separates = |c: char| c.is_ascii_whitespace() || own.text.contains(c);
                value.glob.is_some() || value.text.contains(separates)
            }
        }
    }

    fn push_split(&mut self, text: &str) {
        for c in text.chars() {
            if c.is_ascii_whitespace() {
                self.end_word();
            } else {
                self.letters.push(FieldChar { c, is_quoted: false });
                self.is_begun = true;
            }
        }
    }

    fn end_word(&mut self) {
        if !std::mem::take(&mut self.is_begun) {
            return;
        }
        let letters = std::mem::take(&mut self.letters);
        let mut long = std::mem::take(&mut self.long);
        self.done.push(if long.is_empty() {
            Field::new(&letters)
        } else {
            long.extend(letters.iter().map(|letter| letter.c));
            Field::literal(long)
        });
    }
}

impl ShellInterpreter<'_> {
    /// The arguments that `words` expand to. Substituted commands are followed.
    pub fn fields(&mut self, state: &mut ShellState, words: &[Word]) -> Vec<Field> {
        let mut fields = Vec::new();
        for word in words {
            if !self.spend(0) {
                fields.push(Field::unknown());
                break;
            }
            let Some(variants) = brace::expand(word) else {
                fields.push(Field::unknown());
                continue;
            };
            for atoms in variants {
                let mut builder = Builder { splits: true, ..Builder::default() };
                self.atoms(state, &atoms, &mut builder);
                fields.append(&mut builder.done);
            }
        }
        fields
    }

    /// The single text that `word` expands to where the shell does not split it.
    pub fn single(&mut self, state: &mut ShellState, word: &Word) -> Field {
        let atoms: Vec<Atom> = word
            .iter()
            .flat_map(|piece| match piece {
                WordPart::Bare(text) => text.chars().map(Atom::Letter).collect(),
                piece => vec![Atom::Piece(piece)],
            })
            .collect();
        let mut builder = Builder::default();
        self.atoms(state, &atoms, &mut builder);
        builder.done.pop().unwrap_or_default()
    }

    /// The value of a variable that is assigned `word`. Globs are not expanded in assignments.
    pub fn assigned(&mut self, state: &mut ShellState, word: &Word) -> Option<VariableValue> {
        let field = self.single(state, word);
        let is_glob_value =
            matches!(word.as_slice(), [.., WordPart::Variable { .. }]) && field.pattern.is_some();
        if is_glob_value {
            VariableValue::of(&field)
        } else {
            field.is_known().then(|| VariableValue::literal(field.text))
        }
    }

    fn atoms(&mut self, state: &mut ShellState, atoms: &[Atom<'_>], builder: &mut Builder) {
        let pieces = atoms.iter().filter(|atom| matches!(atom, Atom::Piece(_))).count();
        if !self.spend(1 + atoms.len() / 256 + pieces / 16) {
            builder.push_unknown();
            builder.end_word();
            return;
        }
        builder.separators = match state.variables.get("IFS") {
            None => Separators::Standard,
            Some(Some(own)) if &*own.text == " \t\n" => Separators::Standard,
            Some(Some(own)) => Separators::Own(own.clone()),
            Some(None) => Separators::Unknown,
        };
        let mut rest = atoms;
        if let [Atom::Letter('~'), tail @ ..] = atoms {
            rest = self.tilde(state, tail, builder);
        }
        for atom in rest {
            match atom {
                Atom::Letter(c) => {
                    builder.letters.push(FieldChar { c: *c, is_quoted: false });
                    builder.is_begun = true;
                }
                Atom::Piece(piece) => self.piece(state, piece, builder),
            }
        }
        builder.end_word();
    }

    /// Expands `~` and returns what follows it.
    fn tilde<'a, 'b>(
        &mut self,
        state: &ShellState,
        tail: &'a [Atom<'b>],
        builder: &mut Builder,
    ) -> &'a [Atom<'b>] {
        let end = tail.iter().position(|atom| matches!(atom, Atom::Letter('/'))).unwrap_or(tail.len());
        match tail[..end] {
            [] => builder.push_value(self.variable(state, "HOME").as_ref(), true),
            [Atom::Letter('+')] => builder.push_value(self.variable(state, "PWD").as_ref(), true),
            _ => builder.push_unknown(),
        }
        &tail[end..]
    }

    fn piece(&mut self, state: &mut ShellState, piece: &WordPart, builder: &mut Builder) {
        match piece {
            WordPart::Bare(text) => builder.push(text, false),
            // Text beyond the step limit counts as unknown.
            WordPart::Quoted(text) if self.spend(text.len() / BYTES_PER_STEP) => builder.push(text, true),
            WordPart::Quoted(_) => builder.push_unknown(),
            WordPart::Variable { name, is_quoted: quoted } => {
                self.push_variable(state, name, *quoted, builder);
            }
            WordPart::Default { name, word, is_quoted: quoted } => {
                let other = self.single(state, word);
                match self.variable(state, name).filter(|value| !value.text.is_empty()) {
                    Some(value) => builder.push_value(Some(&value), *quoted),
                    None if state.variables.get(name).is_some_and(Option::is_none) => builder.push_unknown(),
                    None if matches!(name.as_str(), "PWD" | "OLDPWD" | "_" | "SHLVL") => {
                        builder.push_unknown();
                    }
                    None => builder.push_value(VariableValue::of(&other).as_ref(), *quoted),
                }
            }
            WordPart::Output { list, is_quoted: quoted } => {
                let follow = |interpreter: &mut Self| interpreter.list(&mut state.clone(), list);
                let output =
                    self.with_evidence(OutcomeEvidence::NOTHING, |interpreter| interpreter.deeper(follow));
                let output = output.filter(|text| self.spend(text.len() / BYTES_PER_STEP));
                let output = output.map(|text| VariableValue::literal(text.trim_end_matches('\n')));
                builder.push_value(output.as_ref(), *quoted);
            }
            WordPart::Process(list) => {
                let follow = |interpreter: &mut Self| interpreter.list(&mut state.clone(), list);
                self.with_evidence(OutcomeEvidence::NOTHING, |interpreter| interpreter.deeper(follow));
                builder.push("/dev/fd/63", true);
            }
            WordPart::Other(word) => {
                self.deeper(|interpreter| {
                    word.iter().for_each(|piece| interpreter.piece(state, piece, &mut Builder::default()));
                });
                builder.push_unknown();
            }
        }
    }

    fn push_variable(&mut self, state: &ShellState, name: &str, quoted: bool, builder: &mut Builder) {
        if !matches!(name, "@" | "*") {
            let value = self.variable(state, name);
            let length = value.as_ref().map_or(0, |value| value.text.len());
            let value = value.filter(|_| self.spend(length / 256));
            builder.push_value(value.as_ref(), quoted);
            return;
        }
        let Some(arguments) = state.arguments.clone() else {
            builder.push_unknown();
            return;
        };
        for (nth, argument) in arguments.iter().enumerate() {
            if nth > 0 && builder.splits && (name == "@" || !quoted) {
                builder.end_word();
            } else if nth > 0 && builder.separators != Separators::Standard {
                builder.push_unknown();
            } else if nth > 0 {
                builder.push(" ", true);
            }
            let length = argument.as_ref().map_or(0, |value| value.text.len());
            if !self.spend(1 + length / 256) {
                return;
            }
            builder.push_value(argument.as_ref(), quoted);
        }
    }

    /// The value of the variable, if known.
    fn variable(&self, state: &ShellState, name: &str) -> Option<VariableValue> {
        if let Some(value) = state.variables.get(name) {
            return value.clone();
        }
        match name {
            "" => None,
            // Not from the environment, which is ours and not the shell's.
            "PWD" => state.sure_dir().map(VariableValue::literal),
            "OLDPWD" => state.old_dir.clone().map(VariableValue::literal),
            "_" | "SHLVL" => None,
            "HOME" => self.world.home().map(VariableValue::literal),
            _ => match name.parse::<usize>() {
                Ok(0) => None,
                Ok(nth) => {
                    // A missing positional parameter is empty.
                    let arguments = state.arguments.as_ref()?;
                    arguments.get(nth - 1).cloned().unwrap_or_else(|| Some(VariableValue::literal("")))
                }
                Err(_) => self.world.variable(name).map(VariableValue::literal),
            },
        }
    }
}
