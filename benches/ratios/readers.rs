//! Worst-case time of the readers of untrusted input. Each gets inputs of 1 MiB that might take long, and its slowest
//! is reported. A harness waits for the answer, so this is an absolute limit and not a ratio.

use std::fmt::Write as _;
use std::sync::LazyLock;
use std::time::Instant;

use ravenry::domain::Harness;
use ravenry::domain::patch::{apply_patch_paths, diff_paths};
use ravenry::domain::shell::{ShellEnvironment, predict_command};
use ravenry::harness::hook_codec::decode;

use crate::figure::{Aim, Figure, Spread};

#[path = "../../src/domain/shell/tests/nasty.rs"]
mod nasty;

const SIZE: usize = 1024 * 1024;
/// In milliseconds.
const LIMIT: f64 = 50.0;
const REPETITIONS: usize = 9;

/// A harness, the name of its figure, and its event before a tool call, which requires the most reading.
const DECODERS: [(Harness, &str, &str); 8] = [
    (Harness::named("claude"), "reader: claude, 1 MiB", "PreToolUse"),
    (Harness::named("codex"), "reader: codex, 1 MiB", "PreToolUse"),
    (Harness::named("gemini"), "reader: gemini, 1 MiB", "BeforeTool"),
    (Harness::named("opencode"), "reader: opencode, 1 MiB", "tool.execute.before"),
    (Harness::named("pi"), "reader: pi, 1 MiB", "tool_call"),
    (Harness::named("copilot"), "reader: copilot, 1 MiB", "preToolUse"),
    (Harness::named("kimi"), "reader: kimi, 1 MiB", "PreToolUse"),
    (Harness::named("qwen"), "reader: qwen, 1 MiB", "PreToolUse"),
];

pub fn measure() -> Vec<Figure> {
    let payloads = payloads();
    let decoders = DECODERS.iter().map(|(harness, name, event)| {
        slowest(name, &payloads, |payload| drop(decode(*harness, event, payload.as_bytes())))
    });
    let mut figures: Vec<Figure> = decoders.collect();
    figures.push(slowest("reader: shell, 1 MiB", &nasty::commands(SIZE), |command| {
        predict_command(command, "/w", &Nowhere);
    }));
    figures.push(slowest("reader: patches, 1 MiB", &patches(), |patch| {
        apply_patch_paths(patch);
        diff_paths(patch, 1);
    }));
    figures
}

/// Finds the slowest input and measures it repeatedly.
fn slowest(name: &'static str, inputs: &[String], read: impl Fn(&str)) -> Figure {
    let time = |input: &str| {
        let started = now();
        read(input);
        now() - started
    };
    let mut times: Vec<(f64, &String)> = inputs.iter().map(|input| (time(input), input)).collect();
    times.sort_by(|one, other| other.0.total_cmp(&one.0));
    // The first measurement may have been disturbed.
    let again =
        times.iter().take(3).map(|(_, input)| (Spread::of((0..REPETITIONS).map(|_| time(input))), input));
    let (result, input) = again.max_by(|one, other| one.0.median.total_cmp(&other.0.median)).unwrap();
    Figure {
        name,
        ours: format!("{:.2} ms", result.median),
        baseline: opening(input),
        result,
        unit: " ms",
        aim: Aim::Below(LIMIT),
    }
}

/// Time in milliseconds; where the system reports it, only the time on the processor.
fn now() -> f64 {
    static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let on_cpu = stat.and_then(|stat| stat.split(' ').next()?.parse::<f64>().ok());
    on_cpu.map_or_else(|| STARTED.elapsed().as_secs_f64() * 1e3, |nanoseconds| nanoseconds / 1e6)
}

fn opening(input: &str) -> String {
    input.chars().take(24).flat_map(char::escape_debug).collect()
}

