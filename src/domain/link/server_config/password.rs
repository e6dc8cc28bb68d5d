//! What a server stores of a password: bcrypt is the only hash that a configured `nats-server` knows.

/// 2^8 rounds, a few milliseconds for each connection. The passwords are random, so nobody can guess them at any speed.
const COST: u32 = 8;

/// Nothing if the password is longer than bcrypt looks at.
pub fn hash_password(password: &str, salt: [u8; 16]) -> Option<String> {
    let parts = bcrypt::non_truncating_hash_with_salt(password, COST, salt).ok()?;
    // The form that every version of the server knows.
    Some(parts.format_for_version(bcrypt::Version::TwoA))
}
