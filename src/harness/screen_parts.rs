//! What the readers of screens share: rules, boxes, prompt lines, and lists of choices.

use crate::domain::screens::{
    CursorPlace, Dialog, DialogChoice, DialogKind, PromptLine, ScreenLine, ScreenReading, ScreenState,
    ScreenText, ScreenTrouble,
};

/// A shorter line is not a rule.
const SHORTEST_RULE: usize = 20;

/// The most lines of notes that a choice may have.
const MOST_NOTES: usize = 4;

/// Whether a line is a rule from the first column on. It may have a few words in it.
pub(super) fn is_rule(line: &str, sign: char) -> bool {
    let count = line.chars().count();
    let signs = line.chars().filter(|c| *c == sign).count();
    count >= SHORTEST_RULE && signs * 2 > count && line.starts_with(sign) && line.ends_with(sign)
}

/// Whether a line begins with a sign of a turning spinner.
pub(super) fn starts_with_braille(line: &str) -> bool {
    line.trim_start().starts_with(|c| ('\u{2801}'..='\u{28ff}').contains(&c))
}

/// The line without the sign of a spinner at its start.
pub(super) fn without_braille(line: &str) -> &str {
    line.trim_start_matches(|c| c == ' ' || ('\u{2800}'..='\u{28ff}').contains(&c))
}

/// The words of a line that says that a turn runs, with `?` for the numbers that change meanwhile. What stands behind a
/// wide gap is something else.
pub(super) fn busy_words(line: &str) -> String {
    let words = line.trim().split("  ").next().unwrap_or_default();
    words.chars().map(|c| if c.is_ascii_digit() { '?' } else { c }).collect()
}

/// What is typed in a prompt line: its rows without what is in front of them, and where the first one starts.
/// Placeholders are known by their beginning.
pub(super) fn prompt_line(
    screen: &ScreenText,
    rows: &[ScreenLine],
    start: CursorPlace,
    placeholders: &[&str],
) -> PromptLine {
    let is_blank = |text: &str| text.chars().all(char::is_whitespace);
    let text = rows.iter().map(ScreenLine::text).collect::<Vec<_>>().join("\n");
    if is_blank(&text) {
        return PromptLine::Empty;
    }
    let is_at_start = screen.cursor().map(|cursor| cursor == start);
    let is_faint = rows.iter().all(|row| row.is_blank() || row.is_faint());
    let is_placeholder = placeholders.iter().any(|words| text.trim_start().starts_with(words));
    let is_known_as_such = is_faint || is_at_start == Some(true) || !screen.has_attributes();
    let is_empty = is_at_start != Some(false) && (is_faint || is_placeholder && is_known_as_such);
    if is_empty {
        PromptLine::Empty
    } else {
        PromptLine::Draft(text.trim_matches('\n').trim_end().to_owned())
    }
}

/// The rows of the two rules around a prompt line.
#[derive(Clone, Copy, Debug)]
pub(super) struct PromptRules {
    pub(super) top: usize,
    pub(super) bottom: usize,
}

impl PromptRules {
    /// The last two rules on a screen. Below them is a footer of at most that many lines.
    pub(super) fn find(screen: &ScreenText, most_footer: usize) -> Option<Self> {
        let last = screen.last_row()?;
        let is_edge = |row: &usize| is_rule(screen.row(*row), '─');
        let bottom = (last.saturating_sub(most_footer)..=last).rev().find(is_edge)?;
        let top = (0..bottom).rev().find(is_edge)?;
        Some(Self { top, bottom })
    }

    /// The first row between them.
    pub(super) fn first_row<'s>(&self, screen: &'s ScreenText) -> &'s str {
        screen.row(self.top + 1)
    }

    /// What is typed between them, behind a mark of two columns.
    pub(super) fn prompt(&self, screen: &ScreenText, placeholders: &[&str]) -> PromptLine {
        let first = self.top + 1;
        let rows: Vec<ScreenLine> =
            screen.lines()[first..self.bottom].iter().map(|line| line.columns(2..usize::MAX)).collect();
        prompt_line(screen, &rows, CursorPlace { column: 2, row: first }, placeholders)
    }
}

