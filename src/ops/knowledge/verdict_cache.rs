//! What is known of anchored files by their `stat`, so that most anchors are judged without reading a file, and of commits,
//! so that git need not be asked whether they are merged.
//!
//! One file per project in the user's cache directory. It is replaced whole; if it is missing or damaged, files are read
//! again. As in git, a file that was less than two seconds old when it was read is not trusted, because it may change
//! again within the same tick of the clock.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::knowledge::search::MergeState;
use crate::domain::knowledge::{Anchor, AnchorFinding, AnchorPath, AnchorTarget, TextHash};
use crate::domain::settings::Durability;
use crate::domain::sha256;
use crate::sys::clock;
use crate::sys::environment::Home;
use crate::sys::files::{self, FileStamp, Files};

const HEADER: &str = "ravenry verdicts 2";
const YOUNG: Duration = Duration::from_secs(2);
/// How long an answer holds at most that may change without a sign, in seconds.
const SHORT: i64 = 60;
/// The most lines, about 4 MiB. If there are more, only those that were used this time are kept.
const MAX_LINES: usize = 30_000;
/// The most projects. The cache of the one that was used least recently is removed.
const MAX_PROJECTS: usize = 64;

/// What a verdict rests on. It holds as long as that is the same.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum VerdictGround {
    /// The content of the anchor's own file.
    OwnFile,
    /// The content of another file, where the text is.
    OtherFile { path: AnchorPath, hash: TextHash },
    /// All files, none of which has the text. `state` is what git knows of them; they may be edited without git knowing
    /// it, so this holds for a minute at most.
    AllFiles { state: String },
    /// A file whose symbols could not be listed in time. There may be more time in a minute.
    NoOutline,
}

impl VerdictGround {
    fn is_short(&self) -> bool {
        matches!(self, Self::AllFiles { .. } | Self::NoOutline)
    }

    fn encode(&self) -> String {
        match self {
            Self::OwnFile => "own".to_string(),
            Self::OtherFile { path, hash } => format!("other {} {}", hash.as_str(), path.as_str()),
            Self::AllFiles { state } => format!("all {state}"),
            Self::NoOutline => "none".to_string(),
        }
    }

    fn decode(text: &str) -> Option<Self> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        Some(match word {
            "own" => Self::OwnFile,
            "other" => {
                let (hash, path) = rest.split_once(' ')?;
                Self::OtherFile { path: AnchorPath::new(path).ok()?, hash: TextHash::stored(hash) }
            }
            "all" => Self::AllFiles { state: rest.to_string() },
            "none" => Self::NoOutline,
            _ => return None,
        })
    }
}

#[derive(Debug)]
pub(super) struct VerdictCache {
    path: PathBuf,
    files: HashMap<String, Known<(FileStamp, TextHash)>>,
    /// By anchor and content.
    verdicts: HashMap<String, Known<KeptVerdict>>,
    /// The commits that this `HEAD` leads to, and those that it does not.
    head: String,
    merge_states: HashMap<String, MergeState>,
    is_changed: bool,
}

#[derive(Clone, Debug)]
struct KeptVerdict {
    word: String,
    /// Where it moved to, or empty.
    to: String,
    ground: VerdictGround,
    /// In seconds since 1970; 0 if it does not end.
    ends_at: i64,
}

#[derive(Debug)]
struct Known<T> {
    value: T,
    is_used: bool,
}

impl<T> Known<T> {
    fn unused(value: T) -> Self {
        Self { value, is_used: false }
    }

    fn used(value: T) -> Self {
        Self { value, is_used: true }
    }
}

impl VerdictCache {
    pub(super) fn load(home: &Home, root: &Path) -> Self {
        let name = &sha256(root.as_os_str().as_encoded_bytes())[..16];
        let path = home.cache.join("ravenry/verdicts").join(name);
        let mut cache = Self {
            path,
            files: HashMap::new(),
            verdicts: HashMap::new(),
            head: String::new(),
            merge_states: HashMap::new(),
            is_changed: false,
        };
        // A cache that can't be read is written anew.
        let bytes = files::read_note(&cache.path).ok().flatten().unwrap_or_default();
        if let Ok(text) = std::str::from_utf8(&bytes)
            && let Some((header, rows)) = text.split_once('\n')
            && header == head_of(rows)
        {
            for row in rows.lines() {
                // A row that another version wrote is left out.
                let _ = cache.take(row);
            }
        }
        cache
    }

    /// Removes the cache of a project.
    pub(super) fn remove(home: &Home, root: &Path) -> Result<(), files::FileError> {
        let name = &sha256(root.as_os_str().as_encoded_bytes())[..16];
        files::remove(&home.cache.join("ravenry/verdicts").join(name)).map(drop)
    }

