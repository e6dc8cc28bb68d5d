//! `link/config.json`: with whom the mesh is linked, and as which machine. Passwords and keys stay in files of their own.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::domain::link::{LinkAddress, MachineName};
use crate::store::error::{ParseError, StoreError};
use crate::store::handles::LinkFiles;
use crate::store::wire::pretty;
use crate::sys::files;

/// With whom a mesh is linked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LinkConfig {
    pub address: LinkAddress,
    pub machine: MachineName,
    /// A random word, made when the mesh was linked.
    pub installation: String,
    pub credentials: LinkCredentials,
    /// The certificates of authorities that are trusted besides those of the system.
    pub ca: Option<PathBuf>,
    /// The certificate of this machine and its key, for servers that ask for one.
    pub client_certificate: Option<(PathBuf, PathBuf)>,
    /// How many servers keep each record, if the link has to make the place for them.
    pub replicas: u8,
    /// Whether `reserve` reserves for every clone of the repository by default.
    pub reserves_repository: bool,
    pub runs: RunPermission,
}

/// What other machines may start here. Nothing, unless a person allowed it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RunPermission {
    /// The checkouts in which runs for other machines may be started.
    pub checkouts: Vec<PathBuf>,
    /// The machines that may ask for runs; empty: any machine of the mesh.
    pub machines: Vec<MachineName>,
    /// The remote to which branches of such runs are pushed, and from which commits are fetched; `None`: neither.
    pub remote: Option<String>,
}

/// Where the credentials are.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum LinkCredentials {
    #[default]
    None,
    /// A `.creds` file, as `nsc` writes it.
    Creds(PathBuf),
    /// A file with a user and a password.
    User(PathBuf),
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct ConfigKeys {
    version: u32,
    address: String,
    machine: String,
    installation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    creds_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ca_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_file: Option<PathBuf>,
    #[serde(default = "one")]
    replicas: u8,
    #[serde(default)]
    reserves_repository: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    allow_runs: Vec<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    allow_runs_from: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    push_runs: Option<String>,
}

fn one() -> u8 {
    1
}

/// The version that this program writes. A later one is not read: its meaning may be another.
const VERSION: u32 = 1;

impl LinkConfig {
    fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let keys: ConfigKeys = serde_json::from_slice(bytes).map_err(ParseError::new)?;
        if keys.version != VERSION {
            return Err(ParseError::new(format!(
                "it is of version {}, which this msg does not know",
                keys.version
            )));
        }
        let credentials = match (keys.creds_file, keys.user_file) {
            (Some(path), _) => LinkCredentials::Creds(path),
            (None, Some(path)) => LinkCredentials::User(path),
            (None, None) => LinkCredentials::None,
        };
        Ok(Self {
            address: LinkAddress::parse(&keys.address).map_err(ParseError::new)?,
            machine: MachineName::new(keys.machine).map_err(ParseError::new)?,
            installation: keys.installation,
            credentials,
            ca: keys.ca_file,
            client_certificate: keys.certificate_file.zip(keys.key_file),
            replicas: keys.replicas,
            reserves_repository: keys.reserves_repository,
            runs: RunPermission {
                checkouts: keys.allow_runs,
                machines: keys
                    .allow_runs_from
                    .into_iter()
                    .map(MachineName::new)
                    .collect::<Result<_, _>>()
                    .map_err(ParseError::new)?,
                remote: keys.push_runs,
            },
        })
    }

    fn bytes(&self) -> Vec<u8> {
        let (creds_file, user_file) = match self.credentials.clone() {
            LinkCredentials::None => (None, None),
            LinkCredentials::Creds(path) => (Some(path), None),
            LinkCredentials::User(path) => (None, Some(path)),
        };
        let (certificate_file, key_file) = self.client_certificate.clone().unzip();
        pretty(&ConfigKeys {
            version: VERSION,
            address: self.address.to_string(),
            machine: self.machine.to_string(),
            installation: self.installation.clone(),
            creds_file,
            user_file,
            ca_file: self.ca.clone(),
            certificate_file,
            key_file,
            replicas: self.replicas,
            reserves_repository: self.reserves_repository,
            allow_runs: self.runs.checkouts.clone(),
            allow_runs_from: self.runs.machines.iter().map(ToString::to_string).collect(),
            push_runs: self.runs.remote.clone(),
        })
    }
}

