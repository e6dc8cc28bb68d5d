//! Anchors to functions at an earlier commit, judged at the last one, against what git says of the same lines.
//!
//! `cargo bench -- staleness [PATH]`, with this repository by default. An anchor is a function as the outline finds it at
//! commit A. The label is git's: the commits from A to B are written down in reverse order, in a clone, and `git log -L`
//! from A follows the lines of the function to B. If it names any commit on the way, the function was changed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use ravenry::domain::knowledge::{Anchor, AnchorFinding, AnchorTarget, SymbolKind, TextHash};
use ravenry::ops::knowledge::anchors::AnchorJudge;
use ravenry::sys::environment::Home;
use ravenry::sys::outline::{SourceLanguage, parse};

/// How far back A is, in commits of the first parent.
const DISTANCES: [usize; 3] = [20, 100, 400];
/// The most functions for each distance.
const FUNCTIONS: usize = 300;

/// Prints the comparison; an error is a sentence for a person.
pub fn run(args: &[String]) -> Result<String, String> {
    let (path, is_listed) = match args {
        [] => (env!("CARGO_MANIFEST_DIR"), false),
        [path] => (path.as_str(), false),
        [path, option] if option == "--list" => (path.as_str(), true),
        _ => return Err("name one repository: `cargo bench -- staleness [PATH [--list]]`".to_string()),
    };
    let temporary = tempfile::tempdir().map_err(|error| error.to_string())?;
    let clone = Clone { home: temporary.path().join("home"), root: temporary.path().join("clone") };
    clone.take(Path::new(path))?;
    let mut total = Tally::default();
    let mut text = format!("{}\n", Tally::HEAD);
    for distance in DISTANCES {
        let Some(commits) = clone.last_commits(distance)? else { break };
        let found = clone.walk(&commits)?;
        let tally = Tally::of(&found);
        writeln!(text, "{}", tally.row(&format!("{distance} commits"))).map_err(|error| error.to_string())?;
        if is_listed {
            found.iter().filter(|it| it.is_changed != it.verdict.is_alarm()).for_each(|it| {
                let _ = writeln!(text, "  {} {}: git says {}", it.target, it.verdict, it.label());
            });
        }
        total.add(&tally);
    }
    if total.anchors == 0 {
        return Err(format!("{path} has too few commits, or no functions that are known"));
    }
    write!(text, "{}\n\n{}", total.row("all"), total.sentences()).map_err(|error| error.to_string())?;
    Ok(text)
}

/// One anchor, judged at B.
struct JudgedAnchor {
    target: String,
    verdict: AnchorFinding,
    /// By `git log -L`.
    is_changed: bool,
    /// What the hash of the whole file says.
    has_other_file: bool,
}

impl JudgedAnchor {
    fn label(&self) -> &'static str {
        if self.is_changed { "changed" } else { "unchanged" }
    }
}

#[derive(Default)]
struct Tally {
    anchors: usize,
    changed: usize,
    found: usize,
    false_alarms: usize,
    file_false_alarms: usize,
}

impl Tally {
    const HEAD: &'static str =
        "                anchors  changed  recall  false alarms  false alarms of a whole-file hash";

    fn of(judged: &[JudgedAnchor]) -> Self {
        let count = |holds: &dyn Fn(&JudgedAnchor) -> bool| judged.iter().filter(|it| holds(it)).count();
        Self {
            anchors: judged.len(),
            changed: count(&|it| it.is_changed),
            found: count(&|it| it.is_changed && it.verdict.is_alarm()),
            false_alarms: count(&|it| !it.is_changed && it.verdict.is_alarm()),
            file_false_alarms: count(&|it| !it.is_changed && it.has_other_file),
        }
    }

    fn add(&mut self, other: &Self) {
        self.anchors += other.anchors;
        self.changed += other.changed;
        self.found += other.found;
        self.false_alarms += other.false_alarms;
        self.file_false_alarms += other.file_false_alarms;
    }

    fn recall(&self) -> f64 {
        percent(self.found, self.changed)
    }

    fn row(&self, name: &str) -> String {
        let unchanged = self.anchors - self.changed;
        format!(
            "{name:<14} {:>8} {:>8} {:>6.1}% {:>6} ({:>4.1}%) {:>17} ({:>4.1}%)",
            self.anchors,
            self.changed,
            self.recall(),
            self.false_alarms,
            percent(self.false_alarms, unchanged),
            self.file_false_alarms,
            percent(self.file_false_alarms, unchanged),
        )
    }

