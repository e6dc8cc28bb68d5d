//! Reads what a worker prints, in threads of their own, and keeps it in bounded files.

use std::io::{self, Read};
use std::path::Path;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::domain::runs::LineCutter;
use crate::sys::files::{BoundedLog, FileError};
use crate::sys::keeper::kept::{KeptNews, KeptOutput};

/// How much of the beginning and of the end of an output is kept.
const MOST_HEAD: usize = 4 * 1024 * 1024;
const MOST_TAIL: usize = 256 * 1024;
/// How many lines wait to be read before the worker has to wait.
const MOST_LINES: usize = 64;
/// How much of the end of standard error is kept for the reader.
const MOST_ERRORS: usize = 8 * 1024;

/// What comes from a worker.
#[derive(Debug)]
pub(super) struct WorkerOutput {
    /// Lines of its standard output. Closed at the end of the output.
    pub(super) lines: Receiver<String>,
    pub(super) news: Receiver<KeptNews>,
    errors: JoinHandle<Result<String, OutputError>>,
    output: JoinHandle<Result<(), OutputError>>,
}

/// Why an output could not be kept.
#[derive(Debug, thiserror::Error)]
pub(super) enum OutputError {
    #[error("what the worker printed can't be kept: {0}")]
    File(#[from] FileError),
    #[error("what the worker printed can't be read: {0}")]
    Read(#[from] io::Error),
}

impl WorkerOutput {
    /// Starts to read. `dir` is the run's own directory.
    pub(super) fn read(kept: KeptOutput, dir: &Path) -> Result<Self, OutputError> {
        let KeptOutput { mut stdout, mut stderr, mut end } = kept;
        let mut log = BoundedLog::create(&dir.join("output"), MOST_HEAD, MOST_TAIL)?;
        let mut error_log = BoundedLog::create(&dir.join("errors"), MOST_HEAD, MOST_TAIL)?;
        let (line_sender, lines) = bounded(MOST_LINES);
        let output = small_thread(move || {
            let mut cutter = LineCutter::default();
            // If nobody listens any more, the rest is kept all the same.
            let pass_on = |line: String| drop(line_sender.send(line));
            read_pieces(&mut stdout, |piece| {
                cutter.add(piece, pass_on);
                log.add(piece)
            })?;
            cutter.finish().into_iter().for_each(pass_on);
            Ok(log.finish()?)
        })?;
        let errors = small_thread(move || {
            let mut last = Vec::new();
            read_pieces(&mut stderr, |piece| {
                last.extend_from_slice(piece);
                let excess = last.len().saturating_sub(MOST_ERRORS);
                last.drain(..excess);
                error_log.add(piece)
            })?;
            error_log.finish()?;
            Ok(String::from_utf8_lossy(&last).into_owned())
        })?;
        let (news_sender, news) = bounded(4);
        small_thread(move || report(&mut || end.wait(), &news_sender))?;
        Ok(Self { lines, news, errors, output })
    }

    /// The end of standard error, once both outputs have ended.
    pub(super) fn finish(self) -> Result<String, OutputError> {
        let broken = || io::Error::other("a thread of msg ended unexpectedly");
        // The reader of the output may be waiting until somebody takes its lines.
        drop(self.lines);
        self.output.join().map_err(|_| broken())??;
        self.errors.join().map_err(|_| broken())?
    }
}

fn report(next: &mut dyn FnMut() -> KeptNews, news: &Sender<KeptNews>) {
    loop {
        let one = next();
        if news.send(one).is_err() || matches!(one, KeptNews::Clean | KeptNews::KeeperGone) {
            return;
        }
    }
}

fn small_thread<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> io::Result<JoinHandle<T>> {
    thread::Builder::new().name("worker output".to_string()).stack_size(256 * 1024).spawn(run)
}

fn read_pieces(
    from: &mut impl Read,
    mut take: impl FnMut(&[u8]) -> Result<(), FileError>,
) -> Result<(), OutputError> {
    let mut piece = vec![0; 64 * 1024];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(length) => take(&piece[..length])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}
