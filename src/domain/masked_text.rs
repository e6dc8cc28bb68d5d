//! Texts for somebody else's eyes: lines with keys, tokens or passwords are replaced by what they had.

use super::knowledge::find_secret;

/// How a block with a private key ends.
const END_OF_KEY: &str = "-----END";

/// A text without its secrets.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MaskedText {
    pub text: String,
    /// How many lines were replaced.
    pub masked: usize,
}

/// Replaces each line that has a secret. Of a private key the whole block is replaced, also one that has no end.
pub fn mask_secrets(text: &str) -> MaskedText {
    let mut masked = 0;
    let mut is_in_key = false;
    if find_secret(text).is_none() {
        return MaskedText { text: text.to_string(), masked };
    }
    let mut lines: Vec<String> = Vec::new();
    for line in text.split('\n') {
        if is_in_key {
            is_in_key = !line.contains(END_OF_KEY);
            continue;
        }
        let Some(found) = find_secret(line) else {
            lines.push(line.to_string());
            continue;
        };
        is_in_key = found.what == "a private key" && !line.contains(END_OF_KEY);
        masked += 1;
        lines.push(format!("[left out: a line with {}]", found.what));
    }
    MaskedText { text: lines.join("\n"), masked }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_secrets_are_replaced_and_the_others_stay() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----";
        let text = format!("use\nAPI_KEY=abc12345def\n{key}\n\nand go on\n");
        let masked = mask_secrets(&text);
        let expected = "use\n[left out: a line with a password or token]\n[left out: a line with a private key]\n\nand go on\n";
        assert_eq!(masked, MaskedText { text: expected.to_string(), masked: 2 });
        let endless = mask_secrets("-----BEGIN PRIVATE KEY-----\nMIIEow\nabc");
        assert_eq!(endless.text, "[left out: a line with a private key]");
        for plain in ["", "a\r\nb\n", "a token: parse_token2(text) makes one"] {
            assert_eq!(mask_secrets(plain), MaskedText { text: plain.to_string(), masked: 0 });
        }
    }
}