/// A list of choices, and the rows that it takes.
#[derive(Debug)]
pub(super) struct ChoiceList {
    pub(super) choices: Vec<DialogChoice>,
    pub(super) first_row: usize,
    pub(super) last_row: usize,
}

/// One line as that of a choice.
struct ChoiceLine<'a> {
    is_marked: bool,
    column: usize,
    number: Option<u32>,
    label: &'a str,
}

impl<'a> ChoiceLine<'a> {
    fn of(line: &'a str, marks: &[char]) -> Self {
        let trimmed = line.trim_start_matches(' ');
        let unmarked = trimmed.strip_prefix(marks).filter(|rest| rest.starts_with(' '));
        // A list that goes on has an arrow at its end.
        let plain =
            unmarked.or_else(|| trimmed.strip_prefix(['↑', '↓']).filter(|rest| rest.starts_with(' ')));
        let rest = plain.map_or(trimmed, |rest| rest.trim_start_matches(' '));
        let column = line[..line.len() - rest.len()].chars().count();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = rest[..digits].parse().ok().filter(|_| rest[digits..].starts_with(". "));
        let label = if number.is_some() { rest[digits + 2..].trim() } else { rest.trim() };
        Self { is_marked: unmarked.is_some(), column, number, label }
    }

    fn choice(&self) -> DialogChoice {
        let (label, note) = self.label.split_once("  ").unwrap_or((self.label, ""));
        DialogChoice {
            key: self.number.map(|number| number.to_string()).unwrap_or_default(),
            label: label.trim().to_owned(),
            note: note.trim().to_owned(),
            is_selected: self.is_marked,
        }
    }
}

/// The last list of choices among these lines: the selected one has a mark, the others are in line with it.
pub(super) fn find_choices(lines: &[&str], marks: &[char]) -> Option<ChoiceList> {
    let parsed: Vec<ChoiceLine<'_>> = lines.iter().map(|line| ChoiceLine::of(line, marks)).collect();
    let numbered = parsed.iter().rposition(|line| line.is_marked && line.number.is_some());
    let selected = numbered.or_else(|| parsed.iter().rposition(|line| line.is_marked))?;
    let mark = &parsed[selected];
    let is_next = |line: &ChoiceLine<'_>, number: Option<u32>| {
        !line.is_marked && line.column == mark.column && line.number == number && !line.label.is_empty()
    };
    let mut rows = vec![selected];
    match mark.number {
        Some(number) => {
            for wanted in (1..number).rev() {
                let end = rows[0];
                let start = end.saturating_sub(MOST_NOTES + 1);
                let Some(at) = (start..end).rev().find(|row| is_next(&parsed[*row], Some(wanted))) else {
                    break;
                };
                rows.insert(0, at);
            }
            for wanted in number + 1.. {
                let start = rows[rows.len() - 1] + 1;
                let end = (start + MOST_NOTES + 1).min(parsed.len());
                let Some(at) = (start..end).find(|row| is_next(&parsed[*row], Some(wanted))) else { break };
                rows.push(at);
            }
        }
        None => {
            let before = (0..selected).rev().take_while(|row| is_next(&parsed[*row], None));
            let after = (selected + 1..parsed.len()).take_while(|row| is_next(&parsed[*row], None));
            rows = before.collect::<Vec<_>>().into_iter().rev().chain([selected]).chain(after).collect();
        }
    }
    let first_row = rows[0];
    let mut last_row = rows[rows.len() - 1];
    let mut choices: Vec<DialogChoice> = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let mut choice = parsed[*row].choice();
        let next = rows.get(i + 1).copied().unwrap_or(parsed.len());
        for (row, line) in lines.iter().enumerate().take(next).skip(row + 1).take(MOST_NOTES) {
            if line.trim().is_empty() || is_any_rule(line) || parsed[row].column < mark.column {
                break;
            }
            choice.note = format!("{} {}", choice.note, line.trim()).trim().to_owned();
            last_row = last_row.max(row);
        }
        choices.push(choice);
    }
    Some(ChoiceList { choices, first_row, last_row })
}

