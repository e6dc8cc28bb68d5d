//! Asking an HTTP server on this machine, without TLS, redirects or proxies, within a time and a size.

use std::time::Duration;

/// The longest answer, in bytes.
const LONGEST: u64 = 1 << 20;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct HttpError(#[from] ureq::Error);

/// The body of the answer to a GET request, as text. Anything but success is an error.
pub fn get(url: &str, limit: Duration) -> Result<String, HttpError> {
    // A proxy would be asked for its own local servers.
    let config = ureq::Agent::config_builder()
        .proxy(None)
        .max_redirects(0)
        .timeout_global(Some(limit))
        .user_agent("msg")
        .build();
    let mut answer = ureq::Agent::new_with_config(config).get(url).call()?;
    // Without redirects, an answer that names another place is not an error to it.
    if !answer.status().is_success() {
        return Err(ureq::Error::StatusCode(answer.status().as_u16()).into());
    }
    Ok(answer.body_mut().with_config().limit(LONGEST).lossy_utf8(true).read_to_string()?)
}
