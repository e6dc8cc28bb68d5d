//! How Claude Code names its channels, and how its command line shows that its user accepts ours.
//!
//! Claude Code does not say whether it listens. Its user decides that by naming our server on the command line.

use crate::harness::wake::ChannelSupport;

/// The option by which its user admits a server that is not on the allowlist, and the value that names ours.
const OPTION: &str = "--dangerously-load-development-channels";
const OURS: &str = "server:ravenry";

pub(super) const CHANNEL: ChannelSupport = ChannelSupport {
    client: "claude-code",
    capability: "claude/channel",
    method: "notifications/claude/channel",
    is_admitted: names_us,
};

/// The option takes all values that follow it, up to the next option.
fn names_us(args: &[String]) -> bool {
    let with_value = format!("{OPTION}={OURS}");
    let mut options = args.split(|arg| arg.starts_with('-') && arg != OPTION);
    let is_ours = |values: &[String]| {
        values
            .iter()
            .position(|arg| arg == OPTION)
            .is_some_and(|at| values[at..].iter().any(|arg| arg == OURS))
    };
    args.contains(&with_value) || options.any(is_ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_names_us_wants_to_hear_us() {
        let names = |line: &str| names_us(&line.split(' ').map(str::to_string).collect::<Vec<_>>());
        assert!(names("claude --dangerously-load-development-channels server:ravenry"));
        assert!(names(
            "claude --resume x --dangerously-load-development-channels server:other server:ravenry --model y"
        ));
        assert!(names("claude --dangerously-load-development-channels=server:ravenry"));
        assert!(!names("claude"));
        assert!(!names("claude server:ravenry"));
        assert!(!names("claude --channels server:ravenry"), "Claude Code takes no server there");
        assert!(!names("claude --dangerously-load-development-channels server:other --model server:ravenry"));
    }
}
