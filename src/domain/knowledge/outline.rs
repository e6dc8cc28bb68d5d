//! The outline of a source file: its symbols and where they are.

use std::fmt::Write as _;

use super::anchor::TextHash;
use crate::domain::suggestions;

/// The most symbols that are printed of one file.
const MAX_PRINTED: usize = 400;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SymbolKind {
    Class,
    Constant,
    Enum,
    Function,
    Impl,
    Interface,
    Macro,
    Module,
    Struct,
    Trait,
    Type,
    Variable,
}

impl SymbolKind {
    pub const ALL: [Self; 12] = [
        Self::Class,
        Self::Constant,
        Self::Enum,
        Self::Function,
        Self::Impl,
        Self::Interface,
        Self::Macro,
        Self::Module,
        Self::Struct,
        Self::Trait,
        Self::Type,
        Self::Variable,
    ];

    /// The word in an outline.
    pub fn word(self) -> &'static str {
        match self {
            Self::Class => "class",
            Self::Constant => "const",
            Self::Enum => "enum",
            Self::Function => "fn",
            Self::Impl => "impl",
            Self::Interface => "interface",
            Self::Macro => "macro",
            Self::Module => "mod",
            Self::Struct => "struct",
            Self::Trait => "trait",
            Self::Type => "type",
            Self::Variable => "var",
        }
    }
}

/// A definition in a source file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OutlineSymbol {
    pub name: String,
    /// With what it is defined in: `Lock::new`, `Lock::Display::fmt`, `Server.start`.
    pub qualified: String,
    pub kind: SymbolKind,
    /// Counted from 1.
    pub first_line: u32,
    pub last_line: u32,
    /// The number of symbols around it.
    pub depth: u16,
}

impl OutlineSymbol {
    /// Whether somebody who writes `parts` may mean this symbol: `new`, `Lock::new`, and `Lock::fmt` for
    /// `Lock::Display::fmt`.
    fn is_called(&self, parts: &[&str]) -> bool {
        let own = parts_of(&self.qualified);
        let (Some((wanted, outer)), Some((last, around))) = (parts.split_last(), own.split_last()) else {
            return false;
        };
        let mut around = around.iter();
        wanted == last && outer.iter().all(|part| around.any(|own| own == part))
    }

    /// The hash of its lines; `None` if the file is shorter.
    pub fn hash(&self, lines: &[&str]) -> Option<TextHash> {
        let first = (self.first_line as usize).checked_sub(1)?;
        lines.get(first..self.last_line as usize).map(TextHash::of)
    }
}

/// The parts of a qualified name, whichever language it is from. The head of an `impl` block is one part.
fn parts_of(name: &str) -> Vec<&str> {
    if name.starts_with("impl ") {
        return vec![name];
    }
    name.split("::").flat_map(|part| part.split('.')).filter(|part| !part.is_empty()).collect()
}

/// The symbols of a file, in the order of the file. What is in a symbol follows it, one deeper.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Outline {
    pub symbols: Vec<OutlineSymbol>,
}

/// Why a name does not lead to a symbol.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SymbolLookupError {
    /// With the most similar names, at most three.
    Missing { nearest: Vec<String> },
    /// With the qualified names of all that are called so.
    Ambiguous { candidates: Vec<String> },
}

impl Outline {
    /// The symbol with this plain or qualified name. Of several with the same qualified name (one per platform, for
    /// example) it is the first.
    pub fn find(&self, name: &str) -> Result<&OutlineSymbol, SymbolLookupError> {
        let candidates = self.called(name);
        let Some(first) = candidates.first() else {
            return Err(SymbolLookupError::Missing { nearest: self.nearest(name) });
        };
        if candidates.iter().all(|symbol| symbol.qualified == first.qualified) {
            return Ok(first);
        }
        let mut names: Vec<String> = candidates.iter().map(|symbol| symbol.qualified.clone()).collect();
        names.dedup();
        Err(SymbolLookupError::Ambiguous { candidates: names })
    }

    /// All symbols that may be meant by this name: those whose qualified name it is, or else those that it fits.
    pub fn called(&self, name: &str) -> Vec<&OutlineSymbol> {
        let parts = parts_of(name.trim());
        let exact: Vec<&OutlineSymbol> =
            self.symbols.iter().filter(|symbol| parts_of(&symbol.qualified) == parts).collect();
        if !exact.is_empty() {
            return exact;
        }
        self.symbols.iter().filter(|symbol| symbol.is_called(&parts)).collect()
    }

