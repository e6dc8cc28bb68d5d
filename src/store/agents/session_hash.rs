//! The hash of a session id, for file names.

use crate::domain::SessionId;

/// The hash of a session id, for file names. Session ids are foreign text, so they are not used in paths.
pub(in crate::store) fn session_hash(session: &SessionId) -> String {
    uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, session.as_str().as_bytes()).simple().to_string()
}
