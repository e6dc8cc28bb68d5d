//! Looks at the code that a new record is about, so that a change of it is noticed later.

use super::anchors::{AnchorJudge, FoundFile, LoadedFile};
use crate::domain::knowledge::{
    Anchor, AnchorPath, AnchorTarget, MAX_ANCHOR_LINE, MAX_ANCHOR_LINES, SymbolLookupError, TextHash,
    has_word, plain_name,
};
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::sys::files::FileError;

/// Why code can't be anchored.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error("there is no file `{path}`: name a path below the root of the project")]
    NoFile { path: AnchorPath },
    #[error("`{path}` leads out of the project: name a file in it")]
    Outside { path: AnchorPath },
    #[error("`{path}` is a directory: only files have symbols and lines")]
    Directory { path: AnchorPath },
    #[error("`{path}` is too large to be anchored: name a smaller file")]
    TooLarge { path: AnchorPath },
    #[error("there is no `{symbol}` in `{path}`{}", nearest_hint(.nearest))]
    NoSymbol { path: AnchorPath, symbol: String, nearest: Vec<String> },
    #[error("`{path}` has several symbols named `{symbol}`: write `{}`", .candidates.join("`, `"))]
    AmbiguousSymbol { path: AnchorPath, symbol: String, candidates: Vec<String> },
    #[error("`{path}` has {count} lines: line {line} is beyond its end")]
    BeyondEnd { path: AnchorPath, line: u32, count: usize },
    #[error(transparent)]
    File(#[from] FileError),
}

fn nearest_hint(nearest: &[String]) -> String {
    match nearest {
        [] => ": name a function or a type that is defined there".to_string(),
        names => format!(": did you mean `{}`?", names.join("`, `")),
    }
}

impl From<CaptureError> for CommandError {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::File(error) => error.into(),
            error => Self::new(CommandErrorKind::InvalidValue, error.to_string()),
        }
    }
}

impl AnchorJudge {
    /// The anchor of a target, with the text that is there now.
    pub fn capture(&mut self, target: &AnchorTarget) -> Result<Anchor, CaptureError> {
        let Some(path) = target.path() else {
            return Ok(Anchor::new(target.clone()));
        };
        let commit = self.head_commit().map(str::to_string);
        let loaded = match self.find(path)? {
            FoundFile::Absent => return Err(CaptureError::NoFile { path: path.clone() }),
            FoundFile::Outside => return Err(CaptureError::Outside { path: path.clone() }),
            FoundFile::Directory if matches!(target, AnchorTarget::File { .. }) => {
                return Ok(Anchor { target: target.clone(), commit, file: None });
            }
            FoundFile::Directory => return Err(CaptureError::Directory { path: path.clone() }),
            FoundFile::File(place) => self.load(path, &place)?,
        };
        let Some(loaded) = loaded else { return Err(CaptureError::TooLarge { path: path.clone() }) };
        let target = match target {
            AnchorTarget::Symbol { path, symbol, .. } => capture_symbol(path, symbol, &loaded)?,
            AnchorTarget::Lines { path, first, last, .. } => capture_lines(path, *first, *last, &loaded)?,
            other => other.clone(),
        };
        Ok(Anchor { target, commit, file: Some(loaded.hash.clone()) })
    }
}

fn capture_symbol(path: &AnchorPath, symbol: &str, file: &LoadedFile) -> Result<AnchorTarget, CaptureError> {
    let no_symbol =
        |nearest| CaptureError::NoSymbol { path: path.clone(), symbol: symbol.to_string(), nearest };
    let Some(outline) = &file.outline else {
        // The symbols of this language are not known.
        return match has_word(&file.text, plain_name(symbol)) {
            true => Ok(AnchorTarget::Symbol { path: path.clone(), symbol: symbol.to_string(), hash: None }),
            false => Err(no_symbol(Vec::new())),
        };
    };
    let found = outline.find(symbol).map_err(|error| match error {
        SymbolLookupError::Missing { nearest } => no_symbol(nearest),
        SymbolLookupError::Ambiguous { candidates } => {
            CaptureError::AmbiguousSymbol { path: path.clone(), symbol: symbol.to_string(), candidates }
        }
    })?;
    let lines: Vec<&str> = file.text.lines().collect();
    Ok(AnchorTarget::Symbol { path: path.clone(), symbol: found.qualified.clone(), hash: found.hash(&lines) })
}

fn capture_lines(
    path: &AnchorPath,
    first: u32,
    last: u32,
    file: &LoadedFile,
) -> Result<AnchorTarget, CaptureError> {
    let lines: Vec<&str> = file.text.lines().collect();
    let span = (first as usize).checked_sub(1).and_then(|start| lines.get(start..last as usize));
    let Some(span) = span else {
        return Err(CaptureError::BeyondEnd { path: path.clone(), line: last, count: lines.len() });
    };
    let text =
        span.iter().take(MAX_ANCHOR_LINES).map(|line| line.chars().take(MAX_ANCHOR_LINE).collect()).collect();
    Ok(AnchorTarget::Lines { path: path.clone(), first, last, text, hash: Some(TextHash::of(span)) })
}