impl LinkFiles<'_> {
    /// Whether the mesh is linked. Takes one look at the file system.
    pub fn is_configured(self) -> bool {
        files::exists(&self.mesh.layout.link("config.json")).unwrap_or(false)
    }

    /// With whom the mesh is linked; `None` if it is not. Unreadable is not unlinked.
    pub fn config(self) -> Result<Option<LinkConfig>, StoreError> {
        let path = self.mesh.layout.link("config.json");
        let Some(bytes) = files::read(&path)? else { return Ok(None) };
        LinkConfig::parse(&bytes)
            .map(Some)
            .map_err(|error| StoreError::Corrupt { path, reason: error.to_string() })
    }

    pub fn set_config(self, config: &LinkConfig) -> Result<(), StoreError> {
        self.mesh.tighten()?;
        self.make_directory()?;
        Ok(self.mesh.files.replace(&self.mesh.layout.link("config.json"), &config.bytes())?)
    }

    /// The mesh is linked no more.
    pub fn remove_config(self) -> Result<(), StoreError> {
        self.forget_shared()?;
        files::remove(&self.mesh.layout.link("config.json"))?;
        Ok(())
    }

    /// What was completed here is told to the next server again.
    pub fn forget_shared(self) -> Result<(), StoreError> {
        files::remove(&self.mesh.layout.link("shared"))?;
        Ok(())
    }

    /// Which directory on which disk it is: a copy is another.
    pub fn identity(self) -> Option<files::FileId> {
        let metadata = files::metadata(&self.mesh.layout.directory("link")).ok()??;
        Some(files::FileId::of(&metadata))
    }

    pub(super) fn make_directory(self) -> Result<(), StoreError> {
        let dir = self.mesh.layout.directory("link");
        if !files::exists(&dir)? {
            files::create_dir(&dir)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_reads_back() {
        let config = LinkConfig {
            address: LinkAddress::parse("tls://h:4222/team").unwrap(),
            machine: MachineName::new("laptop").unwrap(),
            installation: "x1".to_string(),
            credentials: LinkCredentials::User("/etc/u".into()),
            ca: Some("/ca".into()),
            client_certificate: Some(("/c".into(), "/k".into())),
            replicas: 3,
            reserves_repository: true,
            runs: RunPermission {
                checkouts: vec!["/p".into()],
                machines: vec![MachineName::new("laptop").unwrap()],
                remote: Some("origin".to_string()),
            },
        };
        assert_eq!(LinkConfig::parse(&config.bytes()).unwrap(), config);
        let plain = LinkConfig {
            credentials: LinkCredentials::Creds("/c".into()),
            ca: None,
            client_certificate: None,
            runs: RunPermission::default(),
            ..config
        };
        assert_eq!(LinkConfig::parse(&plain.bytes()).unwrap(), plain);
    }

    #[test]
    fn an_older_configuration_allows_no_runs() {
        let text = br#"{"version": 1, "address": "nats://h/m", "machine": "a", "installation": "x"}"#;
        assert_eq!(LinkConfig::parse(text).unwrap().runs, RunPermission::default());
    }

    #[test]
    fn a_later_version_is_not_guessed_at() {
        let text = br#"{"version": 2, "address": "nats://h/m", "machine": "a", "installation": "x"}"#;
        assert!(LinkConfig::parse(text).unwrap_err().to_string().contains("version 2"));
        let text = br#"{"version": 1, "address": "nats://h/m", "machine": "../a", "installation": "x"}"#;
        assert!(LinkConfig::parse(text).is_err());
    }
}
