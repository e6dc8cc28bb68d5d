//! Finds keys, tokens and passwords in a text that is about to be recorded.
//!
//! A record is refused for it, so unlike the words of a prompt, a commit's id or a long name must not be mistaken for a key.

/// How keys of well-known services begin, and how many characters follow at least.
const PREFIXES: [(&str, usize); 33] = [
    ("sk-", 16),
    ("sk_live_", 8),
    ("sk_test_", 8),
    ("rk_live_", 8),
    ("rk_test_", 8),
    ("whsec_", 24),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghr_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("github_pat_", 20),
    ("glpat-", 12),
    ("glptt-", 12),
    ("glrt-", 12),
    ("xapp-", 10),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxe-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("AIza", 30),
    ("GOCSPX-", 20),
    ("npm_", 30),
    ("pypi-", 30),
    ("eyJ", 30),
    ("hf_", 30),
    ("dop_v1_", 30),
    ("dckr_pat_", 20),
    ("shpat_", 30),
    ("lin_api_", 30),
    ("AGE-SECRET-KEY-1", 30),
];
/// The same for keys that have dots in them.
const DOTTED_PREFIXES: [(&str, usize); 3] = [("SG.", 30), ("hvs.", 20), ("ya29.", 20)];
/// What is before the secret part of a URL of a webhook.
const WEBHOOKS: [&str; 2] = ["hooks.slack.com/services/T", "hooks.slack.com/workflows/T"];
/// Words before `=` or `:` whose value is a secret.
const NAMES: [&str; 7] = ["secret", "token", "apikey", "api_key", "api-key", "access_key", "private_key"];
/// Words before `=`, `:` or `is` whose value is a password.
const PASSWORDS: [&str; 5] = ["password", "passwd", "passphrase", "passcode", "pwd"];
/// The shortest value that is taken for a password, and for another secret.
const SHORTEST_PASSWORD: usize = 7;
const SHORTEST_SECRET: usize = 8;
/// How words with digits begin that say how a password is kept: `sha256-hashed`, `base64url`.
const METHODS: [&str; 11] =
    ["aes1", "aes2", "argon2", "base64", "md5", "pbkdf2", "sha1", "sha2", "sha3", "sha5", "utf"];
/// The shortest run of letters and digits that is judged by its entropy, in characters.
const SHORTEST_RUN: usize = 24;
/// Bits per character from which a mixed run is a key. English text has fewer than 4.
const MIN_ENTROPY: f64 = 4.1;
/// The length of a secret key of AWS. It is in base64, so it may have a `/`, as a path has.
const AWS_SECRET: usize = 40;

/// A secret in a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FoundSecret {
    pub what: &'static str,
    /// The line, from 1.
    pub line: usize,
    /// The first characters of it, enough to find it.
    pub start: String,
}

/// What counts as a secret.
#[derive(Clone, Copy, Eq, PartialEq)]
enum SecretScope {
    /// Also what only looks random.
    Any,
    /// Only what has the form of a known kind of key, or a name that says so.
    Known,
}

/// The first secret in a text.
pub fn find_secret(text: &str) -> Option<FoundSecret> {
    find_in_scope(text, SecretScope::Any)
}

/// The first secret of a known form. Random text does not count: lock files and test data are full of checksums.
pub fn find_known_secret(text: &str) -> Option<FoundSecret> {
    find_in_scope(text, SecretScope::Known)
}

fn find_in_scope(text: &str, scope: SecretScope) -> Option<FoundSecret> {
    let found = |what: &'static str, line: usize, secret: &str| FoundSecret {
        what,
        line: line + 1,
        start: secret.chars().take(4).chain(['…']).collect(),
    };
    for (number, line) in text.lines().enumerate() {
        if line.contains("-----BEGIN") && line.contains("PRIVATE KEY") {
            return Some(found("a private key", number, "-----BEGIN"));
        }
        if let Some(value) = announced_secret(line) {
            return Some(found("a password or token", number, value));
        }
        for chunk in line.split_whitespace() {
            if let Some(password) = password_in_url(chunk) {
                return Some(found("a password in a URL", number, password));
            }
            if let Some(value) = chunk.split(['?', '&', ';', ',']).find_map(given_secret) {
                return Some(found("a password or token", number, value));
            }
            if let Some(run) =
                dotted_runs(chunk).find(|run| begins_as_key(run, &DOTTED_PREFIXES) || is_web_token(run))
            {
                return Some(found("a key", number, run));
            }
            if let Some(run) = runs(chunk).find(|run| has_known_prefix(run)) {
                return Some(found("a key", number, run));
            }
            if let Some(at) = WEBHOOKS.iter().find_map(|start| chunk.find(start)) {
                return Some(found("the URL of a webhook", number, &chunk[at..]));
            }
            if scope == SecretScope::Known {
                continue;
            }
            if let Some(run) = runs(chunk).find(|run| is_random(run)) {
                return Some(found("what looks like a key", number, run));
            }
            if let Some(run) = slashed_runs(chunk).find(|run| is_aws_secret(run)) {
                return Some(found("what looks like a key", number, run));
            }
        }
    }
    None
}

