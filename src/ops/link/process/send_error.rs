//! Why something could not be sent to another machine.

use crate::ops::error::CommandError;
use crate::sys::nats::NatsError;

/// Why nothing more can be sent now.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    #[error(transparent)]
    Server(#[from] NatsError),
    #[error(transparent)]
    Local(#[from] CommandError),
}

impl From<crate::store::StoreError> for SendError {
    fn from(error: crate::store::StoreError) -> Self {
        Self::Local(error.into())
    }
}
