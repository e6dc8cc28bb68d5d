//! Reading the log, and appending to it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use yrs::Update;

use super::cell_format;
use super::document::{self, SortedCells, YjsDocument};
use super::frames::{self, FileHeader, FrameFault, ScannedFile};
use super::problem::{LogProblem, LogProblemKind};
use crate::domain::knowledge::{Cell, WriterId};
use crate::domain::settings::Durability;
use crate::store::error::StoreError;
use crate::store::lock_order::LockOrderGuard;
use crate::sys::files::{self, FileStamp, Files, LockedLogFile, LogFileLock, Published};

/// How long to wait for the lock on a file. After that, a writer begins another file.
const FILE_LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// A file of this size is not appended to: whoever appends reads it first.
const FULL: u64 = 128 * 1024;
/// How many files, the latest ones, are ever appended to. Hooks compare these with their index, and no others.
const MOST_OPEN: usize = 64;
/// How often reading begins again because another process packed meanwhile.
const READ_ATTEMPTS: usize = 16;
pub(super) const SUFFIX: &str = ".log";
/// What the names of packed files begin with.
pub(super) const PACK: &str = "pack.";

/// The log of one project.
#[derive(Clone, Debug)]
pub struct KnowledgeLog {
    pub(super) dir: PathBuf,
    pub(super) files: Files,
    pub(super) durability: Durability,
}

/// What the log says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogContent {
    /// One per key, in the order of keys.
    pub cells: Vec<Cell>,
    /// What could not be read.
    pub problems: Vec<LogProblem>,
}

impl LogContent {
    /// What one file says by itself.
    pub fn of_file(content: &[u8]) -> Self {
        let path = Path::new("");
        let ReadFile { updates, mut problems, .. } = ReadFile::of(path, content);
        let cells = sorted_cells(path, updates, &mut problems).cells;
        Self { cells, problems }
    }
}

/// The files of the log with their `stat` results. What was derived from the log holds as long as this is the same.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LogStamp {
    pub(super) files: Vec<(String, FileStamp)>,
}

/// The file that cells were appended to, with its length before and after. A new file had none.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AppendedFrame {
    name: String,
    before: u64,
    after: u64,
}

impl AppendedFrame {
    fn at(path: &Path, before: u64, after: u64) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { name, before, after }
    }

    /// Whether this is all that happened to the log between two moments.
    pub(super) fn is_all_between(&self, before: &LogStamp, after: &LogStamp) -> bool {
        let size = |stamp: &LogStamp| {
            stamp.files.iter().find(|(name, _)| *name == self.name).map(|(_, stamp)| stamp.size)
        };
        let others =
            |stamp: &LogStamp| stamp.files.iter().filter(|(name, _)| *name != self.name).cloned().collect();
        let (one, two): (Vec<_>, Vec<_>) = (others(before), others(after));
        size(before).unwrap_or(0) == self.before && size(after) == Some(self.after) && one == two
    }
}

impl LogStamp {
    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    /// The files that may be appended to, newest first. All others stay as they are until they are removed, which
    /// changes the directory.
    pub(super) fn open_files(mut self) -> Vec<(String, FileStamp)> {
        self.files.sort_by(|(one, of_one), (two, of_two)| {
            of_two.modified.cmp(&of_one.modified).then_with(|| one.cmp(two))
        });
        self.files.truncate(MOST_OPEN);
        self.files
    }
}

impl KnowledgeLog {
    /// The log of the project with that root, the root of the main worktree. It need not exist yet.
    pub fn at(root: &Path, durability: Durability) -> Self {
        let dir = root.join(".ravenry/knowledge");
        let files = Files::new(dir.join("tmp"), durability);
        Self { dir, files, durability }
    }

    /// Whether something was ever recorded there.
    pub fn exists(&self) -> bool {
        self.dir.is_dir()
    }

    pub fn directory(&self) -> &Path {
        &self.dir
    }

    pub fn stamp(&self) -> Result<LogStamp, StoreError> {
        let names = self.names()?;
        let stamps = files::stamps(&self.dir, &names)?;
        let files = names.into_iter().zip(stamps).filter_map(|(name, stamp)| Some((name, stamp?)));
        Ok(LogStamp { files: files.collect() })
    }

    /// The names of the log files, in order.
    pub(super) fn names(&self) -> Result<Vec<String>, StoreError> {
        let mut names = files::list(&self.dir)?;
        names.retain(|name| name.ends_with(SUFFIX) && !name.starts_with('.'));
        Ok(names)
    }

    /// Reads all files and merges what they say.
    pub fn read(&self) -> Result<LogContent, StoreError> {
        let (updates, mut problems) = self.read_updates()?;
        let cells = sorted_cells(&self.dir, updates, &mut problems).cells;
        Ok(LogContent { cells, problems })
    }