/// The parts of a word that may be a key.
fn runs(chunk: &str) -> impl Iterator<Item = &str> {
    chunk.split(|char: char| !(char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '+')))
}

/// The same for keys that have dots in them.
fn dotted_runs(chunk: &str) -> impl Iterator<Item = &str> {
    chunk.split(|char: char| !(char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.')))
}

/// The same for keys in base64. `-`, `_` and `.` end one, so most paths are in pieces.
fn slashed_runs(chunk: &str) -> impl Iterator<Item = &str> {
    chunk.split(|char: char| !(char.is_ascii_alphanumeric() || matches!(char, '/' | '+')))
}

/// Whether it is a secret key of AWS: as long as one, and random between its slashes, too. The parts of a path are words.
fn is_aws_secret(run: &str) -> bool {
    let is_mixed = run.len() == AWS_SECRET && has_all_sorts(run) && word_share(run) < 0.4;
    is_mixed && entropy(run) >= MIN_ENTROPY && !is_encoded_text(run)
}

/// A JSON Web Token: a header and a payload, which are JSON objects in base64, and a signature.
fn is_web_token(run: &str) -> bool {
    let parts: Vec<&str> = run.split('.').collect();
    let is_object = |part: &&str| part.starts_with("eyJ") && part.len() >= 12;
    matches!(parts.as_slice(), [header, payload, signature, ..]
        if is_object(header) && is_object(payload) && signature.len() >= 16)
}

fn has_known_prefix(run: &str) -> bool {
    let is_upper = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    if run.len() == 20 && (run.starts_with("AKIA") || run.starts_with("ASIA")) && run.bytes().all(is_upper) {
        return true;
    }
    begins_as_key(run, &PREFIXES)
}

fn begins_as_key(run: &str, prefixes: &[(&str, usize)]) -> bool {
    prefixes.iter().any(|(prefix, least)| {
        run.strip_prefix(prefix).is_some_and(|rest| {
            rest.len() >= *least
                && rest.bytes().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
        })
    })
}

/// `https://user:password@host`.
fn password_in_url(chunk: &str) -> Option<&str> {
    let (_, rest) = chunk.split_once("://")?;
    let (user, _) = rest.split('/').next()?.rsplit_once('@')?;
    let (_, password) = user.split_once(':')?;
    (!password.is_empty() && !is_placeholder(password)).then_some(password)
}

/// `password = …`, `token: …`, `password is …`: the value is the next word.
fn announced_secret(line: &str) -> Option<&str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    (0..words.len()).find_map(|at| {
        let name = words[at].trim_end_matches([':', '=']);
        let (is_announced, value) = match words.get(at + 1) {
            Some(&("=" | ":")) => (true, words.get(at + 2)?),
            Some(&("is" | "is:")) => {
                let value = words.get(at + 2)?;
                (has_password_name(name) && !is_method(bare(value)), value)
            }
            next => (words[at].ends_with([':', '=']), next?),
        };
        let value = bare(value);
        (is_announced && is_secret_of(name, value)).then_some(value)
    })
}

/// `password=…`, `token:…`. Names of settings and functions, such as `token: TokenId`, are not secrets.
fn given_secret(chunk: &str) -> Option<&str> {
    let (name, value) = chunk.split_once(['=', ':'])?;
    let is_path = value.starts_with(':');
    let value = bare(value);
    (!is_path && is_secret_of(name, value)).then_some(value)
}

fn bare(value: &str) -> &str {
    value.trim_matches(|char: char| matches!(char, '"' | '\'' | '`' | ',' | ';' | ')' | '.'))
}

/// Whether a value of that name is a secret.
fn is_secret_of(name: &str, value: &str) -> bool {
    let is_longer = |least: usize| value.len() >= least;
    let is_directory = name.to_ascii_lowercase().ends_with("pwd") && value.contains('/');
    let is_password = has_password_name(name) && is_longer(SHORTEST_PASSWORD) && !is_directory;
    let is_other = has_name_of(&NAMES, name) && is_longer(SHORTEST_SECRET);
    (is_password || is_other) && is_secret_value(value)
}

fn has_password_name(name: &str) -> bool {
    has_name_of(&PASSWORDS, name)
}

fn has_name_of(names: &[&str], name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.trim_matches(['"', '\'', '-', '`']);
    names.iter().any(|secret| name.ends_with(secret) || name.contains(&format!("{secret}_")))
}

/// A word of letters alone is more often a type or a variable than a password.
fn is_secret_value(value: &str) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    has_digit && !is_placeholder(value) && !value.contains('(')
}

