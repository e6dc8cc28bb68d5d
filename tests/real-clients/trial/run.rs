//! One run of a client, and checks of it.

use std::fmt::Write as _;

use crate::model::Request;
use crate::scene::{Ended, HELD, NEW, REASON, Scene};

use super::ADDED_BY_SHELL;

/// `Err` says what is wrong.
pub type Checked<T = ()> = Result<T, String>;

/// One run of the client.
pub struct Run {
    pub ended: Ended,
    /// The turns of the agent.
    pub turns: Vec<Request>,
}

impl Run {
    /// A run that never began.
    pub fn none() -> Self {
        Self { ended: Ended { code: None, stdout: String::new(), stderr: String::new() }, turns: Vec::new() }
    }
}

/// Before that turn, the model was told this often what is reserved.
pub fn refused(run: &Run, turn: usize, times: usize) -> Checked {
    let turn = run.turns.get(turn).ok_or_else(|| format!("there was no turn {turn}"))?;
    let told = turn
        .conversation()
        .iter()
        .filter(|said| said.contains(REASON) && said.contains("is reserved ("))
        .count();
    let text = turn.conversation().join("\n");
    ensure(told == times && text.contains("by Alice"), || {
        format!("the reason stands there {told} times, not {times}")
    })
}

/// The message is in that turn for the first time, and once.
pub fn arrived(run: &Run, turn: usize, letter: &str) -> Checked {
    for (at, request) in run.turns.iter().enumerate() {
        let expected = usize::from(at >= turn);
        let found = request.body.to_string().matches(letter).count();
        ensure(found == expected, || format!("{letter} stands {found} times in turn {at}, not {expected}"))?;
    }
    ensure(run.turns.len() > turn, || format!("there was no turn {turn}"))
}

/// Nothing stopped it.
pub fn worked(scene: &Scene, run: &Run) -> Checked {
    ensure(run.ended.code == Some(0), || format!("it ended with {:?}", run.ended.code))?;
    ensure(run.turns.len() == 3, || format!("it took {} turns, not 3", run.turns.len()))?;
    ensure(scene.text(HELD) == format!("{NEW}\n"), || format!("{HELD} is {:?}", scene.text(HELD)))?;
    ensure(scene.text(ADDED_BY_SHELL) == "hello\n", || "the shell did not run".to_string())
}

/// The model was told the same in both runs, apart from what differs in any two.
pub fn alike(one: &Run, other: &Run) -> Checked {
    let told = |run: &Run| -> Vec<String> {
        run.turns
            .last()
            .map(|turn| turn.conversation().iter().map(|said| without_numbers(said)).collect())
            .unwrap_or_default()
    };
    let (one, other) = (told(one), told(other));
    let differs = one.iter().zip(&other).find(|(one, other)| one != other);
    match differs {
        Some((one, other)) => Err(format!("the model was told\n{other}\nand not\n{one}")),
        None => ensure(one.len() == other.len(), || {
            format!("the model was told {} things, not {}: {other:#?}", other.len(), one.len())
        }),
    }
}

/// Ids, times and sizes differ from run to run: removes every word with a digit and every possible hexadecimal number.
fn without_numbers(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_number = |word: &str| {
        let has_digit = word.chars().any(|c| c.is_ascii_digit());
        has_digit || (word.len() >= 6 && word.chars().all(|c| c.is_ascii_hexdigit()))
    };
    let mut plain = String::new();
    for piece in text.split_inclusive(|c: char| !is_part(c)) {
        let word = piece.trim_end_matches(|c: char| !is_part(c));
        plain.push_str(if is_number(word) { "#" } else { word });
        plain.push_str(&piece[word.len()..]);
    }
    plain
}

pub fn ensure(is_so: bool, else_say: impl FnOnce() -> String) -> Checked {
    if is_so { Ok(()) } else { Err(else_say()) }
}

/// For whoever has to find out what failed.
impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut earlier = 0;
        for (at, turn) in self.turns.iter().enumerate() {
            let said = turn.conversation();
            writeln!(f, "turn {at}:")?;
            for text in said.iter().skip(earlier) {
                writeln!(f, "  {}", shortened(text, 600).replace('\n', "\n  "))?;
            }
            earlier = said.len();
        }
        writeln!(f, "exit code {:?}", self.ended.code)?;
        write!(f, "stdout: {}\nstderr: {}", tail(&self.ended.stdout), tail(&self.ended.stderr))
    }
}

fn shortened(text: &str, most: usize) -> String {
    let mut short: String = text.chars().take(most).collect();
    if short.len() < text.len() {
        write!(short, "… ({} more)", text.len() - short.len()).unwrap();
    }
    short
}

fn tail(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| shortened(line, 300)).collect();
    lines[lines.len().saturating_sub(25)..].join("\n")
}
