//! A cache of outlines by content, in the user's cache directory. Whatever is wrong with it costs time and nothing else.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{SourceLanguage, TIME_LIMIT, parse_within};
use crate::domain::knowledge::{Outline, OutlineSymbol, SymbolKind, TextHash};
use crate::domain::settings::Durability;
use crate::sys::environment::Home;
use crate::sys::files::{self, Files};

/// The first line of an entry; another version of the format or of the rules has another one.
const HEADER: &str = "ravenry outline 1";
/// The most entries, and the most bytes of one. So all of them take at most 64 MiB, and usually 4.
const MAX_ENTRIES: usize = 2048;
const MAX_BYTES: usize = 32 * 1024;

/// Outlines of texts that were parsed before.
#[derive(Clone, Debug)]
pub struct OutlineCache {
    dir: PathBuf,
    /// How long parsing one file may take.
    pub limit: Duration,
}

impl OutlineCache {
    pub fn of(home: &Home) -> Self {
        Self { dir: home.cache.join("ravenry/outlines"), limit: TIME_LIMIT }
    }

    /// The outline of a file of that language, from the cache if it is there. `None`: it can't be parsed.
    pub fn outline(&self, language: SourceLanguage, text: &str, hash: &TextHash) -> Option<Outline> {
        let path = self.dir.join(format!("{}-{language:?}", hash.as_str()));
        if let Some(outline) = read(&path) {
            return Some(outline);
        }
        let outline = parse_within(language, text, self.limit)?;
        let entry = encode(&outline);
        if entry.len() <= MAX_BYTES {
            // It is only a cache: what can't be kept is parsed again.
            drop(self.keep(&path, &entry));
        }
        Some(outline)
    }

    fn keep(&self, path: &Path, entry: &str) -> Result<(), files::FileError> {
        let files = Files::new(self.dir.join("tmp"), Durability::Process);
        files::create_dir(&self.dir)?;
        files.replace(path, entry.as_bytes())?;
        let names = files::list(&self.dir)?;
        if names.len() > MAX_ENTRIES {
            files.sweep()?;
            self.evict(&names)?;
        }
        Ok(())
    }

    /// Removes the older half.
    fn evict(&self, names: &[String]) -> Result<(), files::FileError> {
        let mut entries = Vec::with_capacity(names.len());
        for path in names.iter().map(|name| self.dir.join(name)) {
            if let Some(metadata) = files::link_metadata(&path)?.filter(|metadata| metadata.is_file()) {
                entries.push((metadata.modified().ok(), path));
            }
        }
        entries.sort_unstable();
        let surplus = entries.len().saturating_sub(MAX_ENTRIES / 2);
        for (_, path) in entries.into_iter().take(surplus) {
            files::remove(&path)?;
        }
        Ok(())
    }
}

/// An entry; `None` if there is none, or it is damaged.
fn read(path: &Path) -> Option<Outline> {
    let bytes = files::read_at_most(path, MAX_BYTES as u64).ok()?.content()?;
    decode(std::str::from_utf8(&bytes).ok()?)
}

/// A header with a checksum, and a line for each symbol, with tabs between its fields.
fn encode(outline: &Outline) -> String {
    let row = |symbol: &OutlineSymbol| {
        let OutlineSymbol { name, qualified, kind, first_line, last_line, depth } = symbol;
        format!("{depth}\t{}\t{first_line}\t{last_line}\t{name}\t{qualified}\n", kind.word())
    };
    let rows: String = outline.symbols.iter().map(row).collect();
    format!("{HEADER} {:08x}\n{rows}", crc32fast::hash(rows.as_bytes()))
}

fn decode(text: &str) -> Option<Outline> {
    let (header, rows) = text.split_once('\n')?;
    let checksum = header.strip_prefix(HEADER)?.trim();
    if u32::from_str_radix(checksum, 16).ok()? != crc32fast::hash(rows.as_bytes()) {
        return None;
    }
    let symbols: Option<Vec<OutlineSymbol>> = rows.lines().map(decode_row).collect();
    Some(Outline { symbols: symbols? })
}

fn decode_row(row: &str) -> Option<OutlineSymbol> {
    let mut fields = row.split('\t');
    let mut field = || fields.next();
    let depth = field()?.parse().ok()?;
    let word = field()?;
    Some(OutlineSymbol {
        depth,
        kind: SymbolKind::ALL.into_iter().find(|kind| kind.word() == word)?,
        first_line: field()?.parse().ok()?,
        last_line: field()?.parse().ok()?,
        name: field()?.to_string(),
        qualified: field()?.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline() -> Outline {
        let symbol = |kind: SymbolKind| OutlineSymbol {
            name: "impl A for B".to_string(),
            qualified: "x::y".to_string(),
            kind,
            first_line: 1,
            last_line: 20,
            depth: 3,
        };
        Outline { symbols: SymbolKind::ALL.map(symbol).to_vec() }
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        for outline in [outline(), Outline::default()] {
            assert_eq!(decode(&encode(&outline)), Some(outline));
        }
    }

    #[test]
    fn a_damaged_entry_counts_as_absent() {
        let entry = encode(&outline());
        for cut in 0..entry.len() {
            assert_eq!(decode(&entry[..cut]), None, "cut at {cut}");
        }
        for at in 0..entry.len() {
            let mut bytes = entry.clone().into_bytes();
            bytes[at] ^= 1;
            assert_eq!(decode(std::str::from_utf8(&bytes).unwrap()), None, "changed at {at}");
        }
    }

    #[test]
    #[cfg(feature = "outline")]
    fn the_cache_is_used_and_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let cache = OutlineCache { dir: dir.path().join("outlines"), limit: TIME_LIMIT };
        let ask = |text: &str| {
            cache.outline(SourceLanguage::Rust, text, &TextHash::of_file(text.as_bytes())).unwrap()
        };
        assert_eq!(ask("fn a() {}").symbols[0].name, "a");
        let name = files::list(&cache.dir).unwrap().into_iter().find(|name| name != "tmp").unwrap();
        let files = Files::new(cache.dir.join("tmp"), Durability::Process);
        files.replace(&cache.dir.join(&name), encode(&outline()).as_bytes()).unwrap();
        assert_eq!(ask("fn a() {}"), outline(), "it is not parsed again");
        files.replace(&cache.dir.join(&name), b"damaged").unwrap();
        assert_eq!(ask("fn a() {}").symbols.len(), 1);
        for number in 0..MAX_ENTRIES + 10 {
            let path = cache.dir.join(format!("{number}"));
            assert_eq!(files::create_empty(&path).unwrap(), files::Published::Done);
        }
        assert_eq!(ask("fn b() {}").symbols[0].name, "b");
        assert!(files::list(&cache.dir).unwrap().len() <= MAX_ENTRIES / 2 + 1, "tmp is there too");
    }
}