/// Payloads that a harness might send: an edit, a command, a patch, each with a very long part.
fn payloads() -> Vec<String> {
    let fill = |unit: &str| unit.repeat(SIZE / unit.len());
    let mut many_keys = String::new();
    let mut number = 0;
    while many_keys.len() < SIZE {
        write!(many_keys, "\"key{number}\":{number},").unwrap();
        number += 1;
    }
    let strings = [
        "a",
        "\\n",
        "\\u00e4",
        "\\ud83d\\ude00",
        "\\ud83d",
        "\\\\",
        "ä",
        "*** Add File: a\\n",
        "<hook_context></hook_context>",
    ];
    let values = ["[", "{\"a\":", "[],", "1,", "{},", "\"a\",", "\"\",", "1e9,", "[[[[]]]],", "null,"];
    let mut bodies: Vec<String> = strings.iter().map(|unit| format!("\"{}\"", fill(unit))).collect();
    bodies.extend(values.iter().map(|unit| format!("[{}1]", fill(unit))));
    bodies.extend(values.iter().map(|unit| fill(unit)));
    bodies.push(format!("{{{many_keys}\"last\":1}}"));
    bodies.push(format!("\"{{{}\\\"last\\\":1}}\"", many_keys.replace('"', "\\\"")));
    let mut patch = String::new();
    let mut number = 0;
    while patch.len() < SIZE {
        write!(patch, "*** Add File: {number}\\n").unwrap();
        number += 1;
    }
    bodies.push(format!("\"{patch}\""));
    let mut payloads = vec![fill("{"), fill("\""), fill("\\"), fill(" "), format!("{{{many_keys}\"a\":1}}")];
    for body in &bodies {
        for (tool, field) in [
            ("Bash", "command"),
            ("Edit", "file_path"),
            ("apply_patch", "command"),
            ("bash", "command"),
            ("apply_patch", "patchText"),
            ("apply_patch", "input"),
        ] {
            let input = format!("{{\"{field}\":{body}}}");
            payloads.push(format!("{{\"tool_name\":\"{tool}\",\"tool_input\":{input}}}"));
            payloads.push(format!("{{\"toolName\":\"{tool}\",\"toolArgs\":{input}}}"));
            payloads.push(format!("{{\"input\":{{\"tool\":\"{tool}\"}},\"output\":{{\"args\":{input}}}}}"));
            payloads.push(format!("{{\"event\":{{\"toolName\":\"{tool}\",\"input\":{input}}}}}"));
        }
        payloads.push(format!("{{\"prompt\":{body}}}"));
        payloads.push(format!("{{\"tool_input\":{body}}}"));
        payloads.push(format!("{{\"output\":{{\"parts\":{body}}}}}"));
    }
    payloads
}

fn patches() -> Vec<String> {
    let fill = |unit: &str| unit.repeat(SIZE / unit.len());
    let units = [
        "*** Add File: a\n",
        "*** Add File: ",
        "\n",
        "--- a/x\n",
        "+++ b/x\n",
        "@@ -1 +1 @@\n",
        "diff --git a/x b/x\n",
        "diff --git \"a/x\" \"b/x\"\n",
        "rename from a\n",
        "@@ -1,99999999999999999999 +1 @@\n-a\n",
        "\\",
        "\"",
        "/",
        " ",
        "a/",
    ];
    let mut patches: Vec<String> = units.iter().map(|unit| fill(unit)).collect();
    patches.extend(
        ["--- ", "+++ \"", "diff --git ", "diff --git \"", "*** Add File: "]
            .iter()
            .map(|head| format!("{head}{}", fill("a/"))),
    );
    patches.extend(
        ["\\101", "\\\\", "\" \"", " \""].iter().map(|unit| format!("diff --git \"{}\"\n", fill(unit))),
    );
    patches.push(format!(
        "--- a/x\n+++ b/x\n@@ -1,18446744073709551615 +1,18446744073709551615 @@\n{}",
        fill("-a\n+b\n c\n")
    ));
    patches
        .push(format!("--- a/x\n+++ b/x\n@@ -1,18446744073709551615 +1 @@\n{}", fill("@@ -1,9 +1,9 @@\n")));
    for head in ["*** Add File: ", "--- a/", "diff --git \"a/\\303"] {
        let mut patch = String::new();
        let mut number = 0;
        while patch.len() < SIZE {
            writeln!(patch, "{head}{number}").unwrap();
            number += 1;
        }
        patches.push(patch);
    }
    patches
}

/// A world without files.
struct Nowhere;

impl ShellEnvironment for Nowhere {
    fn is_dir(&self, _: &str) -> bool {
        false
    }

    fn read(&self, _: &str) -> Option<String> {
        None
    }

    fn work_tree(&self, _: &str) -> Option<String> {
        Some("/w".to_string())
    }

    fn home(&self) -> Option<String> {
        Some("/home/me".to_string())
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}
