//! Secrets from files. A file that others can read is refused, as `ssh` refuses an open key.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::error::NatsError;
use super::options::Credentials;

/// More than any credentials file has.
const LONGEST: u64 = 64 << 10;

/// What a file of credentials said.
pub(super) enum Secret {
    None,
    /// The whole text of a credentials file.
    Creds(String),
    UserAndPassword(String, String),
    /// The seed of a user's key.
    Seed(String),
}

/// Reads the secret, if there is one.
pub(super) fn read(credentials: &Credentials) -> Result<Secret, NatsError> {
    match credentials {
        Credentials::None => Ok(Secret::None),
        Credentials::CredsFile(path) => {
            let text = read_private(path)?;
            if text.contains("BEGIN NATS USER JWT") {
                Ok(Secret::Creds(text))
            } else {
                Err(unreadable(path, "it is not a credentials file (no BEGIN NATS USER JWT)"))
            }
        }
        Credentials::UserFile(path) => {
            let text = read_private(path)?;
            parse_user(&text).ok_or_else(|| {
                unreadable(
                    path,
                    "expected a user and a password on two lines, user:password, or the seed of a key",
                )
            })
        }
    }
}

/// Refuses a private file that others can read.
pub(super) fn check_private(path: &Path) -> Result<(), NatsError> {
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, error))?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(NatsError::CredentialsOpen { path: path.to_path_buf(), mode });
    }
    if !metadata.is_file() || metadata.len() > LONGEST {
        return Err(unreadable(path, "it is not a file of credentials"));
    }
    Ok(())
}

fn read_private(path: &Path) -> Result<String, NatsError> {
    check_private(path)?;
    std::fs::read_to_string(path).map_err(|error| unreadable(path, error))
}

fn parse_user(text: &str) -> Option<Secret> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines[..] {
        [seed] if is_seed(seed) => Some(Secret::Seed(seed.to_owned())),
        [line] => line.split_once(':').filter(|(user, _)| !user.is_empty()).map(pair),
        [user, password] => Some(pair((user, password))),
        _ => None,
    }
}

fn pair((user, password): (&str, &str)) -> Secret {
    Secret::UserAndPassword(user.to_owned(), password.to_owned())
}

/// Seeds of users: `SU` and 56 characters of base 32.
fn is_seed(text: &str) -> bool {
    text.len() == 58
        && text.starts_with("SU")
        && text.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7'))
}

fn unreadable(path: &Path, why: impl std::fmt::Display) -> NatsError {
    NatsError::CredentialsUnreadable { path: path.to_path_buf(), why: why.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        match parse_user(text) {
            Some(Secret::UserAndPassword(user, password)) => format!("{user} {password}"),
            Some(Secret::Seed(_)) => "seed".to_owned(),
            _ => "nothing".to_owned(),
        }
    }

    #[test]
    fn a_user_is_one_line_or_two() {
        assert_eq!(parsed("bob\nsecret\n"), "bob secret");
        assert_eq!(parsed("bob:se:cret\n"), "bob se:cret");
        assert_eq!(parsed(&format!("SU{}\n", "A".repeat(56))), "seed");
        assert_eq!(parsed(""), "nothing");
        assert_eq!(parsed("bob\n"), "nothing");
        assert_eq!(parsed("a\nb\nc\n"), "nothing");
    }
}