fn is_method(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    METHODS.iter().any(|method| value.starts_with(method))
}

fn is_placeholder(value: &str) -> bool {
    value.starts_with(['$', '<', '{', '*', '%'])
        || value.contains("...")
        || value.contains('…')
        || value == "password"
}

/// Whether a run mixes letters and digits as only a random text does. Hexadecimal numbers are ids.
fn is_random(run: &str) -> bool {
    let is_hex = run.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    // Words joined by `-` and `_` are a name.
    let longest = run.split(['-', '_']).map(str::len).max().unwrap_or_default();
    let is_long = run.len() >= SHORTEST_RUN && longest >= 16;
    is_long
        && !is_hex
        && has_all_sorts(run)
        && word_share(run) < 0.4
        && entropy(run) >= MIN_ENTROPY
        && !is_encoded_text(run)
}

/// Whether it has digits, large letters and small letters.
fn has_all_sorts(run: &str) -> bool {
    let has = |is: fn(&u8) -> bool| run.as_bytes().iter().any(is);
    has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
}

/// Whether it is base64 of a text that can be printed. The bytes of a key can't be.
fn is_encoded_text(run: &str) -> bool {
    let mut bits = 0_u32;
    let mut held = 0;
    for byte in run.bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return false,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            let decoded = (bits >> held & 0xff) as u8;
            if !(decoded.is_ascii_graphic() || decoded.is_ascii_whitespace()) {
                return false;
            }
        }
    }
    true
}

/// How much of it is in small letters that follow each other, as in words.
fn word_share(run: &str) -> f64 {
    let words =
        run.split(|char: char| !char.is_ascii_lowercase()).map(str::len).filter(|length| *length >= 3);
    words.sum::<usize>() as f64 / run.len() as f64
}

