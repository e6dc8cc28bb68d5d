//! The text of `msg look --guide` as a skill of a harness: `msg install HARNESS --guide`.

use crate::domain::Harness;
use crate::harness;
use crate::harness::install::{InstallContext, InstallScope, InstallTarget, InstalledPart};
use crate::store::InstallRecords;
use crate::sys::files;

use crate::ops::screens::guide::GUIDE;
use crate::ops::setup::install::InstallDestination;

/// The name of the skill, and of its folder.
const NAME: &str = "ravenry-watching";
/// By this a model decides whether to read the skill. In YAML, a colon with a blank after it would end it.
const DESCRIPTION: &str = "How to watch another agent with `msg wait`, `msg look` and `msg tell`. Use it before you wait for another agent or for a worker, and when one is stuck or asks something.";

/// Whether the skill is among the files of a harness.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum GuideWish {
    /// It is.
    Wanted,
    /// Only where it is installed and nobody has changed it: then it is kept up to date.
    WhereItIs,
}

/// The file of the skill, for the user. There is none for a project, and none for tmux.
pub(super) fn target(
    place: &InstallContext<'_>,
    recipient: InstallDestination,
    wish: GuideWish,
    installs: &InstallRecords,
) -> Option<InstallTarget> {
    let (InstallDestination::Harness(harness), InstallScope::User) = (recipient, &place.scope) else {
        return None;
    };
    let path = harness::support(harness)?.skills_dir(place.home).join(NAME).join("SKILL.md");
    if wish == GuideWish::WhereItIs {
        let is_file = files::metadata(&path).ok()??.is_file();
        let bytes = if is_file { files::read_large(&path).ok()?? } else { return None };
        installs.get(&path).ok()?.filter(|record| record.is_untouched(&bytes))?;
    }
    Some(InstallTarget::new(path, InstalledPart::Own(skill(harness))))
}

/// The skill. Its second line says whose it is: the first one is that of every skill.
fn skill(harness: Harness) -> String {
    let mark =
        format!("# Put here by `msg install {harness} --guide`, taken away by `msg uninstall {harness}`.");
    format!("---\n{mark}\nname: {NAME}\ndescription: {DESCRIPTION}\n---\n\n{GUIDE}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_matter_is_valid_everywhere() {
        for harness in harness::supported() {
            let skill = skill(harness);
            let (front, body) = skill.strip_prefix("---\n").unwrap().split_once("\n---\n\n").unwrap();
            assert_eq!(body, GUIDE);
            let lines: Vec<&str> = front.lines().collect();
            assert!(lines[0].starts_with("# ") && lines[0].contains(&format!(" {harness} ")));
            // Plain values of YAML, without what would need quotes.
            let pairs = lines[1..].iter().map(|line| line.split_once(": ").unwrap());
            let names: Vec<&str> = pairs.clone().map(|(name, _)| name).collect();
            assert_eq!(names, ["name", "description"]);
            assert!(pairs.clone().all(|(_, value)| !value.contains(": ") && !value.contains(" #")));
            assert!(pairs.clone().all(|(_, value)| value.starts_with(|c: char| c.is_ascii_alphanumeric())));
        }
        // What the strictest of them takes.
        assert!(NAME.len() <= 64 && NAME.bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase()));
        assert!(DESCRIPTION.len() <= 1024);
    }
}