    fn nearest(&self, name: &str) -> Vec<String> {
        let qualified = self.symbols.iter().map(|symbol| symbol.qualified.as_str());
        let by_name =
            suggestions(parts_of(name).last().unwrap_or(&name), self.symbols.iter().map(|it| &*it.name));
        let of_name = |name: &&str| self.symbols.iter().find(|symbol| symbol.name == **name);
        let mut names: Vec<String> =
            by_name.iter().filter_map(of_name).map(|symbol| symbol.qualified.clone()).collect();
        names.extend(suggestions(name, qualified).into_iter().map(str::to_string));
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names.truncate(3);
        names
    }

    /// One line a symbol: `fn new 12-40`, with what is in it below, indented.
    pub fn print(&self) -> String {
        let mut text = String::new();
        for symbol in self.symbols.iter().take(MAX_PRINTED) {
            let indentation = " ".repeat(usize::from(symbol.depth));
            let (kind, name) = (symbol.kind.word(), symbol.name.as_str());
            let lines = match (symbol.first_line, symbol.last_line) {
                (first, last) if first == last => first.to_string(),
                (first, last) => format!("{first}-{last}"),
            };
            // A String takes everything.
            let _ = match symbol.kind {
                SymbolKind::Impl => writeln!(text, "{indentation}{name} {lines}"),
                _ => writeln!(text, "{indentation}{kind} {name} {lines}"),
            };
        }
        if let Some(left) = self.symbols.len().checked_sub(MAX_PRINTED).filter(|left| *left > 0) {
            let _ = writeln!(text, "… and {left} more");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(qualified: &str, kind: SymbolKind, depth: u16, lines: (u32, u32)) -> OutlineSymbol {
        let name = parts_of(qualified).last().unwrap().to_string();
        OutlineSymbol {
            name,
            qualified: qualified.to_string(),
            kind,
            first_line: lines.0,
            last_line: lines.1,
            depth,
        }
    }

    fn outline() -> Outline {
        use SymbolKind::{Function, Impl, Struct};
        Outline {
            symbols: vec![
                symbol("Lock", Struct, 0, (1, 3)),
                symbol("impl Lock", Impl, 0, (5, 20)),
                symbol("Lock::new", Function, 1, (6, 9)),
                symbol("Lock::wait", Function, 1, (11, 11)),
                symbol("impl Display for Lock", Impl, 0, (22, 30)),
                symbol("Lock::Display::fmt", Function, 1, (23, 29)),
                symbol("Gate::new", Function, 1, (32, 33)),
                symbol("Gate::new", Function, 1, (35, 36)),
            ],
        }
    }

    #[test]
    fn plain_and_qualified_names() {
        let outline = outline();
        let first = |name: &str| outline.find(name).map(|symbol| symbol.first_line);
        assert_eq!(first("Lock"), Ok(1));
        assert_eq!(first("wait"), Ok(11));
        assert_eq!(first("Lock::new"), Ok(6));
        assert_eq!(first("Lock.new"), Ok(6), "as other languages write it");
        assert_eq!(first("fmt"), Ok(23));
        assert_eq!(first("Lock::fmt"), Ok(23));
        assert_eq!(first("impl Display for Lock"), Ok(22));
        assert_eq!(first("Gate::new"), Ok(32), "two of one name");
    }

    #[test]
    fn doubts_are_told() {
        let outline = outline();
        let candidates = vec!["Lock::new".to_string(), "Gate::new".to_string()];
        assert_eq!(outline.find("new"), Err(SymbolLookupError::Ambiguous { candidates }));
        let nearest = vec!["Lock::wait".to_string()];
        assert_eq!(outline.find("wai"), Err(SymbolLookupError::Missing { nearest }));
        for name in ["Gate::wait", "", "::", "zzzz"] {
            assert!(matches!(outline.find(name), Err(SymbolLookupError::Missing { .. })), "{name}");
        }
    }

    #[test]
    fn printed() {
        let text = "struct Lock 1-3\nimpl Lock 5-20\n fn new 6-9\n fn wait 11\nimpl Display for Lock 22-30\n fn fmt 23-29\n \
                    fn new 32-33\n fn new 35-36\n";
        assert_eq!(outline().print(), text);
        let many = Outline { symbols: vec![symbol("x", SymbolKind::Function, 0, (1, 1)); MAX_PRINTED + 7] };
        assert!(many.print().ends_with("… and 7 more\n"));
    }
}
