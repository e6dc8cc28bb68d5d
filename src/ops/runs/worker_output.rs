//! Reads what a worker prints, in threads of their own, and keeps it in bounded files.

use std::io::{self, Read};
use std::path::Path;
use std::thread;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use crate::domain::runs::LineCutter;
use crate::sys::files::BoundedLog;
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
    /// The end of standard error.
    errors: Receiver<String>,
    /// Why an output could not be kept.
    troubles: Receiver<String>,
}

impl WorkerOutput {
    /// Starts to read. `dir` is the run's own directory.
    pub(super) fn read(kept: KeptOutput, dir: &Path) -> io::Result<Self> {
        let KeptOutput { mut stdout, mut stderr, mut end } = kept;
        let open =
            |name: &str| BoundedLog::create(&dir.join(name), MOST_HEAD, MOST_TAIL).map_err(io::Error::other);
        let (log, error_log) = (open("output")?, open("errors")?);
        let (line_sender, lines) = bounded(MOST_LINES);
        let (trouble, troubles) = unbounded();
        let error_trouble = trouble.clone();
        small_thread(move || {
            let mut cutter = LineCutter::default();
            // If nobody listens any more, the rest is kept all the same.
            let pass_on = |line: String| drop(line_sender.send(line));
            keep(&mut stdout, log, &trouble, |piece| cutter.add(piece, pass_on));
            cutter.finish().into_iter().for_each(pass_on);
        })?;
        let (error_sender, errors) = bounded(1);
        small_thread(move || {
            let mut last = Vec::new();
            keep(&mut stderr, error_log, &error_trouble, |piece| {
                last.extend_from_slice(piece);
                let excess = last.len().saturating_sub(MOST_ERRORS);
                last.drain(..excess);
            });
            drop(error_sender.send(String::from_utf8_lossy(&last).into_owned()));
        })?;
        let (news_sender, news) = bounded(4);
        small_thread(move || report(&mut || end.wait(), &news_sender))?;
        Ok(Self { lines, news, errors, troubles })
    }

    /// The end of standard error, and why something could not be kept. Whoever still holds a pipe open is not waited
    /// for beyond `until`.
    pub(super) fn finish(self, until: Instant) -> (String, Vec<String>) {
        // The reader of the output may be waiting until somebody takes its lines.
        drop(self.lines);
        let errors = self.errors.recv_deadline(until).unwrap_or_default();
        (errors, self.troubles.try_iter().collect())
    }
}

/// Reads to the end, and keeps it in the log as far as that is possible: a worker must not fail because of its log.
fn keep(from: &mut impl Read, mut log: BoundedLog, trouble: &Sender<String>, mut take: impl FnMut(&[u8])) {
    let mut kept = Ok(());
    let read = read_pieces(from, |piece| {
        take(piece);
        if kept.is_ok() {
            kept = log.add(piece);
        }
    });
    let finished = kept.and_then(|()| log.finish());
    let why = [read.err().map(|error| error.to_string()), finished.err().map(|error| error.to_string())];
    why.into_iter().flatten().for_each(|why| drop(trouble.send(why)));
}

fn report(next: &mut dyn FnMut() -> KeptNews, news: &Sender<KeptNews>) {
    loop {
        let one = next();
        if news.send(one).is_err() || matches!(one, KeptNews::Clean | KeptNews::KeeperGone) {
            return;
        }
    }
}

fn small_thread(run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("worker output".to_string()).stack_size(256 * 1024).spawn(run).map(drop)
}

fn read_pieces(from: &mut impl Read, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut piece = vec![0; 64 * 1024];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(length) => take(&piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