    fn sentences(&self) -> String {
        let met = |is_met: bool| if is_met { "met" } else { "MISSED" };
        let share = self.false_alarms as f64 / self.file_false_alarms.max(1) as f64;
        format!(
            "stale recall {:.1}%, aim ≥ 95%: {}\nfalse alarms {share:.3} of those of a whole-file hash, aim ≤ 0.2: {}\n",
            self.recall(),
            met(self.recall() >= 95.0),
            met(share <= 0.2),
        )
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// A clone that can be changed at will; its objects are those of the original.
struct Clone {
    home: PathBuf,
    root: PathBuf,
}

/// A function as the outline finds it.
struct FunctionAnchor {
    anchor: Anchor,
    first_line: u32,
    last_line: u32,
}

impl Clone {
    fn take(&self, original: &Path) -> Result<(), String> {
        let mut command = Command::new("git");
        command.args(["clone", "-q", "--shared"]).arg(original).arg(&self.root);
        answer(&mut command).map(drop)
    }

    fn git(&self, args: &[&str]) -> Result<String, String> {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.root).args(["-c", "user.name=J", "-c", "user.email=j@x"]).args(args);
        answer(&mut command)
    }

    /// The last commits, B first; `None` if there are not that many.
    fn last_commits(&self, distance: usize) -> Result<Option<Vec<String>>, String> {
        let most = format!("-n{}", distance + 1);
        let listed = self.git(&["rev-list", "--first-parent", &most, "HEAD"])?;
        let commits: Vec<String> = listed.lines().map(str::to_string).collect();
        Ok((commits.len() > distance).then_some(commits))
    }

    fn walk(&self, commits: &[String]) -> Result<Vec<JudgedAnchor>, String> {
        let (Some(last), Some(first)) = (commits.first(), commits.last()) else { return Ok(Vec::new()) };
        self.git(&["checkout", "-q", first])?;
        let functions = self.functions()?;
        self.git(&["checkout", "-q", last])?;
        let mut judge = self.judge();
        let (root, tip) = self.reversed(commits)?;
        let judged = functions.iter().map(|function| {
            let verdict = judge.judge(&function.anchor);
            let path = function.anchor.target.path().map_or("", |path| path.as_str());
            let now = std::fs::read(self.root.join(path)).ok().map(|bytes| TextHash::of_file(&bytes));
            Ok(JudgedAnchor {
                target: function.anchor.target.to_string(),
                verdict,
                is_changed: self.is_changed(function, path, &root, &tip)?,
                has_other_file: now != function.anchor.file,
            })
        });
        judged.collect()
    }

    fn judge(&self) -> AnchorJudge {
        let home = self.home.clone();
        let home = Home { config: home.join("c"), state: home.join("s"), cache: home.join("cache"), home };
        AnchorJudge::new(&self.root, &home)
    }

    /// Functions of all files, evenly chosen.
    fn functions(&self) -> Result<Vec<FunctionAnchor>, String> {
        let mut judge = self.judge();
        let mut functions = Vec::new();
        for path in self.git(&["ls-files", "-z"])?.split('\0') {
            let Some(language) = SourceLanguage::of_file(path) else { continue };
            let Ok(text) = std::fs::read_to_string(self.root.join(path)) else { continue };
            for symbol in parse(language, &text).unwrap_or_default().symbols {
                functions.extend((symbol.kind == SymbolKind::Function).then(|| (path.to_string(), symbol)));
            }
        }
        let step = functions.len().div_ceil(FUNCTIONS).max(1);
        let chosen = functions.iter().step_by(step).filter_map(|(path, symbol)| {
            let target = AnchorTarget::parse(&format!("{path}#{}", symbol.qualified)).ok()?;
            // Of several with one name, the first is anchored; the lines of the others are not its own.
            let anchor = judge.capture(&target).ok()?;
            let first = judge.outline(anchor.target.path()?).ok()??.find(&symbol.qualified).ok()?.first_line;
            (first == symbol.first_line).then_some(FunctionAnchor {
                anchor,
                first_line: symbol.first_line,
                last_line: symbol.last_line,
            })
        });
        Ok(chosen.collect())
    }

    /// The trees of the commits as a history from B to A. Returns its first and its last commit.
    fn reversed(&self, commits: &[String]) -> Result<(String, String), String> {
        let mut chain: Vec<String> = Vec::with_capacity(commits.len());
        for commit in commits {
            let tree = format!("{commit}^{{tree}}");
            let made = match chain.last() {
                None => self.git(&["commit-tree", "-m", "x", &tree])?,
                Some(parent) => self.git(&["commit-tree", "-m", "x", "-p", parent, &tree])?,
            };
            chain.push(made.trim().to_string());
        }
        let tip = chain.last().cloned().unwrap_or_default();
        Ok((chain.swap_remove(0), tip))
    }

    /// Whether `git log -L` names a commit besides the one in which everything begins.
    fn is_changed(
        &self,
        function: &FunctionAnchor,
        path: &str,
        root: &str,
        tip: &str,
    ) -> Result<bool, String> {
        let range = format!("-L{},{}:{path}", function.first_line, function.last_line);
        let listed = self.git(&["log", "-s", "--format=%H", &range, tip])?;
        Ok(listed.lines().any(|line| !line.is_empty() && line != root))
    }
}

fn answer(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("git can't be run: {error}"))?;
    if !output.status.success() {
        return Err(format!("git failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