    /// The hash of the content of a file that has not changed since.
    pub(super) fn hash(&mut self, path: &str, stamp: &FileStamp) -> Option<TextHash> {
        let known = self.files.get_mut(path).filter(|known| known.value.0 == *stamp)?;
        known.is_used = true;
        Some(known.value.1.clone())
    }

    /// Keeps what was read of a file that had this `stat` before it was read.
    pub(super) fn keep_hash(&mut self, path: &str, stamp: FileStamp, hash: TextHash) {
        if clock::age(stamp.newest()) >= YOUNG && !path.contains('\t') {
            self.is_changed = true;
            self.files.insert(path.to_string(), Known::used((stamp, hash)));
        }
    }

    /// The verdict on an anchor whose file has this content (`None` for a file that is not there), and what it rests on:
    /// the caller looks whether that is the same.
    pub(super) fn verdict(
        &mut self,
        anchor: &Anchor,
        content: Option<&TextHash>,
    ) -> Option<(AnchorFinding, VerdictGround)> {
        let known = self.verdicts.get_mut(&key(anchor, content))?;
        let ends_at = known.value.ends_at;
        if ends_at != 0 && !(0..=SHORT).contains(&(ends_at - clock::now().as_second())) {
            return None;
        }
        known.is_used = true;
        Some((read_verdict(anchor, &known.value)?, known.value.ground.clone()))
    }

    pub(super) fn keep_verdict(
        &mut self,
        anchor: &Anchor,
        content: Option<&TextHash>,
        verdict: &AnchorFinding,
        ground: VerdictGround,
    ) {
        let key = key(anchor, content);
        let to = match verdict {
            AnchorFinding::Moved { to } => to.to_string(),
            _ => String::new(),
        };
        if [&key, &to, &ground.encode()].iter().any(|text| text.contains(['\t', '\n'])) {
            return;
        }
        let ends_at = if ground.is_short() { clock::now().as_second() + SHORT } else { 0 };
        self.is_changed = true;
        let kept = KeptVerdict { word: verdict.word().to_string(), to, ground, ends_at };
        self.verdicts.insert(key, Known::used(kept));
    }

    /// Whether `head` leads to a commit.
    pub(super) fn merge_state(&self, head: &str, commit: &str) -> Option<MergeState> {
        self.merge_states.get(commit).copied().filter(|_| self.head == head)
    }

    /// Keeps which commits `head` leads to.
    pub(super) fn keep_merge_states(
        &mut self,
        head: &str,
        states: impl IntoIterator<Item = (String, MergeState)>,
    ) {
        if self.head != head {
            self.head = head.to_string();
            self.merge_states.clear();
            self.is_changed = true;
        }
        let before = self.merge_states.len();
        self.merge_states.extend(states);
        self.is_changed |= self.merge_states.len() != before;
    }

    /// Writes what was learned, if anything. A cache that can't be written is left as it is.
    pub(super) fn save(&mut self) {
        if std::mem::take(&mut self.is_changed) {
            drop(self.write());
        }
    }

    fn write(&self) -> Result<(), files::FileError> {
        let Some(dir) = self.path.parent() else { return Ok(()) };
        files::create_dir(dir)?;
        let files = Files::new(dir.join("tmp"), Durability::Process);
        let is_new = !files::exists(&self.path)?;
        let rows = self.rows();
        files.replace(&self.path, format!("{}\n{rows}", head_of(&rows)).as_bytes())?;
        if is_new {
            files.sweep()?;
            evict(dir)?;
        }
        Ok(())
    }

    fn rows(&self) -> String {
        let is_kept_whole = self.files.len() + self.verdicts.len() <= MAX_LINES;
        let now = clock::now().as_second();
        let mut rows: Vec<String> = Vec::with_capacity(self.files.len() + self.verdicts.len());
        for (path, known) in &self.files {
            if is_kept_whole || known.is_used {
                let (FileStamp { inode, size, modified, changed }, hash) = (known.value.0, &known.value.1);
                rows.push(format!("F\t{path}\t{inode}\t{size}\t{modified}\t{changed}\t{}\n", hash.as_str()));
            }
        }
        for (key, known) in &self.verdicts {
            let KeptVerdict { word, to, ground, ends_at } = &known.value;
            if (is_kept_whole || known.is_used) && (*ends_at == 0 || *ends_at > now) {
                rows.push(format!("V\t{key}\t{word}\t{to}\t{}\t{ends_at}\n", ground.encode()));
            }
        }
        rows.push(format!("H\t{}\n", self.head));
        rows.extend(self.merge_states.iter().map(|(commit, state)| match state {
            MergeState::Merged => format!("C\t{commit}\tmerged\n"),
            MergeState::Unmerged => format!("C\t{commit}\tunmerged\n"),
        }));
        rows.truncate(MAX_LINES);
        rows.concat()
    }

