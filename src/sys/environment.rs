//! What the caller's process brings along: variables, home, working directory.

use std::path::PathBuf;

use etcetera::BaseStrategy;

/// A variable that is set, not empty and readable as text.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The user's home, and the places that the XDG base directories put beneath it.
#[derive(Clone, Debug)]
pub struct Home {
    pub home: PathBuf,
    pub config: PathBuf,
    pub state: PathBuf,
}

#[derive(Debug, thiserror::Error)]
#[error("there is no home directory: set HOME")]
pub struct NoHome;

impl Home {
    pub fn find() -> Result<Self, NoHome> {
        // XDG on every system: what is found on a Linux machine is found in the same place on a Mac.
        let xdg = etcetera::base_strategy::Xdg::new().map_err(|_| NoHome)?;
        let state = xdg.state_dir().unwrap_or_else(|| xdg.home_dir().join(".local/state"));
        Ok(Self { home: xdg.home_dir().to_path_buf(), config: xdg.config_dir(), state })
    }

    /// A path with a leading `~` made whole.
    pub fn expand(&self, path: &str) -> PathBuf {
        match path.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(rest) if rest.starts_with('/') => self.home.join(&rest[1..]),
            _ => PathBuf::from(path),
        }
    }

    /// A path with the home shortened to `~`, for people.
    pub fn shorten(&self, path: &str) -> String {
        let home = self.home.to_string_lossy();
        match path.strip_prefix(home.as_ref()) {
            Some("") => "~".to_string(),
            Some(rest) if rest.starts_with('/') && home != "/" => format!("~{rest}"),
            _ => path.to_string(),
        }
    }
}

/// The working directory. One that was removed beneath us is an error that says so.
pub fn cwd() -> std::io::Result<PathBuf> {
    std::env::current_dir()
}
