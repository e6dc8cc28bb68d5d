//! What tmux calls a pane.

/// What tmux calls a pane, such as `%7`. No other pane gets it while the server lives.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct PaneId(String);

/// The text is not the id of a pane.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{0}` is not the id of a tmux pane")]
pub struct NotAPaneId(String);

impl PaneId {
    pub fn new(text: &str) -> Result<Self, NotAPaneId> {
        let is_id = text.strip_prefix('%').is_some_and(|number| {
            !number.is_empty() && number.len() <= 10 && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        if is_id { Ok(Self(text.to_string())) } else { Err(NotAPaneId(text.to_string())) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for PaneId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pane_id_is_a_percent_sign_and_a_number() {
        assert_eq!(PaneId::new("%17").unwrap().as_str(), "%17");
        for other in ["", "%", "17", "%1a", "%1 ", "@1", "%-1", "%11111111111"] {
            assert!(PaneId::new(other).is_err(), "{other}");
        }
    }
}
