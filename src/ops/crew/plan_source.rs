//! What is to be planned: a file, standard input, or words.

use std::path::Path;

use crate::domain::PeerText;
use crate::domain::crews::MOST_SOURCE;
use crate::ops::context::Context;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::person_required;
use crate::sys::files;

/// Endings of names of text files. A word with one of them is a file, whether it exists or not.
const ENDINGS: [&str; 4] = [".md", ".markdown", ".txt", ".mdx"];
/// The largest file that is read, in bytes. Much less can be planned.
const MOST_BYTES: u64 = 1024 * 1024;
/// How long the name of a plan may become, in characters, if it is made of words.
const MOST_STEM: usize = 40;
/// The name of a plan for which there is no better one.
const ANY_STEM: &str = "crew";

/// What is to be planned.
#[derive(Clone, Debug)]
pub struct PlanSource {
    pub text: String,
    /// What the plan is named after.
    pub(super) stem: String,
    /// As it was typed.
    pub(super) typed: String,
}

/// Reads what was typed: `piped` is the text if that is `-`.
pub fn read_source(ctx: &Context, typed: &str, piped: Option<String>) -> Result<PlanSource, CommandError> {
    let (text, stem) = match piped {
        Some(text) => (text.clone(), slug(first_line(&text))),
        None => named(ctx, typed)?,
    };
    if text.trim().is_empty() {
        let error =
            CommandError::new(CommandErrorKind::Empty, "there is nothing to plan: the source is empty");
        return Err(error.hint("name a Markdown file, or say in words what is to be done"));
    }
    let size = PeerText::new(text.as_str()).lines().len();
    if size > MOST_SOURCE {
        let text =
            format!("what is to be planned has {size} bytes, quoted line by line; {MOST_SOURCE} is the most");
        let hint = "say in words what is to be done, and name the file: a planner can read it";
        return Err(CommandError::new(CommandErrorKind::TooLarge, text).hint(hint));
    }
    Ok(PlanSource { text, stem, typed: typed.to_string() })
}

/// The text of a file, or the words themselves, and what the plan is named after.
fn named(ctx: &Context, typed: &str) -> Result<(String, String), CommandError> {
    let invalid = |text: String| {
        CommandError::new(CommandErrorKind::InvalidValue, text)
            .hint("name a Markdown file, or say in words what is to be done")
    };
    let path = ctx.cwd.join(ctx.home.expand(typed));
    if !typed.trim().is_empty() && path.is_dir() {
        return Err(invalid(format!("`{}` is a directory", path.display())));
    }
    if path.is_file() {
        person_required::check_plan_file(ctx, &path)?;
        let unreadable = |why: String| invalid(format!("`{}` can't be read as text: {why}", path.display()));
        let size = files::metadata(&path)?.map_or(0, |there| there.len());
        if size > MOST_BYTES {
            let text = format!("`{}` has {size} bytes; {MOST_BYTES} is the most", path.display());
            return Err(CommandError::new(CommandErrorKind::TooLarge, text));
        }
        let content = files::read_large(&path).map_err(|error| unreadable(error.to_string()))?;
        let text =
            String::from_utf8(content.unwrap_or_default()).map_err(|error| unreadable(error.to_string()))?;
        return Ok((text, stem_of(&path)));
    }
    if is_like_path(typed) {
        return Err(invalid(format!("no such file: `{}`", path.display())));
    }
    Ok((typed.to_string(), slug(first_line(typed))))
}

/// Whether one word looks like the path of a file. Several words are words.
fn is_like_path(typed: &str) -> bool {
    let has_ending = ENDINGS.iter().any(|ending| typed.to_ascii_lowercase().ends_with(ending));
    !typed.contains(char::is_whitespace) && (typed.contains('/') || typed.starts_with('~') || has_ending)
}

fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

/// The name of a file without what says its kind: a plan of `login.plan.md` is named as that of `login.md`.
fn stem_of(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.strip_suffix(".plan.md").map(str::to_string);
    let stem = stem.or_else(|| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    stem.filter(|stem| !stem.is_empty() && !stem.chars().any(char::is_control)).unwrap_or_else(|| slug(&name))
}

/// Words as the name of a file: `Add a login form!` is `add-a-login-form`.
fn slug(words: &str) -> String {
    let lower = words.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = String::new();
    for word in words {
        let joint = usize::from(!slug.is_empty());
        let length = slug.chars().count() + joint + word.chars().count();
        if length > MOST_STEM && !slug.is_empty() {
            break;
        }
        slug.push_str(if joint == 1 { "-" } else { "" });
        slug.extend(word.chars().take(MOST_STEM));
    }
    if slug.is_empty() { ANY_STEM.to_string() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_named_after_what_it_is_for() {
        assert_eq!(slug("Add a login form!"), "add-a-login-form");
        assert_eq!(slug("## Ünter … 漢字"), "ünter-漢字");
        assert_eq!(slug("?! \u{1b}"), "crew");
        assert_eq!(slug(&"word ".repeat(20)), "word-word-word-word-word-word-word-word");
        assert_eq!(slug(&"x".repeat(100)).len(), MOST_STEM);
        for (path, stem) in [
            ("docs/login.md", "login"),
            ("login.plan.md", "login"),
            ("issue", "issue"),
            (".plan.md", "plan-md"),
        ] {
            assert_eq!(stem_of(Path::new(path)), stem, "{path}");
        }
    }

    #[test]
    fn one_word_with_a_slash_or_an_ending_is_a_file() {
        for path in ["docs/login", "login.md", "~/x", "./a", "A.TXT"] {
            assert!(is_like_path(path), "{path}");
        }
        for words in ["refactor", "fix src/a.rs", "Update README.md", "v1.2"] {
            assert!(!is_like_path(words), "{words}");
        }
    }
}
