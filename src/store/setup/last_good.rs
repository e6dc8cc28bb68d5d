//! The last good values of `mesh` and `strict`, from when the user's configuration could last be read.
//!
//! Hooks use them while the configuration cannot be read: a typing error must neither move them to another mesh nor
//! turn `strict` off. The values are kept in `last-good.json` beside `config.json`, or in `ravenry-config/` in the
//! state directory if the former cannot be written. The file is written only when the values change.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::domain::settings::{Durability, RawValue, Settings};
use crate::store::error::StoreError;
use crate::sys::environment::Home;
use crate::sys::files::{self, FileError, Files};

/// The keys that are kept.
pub(in crate::store) const KEPT: [&str; 2] = ["mesh", "strict"];

#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(in crate::store) struct LastGood {
    mesh: Option<String>,
    strict: bool,
}

impl LastGood {
    pub(in crate::store) fn of(settings: &Settings) -> Self {
        Self { mesh: settings.mesh().map(|(mesh, _)| mesh.to_string()), strict: settings.strict }
    }

    /// The values that were kept last; `None` if there are none.
    pub(in crate::store) fn recall(home: &Home) -> Option<Self> {
        let mut newest = None;
        for path in places(home) {
            let Ok(Some(metadata)) = files::metadata(&path) else { continue };
            let Ok(Some(bytes)) = files::read_note(&path) else { continue };
            if let (Ok(kept), Ok(time)) = (serde_json::from_slice::<Self>(&bytes), metadata.modified())
                && newest.as_ref().is_none_or(|(newest, _)| *newest < time)
            {
                newest = Some((time, kept));
            }
        }
        newest.map(|(_, kept)| kept)
    }

    /// The value of one of the keys; `None` if it was not set.
    pub(in crate::store) fn value(&self, key: &str) -> Option<RawValue> {
        match key {
            "mesh" => self.mesh.clone().map(RawValue::Text),
            "strict" => Some(RawValue::Bool(self.strict)),
            _ => None,
        }
    }

    /// Keeps the values, unless the file has them already.
    pub(in crate::store) fn keep(&self, home: &Home) -> Result<(), StoreError> {
        let [beside, state] = places(home);
        let mut text = serde_json::to_vec(self)
            .map_err(|error| StoreError::Corrupt { path: beside.clone(), reason: error.to_string() })?;
        text.push(b'\n');
        if write(&beside, &text).is_err() {
            return Ok(write(&state, &text)?);
        }
        Ok(remove(&state)?)
    }

    /// Removes the kept values, because there is no configuration any more.
    pub(in crate::store) fn forget(home: &Home) -> Result<(), StoreError> {
        for path in places(home) {
            remove(&path)?;
        }
        Ok(())
    }
}

/// Where the values may be kept, in order of preference.
fn places(home: &Home) -> [PathBuf; 2] {
    [home.config.join("ravenry/last-good.json"), home.state.join("ravenry-config/last-good.json")]
}

fn write(path: &Path, text: &[u8]) -> Result<(), FileError> {
    if files::read_note(path)?.as_deref() == Some(text) {
        return Ok(());
    }
    let dir = path.parent().unwrap_or(path).to_path_buf();
    if !files::exists(&dir)? {
        files::create_dir(&dir)?;
    }
    Files::new(dir, Durability::Process).replace(path, text)
}

fn remove(path: &Path) -> Result<(), FileError> {
    if files::link_metadata(path)?.is_some() {
        files::remove(path)?;
    }
    Ok(())
}