/// Whether a line is nothing but a drawn rule, or the edge of a box.
fn is_any_rule(line: &str) -> bool {
    let is_drawn = |c| ('\u{2500}'..='\u{259f}').contains(&c);
    line.trim().chars().count() >= SHORTEST_RULE && line.trim().chars().all(is_drawn)
}

/// Where the question of a dialog stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum QuestionPlace {
    /// It is the first line that asks something.
    First,
    /// It is the last one: what it is about stands above it.
    Last,
}

/// Builds a dialog from the lines above its choices.
pub(super) fn dialog(
    about: &[&str],
    choices: Vec<DialogChoice>,
    place: QuestionPlace,
    kind: impl Fn(&Dialog) -> DialogKind,
) -> Dialog {
    let lines =
        about.iter().filter(|line| !is_any_rule(line)).map(|line| line.trim().trim_matches('│').trim());
    let kept = lines.filter(|line| !line.is_empty() && !is_any_rule(line));
    let about: Vec<String> = kept.map(str::to_owned).collect();
    let mut asking = about.iter().filter(|line| line.ends_with('?'));
    let question = match place {
        QuestionPlace::First => asking.next(),
        QuestionPlace::Last => asking.next_back(),
    };
    let sentence =
        || about.iter().find_map(|line| line.split_once("? ").map(|(asked, _)| format!("{asked}?")));
    let question = question.cloned().or_else(sentence).or_else(|| about.first().cloned()).unwrap_or_default();
    let dialog = Dialog { kind: DialogKind::Other, question, about, choices };
    Dialog { kind: kind(&dialog), ..dialog }
}

/// Whether a dialog has this title and a choice that begins so. What is asked may quote anything, but the title and the
/// choices are the program's.
pub(super) fn is_titled(dialog: &Dialog, title: &str, choice: &str) -> bool {
    dialog.about.first().is_some_and(|line| line.starts_with(title))
        && dialog.choices.iter().any(|it| it.label.starts_with(choice))
}

/// A dialog that is open, and therefore no prompt line.
pub(super) fn waiting(dialog: Dialog) -> ScreenReading {
    ScreenReading { state: Some(ScreenState::Waiting), dialog: Some(dialog), ..ScreenReading::default() }
}

/// A page without choices that stands where the prompt line would be.
pub(super) fn page(title: &str) -> ScreenReading {
    let question = title.trim().to_owned();
    waiting(Dialog { kind: DialogKind::Other, about: vec![question.clone()], question, choices: Vec::new() })
}

/// The lines inside the box at the end of these lines: the last line that is not blank is its lower edge.
pub(super) fn last_box<'a>(lines: &[&'a str]) -> Option<Vec<&'a str>> {
    let bottom = lines.iter().rposition(|line| !line.trim().is_empty())?;
    let edge = |row: usize, corner: char| {
        let line = lines[row];
        let indent = line.len() - line.trim_start_matches(' ').len();
        line[indent..].starts_with(corner).then_some(indent)
    };
    let indent = edge(bottom, '╰').filter(|indent| *indent <= 1)?;
    // The upper edge may have scrolled away, but then all that is left is inside.
    let above = (0..bottom).rev().find(|row| edge(*row, '│') != Some(indent));
    let top = match above {
        Some(row) if edge(row, '╭') == Some(indent) => row + 1,
        Some(_) => return None,
        None => 0,
    };
    let inside = |line: &'a str| {
        let line = line.trim_start_matches(' ');
        let line = line.strip_prefix('│').unwrap_or(line);
        line.trim_end_matches(' ').strip_suffix('│').unwrap_or(line)
    };
    Some(lines[top..bottom].iter().map(|line| inside(line)).collect())
}

/// The text that begins in this row, with the lines into which it was wrapped.
pub(super) fn paragraph(screen: &ScreenText, row: usize) -> String {
    let rows = (row..screen.lines().len()).map(|row| screen.row(row).trim());
    rows.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ").replace('’', "'")
}

/// What an error is, by the words that programs have for it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ErrorKind {
    Limit,
    Trouble(ScreenTrouble),
}

