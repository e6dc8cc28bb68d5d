//! Derives an agent's current activity from its tool calls, and finds the tests and commits that others want to know
//! about.

use super::activity_counts::ActivityChange;
use super::hook::{ToolOutcome, ToolUse};
use super::shell::{OutcomeEvidence, ProgramRun};

/// Parts of a command line that others want to know about.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct NotableRuns {
    pub test: Option<TestRun>,
    pub commit: Option<GitCommit>,
}

/// A test run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TestRun {
    /// Short form: `cargo test`.
    pub shown: String,
    evidence: OutcomeEvidence,
}

/// A `git commit`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GitCommit {
    /// The working directory, if known.
    pub dir: Option<String>,
    /// The first line of its message, if the command contains it.
    pub subject: Option<String>,
    evidence: OutcomeEvidence,
}

impl NotableRuns {
    pub fn of(runs: &[ProgramRun]) -> Self {
        let tests: Vec<&ProgramRun> = runs.iter().filter(|run| is_test(run)).collect();
        let test = tests.first().map(|first| TestRun {
            shown: shown(first),
            evidence: OutcomeEvidence {
                shows_success: tests.iter().all(|run| run.evidence.shows_success),
                shows_failure: tests.iter().all(|run| run.evidence.shows_failure),
            },
        });
        Self { test, commit: runs.iter().rev().find_map(commit) }
    }
}

impl TestRun {
    /// Whether the tests passed; `None` if the outcome of the whole command does not say.
    pub fn has_passed(&self, outcome: Option<ToolOutcome>) -> Option<bool> {
        went_well(self.evidence, outcome)
    }
}

impl GitCommit {
    /// Whether the commit was made; `None` if the outcome of the whole command does not say.
    pub fn was_made(&self, outcome: Option<ToolOutcome>) -> Option<bool> {
        went_well(self.evidence, outcome)
    }
}

fn went_well(evidence: OutcomeEvidence, outcome: Option<ToolOutcome>) -> Option<bool> {
    match outcome? {
        ToolOutcome::Succeeded => evidence.shows_success.then_some(true),
        ToolOutcome::Failed => evidence.shows_failure.then_some(false),
    }
}

/// The activity of an agent that uses this tool. `shorten` turns a path into its short form for people.
pub fn activity(tool: &ToolUse, runs: &[ProgramRun], shorten: impl Fn(&str) -> String) -> ActivityChange {
    if let Some(path) = tool.edits.first() {
        return ActivityChange::Set(format!("editing {}", shorten(path)));
    }
    if let Some(path) = tool.reads.first() {
        return ActivityChange::Set(format!("reading {}", shorten(path)));
    }
    let notable = NotableRuns::of(runs);
    match notable {
        NotableRuns { commit: Some(_), .. } => ActivityChange::Set("committing".to_string()),
        NotableRuns { test: Some(_), .. } => ActivityChange::Set("running tests".to_string()),
        _ => {
            let first = runs.iter().find(|run| !is_small(run) && is_plain(&run.program));
            first.map_or(ActivityChange::Unchanged, |run| {
                ActivityChange::Set(format!("running {}", shown(run)))
            })
        }
    }
}

/// Whether a program is not worth showing: it prepares another command, or merely runs one.
fn is_small(run: &ProgramRun) -> bool {
    const SMALL: &str = "cd pushd popd export echo printf true false : pwd set unset sleep test [ env sudo doas time nohup \
                         nice timeout gtimeout command builtin exec sh bash zsh dash eval source . msg exit return npx bunx \
                         uvx trap local declare read wait which type";
    SMALL.split_ascii_whitespace().any(|small| small == run.program)
}

