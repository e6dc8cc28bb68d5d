//! Walking through a tree of files, with a limit on entries and time.

use std::fs::Metadata;
use std::path::Path;
use std::time::{Duration, Instant};

/// A walk that ends after a number of entries or a time.
#[derive(Debug)]
pub struct Walk {
    left: usize,
    end: Instant,
    cut_short: bool,
}

impl Walk {
    pub fn new(most: usize, time: Duration) -> Self {
        Self { left: most, end: Instant::now() + time, cut_short: false }
    }

    /// Whether a limit was reached before the end.
    pub fn is_cut_short(&self) -> bool {
        self.cut_short
    }

    /// Calls `show` for everything but directories, at `path` and below. Does not follow links, and skips `.git`.
    pub fn files(&mut self, path: &Path, show: &mut dyn FnMut(&Path, &Metadata)) {
        let mut open = vec![path.to_path_buf()];
        while let Some(path) = open.pop() {
            if self.left == 0 || Instant::now() >= self.end {
                self.cut_short = true;
                return;
            }
            self.left -= 1;
            // Skip what cannot be examined or is gone by now.
            let Ok(metadata) = std::fs::symlink_metadata(&path) else { continue };
            if !metadata.is_dir() {
                show(&path, &metadata);
                continue;
            }
            if path.file_name().is_some_and(|name| name == ".git") {
                continue;
            }
            let Ok(entries) = std::fs::read_dir(&path) else { continue };
            open.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
        }
    }
}
