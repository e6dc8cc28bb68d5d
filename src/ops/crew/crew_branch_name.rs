//! The name of a crew's branch.

use std::path::Path;

/// The longest end of a branch's name, in characters.
const LONGEST: usize = 60;

/// The end of the branch's name: that of the spec, in letters that every branch may have.
pub(super) fn branch_stem(spec: &Path) -> String {
    let name = spec.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = name.strip_suffix(".plan").map(str::to_string).unwrap_or(name);
    let plain = |letter: char| if letter.is_alphanumeric() || letter == '_' { letter } else { '-' };
    let stem: String = name.chars().map(plain).take(LONGEST).collect();
    let stem = stem.trim_matches('-');
    if stem.is_empty() { "plan".to_string() } else { stem.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_named_after_its_spec() {
        for (spec, stem) in [
            ("PLAN.md", "PLAN"),
            ("/a b/my plan.md", "my-plan"),
            ("shop.plan.md", "shop"),
            ("größer.md", "größer"),
            ("..md", "plan"),
            ("a..b~1.md", "a--b-1"),
        ] {
            assert_eq!(branch_stem(Path::new(spec)), stem, "{spec}");
        }
    }
}
