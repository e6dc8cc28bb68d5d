//! SHA-256 as text.

use sha2::{Digest, Sha256};

/// The hash as hexadecimal digits.
pub fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}