/// The program, plus its subcommand where it has one. The rest is left out because it may be confidential.
fn shown(run: &ProgramRun) -> String {
    const HAVE_COMMANDS: &str = "apt brew bun bundle cargo composer conda deno docker dotnet flutter gh git go gradle gradlew \
                                 helm just kubectl make mix mvn mvnw npm php pip pip3 pnpm podman poetry rails rake rustup \
                                 swift systemctl terraform uv yarn zig";
    let has_commands = HAVE_COMMANDS.split_ascii_whitespace().any(|program| program == run.program);
    match run.argument(0).filter(|word| has_commands && is_plain(word) && !word.starts_with('-')) {
        Some(word) => format!("{} {word}", run.program),
        None => run.program.clone(),
    }
}

/// Whether a word has 1 to 40 characters and nothing that needs quoting.
fn is_plain(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.+:".contains(&byte);
    (1..=40).contains(&word.len()) && word.bytes().all(plain)
}

/// How to recognise that a program runs tests.
#[derive(Clone, Copy)]
enum Runs {
    /// It always runs tests.
    Always,
    /// The first operand is one of these.
    First(&'static str),
    /// Any operand, without what precedes its last colon, is one of these.
    Any(&'static str),
    /// It runs the script named `test`, directly or after `run`.
    Script,
    /// The words after this one are a command themselves.
    After(&'static str),
}

#[rustfmt::skip]
const PROGRAMS: &[(&str, Runs)] = &[
    ("pytest py.test tox nox jest vitest mocha ava rspec cucumber ctest phpunit pest bats busted gotestsum \
      ginkgo elm-test nose2 trial cargo-nextest", Runs::Always),
    ("cargo", Runs::First("test t nextest llvm-cov tarpaulin")),
    ("go swift dotnet mix flutter dart deno bazel bazelisk buck2 meson gleam forge hardhat stack cabal lein sbt \
      playwright rails zig", Runs::First("test")),
    ("cypress", Runs::First("run")),
    ("rebar3", Runs::First("eunit ct")),
    ("dune", Runs::First("test runtest")),
    ("xcodebuild", Runs::Any("test")),
    ("make gmake ninja just task mage", Runs::Any("test tests check unittest")),
    ("rake", Runs::Any("test spec")),
    ("mvn mvnw", Runs::Any("test verify integration-test")),
    ("gradle gradlew", Runs::Any("test check")),
    ("npm pnpm yarn bun composer", Runs::Script),
    ("uv poetry pipenv hatch pdm rye", Runs::After("run")),
    ("bundle pnpm yarn npm", Runs::After("exec")),
    ("pnpm yarn", Runs::After("dlx")),
    ("python python3", Runs::After("-m")),
    ("php", Runs::After("artisan")),
];

/// Options with which a program runs no tests.
const ASKS: [&str; 9] =
    ["--help", "-h", "--version", "-V", "--no-run", "--collect-only", "--listTests", "--list", "--dry-run"];

fn is_test(run: &ProgramRun) -> bool {
    let words: Vec<&str> = run.arguments.iter().map(|word| word.as_deref().unwrap_or_default()).collect();
    runs_tests(&run.program, &words)
}

fn runs_tests(program: &str, words: &[&str]) -> bool {
    if words.iter().any(|word| ASKS.contains(word)) {
        return false;
    }
    let is_it = |names: &str| names.split_ascii_whitespace().any(|name| name == program);
    PROGRAMS.iter().filter(|(names, _)| is_it(names)).any(|(_, rule)| rule.fits(program, words))
}

impl Runs {
    fn fits(self, program: &str, words: &[&str]) -> bool {
        let is_one = |list: &str, word: &str| list.split_ascii_whitespace().any(|one| one == word);
        match self {
            Self::Always => true,
            Self::First(list) => match operands(words).as_slice() {
                ["nextest", second, ..] => is_one(list, "nextest") && *second == "run",
                ["build", second, ..] if program == "zig" => *second == "test",
                [first, ..] => is_one(list, first),
                [] => false,
            },
            Self::Any(list) => {
                let last = |word: &str| word.rsplit(':').next().unwrap_or(word).to_string();
                operands(words).iter().any(|word| is_one(list, &last(word)))
            }
            Self::Script => match operands(words).as_slice() {
                ["run" | "run-script", script, ..] => is_test_script(script),
                ["workspace", _, script, ..] if program == "yarn" => is_test_script(script),
                ["t" | "tst", ..] => program == "npm" || program == "pnpm",
                [script, ..] => is_test_script(script),
                [] => false,
            },
            Self::After(word) => {
                let Some(at) = words.iter().position(|one| *one == word) else { return false };
                match words[at + 1..].iter().position(|one| !one.starts_with('-')) {
                    Some(next) => {
                        let (inner, rest) = words[at + 1 + next..].split_first().unwrap_or((&"", &[]));
                        inner_runs_tests(word, inner, rest)
                    }
                    None => false,
                }
            }
        }
    }
}

/// Whether a nested command runs tests; Python modules and artisan commands have names of their own.
fn inner_runs_tests(after: &str, program: &str, words: &[&str]) -> bool {
    match (after, program) {
        ("-m", "unittest") | ("artisan", "test") => true,
        _ => runs_tests(program.rsplit('/').next().unwrap_or(program), words),
    }
}

/// Whether a script is `test` or a variant of it: `test:unit`.
fn is_test_script(script: &str) -> bool {
    script == "test" || script.starts_with("test:") || script.starts_with("test-")
}

/// The words that are neither options nor values of options.
fn operands<'a>(words: &[&'a str]) -> Vec<&'a str> {
    const TAKE: &str = "--manifest-path --config -C -Z --color --prefix -w --workspace --filter -F --cwd -f --file -j \
                        --directory -p --project --dir -scheme -destination -project -workspace -pl";
    let mut operands = Vec::new();
    let mut is_value = false;
    for word in words {
        let is_option = word.starts_with('-') || word.starts_with('+');
        if !is_value && !is_option && !word.contains('=') {
            operands.push(*word);
        }
        is_value = !is_value && TAKE.split_ascii_whitespace().any(|option| option == *word);
    }
    operands
}

