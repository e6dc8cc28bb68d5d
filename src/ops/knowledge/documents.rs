//! Documents that a project has besides its records: decision records, instructions and memories of other tools. They are
//! searched where they are, and never copied.
//!
//! `init` keeps where they are. Every search reads them again, as the asker's work tree has them now.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::knowledge::search::{DocumentKey, SearchDocument, SearchIndex, SearchQuery, Standing};
use crate::domain::knowledge::{AnchorPath, DocumentSection, document_sections};
use crate::harness::SUPPORTED;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::sys::files::{self, BoundedRead};
use crate::sys::git::ReadOnlyGit;

use super::project::KnowledgeProject;
use super::project_identity::{ProjectIdentity, identity};

/// The most files and bytes that are read, altogether and of one file.
const MAX_FILES: usize = 200;
const MAX_BYTES: u64 = 1024 * 1024;
const MAX_FILE: u64 = 256 * 1024;
/// The most places that are kept.
const MAX_PLACES: usize = 100;
/// How deep directories are looked through.
const MAX_DEPTH: usize = 3;
const GIT_LIMIT: Duration = Duration::from_secs(2);

/// Files and directories at the root that any tool may read, or one that has no hooks for us.
const PLACES: [&str; 24] = [
    "AGENTS.md",
    "AGENT.md",
    "CONVENTIONS.md",
    ".cursorrules",
    ".cursor/rules",
    ".windsurfrules",
    ".windsurf/rules",
    ".clinerules",
    ".roo/rules",
    ".kiro/steering",
    ".junie/guidelines.md",
    ".continue/rules",
    ".amazonq/rules",
    ".serena/memories",
    "memory-bank",
    "adr",
    "doc/adr",
    "docs/adr",
    "docs/adrs",
    "docs/decisions",
    "doc/architecture/decisions",
    "docs/architecture/decisions",
    "docs/architecture/adr",
    "docs/architecture-decisions",
];
/// The names of directories of decision records, wherever they are.
const DECISIONS: [&str; 3] = ["adr", "adrs", "decisions"];
/// The pages of our own records.
const OWN_PAGES: &str = "docs/knowledge/";
const ENDINGS: [&str; 5] = [".md", ".mdc", ".markdown", ".txt", ".adoc"];

/// A file or directory that is searched.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DocumentPlace {
    pub path: String,
    pub files: usize,
    pub sections: usize,
}

/// What `init` found.
#[derive(Clone, Debug)]
pub struct FoundDocuments {
    pub identity: ProjectIdentity,
    pub places: Vec<DocumentPlace>,
    /// Files that are too large, or beyond the limits, and are not searched.
    pub left_out: Vec<String>,
}

/// A section of a document that fits a question.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FoundSection {
    pub path: AnchorPath,
    pub section: DocumentSection,
}

/// Finds documents, and keeps where they are.
pub fn init(op: &Op) -> Result<FoundDocuments, CommandError> {
    let project = KnowledgeProject::of(op);
    let places = find_places(&project);
    let mut found = FoundDocuments { identity: identity(&project), places: Vec::new(), left_out: Vec::new() };
    let mut reader = DocumentReader::new(&project.root);
    for path in places {
        let documents = reader.read(&path);
        if documents.is_empty() {
            continue;
        }
        let sections = documents.iter().map(|document| document.sections.len()).sum();
        found.places.push(DocumentPlace { path, files: documents.len(), sections });
    }
    found.left_out = reader.left_out;
    project.exclude_from_git(op)?;
    let paths = found.places.iter().map(|place| place.path.clone()).collect();
    project.log.put_document_places(paths).map_err(|error| project.write_error(error))?;
    Ok(found)
}

/// The places where this project may have documents, without those that another one contains.
fn find_places(project: &KnowledgeProject) -> Vec<String> {
    let of_harnesses: BTreeSet<&str> =
        SUPPORTED.iter().flat_map(|harness| harness.instruction_files()).copied().collect();
    let mut places: BTreeSet<String> = PLACES.iter().chain(&of_harnesses).map(ToString::to_string).collect();
    let git = project.tree.as_ref().and_then(|tree| ReadOnlyGit::at(tree, GIT_LIMIT).ok());
    for file in git.and_then(|git| git.files().ok()).unwrap_or_default() {
        let Some((folder, name)) = file.rsplit_once('/') else { continue };
        let last = folder.rsplit('/').next().unwrap_or(folder);
        if DECISIONS.contains(&last) && name.ends_with(".md") {
            places.insert(folder.to_string());
        } else if name == "AGENTS.md" || of_harnesses.contains(name) {
            // The files of harnesses also have a meaning in folders.
            places.insert(file);
        }
    }
    places.retain(|place| !place.starts_with(OWN_PAGES) && project.root.join(place).exists());
    let is_inside = |place: &String| {
        let above = Path::new(place).ancestors().skip(1).filter_map(Path::to_str);
        above.into_iter().any(|above| places.contains(above))
    };
    places.iter().filter(|place| !is_inside(place)).take(MAX_PLACES).cloned().collect()
}

