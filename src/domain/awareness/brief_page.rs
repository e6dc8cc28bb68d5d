//! The text of a brief: at most 300 words in which every file is named, or everything.
//!
//! Files come first when words are few. If they don't fit one by one, they are grouped by directory. What still doesn't
//! fit is counted, and the last line says how to see it.

use super::brief::{
    Brief, BriefCommit, BriefState, ChangeMaker, CommitEvidence, Departure, OpenQuestion, UncommittedChange,
};
use super::path_list::{PathGroup, by_directory, one_by_one, quote_path};
use crate::domain::{format_duration, quote_code, quote_name, quote_sentence};

/// The most words of a brief that is not full.
pub const MAX_BRIEF_WORDS: usize = 300;
/// The most characters of such a brief: a word may be a long list of names.
const MAX_CHARS: usize = 4000;
/// Files are named one by one if that takes no more words than this; otherwise nothing else would be left.
const MOST_WORDS_FOR_PATHS: usize = 150;
/// The most words of a sentence of a peer in a brief that is not full.
const MOST_WORDS_QUOTED: usize = 16;

/// The most topics in a brief that is not full.
const MOST_TOPICS: usize = 8;

/// How much of a brief to show.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BriefDetail {
    /// At most [`MAX_BRIEF_WORDS`] words.
    Short,
    Full,
}

/// The number of words, as anything between blanks.
pub fn word_count(text: &str) -> usize {
    text.split_whitespace().count()
}

