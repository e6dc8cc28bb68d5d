//! Finds the version in what a program prints about itself.

/// The longest version that is believed.
const MAX_VERSION: usize = 64;

/// The first word that looks like a version: digits, a dot, digits, and what follows directly. A leading `v` is left
/// out.
pub fn version_in(text: &str) -> Option<String> {
    text.split(|c: char| !is_part(c)).find_map(|word| {
        let word = word.trim_start_matches('v').trim_matches(['.', '-', '+', '_']);
        let (major, rest) = word.split_once('.')?;
        let is_number = !major.is_empty() && major.bytes().all(|byte| byte.is_ascii_digit());
        let is_version = is_number && rest.starts_with(|c: char| c.is_ascii_digit());
        (is_version && word.len() <= MAX_VERSION).then(|| word.to_string())
    })
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_')
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn as_programs_print_them() {
        for (text, version) in [
            ("2.1.4 (Client)", Some("2.1.4")),
            ("client-cli 0.63.0", Some("0.63.0")),
            ("v1.0.152\n", Some("1.0.152")),
            ("1.2.3-beta.4+build.5", Some("1.2.3-beta.4+build.5")),
            ("version: \"0.9\".", Some("0.9")),
            ("a warning\nhttp://x/y\n0.0.353", Some("0.0.353")),
            ("no version", None),
            ("2026", None),
            ("", None),
        ] {
            assert_eq!(version_in(text).as_deref(), version, "{text}");
        }
        assert_eq!(version_in(&format!("1.{}", "2".repeat(100))), None);
    }
}