/// Shannon's entropy in bits per character.
fn entropy(text: &str) -> f64 {
    let mut counts = [0u32; 256];
    text.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let length = text.len() as f64;
    let share = |count: u32| f64::from(count) / length;
    counts.into_iter().filter(|count| *count > 0).map(|count| -share(count) * share(count).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_with_their_place() {
        let cases = [
            ("one\ntwo AKIAIOSFODNN7EXAMPLE", "a key", 2, "AKIA…"),
            ("clone https://ann:hunter22@host/x", "a password in a URL", 1, "hunt…"),
            ("set API_KEY=abc12345def", "a password or token", 1, "abc1…"),
            ("-----BEGIN RSA PRIVATE KEY-----", "a private key", 1, "----…"),
            ("use ghp_16C7e42F292c6912E7710c838347Ae178B4a", "a key", 1, "ghp_…"),
            ("password: Hunter22x", "a password or token", 1, "Hunt…"),
            ("the password is hunter2secret", "a password or token", 1, "hunt…"),
            ("The admin password is: `Hunter22x`.", "a password or token", 1, "Hunt…"),
            ("pwd = hunter22", "a password or token", 1, "hunt…"),
            ("PWD=hunter2", "a password or token", 1, "hunt…"),
            ("passphrase: correct4horse", "a password or token", 1, "corr…"),
            ("the password = Hunter22x, as always", "a password or token", 1, "Hunt…"),
            ("AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", "a password or token", 1, "AKIA…"),
            ("id=AKIAIOSFODNN7EXAMPLE", "a key", 1, "AKIA…"),
            ("see https://host/?token=abc12345", "a password or token", 1, "abc1…"),
            ("DB_PASSWORD_PROD=abc12345", "a password or token", 1, "abc1…"),
            ("k wJalrXUtnFEMI7K7MDENGbPxRfiCYEXAMPLEKEY9", "what looks like a key", 1, "wJal…"),
            ("k wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "what looks like a key", 1, "wJal…"),
            ("it is `j9Kd+2Lm/0QpXz7Rt5Vb/Yc3Wn8Hs1Fg6Ju4TaEo`.", "what looks like a key", 1, "j9Kd…"),
            ("github_pat_11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ", "a key", 1, "gith…"),
            ("ghr_1B4a2e77838347a7E420ce178F2E7c6912E169246c34", "a key", 1, "ghr_…"),
            ("xoxb-263594206564-FGqddMF8t08v8N7Oq4i57vs1", "a key", 1, "xoxb…"),
            ("xapp-1-A0123456789-0123456789012-abcdef", "a key", 1, "xapp…"),
            (
                "//registry.npmjs.org/:_authToken=npm_aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uVwXyZ",
                "a key",
                1,
                "npm_…",
            ),
            ("npm_aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uVwXyZ", "a key", 1, "npm_…"),
            ("pypi-AgEIcHlwaS5vcmcCJDM0ZjY2YzQ5LTk2", "a key", 1, "pypi…"),
            ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", "a key", 1, "sk_l…"),
            ("rk_test_4eC39HqLyjWDarjtT1zdp7dc", "a key", 1, "rk_t…"),
            ("AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe", "a key", 1, "AIza…"),
            ("GOCSPX-aB1cD2eF3gH4iJ5kL6mN7oP8", "a key", 1, "GOCS…"),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N", "a key", 1, "eyJh…"),
            ("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", "a key", 1, "SG.n…"),
            ("https://hooks.slack.com/services/T0000/B0000/x", "the URL of a webhook", 1, "hook…"),
            ("DATABASE_URL=postgres://ann:s3cr3t@db:5432/x", "a password in a URL", 1, "s3cr…"),
            ("see \"redis://:hunter2@localhost:6379\"", "a password in a URL", 1, "hunt…"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----", "a private key", 1, "----…"),
            ("-----BEGIN PGP PRIVATE KEY BLOCK-----", "a private key", 1, "----…"),
        ];
        for (text, what, line, start) in cases {
            assert_eq!(
                find_secret(text),
                Some(FoundSecret { what, line, start: start.to_string() }),
                "{text}"
            );
        }
    }

    #[test]
    fn what_programs_are_made_of_is_not_a_secret() {
        let texts = [
            "since d2a5c6ee8b6b4e2f0c9a1d3e5f7a9b1c3d5e7f90 the lock is taken first",
            "token: TokenId is what `parse_token` returns",
            "https://user@host/path and https://user:$PASSWORD@host",
            "a_very_long_function_name_that_says_what_it_does_2 in WorktreeConflictReportBuilder",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
            "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "password=<yours> or password=…",
            "the password is read from the keyring, and a password is needed 3 times",
            "The password is sha256-hashed; a token is base64url-encoded",
            "password: String, and pwd: &str",
            "PWD=/home/ann/work2 and OLDPWD: ~/src/v2",
            "the passphrase is 20 characters long",
            "secret:12 and token:1",
            "Token::from_utf8 and secret::sha256_digest are functions",
            "ASIA_PACIFIC_REGION_CODES has 12 entries",
            "Base64UrlSafeNoPaddingEncoder and Sha256DigestOfWorkTreeContentV2",
            "a token: parse_token2(text) makes one",
            "eyJ is how a token begins",
            "src/domain/knowledge/secret_scan.rs#find_secret",
            "src/Domain/Knowledge2/Verdicts/OfAnchors",
            "node_modules/@types/node/v18/ts4.8/Http2ServerRequest/onStream",
            "c3JjL2RvbWFpbi9rbm93bGVkZ2UvYW5jaG9yLnJz is a path in base64",
            "UmVjb3JkS2luZDo6UmVsYXRpb25zaGlwUmVjb3Jk is a name in base64",
            "-----BEGIN CERTIFICATE----- and -----BEGIN PUBLIC KEY-----",
            "postgres://user@localhost/db, postgres://$USER:$PASSWORD@localhost/db",
            "hf_hub_download and SG.add(node) are functions; sk-learn is a library",
            "v1.2.3-rc.1+build.20261117T090000Z.g93e281b",
            "https://github.com/owner/name/blob/93e281b0491ee7ddd5006d2a5c6e6609ea5/src/sys/flock.rs#L12-L40",
        ];
        for text in texts {
            assert_eq!(find_secret(text), None, "{text}");
        }
    }
}