/// A document that was read.
struct ReadDocument {
    path: AnchorPath,
    sections: Vec<DocumentSection>,
}

/// Reads documents of one work tree until its limits are reached. No link leads out of the work tree.
struct DocumentReader<'a> {
    root: &'a Path,
    seen: BTreeSet<PathBuf>,
    bytes: u64,
    left_out: Vec<String>,
}

impl<'a> DocumentReader<'a> {
    fn new(root: &'a Path) -> Self {
        Self { root, seen: BTreeSet::new(), bytes: 0, left_out: Vec::new() }
    }

    /// The documents at a place. Something that is gone or can't be read is not there.
    fn read(&mut self, place: &str) -> Vec<ReadDocument> {
        let mut files = Vec::new();
        self.list(place, MAX_DEPTH, &mut files);
        files.sort_unstable();
        files.iter().filter_map(|file| self.read_file(file)).collect()
    }

    fn list(&self, place: &str, depth: usize, files: &mut Vec<String>) {
        let Some(real) = self.inside(place) else { return };
        if !real.is_dir() {
            return files.push(place.to_string());
        }
        if depth == 0 {
            return;
        }
        for name in files::list(&real).unwrap_or_default() {
            let path = format!("{place}/{name}");
            let is_document = ENDINGS.iter().any(|ending| name.to_ascii_lowercase().ends_with(ending));
            if is_document || real.join(&name).is_dir() {
                self.list(&path, depth - 1, files);
            }
            if files.len() > 10 * MAX_FILES {
                return;
            }
        }
    }

    /// Where a path really is; `None` if that is not in the work tree.
    fn inside(&self, path: &str) -> Option<PathBuf> {
        let real = std::fs::canonicalize(self.root.join(path)).ok()?;
        real.starts_with(self.root).then_some(real)
    }

    fn read_file(&mut self, path: &str) -> Option<ReadDocument> {
        let real = self.inside(path).filter(|real| real.is_file())?;
        // A link to another document.
        if self.seen.contains(&real) {
            return None;
        }
        let room = MAX_FILE.min(MAX_BYTES - self.bytes);
        let read = if self.seen.len() < MAX_FILES {
            files::read_at_most(&real, room).ok()?
        } else {
            BoundedRead::TooLarge
        };
        let BoundedRead::Content(bytes) = read else {
            self.left_out.push(path.to_string());
            return None;
        };
        self.bytes += bytes.len() as u64;
        self.seen.insert(real);
        let sections = document_sections(&String::from_utf8(bytes).ok()?);
        Some(ReadDocument { path: AnchorPath::new(path).ok()?, sections })
    }
}

/// The sections that fit the words best. Without `init` there are none.
pub(super) fn search_documents(
    op: &Op,
    project: &KnowledgeProject,
    query: &SearchQuery<'_>,
) -> Result<Vec<FoundSection>, CommandError> {
    let places = project.log.document_places().unwrap_or_else(|error| {
        op.warn(format!("{error}; `msg knowledge init` makes it again"));
        Vec::new()
    });
    let mut reader = DocumentReader::new(&project.root);
    let documents: Vec<ReadDocument> = places.iter().flat_map(|place| reader.read(place)).collect();
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    let pieces = documents.iter().flat_map(|document| {
        let piece = |section: &'_ DocumentSection| (document.path.clone(), section.line);
        document.sections.iter().map(move |section| {
            let (path, line) = piece(section);
            SearchDocument::piece(path, line, &section.heading, &section.text)
        })
    });
    let hits = SearchIndex::build(pieces).search(query, |_| Some(Standing::GOOD));
    let found = |key: &DocumentKey| {
        let DocumentKey::Piece { path, line } = key else { return None };
        let document = documents.iter().find(|document| document.path == *path)?;
        let section = document.sections.iter().find(|section| section.line == *line)?;
        Some(FoundSection { path: path.clone(), section: section.clone() })
    };
    // An index that was just built can be read.
    Ok(hits.unwrap_or_default().iter().filter_map(|hit| found(&hit.key)).collect())
}
