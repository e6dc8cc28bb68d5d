//! The policy of the page: nothing is loaded, and nothing but its own style and script, known by their hashes, is applied.

use sha2::{Digest, Sha256};

/// The value of the meta tag `Content-Security-Policy`.
pub(super) fn content_policy(style: &str, script: &str) -> String {
    let [style, script] = [style, script].map(|part| base64(&Sha256::digest(part)));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'"
    )
}

/// As in RFC 4648, with padding. A browser that finds a wrong hash does not apply the style: `.ci/export` would see that.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() { letter.into() } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{base64, content_policy};

    #[test]
    fn as_in_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        let policy = content_policy("", "x");
        assert!(
            policy.contains(
                "style-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQ\
                eRkm5NMpJWZG3hSuFU='"
            ),
            "{policy}"
        );
    }
}
