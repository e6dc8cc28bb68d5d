//! Records which paths the command writes, and answers what is known of files that it may have changed before.

use std::rc::Rc;

use super::field::{Field, escape};
use super::interpreter::{BYTES_PER_STEP, ShellInterpreter, ShellState};
use super::state::join;
use super::{Extent, PathWrite};
use crate::domain::pattern::NormalPath;

/// Maximum number of paths reported.
const MAX_WRITES: usize = 10_000;

/// Devices, which are not files.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty"];

impl ShellInterpreter<'_> {
    /// Notes that `field`, relative to the directory of `state`, is written.
    pub fn write(&mut self, state: &ShellState, field: &Field, extent: Extent, by: &str) {
        if field.text.is_empty() {
            return;
        }
        self.noted += 1;
        self.write_path(state.path(&field.text), field, extent, by);
        if !state.instead.is_empty() && !field.text.starts_with('/') {
            self.set_opaque();
            for place in state.instead.iter() {
                self.write_path(join(place.as_deref(), &field.text), field, extent, by);
            }
        }
    }

    pub(super) fn write_path(&mut self, path: Option<String>, field: &Field, extent: Extent, by: &str) {
        let Some(text) = path.filter(|_| field.is_known()) else {
            self.unknown += 1;
            self.set_opaque();
            return;
        };
        if !self.spend(text.len() / BYTES_PER_STEP) || self.reading.writes.len() >= MAX_WRITES {
            self.cut_short();
            return;
        }
        if DEVICES.contains(&text.as_str()) || text.starts_with("/dev/fd/") {
            return;
        }
        let prefix = &text[..text.len() - field.text.len()];
        let pattern = field.pattern.as_ref().map(|pattern| format!("{}{pattern}", escape(prefix)));
        if pattern.as_ref().is_some_and(|pattern| globset::Glob::new(pattern).is_err()) {
            self.set_opaque();
            return;
        }
        let is_pattern = pattern.is_some();
        let path = pattern.unwrap_or(text);
        let extent = if field.is_below { Extent::Tree } else { extent };
        if !is_pattern && extent == Extent::File {
            self.contents.insert(path.clone(), None);
        }
        self.note(PathWrite { path, extent, is_pattern, by: by.to_string() });
    }

    /// Notes a write, and the target of links that the command made itself.
    pub(super) fn note(&mut self, written: PathWrite) {
        if !self.links.is_empty() {
            self.spend(self.links.len().div_ceil(8));
            let followed = self.links.follow(&written);
            if followed.is_unsure {
                self.set_opaque();
            }
            if let Some(target) = followed.target {
                self.note_once(PathWrite { path: target, ..written.clone() });
            }
        }
        self.note_once(written);
    }

    pub(super) fn note_once(&mut self, written: PathWrite) {
        let key = |written: &PathWrite| (written.path.clone(), written.extent, written.is_pattern);
        if self.seen.insert(key(&written)) {
            self.reading.writes.push(written);
        } else if !written.removes_a_name() {
            // The earlier `rm` may not run, so the path counts as written.
            let is_removed = |other: &&mut PathWrite| other.removes_a_name() && key(other) == key(&written);
            if let Some(removed) = self.reading.writes.iter_mut().find(is_removed) {
                removed.by = written.by;
            }
        }
    }

    /// Follows a program in each directory where the shell may be.
    pub fn everywhere(&mut self, state: &ShellState, follow: impl Fn(&mut Self, &mut ShellState)) {
        let noted = self.noted;
        for dir in state.places() {
            follow(self, &mut ShellState { dir, instead: Rc::default(), ..state.clone() });
        }
        if !state.instead.is_empty() && self.noted > noted {
            self.set_opaque();
        }
    }

    /// Notes that the command makes this directory.
    pub fn make(&mut self, state: &ShellState, dir: &Field) {
        if dir.is_known()
            && dir.pattern.is_none()
            && let Some(path) = state.path(&dir.text)
        {
            self.made.insert(path.trim_end_matches('/').to_string());
        }
    }

    /// Whether the command itself makes this directory or one below it.
    pub fn is_made(&mut self, path: &str) -> bool {
        if self.made.is_empty() || !self.spend(self.made.len() / 4) {
            return false;
        }
        let path = NormalPath::absolute(path);
        self.made.iter().any(|made| NormalPath::absolute(made).is_within(&path))
    }

    /// Whether it is a directory: it exists, the command makes it, or its spelling allows nothing else.
    pub fn is_dir(&self, state: &ShellState, field: &Field) -> bool {
        let last = field.text.rsplit('/').next().unwrap_or_default();
        if matches!(last, "" | "." | "..") || field.is_below {
            return !field.text.is_empty();
        }
        if !field.is_known() || field.pattern.is_some() {
            return false;
        }
        let path = state.path(&field.text);
        path.is_some_and(|path| {
            let led = self.links.resolve(&path);
            self.made.contains(&path) || self.world.is_dir(led.as_deref().unwrap_or(&path))
        })
    }

    /// The content of `field`, if it is a readable file.
    pub fn content(&mut self, state: &ShellState, field: &Field) -> Option<String> {
        if !field.is_known() || field.pattern.is_some() {
            return None;
        }
        if !state.instead.is_empty() && !field.text.starts_with('/') {
            return None;
        }
        let path = state.path(&field.text)?;
        let text = match self.contents.get(&path).cloned() {
            Some(own) => own,
            None if self.may_have_changed(&path) => None,
            None => self.world.read(&path),
        }?;
        self.spend(text.len() / BYTES_PER_STEP).then_some(text)
    }

    /// Whether `field` is a file that exists or that the command writes.
    pub fn is_file(&self, state: &ShellState, field: &Field) -> bool {
        let path = state.path(&field.text).filter(|_| field.is_known() && field.pattern.is_none());
        path.is_some_and(|path| self.contents.contains_key(&path) || self.world.read(&path).is_some())
    }

    /// Whether an earlier write to a tree or glob may have changed the file.
    pub(super) fn may_have_changed(&mut self, path: &str) -> bool {
        if !self.spend(self.reading.writes.len() / 16) {
            return true;
        }
        let path = NormalPath::absolute(path);
        let mut wide = self.reading.writes.iter().filter(|one| one.is_pattern || one.extent == Extent::Tree);
        wide.any(|one| {
            let fixed = if one.is_pattern { one.path.find(['*', '?', '[', '{']) } else { None };
            let dir = fixed.map(|end| one.path[..end].rfind('/').unwrap_or(0));
            path.is_within(&NormalPath::absolute(&one.path[..dir.unwrap_or(one.path.len())]))
        })
    }
}