    /// The same with the cells that a later one of the same writer replaced, as far as no `pack` left them out. The
    /// earlier ones come first.
    pub fn history(&self) -> Result<LogContent, StoreError> {
        let (updates, mut problems) = self.read_updates()?;
        let SortedCells { mut cells, overwritten, .. } = sorted_cells(&self.dir, updates, &mut problems);
        cells.extend(overwritten.into_iter().map(|(_, cell)| cell));
        cells.sort_by_cached_key(|cell| (cell.version(), cell.key.clone()));
        Ok(LogContent { cells, problems })
    }

    /// The updates of all files, with what is wrong with these.
    pub(super) fn read_updates(&self) -> Result<(Vec<Update>, Vec<LogProblem>), StoreError> {
        let mut names = self.names()?;
        for _ in 0..READ_ATTEMPTS {
            let read = self.read_files(&names)?;
            // If another process packed meanwhile, files may have been removed before we read what they were folded into.
            let now = self.names()?;
            let is_packed = |name: &String| name.starts_with(PACK) && !names.contains(name);
            if !names.iter().any(|name| !now.contains(name)) && !now.iter().any(is_packed) {
                return Ok(read);
            }
            names = now;
        }
        let reason = "it is being packed again and again".to_string();
        Err(StoreError::Corrupt { path: self.dir.clone(), reason })
    }

    fn read_files(&self, names: &[String]) -> Result<(Vec<Update>, Vec<LogProblem>), StoreError> {
        let (mut updates, mut problems) = (Vec::new(), Vec::new());
        for name in names {
            let path = self.dir.join(name);
            match files::read_large(&path) {
                Ok(Some(content)) => {
                    let read = ReadFile::of(&path, &content);
                    updates.extend(read.updates);
                    problems.extend(read.problems);
                }
                Ok(None) => {}
                Err(error) => {
                    let text = format!("it can't be read: {error}");
                    problems.push(LogProblem::new(&path, LogProblemKind::Unreadable, text));
                }
            }
        }
        Ok((updates, problems))
    }

    /// Waits for the lock and adds cells in one frame: all of them are in the log afterwards, or none.
    pub fn append(&self, writer: &WriterId, cells: &[Cell]) -> Result<Option<AppendedFrame>, StoreError> {
        self.lock()?.append(writer, cells)
    }

    /// [`Self::append`] for who holds the lock.
    pub(super) fn append_locked(
        &self,
        order: &LockOrderGuard,
        writer: &WriterId,
        cells: &[Cell],
    ) -> Result<Option<AppendedFrame>, StoreError> {
        if cells.is_empty() {
            return Ok(None);
        }
        let is_read_back = |cell: &Cell| cell_format::decode(&cell_format::encode(cell)).as_ref() == Ok(cell);
        if let Some(cell) = cells.iter().find(|cell| !is_read_back(cell)) {
            return Err(StoreError::UnusableCell { record: cell.key.record.to_string() });
        }
        for path in self.own_files(writer)? {
            if let LogFileLock::Held(file) = LockedLogFile::open(&path, order.left().min(FILE_LOCK_TIMEOUT))?
                && let Some(mut own) = OwnFile::of(file, writer)?
            {
                let frame = own.frame(cells)?;
                let before = own.file.length();
                own.file.append(&frame, self.durability)?;
                return Ok(Some(AppendedFrame::at(&path, before, own.file.length())));
            }
        }
        self.start_file(writer, cells).map(Some)
    }

    /// The writer's files that are not full, newest first.
    fn own_files(&self, writer: &WriterId) -> Result<Vec<PathBuf>, StoreError> {
        let prefix = format!("{writer}.");
        let mut files = self.stamp()?.open_files();
        files.retain(|(name, stamp)| name.starts_with(&prefix) && stamp.size < FULL);
        Ok(files.into_iter().map(|(name, _)| self.dir.join(name)).collect())
    }

    /// Begins a file whose first frame has the cells.
    fn start_file(&self, writer: &WriterId, cells: &[Cell]) -> Result<AppendedFrame, StoreError> {
        loop {
            let client = document::new_client();
            let path = self.dir.join(format!("{writer}.{client:x}{SUFFIX}"));
            let update = document::addition(client, 0, cells.iter().map(cell_format::encode));
            let update = update.ok_or_else(|| refused(&path))?;
            let (published, length) = self.start_sized(&path, writer.as_str(), Some(client), &update)?;
            if published == Published::Done {
                return Ok(AppendedFrame::at(&path, 0, length));
            }
        }
    }

    /// Puts a file with one update there.
    pub(super) fn start(
        &self,
        path: &Path,
        writer: &str,
        client: Option<u64>,
        update: &[u8],
    ) -> Result<Published, StoreError> {
        Ok(self.start_sized(path, writer, client, update)?.0)
    }

