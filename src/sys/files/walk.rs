//! Looking at many files, but not for ever.

use std::fs::Metadata;
use std::path::Path;
use std::time::{Duration, Instant};

/// A look around that ends after so many entries, or so long.
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

    /// Was there more than it could look at?
    pub fn is_cut_short(&self) -> bool {
        self.cut_short
    }

    /// Shows every plain file and link at `path` and beneath it. Links are not followed, and `.git` is passed by.
    pub fn files(&mut self, path: &Path, show: &mut dyn FnMut(&Path, &Metadata)) {
        let mut open = vec![path.to_path_buf()];
        while let Some(path) = open.pop() {
            if self.left == 0 || Instant::now() >= self.end {
                self.cut_short = true;
                return;
            }
            self.left -= 1;
            // What can't be looked at, or is gone by now, is not there.
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
