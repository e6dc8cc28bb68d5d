//! What a commit says about where prompts lead: its text stands for the prompt, its files for what came of it.

use super::topics::{self, NoiseWords, Topic};
use super::work_event::is_incidental;

/// A commit of more files than this says nothing about any of them.
const MOST_FILES: usize = 40;
/// How many lines of a commit's text count as its prompt, besides the first.
const BODY_LINES: usize = 3;

/// A commit that counts as an event.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PastWork {
    pub topics: Vec<Topic>,
    pub files: Vec<Vec<u8>>,
}

impl PastWork {
    /// `author` is a name with an email address. `None`: it was made by a program, it has too many files, or none that
    /// says anything.
    pub fn of_commit(author: &str, message: &str, files: &[Vec<u8>], noise: &NoiseWords) -> Option<Self> {
        if is_by_program(author) || files.len() > MOST_FILES {
            return None;
        }
        let is_telling = |file: &&Vec<u8>| !is_incidental(&String::from_utf8_lossy(file));
        let files: Vec<Vec<u8>> = files.iter().filter(is_telling).cloned().collect();
        let topics = || topics::rank(topics::mentions(&prompt_of(message), noise), |_| 0);
        (!files.is_empty()).then(|| Self { topics: topics(), files })
    }
}

/// The part of a commit's text that stands for the prompt: its first line and up to three more.
fn prompt_of(message: &str) -> String {
    let lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.take(1 + BODY_LINES).collect::<Vec<_>>().join("\n")
}

fn is_by_program(author: &str) -> bool {
    let author = author.to_ascii_lowercase();
    ["[bot]", "bot@", "-bot <", "bot <", "github-actions", "renovate", "dependabot"]
        .into_iter()
        .any(|mark| author.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_that_count() {
        let of = |author: &str, files: &[&str]| {
            let files: Vec<Vec<u8>> = files.iter().map(|file| file.as_bytes().to_vec()).collect();
            PastWork::of_commit(author, "keep the login alive", &files, &NoiseWords::default())
        };
        let work = of("Jo <j@x>", &["src/login.rs", "Cargo.lock"]).unwrap();
        assert_eq!((work.topics.len(), work.files), (2, vec![b"src/login.rs".to_vec()]));
        assert_eq!(of("Jo <j@x>", &["Cargo.lock"]), None);
        assert_eq!(of("Jo <j@x>", &["a"; MOST_FILES + 1]), None);
        assert_eq!(of("dependabot[bot] <x@y>", &["a"]), None);
    }

    #[test]
    fn who_is_no_person() {
        for author in ["dependabot[bot] <x@y>", "Renovate Bot <bot@renovate.com>", "CI <github-actions@x>"] {
            assert!(is_by_program(author), "{author}");
        }
        for author in ["Robotha Abbott <abbott@x>", "Bo Tham <b@x>"] {
            assert!(!is_by_program(author), "{author}");
        }
    }

    #[test]
    fn the_first_lines_of_a_commit_stand_for_its_prompt() {
        assert_eq!(prompt_of("subject\n\none\n\ntwo\nthree\nfour"), "subject\none\ntwo\nthree");
        assert_eq!(prompt_of(""), "");
    }
}
