//! Takes one key out of the user's configuration file and restores the file as it was before, byte for byte where nobody
//! has changed anything else in it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::config_files::{load_user, read, user_file};
use crate::domain::settings::{Durability, Settings};
use crate::store::error::StoreError;
use crate::store::wire::pretty;
use crate::sys::environment::Home;
use crate::sys::files::{self, Files};
use crate::sys::flock::FileLock;

/// The user's configuration file before a key was set in it. It holds no keys or tokens of anybody, so all of it is kept.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct OriginalConfig {
    /// Where it is, with links followed.
    pub path: String,
    /// `None`: there was none.
    pub text: Option<String>,
    pub mode: Option<u32>,
    /// Directories that were missing above it, outermost first.
    pub made: Vec<String>,
}

/// What taking the key back does to the file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ConfigUndo {
    /// The file is as it was.
    Nothing,
    /// It becomes what it was.
    Restored,
    /// Other settings were changed since, and stay: only this key gets its old value.
    OnlyTheKey,
    /// Somebody has set the key to something else since: it stays.
    Kept,
}

impl OriginalConfig {
    /// The file as it is now.
    pub fn of(home: &Home) -> Result<Self, StoreError> {
        let path = files::destination(&user_file(home));
        let bytes = files::read(&path)?;
        let mode = files::metadata(&path)?.map(|there| there.permissions().mode() & 0o7777);
        let made = files::missing_above(&path)?;
        Ok(Self {
            path: path.to_string_lossy().into_owned(),
            text: bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            mode,
            made: made.iter().map(|dir| dir.to_string_lossy().into_owned()).collect(),
        })
    }

    /// What [`Self::restore`] would do.
    pub fn undo(&self, key: &str) -> Result<ConfigUndo, StoreError> {
        Ok(self.plan(key)?.0)
    }

    /// Takes the key back, which was set to `true`. Directories that were made for the file and are empty go, too.
    pub fn restore(&self, home: &Home, key: &str) -> Result<ConfigUndo, StoreError> {
        let path = Path::new(&self.path);
        let dir = path.parent().unwrap_or(Path::new("/")).to_path_buf();
        if !files::exists(&dir)? {
            // Somebody may have been killed between one directory and the next.
            self.remove_made()?;
            return Ok(ConfigUndo::Nothing);
        }
        let lock = dir.join(".config.lock");
        let held = FileLock::acquire(&lock, Settings::default().lock_timeout())?;
        let (undo, content) = self.plan(key)?;
        let files = Files::new(dir, Durability::Process);
        match (undo, content) {
            (ConfigUndo::Nothing | ConfigUndo::Kept, _) => {}
            (_, Some(content)) => files.replace(path, &content)?,
            (_, None) => _ = files::remove(path)?,
        }
        if let (Some(mode), ConfigUndo::Nothing | ConfigUndo::Restored) = (self.mode, undo) {
            self.restore_mode(mode)?;
        }
        files.sweep()?;
        // Keeps the last good values, or forgets them with the file.
        drop(load_user(home));
        files::remove(&lock)?;
        drop(held);
        self.remove_made()?;
        Ok(undo)
    }

    fn remove_made(&self) -> Result<(), StoreError> {
        for dir in self.made.iter().rev().map(PathBuf::from) {
            if !files::remove_dir(&dir)? && files::exists(&dir)? {
                break;
            }
        }
        Ok(())
    }

    fn restore_mode(&self, mode: u32) -> Result<(), StoreError> {
        let path = Path::new(&self.path);
        let now = files::metadata(path)?.map(|there| there.permissions().mode() & 0o7777);
        if now.is_some_and(|now| now != mode) {
            files::set_mode(path, mode)?;
        }
        Ok(())
    }

    /// What to do, and the content that the file gets; `None`: it is removed.
    fn plan(&self, key: &str) -> Result<(ConfigUndo, Option<Vec<u8>>), StoreError> {
        let path = Path::new(&self.path);
        let original = self.text.as_ref().map(|text| text.clone().into_bytes());
        let now = files::read(path)?;
        // A file that somebody has removed stays away.
        if now == original || now.is_none() {
            return Ok((ConfigUndo::Nothing, None));
        }
        let mut now = read(path)?.unwrap_or_default();
        let was: Map<String, Json> =
            self.text.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let is_ours = now.get(key) == Some(&Json::Bool(true));
        if !is_ours && now.get(key) != was.get(key) {
            return Ok((ConfigUndo::Kept, None));
        }
        if without(&now, key) == without(&was, key) {
            return Ok((ConfigUndo::Restored, original));
        }
        if !is_ours {
            return Ok((ConfigUndo::Nothing, None));
        }
        match was.get(key) {
            Some(value) => drop(now.insert(key.to_string(), value.clone())),
            None => drop(now.shift_remove(key)),
        }
        Ok((ConfigUndo::OnlyTheKey, Some(pretty(&now))))
    }
}

fn without(document: &Map<String, Json>, key: &str) -> Map<String, Json> {
    let mut rest = document.clone();
    rest.shift_remove(key);
    rest
}
