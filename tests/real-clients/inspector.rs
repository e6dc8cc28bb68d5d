//! Tests with the official MCP Inspector in its command-line mode, a client that was not written for us.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::report::{self, Report};
use crate::scene::{Ended, Scene};

pub const NAME: &str = "inspector";

/// The tools, and a call of each that succeeds.
const CALLS: [(&str, &[&str]); 9] = [
    ("agents", &[]),
    ("message", &["to=[\"Alice\"]", "text=from the inspector"]),
    ("inbox", &[]),
    ("reserve", &["action=check", "paths=[\"src/free.rs\"]"]),
    ("task", &["action=claim", "id=cleanup", "adhoc=true"]),
    ("feed", &["limit=5"]),
    ("know", &["q=lock"]),
    ("learn", &["text=One lock guards all names"]),
    ("run", &["action=list"]),
];

/// Its program, in the folder in which it is installed.
pub fn program(folder: &Path) -> PathBuf {
    folder.join("node_modules/.bin/mcp-inspector")
}

pub fn go(program: &Path, scene: &Scene, report: &mut Report) {
    scene.let_other_in();
    let listed = ask(program, scene, &["--method", "tools/list"]);
    let names = listed.as_ref().map(|list| {
        let tools = list["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_string)).collect::<Vec<_>>()
    });
    let expected: Vec<&str> = CALLS.iter().map(|(name, _)| *name).collect();
    let result = match names {
        Ok(names) if names == expected => Ok(()),
        Ok(names) => Err(format!("it lists {names:?}")),
        Err(wrong) => Err(wrong.clone()),
    };
    report.check(NAME, report::LISTS, result, &String::new);
    let called: Result<Vec<Value>, String> =
        CALLS.iter().map(|(name, arguments)| call(program, scene, name, arguments)).collect();
    let read = scene.msg(&["read", "--as", "Alice"]).to_string();
    let result = called.and_then(|_| match read.contains("from the inspector") {
        true => Ok(()),
        false => Err(format!("Alice got {read}")),
    });
    report.check(NAME, report::CALLS, result, &String::new);
}

/// Calls a tool, which must succeed.
pub fn call(program: &Path, scene: &Scene, name: &str, arguments: &[&str]) -> Result<Value, String> {
    let mut words = vec!["--method", "tools/call", "--tool-name", name];
    for argument in arguments {
        words.extend(["--tool-arg", argument]);
    }
    let answer = ask(program, scene, &words)?;
    if answer["isError"] != json!(true) && answer["content"][0]["text"].is_string() {
        return Ok(answer);
    }
    Err(format!("{name}: {answer}"))
}

fn ask(program: &Path, scene: &Scene, words: &[&str]) -> Result<Value, String> {
    let Ended { code, stdout, stderr } =
        scene.run(scene.command(program).args(["--cli", "msg", "mcp"]).args(words));
    match (code, serde_json::from_str(&stdout)) {
        (Some(0 | 5), Ok(answer)) => Ok(answer),
        (code, _) => Err(format!("{words:?} ended with {code:?}: {stdout}\n{stderr}")),
    }
}