/// What an error is about.
pub(super) fn error_kind(words: &str) -> ErrorKind {
    const LIMIT: [&str; 6] =
        ["out of extra usage", "usage limit", "rate limit", "quota", "credit balance", "limit reached"];
    const LOGIN: [&str; 5] = ["api key", "logged in", "/login", "unauthorized", "authentication"];
    let lower = words.to_lowercase();
    let has_number = |number: &str| lower.split(|c: char| !c.is_alphanumeric()).any(|word| word == number);
    // Which limit it is stands in between: the session's, the week's, that of a model.
    let hits_limit = lower.split_once("hit your ").is_some_and(|(_, limit)| limit.contains("limit"));
    if has_number("429") || hits_limit || LIMIT.iter().any(|mark| lower.contains(mark)) {
        ErrorKind::Limit
    } else if has_number("401") || LOGIN.iter().any(|mark| lower.contains(mark)) {
        ErrorKind::Trouble(ScreenTrouble::Login(words.to_owned()))
    } else {
        ErrorKind::Trouble(ScreenTrouble::Error(words.to_owned()))
    }
}

/// A number of percent that ends at this place of a text: the `88` of `(88%)`.
pub(super) fn percent_before(text: &str, end: usize) -> Option<u8> {
    let before = &text[..end];
    let start = before
        .rfind(|c: char| !c.is_ascii_digit() && c != '.')
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let whole = before[start..].split('.').next()?;
    whole.parse::<u32>().ok().map(|percent| u8::try_from(percent.min(100)).unwrap_or(100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_found_with_their_notes() {
        let screen = "Which one?\n\n❯ 1. SQLite\n     one file\n  2. Postgres\n     a server\n────────────────────────\n  3. Chat\n\nEnter to select";
        let lines: Vec<&str> = screen.lines().collect();
        let list = find_choices(&lines, &['❯']).unwrap();
        let labels: Vec<&str> = list.choices.iter().map(|it| it.label.as_str()).collect();
        assert_eq!(labels, ["SQLite", "Postgres", "Chat"]);
        assert_eq!(list.choices[1].note, "a server");
        assert_eq!((list.first_row, list.last_row), (2, 7));
        assert!(list.choices[0].is_selected && !list.choices[1].is_selected);
    }

    #[test]
    fn choices_without_numbers_are_in_line() {
        let lines: Vec<&str> =
            " text\n\n ❯ No, exit\n   Yes, I trust this folder\n\n Enter to confirm".lines().collect();
        let list = find_choices(&lines, &['❯']).unwrap();
        let labels: Vec<&str> = list.choices.iter().map(|it| it.label.as_str()).collect();
        assert_eq!(labels, ["No, exit", "Yes, I trust this folder"]);
    }

    #[test]
    fn limits_have_names() {
        let limits =
            ["limit · resets 1am (UTC)", "session limit · resets 3pm (UTC)", "weekly limit", "Opus limit"];
        for limit in limits {
            assert_eq!(error_kind(&format!("You've hit your {limit}")), ErrorKind::Limit, "{limit}");
        }
        assert!(matches!(error_kind("You've hit your head"), ErrorKind::Trouble(ScreenTrouble::Error(_))));
    }

    #[test]
    fn percents_are_read_backwards() {
        let of = |text: &str| percent_before(text, text.find('%').unwrap());
        assert_eq!(of("175.0K (88%)"), Some(88));
        assert_eq!(of("↑176k ↓60 136.7%/128k"), Some(100));
        assert_eq!(of("0.1%/128k"), Some(0));
        assert_eq!(of("x%"), None);
    }

    #[test]
    fn a_box_is_one_only_at_the_end() {
        let lines: Vec<&str> = "words\n╭────╮\n│ a  │\n╰────╯\n".lines().collect();
        assert_eq!(last_box(&lines).unwrap(), [" a  "]);
        let lines: Vec<&str> = "╭────╮\n│ a  │\n╰────╯\n > prompt".lines().collect();
        assert!(last_box(&lines).is_none());
        let lines: Vec<&str> = "│ a  │\n│ b  │\n╰────╯".lines().collect();
        assert_eq!(last_box(&lines).unwrap(), [" a  ", " b  "], "its upper edge scrolled away");
        let lines: Vec<&str> = "words\n│ b  │\n╰────╯".lines().collect();
        assert!(last_box(&lines).is_none());
    }
}
