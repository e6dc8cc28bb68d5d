//! Words that look like keys, passwords or tokens. They never become topics, and so never reach a disk.
//!
//! This errs on the side of dropping a word: a topic that is missed costs nothing.

/// How keys of well-known services begin.
const PREFIXES: [&str; 14] = [
    "sk-",
    "pk-",
    "rk_",
    "sk_",
    "pk_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "AIza",
    "eyJ",
];
/// From this length on, a mixture of letters and digits is a key.
const LONG: usize = 16;
/// A hash of a commit or of a file; shorter ones are words, such as `e2e`.
const SHORTEST_HASH: usize = 7;

/// Whether a piece of a prompt between two spaces is or contains a secret.
pub(super) fn is_secret(chunk: &str) -> bool {
    chunk.split(|char: char| !is_of_key(char)).any(looks_like_key) || is_long_jumble(chunk) || is_given(chunk)
}

/// A key may contain `/`, as a path does; but a path of this length has no such mixture.
fn is_long_jumble(chunk: &str) -> bool {
    let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '/' | '+' | '=');
    let bare = chunk.trim_matches(|char: char| !is_part(char));
    let has = |is: fn(&u8) -> bool| bare.as_bytes().iter().any(is);
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    bare.len() >= 2 * LONG && bare.chars().all(is_part) && is_mixed && changes(bare) >= 8
}

/// How often letters, capitals and digits alternate.
fn changes(text: &str) -> usize {
    let kind = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'A'..=b'Z' => 1,
        _ => 2,
    };
    text.as_bytes().windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count()
}

/// What a key is made of; `/` and `.` are left out, because paths have them.
fn is_of_key(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '+')
}

fn looks_like_key(run: &str) -> bool {
    let is_known = PREFIXES.into_iter().any(|prefix| run.len() > prefix.len() + 7 && run.starts_with(prefix));
    is_known || is_hash(run) || run.split(['-', '_']).any(is_jumble)
}

fn is_hash(run: &str) -> bool {
    let is_hex = run.bytes().all(|byte| byte.is_ascii_hexdigit());
    let has = |is: fn(&u8) -> bool| run.as_bytes().iter().any(is);
    run.len() >= SHORTEST_HASH && is_hex && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

/// Whether letters and digits alternate as they do in no word, or upper and lower case as in no name of a function.
fn is_jumble(part: &str) -> bool {
    let (bytes, changes) = (part.as_bytes(), changes(part));
    let capitals = bytes.windows(2).filter(|pair| pair.iter().all(u8::is_ascii_uppercase)).count();
    let has_digits = bytes.iter().any(u8::is_ascii_digit);
    part.len() >= LONG && changes >= 4 && (has_digits || capitals >= 3 && changes >= 8)
}

/// `password=…`, `token: …` within one chunk.
fn is_given(chunk: &str) -> bool {
    chunk.split_once(['=', ':']).is_some_and(|(name, value)| !value.is_empty() && names_secret(name))
}

/// Whether the word announces that the rest of its line is a secret: `password:`, `--token`, `Bearer`, or `=` after
/// the name of one.
pub(super) fn announces(chunk: &str, before: &str) -> bool {
    if matches!(chunk, "=" | ":" | ":=" | "=>" | "->" | "is") {
        return names_secret(before);
    }
    let bare = chunk.trim_matches(|char: char| matches!(char, '"' | '\'' | '`' | '(' | '{'));
    match bare.strip_suffix([':', '=']) {
        Some(name) => names_secret(name),
        None => bare.starts_with("--") && names_secret(bare) || bare.eq_ignore_ascii_case("bearer"),
    }
}

fn names_secret(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = name.to_ascii_lowercase();
    ["password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "privatekey", "credential"]
        .into_iter()
        .any(|word| name.ends_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        for chunk in [
            "sk-proj-abcdEFGH1234ijkl5678",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "AKIAIOSFODNN7EXAMPLE",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "{\"token\":\"swordfish\"}",
            "\"d41d8cd98f00b204e9800998ecf8427e\"",
            "9fceb02",
            "password=hunter2",
            "API_KEY:abc",
            "xoxb-123456789012-abcdefABCDEF",
        ] {
            assert!(is_secret(chunk), "{chunk}");
        }
        for chunk in ["password:", "--token", "Bearer", "secret=", "\"password\":"] {
            assert!(announces(chunk, ""), "{chunk}");
        }
        assert!(announces("=", "DB_PASSWORD") && announces("is", "password"));
    }

    #[test]
    fn words() {
        for chunk in [
            "authentication",
            "oauth2",
            "e2e",
            "src/auth/login_form_v2.rs",
            "HTTPServer",
            "feedface",
            "deadbeef",
            "parse_registration_index_2",
            "x86_64-unknown-linux-gnu",
            "token",
            "passwords",
            "i18n/a11y",
            "cafe",
            "getElementsByTagNameAndClassName",
            "1234567",
        ] {
            assert!(!is_secret(chunk), "{chunk}");
        }
        for chunk in ["password", "tokens:x", "token.rs", "--token-file", "="] {
            assert!(!announces(chunk, "users"), "{chunk}");
        }
    }
}
