//! Users that an operator has signed, as `nsc` makes them: tokens, and `.creds` files with a key.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use nkeys::KeyPair;
use serde_json::{Value, json};

use super::files::private;

/// An operator with one account that has JetStream.
pub struct Operator {
    operator: KeyPair,
    account: KeyPair,
    system: KeyPair,
}

impl Operator {
    pub fn new() -> Self {
        Self {
            operator: KeyPair::new_operator(),
            account: KeyPair::new_account(),
            system: KeyPair::new_account(),
        }
    }

    /// What makes a server trust this operator.
    pub fn config(&self) -> String {
        let claims = json!({ "type": "operator", "version": 2, "system_account": self.system.public_key() });
        let operator = token(&self.operator, &self.operator, claims, None);
        let account = |key: &KeyPair, storage: i64| {
            let limits = json!({
                "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
                "conn": -1, "leaf": -1, "mem_storage": storage, "disk_storage": storage, "streams": storage,
                "consumer": storage,
            });
            let claims = json!({
                "type": "account", "version": 2, "limits": limits,
                "default_permissions": { "pub": {}, "sub": {} },
            });
            format!("{}: {}", key.public_key(), token(&self.operator, key, claims, None))
        };
        format!(
            "operator: {operator}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{ {}\n {} }}",
            self.system.public_key(),
            account(&self.account, -1),
            account(&self.system, 0)
        )
    }

    /// The credentials of a user of the account.
    pub fn user(&self, dir: &Path, name: &str) -> PathBuf {
        credentials(dir, name, &self.account, None)
    }

    /// The same, valid until an hour ago.
    pub fn expired_user(&self, dir: &Path, name: &str) -> PathBuf {
        credentials(dir, name, &self.account, Some(now() - 3600))
    }

    /// A user that an account signed which the server does not know.
    pub fn stranger(&self, dir: &Path, name: &str) -> PathBuf {
        credentials(dir, name, &KeyPair::new_account(), None)
    }
}

fn credentials(dir: &Path, name: &str, account: &KeyPair, until: Option<u64>) -> PathBuf {
    let user = KeyPair::new_user();
    let claims = json!({
        "type": "user", "version": 2, "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1,
    });
    let token = token(account, &user, claims, until);
    let seed = user.seed().unwrap();
    let text = format!(
        "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    );
    private(&dir.join(format!("{name}.creds")), &text)
}

/// What `signer` says of `subject`.
fn token(signer: &KeyPair, subject: &KeyPair, claims: Value, until: Option<u64>) -> String {
    let mut body = json!({
        "jti": "TEST", "iat": now() - 7200, "iss": signer.public_key(), "name": "test",
        "sub": subject.public_key(), "nats": claims,
    });
    if let Some(until) = until {
        body["exp"] = until.into();
    }
    let head = json!({ "typ": "JWT", "alg": "ed25519-nkey" });
    let text = format!("{}.{}", base64(head.to_string().as_bytes()), base64(body.to_string().as_bytes()));
    let signature = signer.sign(text.as_bytes()).unwrap();
    format!("{text}.{}", base64(&signature))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// For URLs, without padding. A server that takes our tokens proves that it is right.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number = chunk.iter().fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
        let number = number << (8 * (3 - chunk.len()));
        for digit in 0..=chunk.len() {
            text.push(char::from(DIGITS[number >> (18 - 6 * digit) & 63]));
        }
    }
    text
}