    fn take(&mut self, row: &str) -> Option<()> {
        let fields: Vec<&str> = row.split('\t').collect();
        match fields[..] {
            ["F", path, inode, size, modified, changed, hash] => {
                let stamp = FileStamp {
                    inode: inode.parse().ok()?,
                    size: size.parse().ok()?,
                    modified: modified.parse().ok()?,
                    changed: changed.parse().ok()?,
                };
                self.files.insert(path.to_string(), Known::unused((stamp, TextHash::stored(hash))));
            }
            ["V", key, word, to, ground, ends_at] => {
                let kept = KeptVerdict {
                    word: word.to_string(),
                    to: to.to_string(),
                    ground: VerdictGround::decode(ground)?,
                    ends_at: ends_at.parse().ok()?,
                };
                self.verdicts.insert(key.to_string(), Known::unused(kept));
            }
            ["H", head] => self.head = head.to_string(),
            ["C", commit, "merged"] => {
                self.merge_states.insert(commit.to_string(), MergeState::Merged);
            }
            ["C", commit, "unmerged"] => {
                self.merge_states.insert(commit.to_string(), MergeState::Unmerged);
            }
            _ => {}
        }
        Some(())
    }
}

fn head_of(rows: &str) -> String {
    format!("{HEADER} {:08x}", crc32fast::hash(rows.as_bytes()))
}

fn key(anchor: &Anchor, content: Option<&TextHash>) -> String {
    let span = match &anchor.target {
        AnchorTarget::Symbol { hash, .. } | AnchorTarget::Lines { hash, .. } => hash.as_ref(),
        _ => None,
    };
    let text = |hash: Option<&TextHash>| hash.map_or("-".to_string(), |hash| hash.as_str().to_string());
    format!("{} {} {} {}", anchor.target, text(span), text(anchor.file.as_ref()), text(content))
}

fn read_verdict(anchor: &Anchor, kept: &KeptVerdict) -> Option<AnchorFinding> {
    Some(match kept.word.as_str() {
        "fresh" => AnchorFinding::Fresh,
        "drifted" => AnchorFinding::Drifted,
        "stale" => AnchorFinding::Stale,
        "gone" => AnchorFinding::Gone,
        "moved" => {
            AnchorFinding::Moved { to: with_text(AnchorTarget::parse(&kept.to).ok()?, &anchor.target) }
        }
        _ => return None,
    })
}

/// The text of what moved is the same as before.
fn with_text(mut to: AnchorTarget, from: &AnchorTarget) -> AnchorTarget {
    match (&mut to, from) {
        (AnchorTarget::Symbol { hash, .. }, AnchorTarget::Symbol { hash: seen, .. }) => hash.clone_from(seen),
        (AnchorTarget::Lines { text, hash, .. }, AnchorTarget::Lines { text: seen_text, hash: seen, .. }) => {
            text.clone_from(seen_text);
            hash.clone_from(seen);
        }
        _ => {}
    }
    to
}

/// Removes the caches of the projects that were used least recently.
fn evict(dir: &Path) -> Result<(), files::FileError> {
    let mut projects = Vec::new();
    for path in files::list(dir)?.into_iter().map(|name| dir.join(name)) {
        if let Some(metadata) = files::link_metadata(&path)?.filter(|metadata| metadata.is_file()) {
            projects.push((metadata.modified().ok(), path));
        }
    }
    projects.sort_unstable();
    let surplus = projects.len().saturating_sub(MAX_PROJECTS);
    for (_, path) in projects.into_iter().take(surplus) {
        files::remove(&path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_merged_is_kept_for_one_head() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let home = Home { config: at("config"), state: at("state"), cache: at("cache"), home: at("home") };
        let states = [("a".to_string(), MergeState::Merged), ("b".to_string(), MergeState::Unmerged)];
        let mut cache = VerdictCache::load(&home, dir.path());
        cache.keep_merge_states("one", states);
        cache.save();
        let mut cache = VerdictCache::load(&home, dir.path());
        assert_eq!(cache.merge_state("one", "a"), Some(MergeState::Merged));
        assert_eq!(cache.merge_state("one", "b"), Some(MergeState::Unmerged));
        assert_eq!(cache.merge_state("one", "c"), None);
        assert_eq!(cache.merge_state("two", "a"), None, "another branch may have it or not");
        cache.keep_merge_states("two", [("b".to_string(), MergeState::Merged)]);
        cache.save();
        let cache = VerdictCache::load(&home, dir.path());
        assert_eq!(cache.merge_state("two", "b"), Some(MergeState::Merged));
        assert_eq!(cache.merge_state("one", "b"), None);
    }
}