/// The brief as lines. `shorten` writes a directory as it is shown to people.
pub fn brief_lines(brief: &Brief, detail: BriefDetail, shorten: &dyn Fn(&str) -> String) -> Vec<String> {
    let head = head(brief, shorten);
    let page = |paths| Page { head: head.clone(), sections: sections(brief, detail, paths, shorten) };
    if detail == BriefDetail::Full {
        return page(PathStyle::OneByOne).whole();
    }
    let closing = format!("For the rest: msg brief {} --full", brief.name);
    let plain = page(PathStyle::OneByOne);
    let words =
        plain.sections.iter().filter(|section| section.names_files).map(Section::words).sum::<usize>();
    if plain.fits() {
        return plain.whole();
    }
    if words <= MOST_WORDS_FOR_PATHS
        && let cut = plain.cut(&closing)
        && !cut.lacks_files
    {
        return cut.lines;
    }
    let grouped = page(PathStyle::ByDirectory);
    if grouped.fits() { grouped.whole() } else { grouped.cut(&closing).lines }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum PathStyle {
    OneByOne,
    ByDirectory,
}

/// The lines that are always there, and the lists below them.
struct Page {
    head: Vec<String>,
    sections: Vec<Section>,
}

/// A list with a label. The first section is the first to get its words.
struct Section {
    label: String,
    items: Vec<PathGroup>,
    layout: Layout,
    names_files: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Layout {
    /// Behind the label, separated by commas.
    Inline,
    /// One item per line.
    Lines,
}

/// A page with as much as fits.
struct CutPage {
    lines: Vec<String>,
    lacks_files: bool,
}

/// Words and characters.
#[derive(Clone, Copy, Default)]
struct Size {
    words: usize,
    chars: usize,
}

impl Size {
    fn of(text: &str) -> Self {
        // A separator or a line end belongs to each text.
        Self { words: word_count(text), chars: text.chars().count() + 2 }
    }

    fn and(self, other: Self) -> Self {
        Self { words: self.words + other.words, chars: self.chars + other.chars }
    }

    fn fits(self) -> bool {
        self.words <= MAX_BRIEF_WORDS && self.chars <= MAX_CHARS
    }
}

impl Page {
    fn fits(&self) -> bool {
        self.size().fits()
    }

    fn size(&self) -> Size {
        self.lines(&self.all()).iter().map(|line| Size::of(line)).fold(Size::default(), Size::and)
    }

    fn all(&self) -> Vec<usize> {
        self.sections.iter().map(|section| section.items.len()).collect()
    }

    fn whole(&self) -> Vec<String> {
        self.lines(&self.all())
    }

    /// Gives each section in turn as many items as fit, and counts the rest.
    fn cut(&self, closing: &str) -> CutPage {
        let fixed = self.head.iter().map(String::as_str).chain([closing]).map(Size::of);
        // Each section is announced, even if nothing of it fits.
        let announced =
            self.sections.iter().map(|section| Size::of(&format!("{}: and 10000 more", section.label)));
        let mut used = fixed.chain(announced).fold(Size::default(), Size::and);
        let mut taken = Vec::new();
        for section in &self.sections {
            let mut count = 0;
            for item in &section.items {
                // `- ` before an item on its own line is a word.
                let with_it =
                    used.and(Size::of(&item.text)).and(Size { words: section.layout.marks(), chars: 2 });
                if !with_it.fits() {
                    break;
                }
                (used, count) = (with_it, count + 1);
            }
            taken.push(count);
        }
        let lacks =
            |(section, taken): (&Section, &usize)| section.names_files && *taken < section.items.len();
        let lacks_files = self.sections.iter().zip(&taken).any(lacks);
        let mut lines = self.lines(&taken);
        lines.push(closing.to_string());
        CutPage { lines, lacks_files }
    }

    fn lines(&self, taken: &[usize]) -> Vec<String> {
        let lists = self.sections.iter().zip(taken).flat_map(|(section, taken)| section.lines(*taken));
        self.head.iter().cloned().chain(lists).collect()
    }
}

impl Layout {
    fn marks(self) -> usize {
        usize::from(self == Self::Lines)
    }
}

impl Section {
    fn words(&self) -> usize {
        self.items.iter().map(|item| word_count(&item.text)).sum()
    }

    fn lines(&self, taken: usize) -> Vec<String> {
        let shown: Vec<&str> = self.items[..taken].iter().map(|item| item.text.as_str()).collect();
        let rest: usize = self.items[taken..].iter().map(|item| item.count).sum();
        let more = if shown.is_empty() { format!("{rest} not shown") } else { format!("and {rest} more") };
        match self.layout {
            Layout::Inline => {
                let list = shown.join(", ");
                let blank = if shown.is_empty() { "" } else { " " };
                let more = if rest == 0 { String::new() } else { format!("{blank}{more}") };
                vec![format!("{}: {list}{more}", self.label)]
            }
            Layout::Lines => {
                let label = format!("{}:", self.label);
                let list = shown.into_iter().map(|item| format!("- {item}"));
                let more = (rest > 0).then(|| format!("- {more}"));
                [label].into_iter().chain(list).chain(more).collect()
            }
        }
    }
}

fn head(brief: &Brief, shorten: &dyn Fn(&str) -> String) -> Vec<String> {
    let ago = |at| format_duration(brief.written_at.duration_since(at));
    let state = match brief.state {
        BriefState::Here(presence) => presence.name().to_string(),
        BriefState::Gone { how, at } => {
            let how = match how {
                Departure::Left => "left",
                Departure::Evicted => "was evicted",
                Departure::Ended => "its process ended",
                Departure::LastSign => "its process ended, last sign of life",
            };
            format!("gone ({how} {} ago)", ago(at))
        }
    };
    let harness = match brief.harness {
        Some(harness) => format!(" ({harness})"),
        None => String::new(),
    };
    let first = format!("Brief of {}{harness}: {state}, joined {} ago", brief.name, ago(brief.joined_at));
    let mut place = format!("Project: {}", quote_path(&shorten(brief.root.as_ref().unwrap_or(&brief.cwd))));
    if let Some(main) = &brief.main_root {
        place.push_str(&format!(", a worktree of {}", quote_path(&shorten(main))));
    }
    if brief.root.as_ref().is_some_and(|root| *root != brief.cwd) {
        place.push_str(&format!(", working in {}", quote_path(&shorten(&brief.cwd))));
    }
    match (&brief.branch, &brief.joined_branch) {
        (Some(now), Some(then)) if now != then => {
            place.push_str(&format!(", branch {}, joined on {}", quote_code(now), quote_code(then)));
        }
        (Some(now), _) => place.push_str(&format!(", branch {}", quote_code(now))),
        (None, Some(then)) => place.push_str(&format!(", joined on branch {}", quote_code(then))),
        (None, None) => {}
    }
    let mut lines = vec![first, place];
    lines.extend(brief.remarks.iter().map(|remark| format!("Note: {remark}")));
    let has_files = !brief.files.is_empty() || !brief.also_edited.is_empty() || !brief.commits.is_empty();
    if !has_files && brief.remarks.is_empty() {
        lines.push("No file has changed since it joined".to_string());
    }
    lines
}

/// The lists of a brief, those with files first.
fn sections(
    brief: &Brief,
    detail: BriefDetail,
    paths: PathStyle,
    shorten: &dyn Fn(&str) -> String,
) -> Vec<Section> {
    let mut sections = file_sections(brief, detail, paths);
    let quote = |text: &str| quote(text, detail);
    let ago = |at| format_duration(brief.written_at.duration_since(at));
    let mut list = |label: &str, items: Vec<String>, layout: Layout| {
        let items: Vec<PathGroup> = items.into_iter().map(|text| PathGroup { text, count: 1 }).collect();
        if !items.is_empty() {
            sections.push(Section { label: label.to_string(), items, layout, names_files: false });
        }
    };
    let is_gone = brief.state.is_gone();
    let tasks = brief.tasks.iter().map(|task| {
        let spec =
            task.spec.as_deref().map_or(String::new(), |spec| format!(" of {}", quote_path(&shorten(spec))));
        let since = task.since.map_or(String::new(), |since| format!(", claimed {} ago", ago(since)));
        let reason = task.reason.as_deref().map_or(String::new(), |reason| format!(", {}", quote(reason)));
        format!("{}{spec}{since}{reason}", quote_code(&task.id))
    });
    list(if is_gone { "Its task when it went" } else { "Task" }, tasks.collect(), Layout::Inline);
    list(
        "Open questions",
        brief.questions.iter().map(|asked| question(brief, asked, detail)).collect(),
        Layout::Lines,
    );
    let topics =
        brief.topics.iter().take(if detail == BriefDetail::Short { MOST_TOPICS } else { usize::MAX });
    let topics = topics.map(|found| match found.trend {
        Some(trend) => format!("{} ({})", quote_code(found.topic.as_str()), trend.name()),
        None => quote_code(found.topic.as_str()),
    });
    list("Last topics", topics.collect(), Layout::Inline);
    list("Its status", brief.status.iter().map(|status| quote(status)).collect(), Layout::Inline);
    let held = brief.reservations.iter().map(|held| {
        let reason = held.reason.as_deref().map_or(String::new(), |reason| format!(" ({})", quote(reason)));
        format!("{}{}{reason}", quote_code(&held.pattern), held.reach_note())
    });
    list(if is_gone { "Held until then" } else { "Holds" }, held.collect(), Layout::Inline);
    list("Doing now", brief.activity.iter().map(|text| quote(text)).collect(), Layout::Inline);
    list("Last action", brief.last_action.iter().map(|text| quote(text)).collect(), Layout::Inline);
    let commits = brief.commits.iter().map(|made| commit(made, detail));
    list(&commit_label(brief), commits.collect(), Layout::Lines);
    list("Completed", brief.completed.iter().map(|task| quote_code(task)).collect(), Layout::Inline);
    list("Spec", brief.spec.iter().map(|spec| quote_path(&shorten(spec))).collect(), Layout::Inline);
    sections
}

/// The files, by what became of them. In a full brief, each stands on a line of its own.
fn file_sections(brief: &Brief, detail: BriefDetail, style: PathStyle) -> Vec<Section> {
    let layout = if detail == BriefDetail::Full { Layout::Lines } else { Layout::Inline };
    let mut sections = Vec::new();
    let mut list = |label: String, paths: &[&str]| {
        let items = match style {
            PathStyle::OneByOne => one_by_one(paths),
            PathStyle::ByDirectory => by_directory(paths),
        };
        if !items.is_empty() {
            sections.push(Section { label, items, layout, names_files: true });
        }
    };
    let is_of_others = |maker: &ChangeMaker| matches!(maker, ChangeMaker::Others(_));
    for (change, label) in [
        (UncommittedChange::Conflicted, "In conflict"),
        (UncommittedChange::Modified, "Uncommitted"),
        (UncommittedChange::Added, "Added, uncommitted"),
        (UncommittedChange::Deleted, "Deleted, uncommitted"),
        (UncommittedChange::Untracked, "Untracked"),
    ] {
        let of_change = brief.files.iter().filter(|file| file.change == change && !is_of_others(&file.maker));
        list(label.to_string(), &of_change.map(|file| file.path.as_str()).collect::<Vec<_>>());
    }
    let mut committed: Vec<&str> = Vec::new();
    for file in brief.commits.iter().filter(|made| !is_of_others(&made.maker)).flat_map(|made| &made.files) {
        if !committed.contains(&file.as_str()) {
            committed.push(file);
        }
    }
    list("Files in the commits".to_string(), &committed);
    let also: Vec<&str> = brief.also_edited.iter().map(String::as_str).collect();
    list("Also edited, as its hooks reported; git shows no change now".to_string(), &also);
    let mut makers: Vec<&Vec<String>> = Vec::new();
    for file in &brief.files {
        if let ChangeMaker::Others(names) = &file.maker
            && !makers.contains(&names)
        {
            makers.push(names);
        }
    }
    for names in makers {
        let is_theirs = |maker: &ChangeMaker| matches!(maker, ChangeMaker::Others(others) if others == names);
        let theirs: Vec<&str> =
            brief.files.iter().filter(|file| is_theirs(&file.maker)).map(|file| file.path.as_str()).collect();
        list(format!("Uncommitted, edited by {} and not by it", listed_names(names)), &theirs);
    }
    sections
}

fn commit_label(brief: &Brief) -> String {
    let own = brief.commits.iter().filter(|made| made.maker == ChangeMaker::Own).count();
    let all = brief.commits.len();
    let place = match brief.evidence {
        CommitEvidence::HeadLog => "Commits made in this worktree since it joined",
        CommitEvidence::Dates | CommitEvidence::None => "Commits on this branch dated since it joined",
    };
    match own {
        _ if own == all => format!("{place} ({all}, all by {})", brief.name),
        0 if brief.commits.iter().all(|made| made.maker == ChangeMaker::Unknown) => {
            format!("{place} ({all}; no hook reported by whom)")
        }
        own => format!("{place} ({all}, {own} by {} as its hooks reported)", brief.name),
    }
}

fn commit(made: &BriefCommit, detail: BriefDetail) -> String {
    let id: String = made.id.chars().take(8).collect();
    let branch = made.branch.as_deref().map_or(String::new(), |branch| format!(" on {}", quote_code(branch)));
    let maker = match &made.maker {
        ChangeMaker::Others(names) => format!(" by {}", listed_names(names)),
        ChangeMaker::Own | ChangeMaker::Unknown => String::new(),
    };
    format!("{} {}{branch}{maker}", quote_code(&id), quote(&made.subject, detail))
}

fn question(brief: &Brief, asked: &OpenQuestion, detail: BriefDetail) -> String {
    let ago = format_duration(brief.written_at.duration_since(asked.at));
    let whom = match asked.is_own {
        true => format!("it asked {}", quote_name(&asked.to)),
        false => format!("{} asked it", quote_name(&asked.from)),
    };
    let text = match &asked.text {
        Some(text) => format!(": {}", quote(text, detail)),
        None => String::new(),
    };
    format!("{whom} {ago} ago, {}{text}", quote_code(&asked.id))
}

fn listed_names(names: &[String]) -> String {
    names.iter().map(|name| quote_name(name)).collect::<Vec<_>>().join(" and ")
}

/// A peer's sentence in quotation marks, shortened if words are few.
fn quote(text: &str, detail: BriefDetail) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.get(..MOST_WORDS_QUOTED) {
        Some(first) if detail == BriefDetail::Short && words.len() > first.len() => {
            quote_sentence(&format!("{}…", first.join(" ")))
        }
        _ => quote_sentence(text),
    }
}

#[cfg(test)]
mod tests;
