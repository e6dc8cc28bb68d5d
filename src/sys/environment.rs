//! The environment of this process: variables, home directory, working directory.

use std::path::PathBuf;

use etcetera::BaseStrategy;

/// The value of a variable; `None` if it is not set, empty or not UTF-8.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// All variables of this process.
pub fn all() -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    std::env::vars_os().collect()
}

/// The user's home directory, and the XDG base directories.
#[derive(Clone, Debug)]
pub struct Home {
    pub home: PathBuf,
    pub config: PathBuf,
    pub state: PathBuf,
    pub cache: PathBuf,
}

#[derive(Debug, thiserror::Error)]
#[error("there is no home directory: set HOME")]
pub struct NoHome;

impl Home {
    pub fn find() -> Result<Self, NoHome> {
        // XDG on every system, so that files are in the same places on Linux and on a Mac.
        let xdg = etcetera::base_strategy::Xdg::new().map_err(|_| NoHome)?;
        let state = xdg.state_dir().unwrap_or_else(|| xdg.home_dir().join(".local/state"));
        Ok(Self {
            home: xdg.home_dir().to_path_buf(),
            config: xdg.config_dir(),
            state,
            cache: xdg.cache_dir(),
        })
    }

    /// Where this machine keeps what belongs to no mesh.
    pub fn machine_state(&self) -> PathBuf {
        self.state.join("ravenry")
    }

    /// Expands a leading `~`.
    pub fn expand(&self, path: &str) -> PathBuf {
        match path.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(rest) if rest.starts_with('/') => self.home.join(&rest[1..]),
            _ => PathBuf::from(path),
        }
    }

    /// Shortens the home directory to `~`, for display.
    pub fn shorten(&self, path: &str) -> String {
        let home = self.home.to_string_lossy();
        match path.strip_prefix(home.as_ref()) {
            Some("") => "~".to_string(),
            Some(rest) if rest.starts_with('/') && home != "/" => format!("~{rest}"),
            _ => path.to_string(),
        }
    }
}

/// Where programs find what the user added for them, such as man pages: `$XDG_DATA_HOME`.
pub fn data_dir() -> Result<PathBuf, NoHome> {
    Ok(etcetera::base_strategy::Xdg::new().map_err(|_| NoHome)?.data_dir())
}

/// The name of the account that this process runs as: `$USER`, otherwise what the system calls it.
pub fn account_name() -> Option<String> {
    let of_system = || nix::unistd::User::from_uid(nix::unistd::getuid()).ok()?.map(|user| user.name);
    variable("USER").or_else(of_system).filter(|name| !name.is_empty())
}

/// The name of this machine; empty if it has none.
pub fn host_name() -> String {
    nix::unistd::gethostname().map_or_else(|_| String::new(), |name| name.to_string_lossy().into_owned())
}

/// The directory for temporary files that the environment names.
pub fn temporary_dir() -> PathBuf {
    std::env::temp_dir()
}

/// The working directory. Fails if it has been removed.
pub fn cwd() -> std::io::Result<PathBuf> {
    std::env::current_dir()
}
