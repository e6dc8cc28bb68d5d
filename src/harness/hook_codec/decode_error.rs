//! The error of decoding a hook payload.

use crate::domain::Harness;

/// Why a hook payload could not be decoded.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    #[error("`{0}` has no hooks")]
    NoHooks(Harness),
    #[error("the payload is not a JSON object")]
    NotAnObject,
    #[error("the payload can't be read: {0}")]
    Json(#[from] serde_json::Error),
}