    /// The same, with the length of the file.
    fn start_sized(
        &self,
        path: &Path,
        writer: &str,
        client: Option<u64>,
        update: &[u8],
    ) -> Result<(Published, u64), StoreError> {
        let mut length = 0;
        let content = |id| {
            let header = FileHeader::new(writer, client, id);
            let content = [frames::start(&header), frames::frame(update)].concat();
            length = content.len() as u64;
            content
        };
        let published = self.files.publish_identified(path, content)?;
        Ok((published, length))
    }
}

pub(super) fn refused(path: &Path) -> StoreError {
    let reason = "the Yjs document refuses the change".to_string();
    StoreError::Corrupt { path: path.to_path_buf(), reason }
}

/// A file that its writer may append to.
struct OwnFile {
    file: LockedLogFile,
    client: u64,
    clock: u32,
}

impl OwnFile {
    /// `None`: it is another writer's, a copy, damaged, or of another version. Then the writer begins a new one.
    fn of(mut file: LockedLogFile, writer: &WriterId) -> Result<Option<Self>, StoreError> {
        let Some(content) = file.read(FULL)? else { return Ok(None) };
        let scanned = frames::scan(&content);
        let Some(header) = scanned.header.filter(|_| scanned.faults.is_empty()) else { return Ok(None) };
        let is_ours =
            header.version == frames::VERSION && header.writer == writer.as_str() && header.is_of(file.id());
        let Some(client) = header.client.filter(|_| is_ours) else { return Ok(None) };
        let updates = scanned.updates.iter().map(|update| document::decode(update));
        let updates: Option<Vec<Update>> = updates.collect();
        let clock = updates.map(|updates| document::next_clock(&updates, client));
        Ok(clock.map(|clock| Self { file, client, clock }))
    }

    fn frame(&mut self, cells: &[Cell]) -> Result<Vec<u8>, StoreError> {
        let values = cells.iter().map(cell_format::encode);
        let update = document::addition(self.client, self.clock, values);
        Ok(frames::frame(&update.ok_or_else(|| refused(self.file.path()))?))
    }
}

/// One file as it was read.
pub(super) struct ReadFile {
    pub(super) updates: Vec<Update>,
    pub(super) problems: Vec<LogProblem>,
    pub(super) is_newer: bool,
}

impl ReadFile {
    pub(super) fn of(path: &Path, content: &[u8]) -> Self {
        let scanned = frames::scan(content);
        let is_newer = scanned.is_newer();
        let mut problems: Vec<LogProblem> =
            scanned.faults.iter().map(|fault| fault_problem(path, *fault)).collect();
        let mut updates = Vec::with_capacity(scanned.updates.len());
        let mut refused = 0;
        for update in &scanned.updates {
            match document::decode(update) {
                Some(update) => updates.push(update),
                None => refused += 1,
            }
        }
        if is_newer {
            let text = newer_text(&scanned, refused);
            problems.push(LogProblem::new(path, LogProblemKind::Newer, text));
        } else if refused > 0 {
            let text =
                format!("{refused} of its frames are not Yjs updates with plain values and were left out");
            problems.push(LogProblem::new(path, LogProblemKind::Damaged, text));
        }
        Self { updates, problems, is_newer }
    }
}

fn newer_text(scanned: &ScannedFile<'_>, refused: usize) -> String {
    let version = scanned.header.as_ref().map_or(0, |header| header.version);
    let rest = match refused {
        0 => String::new(),
        count => format!(", and {count} of its frames can't be read"),
    };
    format!("a newer version of msg wrote it (format {version}); it is read, not changed{rest}")
}

fn fault_problem(path: &Path, fault: FrameFault) -> LogProblem {
    match fault {
        FrameFault::Torn(at) => {
            let text =
                format!("its last frame, at byte {at}, is not whole and was left out: a writer was killed");
            LogProblem::new(path, LogProblemKind::TornTail, text)
        }
        FrameFault::Damaged(at) => {
            let text = format!("it is damaged at byte {at}; what is whole before and after that was read");
            LogProblem::new(path, LogProblemKind::Damaged, text)
        }
    }
}

/// The cells of all updates; adds what is wrong with these.
fn sorted_cells(dir: &Path, updates: Vec<Update>, problems: &mut Vec<LogProblem>) -> SortedCells {
    let mut tell = |kind, text: String| problems.push(LogProblem::new(dir, kind, text));
    let Some(document) = YjsDocument::load(updates) else {
        tell(LogProblemKind::Damaged, "its files do not make a Yjs document".to_string());
        return SortedCells::default();
    };
    if !document.is_complete() {
        tell(LogProblemKind::Incomplete, "changes that others build on are missing".to_string());
    }
    let sorted = SortedCells::of(&document.values());
    if sorted.newer > 0 {
        let text = format!("{} entries of a newer version of msg are kept and not shown", sorted.newer);
        tell(LogProblemKind::Newer, text);
    }
    if let Some(first) = sorted.malformed.first() {
        let text = format!("{} entries are malformed and not shown: {first}", sorted.malformed.len());
        tell(LogProblemKind::Malformed, text);
    }
    sorted
}