fn commit(run: &ProgramRun) -> Option<GitCommit> {
    if run.program != "git" {
        return None;
    }
    let mut dir = run.dir.clone();
    let mut words = run.arguments.iter().map(Option::as_deref);
    loop {
        match words.next()?? {
            "commit" => break,
            "-C" => dir = joined(dir.as_deref(), words.next()?),
            "-c" | "--git-dir" | "--work-tree" | "--namespace" => drop(words.next()?),
            option if option.starts_with('-') => {}
            _ => return None,
        }
    }
    let rest: Vec<Option<&str>> = words.collect();
    let asks = |word: &Option<&str>| matches!(word, Some("--dry-run" | "--help" | "-h"));
    (!rest.iter().any(asks)).then(|| GitCommit { dir, subject: subject(&rest), evidence: run.evidence })
}

fn joined(dir: Option<&str>, to: Option<&str>) -> Option<String> {
    match (dir, to?) {
        (_, to) if to.starts_with('/') => Some(to.to_string()),
        (dir, to) => Some(format!("{}/{to}", dir?)),
    }
}

/// The first line of the first `-m`.
fn subject(words: &[Option<&str>]) -> Option<String> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(word) = word else { continue };
        let text = match *word {
            "--" => return None,
            "--message" => (*words.next()?)?,
            long if long.starts_with("--") => match long.strip_prefix("--message=") {
                Some(text) => text,
                None => continue,
            },
            // `-m text`, `-am text`, `-mtext`. After another letter that takes a value, the rest is that value.
            short if short.starts_with('-') => match short[1..].split_once('m') {
                Some((before, _)) if before.contains(['F', 'C', 'c', 't', 'u', 'S']) => continue,
                Some((_, "")) => (*words.next()?)?,
                Some((_, text)) => text,
                None => continue,
            },
            _ => continue,
        };
        let first = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        return Some(first.to_string());
    }
    None
}

#[cfg(test)]
mod tests;
