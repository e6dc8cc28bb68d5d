//! Whether a file looks like one that holds a secret, by its name and its content.
//!
//! Such a file is never put into a git object unasked. A file of program text is judged by keys of a known form only:
//! a password in a test is not a reason to leave the test out.

use std::path::Path;

use super::knowledge::find_known_secret;

/// Names of files that hold secrets.
const NAMES: [&str; 28] = [
    ".env",
    ".envrc",
    ".npmrc",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".git-credentials",
    ".dockercfg",
    ".vault-token",
    ".s3cfg",
    ".boto",
    "credentials",
    "credentials.json",
    "credentials.yml",
    "credentials.yaml",
    "credentials.toml",
    "secrets.json",
    "secrets.yml",
    "secrets.yaml",
    "secrets.toml",
    "client_secret.json",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
];
/// Endings of files that hold keys.
const ENDINGS: [&str; 12] = [
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".p8",
    ".jks",
    ".keystore",
    ".kdbx",
    ".ppk",
    ".tfstate",
    ".env",
    ".mobileprovision",
];
/// Endings of examples, which hold no secret: `.env.example`.
const EXAMPLES: [&str; 6] = [".example", ".sample", ".template", ".dist", ".defaults", ".schema"];
/// Endings of program text and prose.
const PROGRAM_TEXT: [&str; 37] = [
    "rs", "py", "pyi", "js", "mjs", "cjs", "jsx", "ts", "tsx", "go", "java", "kt", "kts", "scala", "c", "h",
    "cc", "cpp", "hpp", "cs", "rb", "php", "swift", "m", "lua", "pl", "ex", "exs", "erl", "hs", "ml", "vue",
    "svelte", "md", "rst", "html", "css",
];
/// As in git: a file with a NUL among its first bytes is not a text.
const BINARY_PREFIX: usize = 8000;

/// What makes the file look like a secret; `None` if nothing does. `path` is relative to the root of the work tree.
pub fn secret_in_file(path: &Path, content: &[u8]) -> Option<&'static str> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    if has_secret_name(&name) {
        return Some("its name");
    }
    if content.iter().take(BINARY_PREFIX).any(|byte| *byte == 0) {
        return None;
    }
    let text = String::from_utf8_lossy(content);
    let is_program = path.extension().is_some_and(|ending| PROGRAM_TEXT.iter().any(|known| ending == *known));
    if !is_program {
        return find_known_secret(&text).map(|found| found.what);
    }
    let is_key = |what: &&str| matches!(*what, "a key" | "a private key");
    text.lines().filter_map(find_known_secret).map(|found| found.what).find(is_key)
}

fn has_secret_name(name: &str) -> bool {
    if EXAMPLES.iter().any(|ending| name.ends_with(ending)) {
        return false;
    }
    NAMES.contains(&name)
        || name.starts_with(".env.")
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || name.starts_with("service-account") && name.ends_with(".json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(path: &str, content: &str) -> Option<&'static str> {
        secret_in_file(Path::new(path), content.as_bytes())
    }

    #[test]
    fn secrets_by_name() {
        for name in
            ["x/.env", ".env.local", "prod.env", "tls/server.pem", "id_rsa", ".npmrc", "a/credentials"]
        {
            assert_eq!(judge(name, "nothing"), Some("its name"), "{name}");
        }
        for name in [".env.example", "id_rsa.pub", "environment.rs", "keys.rs", "credentials.rs", "pem.txt"] {
            assert_eq!(judge(name, "nothing"), None, "{name}");
        }
    }

    #[test]
    fn secrets_by_content() {
        assert_eq!(judge("notes.txt", "x\npassword: Hunter22x\n"), Some("a password or token"));
        assert_eq!(judge("config.yml", "url: postgres://ann:s3cr3t@db/x"), Some("a password in a URL"));
        assert_eq!(judge("key.txt", "-----BEGIN RSA PRIVATE KEY-----\n"), Some("a private key"));
        let key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        assert_eq!(judge("src/x.rs", &format!("let t = \"{key}\";")), Some("a key"));
        // A password in a test, a checksum in a lock file, an image.
        assert_eq!(judge("src/x.rs", "let password = \"Hunter22x\";"), None);
        assert_eq!(
            judge(
                "package-lock.json",
                "\"integrity\": \"sha512-k wJalrXUtnFEMI7K7MDENGbPxRfiCYEXAMPLEKEY9==\""
            ),
            None
        );
        assert_eq!(judge("x.png", "\0password: Hunter22x"), None);
    }
}
