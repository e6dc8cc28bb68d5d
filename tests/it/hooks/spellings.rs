//! A file has many names and can be changed in many ways: none gets past a reservation in any harness, and reading is
//! not refused.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::environment::{Ended, TestEnvironment};
use crate::support::hook_fixture::{Fixture, feed, hook, project};

/// How an editing tool gets its path.
#[derive(Clone, Copy)]
pub enum Told {
    Path,
    Patch,
}

/// Every editing tool: a payload, and where in it the path or the patch is.
pub const EDITS: [(&str, &str, Told); 19] = [
    ("claude/PreToolUse-Edit", "/tool_input/file_path", Told::Path),
    ("claude/PreToolUse-Write", "/tool_input/file_path", Told::Path),
    ("claude/PreToolUse-NotebookEdit", "/tool_input/notebook_path", Told::Path),
    ("codex/PreToolUse-apply_patch", "/tool_input/command", Told::Patch),
    ("copilot/preToolUse-edit", "/toolArgs/path", Told::Path),
    ("copilot/preToolUse-apply_patch", "/toolArgs", Told::Patch),
    ("copilot-pascal/PreToolUse-Write", "/tool_input/path", Told::Path),
    ("copilot-pascal/PreToolUse-Edit", "/tool_input/input", Told::Patch),
    ("gemini/BeforeTool-replace", "/tool_input/file_path", Told::Path),
    ("gemini/BeforeTool-write_file", "/tool_input/file_path", Told::Path),
    ("opencode/tool.execute.before-edit", "/output/args/filePath", Told::Path),
    ("opencode/tool.execute.before-apply_patch", "/output/args/patchText", Told::Patch),
    ("pi/tool_call-edit", "/event/input/path", Told::Path),
    ("pi/tool_call-write", "/event/input/path", Told::Path),
    ("kimi/PreToolUse-Edit", "/tool_input/path", Told::Path),
    ("kimi/PreToolUse-Write", "/tool_input/path", Told::Path),
    ("qwen/PreToolUse-edit", "/tool_input/file_path", Told::Path),
    ("qwen/PreToolUse-write_file", "/tool_input/file_path", Told::Path),
    ("qwen/PreToolUse-notebook_edit", "/tool_input/notebook_path", Told::Path),
];

/// Every shell tool, and where its command is.
pub const SHELLS: [(&str, &str); 9] = [
    ("claude/PreToolUse-Bash", "/tool_input/command"),
    ("codex/PreToolUse-Bash", "/tool_input/command"),
    ("copilot/preToolUse-bash", "/toolArgs/command"),
    ("copilot-pascal/PreToolUse-Bash", "/tool_input/command"),
    ("gemini/BeforeTool-run_shell_command", "/tool_input/command"),
    ("opencode/tool.execute.before-bash", "/output/args/command"),
    ("pi/tool_call-bash", "/event/input/command"),
    ("kimi/PreToolUse-Bash", "/tool_input/command"),
    ("qwen/PreToolUse-run_shell_command", "/tool_input/command"),
];

/// Reading tools: a payload of an editing tool, where its path and its name are, and the name of a reading tool.
const READS: [(&str, &str, &str, &str); 10] = [
    ("claude/PreToolUse-Read", "/tool_input/file_path", "/tool_name", "Read"),
    ("claude/PreToolUse-Read", "/tool_input/file_path", "/tool_name", "Grep"),
    ("copilot/preToolUse-edit", "/toolArgs/path", "/toolName", "view"),
    ("copilot-pascal/PreToolUse-Write", "/tool_input/path", "/tool_name", "Read"),
    ("gemini/BeforeTool-replace", "/tool_input/file_path", "/tool_name", "read_file"),
    ("opencode/tool.execute.before-edit", "/output/args/filePath", "/input/tool", "read"),
    ("pi/tool_call-edit", "/event/input/path", "/event/toolName", "read"),
    ("pi/tool_call-edit", "/event/input/path", "/event/toolName", "grep"),
    ("kimi/PreToolUse-Read", "/tool_input/path", "/tool_name", "Read"),
    ("qwen/PreToolUse-edit", "/tool_input/file_path", "/tool_name", "read_file"),
];

const HELD: [&str; 7] =
    ["src/lib.rs", "src/unborn.rs", "new/file.rs", "alias/via.rs", "caf\u{e9}.txt", "held/", "a b.txt"];

/// A directory, and the path of a file from there; `{P}` is the project. All are reserved.
const SAME: [(&str, &str); 19] = [
    ("", "src/lib.rs"),
    ("", "./src/lib.rs"),
    ("", "src//lib.rs"),
    ("", "src/./lib.rs"),
    ("", "src/../src/lib.rs"),
    ("", "nowhere/../src/lib.rs"),
    ("", "{P}/src/lib.rs"),
    ("", "{P}//sub/.././src/lib.rs"),
    ("sub", "../src/lib.rs"),
    ("sub", "{P}/src/lib.rs"),
    ("", "~/project/src/lib.rs"),
    ("src", "lib.rs"),
    // Through a link to the file or to a directory above it, also if the file does not exist yet.
    ("", "link.rs"),
    ("", "alias/lib.rs"),
    ("", "alias/unborn.rs"),
    ("", "src/via.rs"),
    ("", "new/file.rs"),
    ("", "cafe\u{301}.txt"),
    ("", "held/not/there/yet.rs"),
];

/// The same for paths that are not reserved.
const OTHERS: [(&str, &str); 7] = [
    ("", "src/lib.rs2"),
    ("", "src/lib"),
    ("", "lib.rs"),
    ("sub", "src/lib.rs"),
    ("", "{P}-2/src/lib.rs"),
    ("", "heldback"),
    ("", "cafe.txt"),
];

const CHANGES: [(&str, &str); 39] = [
    ("", "echo x > src/lib.rs"),
    ("", "echo x >> ./src/lib.rs"),
    ("", "echo x >| {P}/src/lib.rs"),
    ("", "make 2>src/lib.rs"),
    ("sub", "echo x > ../src/lib.rs"),
    ("", "echo x > alias/lib.rs"),
    ("", "echo x > link.rs"),
    ("", "echo x > ~/project/src/lib.rs"),
    ("", "echo x > 'a b.txt'"),
    ("", "sed -i s/a/b/ src/lib.rs"),
    ("", "sed -i.bak -e s/a/b/ notes.txt src/lib.rs"),
    ("", "perl -pi -e s/a/b/ src/lib.rs"),
    ("", "cat notes.txt | tee src/lib.rs"),
    ("", "cat notes.txt | tee -a sub/x src/lib.rs | wc -l"),
    ("", "cd src && rm lib.rs"),
    ("", "(cd sub; rm ../src/lib.rs)"),
    ("", "bash -c 'echo x > src/lib.rs'"),
    ("", "bash -lc \"cd src; rm lib.rs\""),
    ("", "cat > src/lib.rs <<'EOF'\nfn main() {}\nEOF"),
    ("", "git checkout -- src/lib.rs"),
    ("", "git checkout ."),
    ("", "git restore src/lib.rs"),
    ("", "git rm src/lib.rs"),
    ("", "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/lib.rs\n@@\n-a\n+b\n*** End Patch\nEOF"),
    ("", "rm -r src"),
    ("", "rm -rf ../project"),
    ("", "rm -rf new"),
    ("", "rm src/*.rs"),
    ("", "rm s*/lib.rs"),
    ("", "mv src/lib.rs src/main.rs"),
    ("", "mv notes.txt src/lib.rs"),
    ("", "cp notes.txt src/lib.rs"),
    ("", "cp lib.rs src"),
    ("", "touch new/file.rs"),
    ("", "dd if=notes.txt of=src/lib.rs"),
    ("", "find src -name '*.rs' -delete"),
    ("", "f=src/lib.rs; echo x > \"$f\""),
    ("", "true && { false || env A=1 rm src/lib.rs; }"),
    ("", "for f in src/*.rs; do sed -i s/a/b/ $f; done"),
];

const LOOKS: [(&str, &str); 22] = [
    ("", "cat src/lib.rs"),
    ("", "ls -la src"),
    ("", "grep -rn main src"),
    ("", "rg main src | head"),
    ("", "git status"),
    ("", "git diff src/lib.rs"),
    ("", "git log --oneline -- src/lib.rs"),
    ("", "git add src/lib.rs && git commit -m 'rm src/lib.rs'"),
    ("", "git checkout -b feature"),
    ("", "head -1 < src/lib.rs"),
    ("", "wc -l src/*.rs 2>/dev/null"),
    ("", "sed -n 1,5p src/lib.rs"),
    ("", "awk '{print}' src/lib.rs"),
    ("", "find src -name '*.rs'"),
    ("", "cp src/lib.rs sub/copy.rs"),
    ("", "cat src/lib.rs 2>&1 | tee sub/log"),
    ("", "echo 'rm -r src' > sub/clean.sh"),
    ("", "cat <<'EOF'\nrm src/lib.rs\nEOF"),
    ("", "diff src/lib.rs notes.txt"),
    ("sub", "rm -rf src"),
    ("", "cargo test"),
    ("", "echo x > src/lib.rs2"),
];

/// A project in which GoldFalcon holds some paths, and hooks of sessions that never joined.
pub struct Scene {
    pub env: TestEnvironment,
    project: PathBuf,
}

impl Scene {
    pub fn new() -> Self {
        let env = TestEnvironment::new();
        let project = project(&env);
        fs::create_dir(project.join("sub")).unwrap();
        symlink("src/lib.rs", project.join("link.rs")).unwrap();
        symlink("src", project.join("alias")).unwrap();
        Self { env, project }
    }

    fn held() -> Self {
        let scene = Self::new();
        scene.env.join("GoldFalcon");
        scene.reserve("GoldFalcon", &HELD);
        scene
    }

    #[track_caller]
    pub fn reserve(&self, holder: &str, held: &[&str]) {
        let mut command = self.env.msg();
        command.args(["reserve", "--as", holder]).args(held).current_dir(&self.project);
        crate::support::environment::end(&mut command).expect_code(0);
    }

    /// The payload of that name.
    fn payload(&self, name: &str) -> Value {
        Fixture::of(&self.env.home(), name).value()
    }

    fn whole(&self, text: &str) -> String {
        text.replace("{P}", self.project.to_str().unwrap())
    }

    /// Runs the hook of the payload `name` with this payload.
    #[track_caller]
    pub fn ask(&self, name: &str, payload: &Value) -> Answer {
        let fixture = Fixture::of(&self.env.home(), name);
        let mut command = hook(&self.env, fixture.harness, &fixture.event);
        let ended = feed(&mut command, payload.to_string().as_bytes());
        Answer::of(name.split('/').next().unwrap(), &ended)
    }

    /// An editing tool is about to edit `path`.
    #[track_caller]
    fn edit(&self, (name, place, told): (&str, &str, Told), cwd: &str, path: &str) -> Answer {
        let path = self.whole(path);
        let mut payload = self.payload(name);
        set(
            &mut payload,
            place,
            match told {
                Told::Path => path,
                Told::Patch => {
                    format!("*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch\n")
                }
            },
        );
        self.go_to(name, &mut payload, cwd);
        self.ask(name, &payload)
    }

    /// A shell tool is about to run `command`.
    #[track_caller]
    fn run(&self, (name, place): (&str, &str), cwd: &str, command: &str) -> Answer {
        let mut payload = self.payload(name);
        set(&mut payload, place, self.whole(command));
        self.go_to(name, &mut payload, cwd);
        self.ask(name, &payload)
    }

    /// Sets the session's directory, within the project.
    fn go_to(&self, name: &str, payload: &mut Value, cwd: &str) {
        let cwd = self.project.join(cwd).to_str().unwrap().to_string();
        match name.split('/').next().unwrap() {
            // Our plugin adds it.
            "opencode" => payload["cwd"] = json!(cwd),
            "pi" => set(payload, "/ctx/cwd", cwd),
            _ => set(payload, "/cwd", cwd),
        }
    }
}

#[track_caller]
fn set(payload: &mut Value, place: &str, text: impl Into<Value>) {
    *payload.pointer_mut(place).unwrap_or_else(|| panic!("nothing at {place}")) = text.into();
}

#[derive(Debug, PartialEq)]
pub enum Answer {
    Silence,
    Denied(String),
}

impl Answer {
    /// The answer, in the form that this harness understands.
    #[track_caller]
    fn of(dir: &str, ended: &Ended) -> Self {
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended}");
        if ended.stdout.is_empty() {
            return Self::Silence;
        }
        let said = ended.json();
        let (verdict, reason) = match dir {
            "claude" | "codex" | "copilot-pascal" | "kimi" | "qwen" => {
                let own = &said["hookSpecificOutput"];
                assert_eq!(own["hookEventName"], "PreToolUse", "{ended}");
                (own["permissionDecision"] == "deny", &own["permissionDecisionReason"])
            }
            "copilot" => (said["permissionDecision"] == "deny", &said["permissionDecisionReason"]),
            "gemini" => (said["decision"] == "block", &said["reason"]),
            _ => (true, &said["deny"]),
        };
        assert!(verdict, "{ended}");
        Self::Denied(reason.as_str().unwrap_or_else(|| panic!("{ended}")).to_string())
    }

    pub fn is_denied(&self) -> bool {
        matches!(self, Self::Denied(reason) if reason.contains("by GoldFalcon"))
    }
}

/// Checks all cases of a table, and reports all failures together.
#[track_caller]
fn all(cases: impl IntoIterator<Item = (String, bool)>) {
    let mut count = 0;
    let wrong: Vec<String> =
        cases.into_iter().inspect(|_| count += 1).filter(|(_, right)| !right).map(|(case, _)| case).collect();
    assert!(count > 0);
    assert!(wrong.is_empty(), "{} of {count} went wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_tool_that_edits_is_refused_every_spelling() {
    let scene = Scene::held();
    let scene = &scene;
    all(EDITS.into_iter().flat_map(|tool| {
        SAME.into_iter().map(move |(cwd, path)| {
            let answer = scene.edit(tool, cwd, path);
            (format!("{} `{path}` in `{cwd}`: {answer:?}", tool.0), answer.is_denied())
        })
    }));
}

#[test]
fn no_tool_that_edits_is_refused_what_merely_looks_alike() {
    let scene = Scene::held();
    let scene = &scene;
    all(EDITS.into_iter().flat_map(|tool| {
        OTHERS.into_iter().map(move |(cwd, path)| {
            let answer = scene.edit(tool, cwd, path);
            (format!("{} `{path}` in `{cwd}`: {answer:?}", tool.0), answer == Answer::Silence)
        })
    }));
}

#[test]
fn no_shell_gets_past_it() {
    let scene = Scene::held();
    let scene = &scene;
    all(SHELLS.into_iter().flat_map(|shell| {
        CHANGES.into_iter().map(move |(cwd, command)| {
            let answer = scene.run(shell, cwd, command);
            (format!("{} `{command}` in `{cwd}`: {answer:?}", shell.0), answer.is_denied())
        })
    }));
}

#[test]
fn who_only_looks_is_never_stopped() {
    let scene = Scene::held();
    let scene = &scene;
    all(SHELLS.into_iter().flat_map(|shell| {
        LOOKS.into_iter().map(move |(cwd, command)| {
            let answer = scene.run(shell, cwd, command);
            (format!("{} `{command}` in `{cwd}`: {answer:?}", shell.0), answer == Answer::Silence)
        })
    }));
    all(READS.into_iter().map(|(name, place, tool_place, tool)| {
        let mut payload = scene.payload(name);
        set(&mut payload, place, scene.whole("{P}/src/lib.rs"));
        set(&mut payload, tool_place, tool);
        let answer = scene.ask(name, &payload);
        (format!("{name} {tool}: {answer:?}"), answer == Answer::Silence)
    }));
}

#[test]
fn pi_has_ways_of_its_own_to_read_a_path() {
    let scene = Scene::held();
    for tool in EDITS.into_iter().filter(|tool| tool.0.starts_with("pi/")) {
        for path in
            ["@src/lib.rs", "@{P}/src/lib.rs", "@~/project/src/lib.rs", "a\u{a0}b.txt", "@a\u{202f}b.txt"]
        {
            let answer = scene.edit(tool, "", path);
            assert!(answer.is_denied(), "{} `{path}`: {answer:?}", tool.0);
        }
        for path in ["@src/lib", "@@src/lib.rs", "a_b.txt"] {
            assert_eq!(scene.edit(tool, "", path), Answer::Silence, "{} `{path}`", tool.0);
        }
    }
}

/// Some shell tools have a directory of their own, besides the session's.
#[test]
fn a_command_may_run_elsewhere() {
    let scene = Scene::held();
    for (name, place, key) in [
        ("gemini/BeforeTool-run_shell_command", "/tool_input", "directory"),
        ("gemini/BeforeTool-run_shell_command", "/tool_input", "dir_path"),
        ("opencode/tool.execute.before-bash", "/output/args", "workdir"),
    ] {
        for (dir, command, expected) in [
            ("src", "rm lib.rs", true),
            ("{P}/src", "rm lib.rs", true),
            ("alias", "rm lib.rs", true),
            ("sub", "rm ../src/lib.rs", true),
            ("sub", "rm src/lib.rs", false),
            ("", "rm src/lib.rs", true),
        ] {
            let mut payload = scene.payload(name);
            let args = payload.pointer_mut(place).unwrap();
            (args["command"], args[key]) = (json!(command), json!(scene.whole(dir)));
            scene.go_to(name, &mut payload, "");
            let answer = scene.ask(name, &payload);
            assert_eq!(answer.is_denied(), expected, "{name}: `{command}` in {key} `{dir}`: {answer:?}");
        }
    }
}

/// Unknown tools of Claude Code count as edits if they have the fields of one.
#[test]
fn tools_that_nobody_knows() {
    let scene = Scene::held();
    for (tool, input, expected) in [
        ("MultiEdit", json!({ "file_path": "src/lib.rs", "edits": [] }), true),
        ("mcp__files__write", json!({ "file_path": "src/lib.rs", "content": "x" }), true),
        ("mcp__files__read", json!({ "file_path": "src/lib.rs" }), false),
        ("Glob", json!({ "path": "src", "pattern": "*" }), false),
        ("mcp__files__write", json!({ "file_path": 7, "content": "x" }), false),
    ] {
        for name in ["claude/PreToolUse-Edit", "codex/PreToolUse-Bash"] {
            let mut payload = scene.payload(name);
            (payload["tool_name"], payload["tool_input"]) = (json!(tool), input.clone());
            let answer = scene.ask(name, &payload);
            assert_eq!(answer.is_denied(), expected, "{name}: {tool} {input}: {answer:?}");
        }
    }
}

/// MCP servers call the field `path`; a relative one may be on another machine.
#[test]
fn tools_that_call_it_path() {
    let scene = Scene::held();
    let name = "claude/PreToolUse-Edit";
    let payload = scene.payload(name);
    let whole = format!("{}/src/lib.rs", payload["cwd"].as_str().unwrap());
    for (input, expected) in [
        (json!({ "path": whole, "content": "x" }), true),
        (json!({ "path": whole, "edits": [] }), true),
        (json!({ "path": whole }), false),
        (json!({ "path": "src/lib.rs", "content": "x" }), false),
    ] {
        let mut payload = payload.clone();
        (payload["tool_name"], payload["tool_input"]) = (json!("mcp__filesystem__write_file"), input.clone());
        let answer = scene.ask(name, &payload);
        assert_eq!(answer.is_denied(), expected, "{input}: {answer:?}");
    }
}

/// A patch of several files is refused if any of them is reserved.
#[test]
fn one_of_many_is_enough() {
    let scene = Scene::held();
    for (name, place, _) in EDITS.into_iter().filter(|(_, _, told)| matches!(told, Told::Patch)) {
        for section in [
            "*** Add File: new/file.rs\n+x",
            "*** Delete File: src/lib.rs",
            "*** Update File: src/lib.rs\n*** Move to: elsewhere.rs\n@@\n-a\n+b",
            "*** Update File: elsewhere.rs\n*** Move to: src/lib.rs\n@@\n-a\n+b",
        ] {
            let mut payload = scene.payload(name);
            set(
                &mut payload,
                place,
                format!(
                    "*** Begin Patch\n*** Add File: sub/free.rs\n+x\n{section}\n*** Update File: lib.rs\n@@\n-a\n+b\n*** End Patch"
                ),
            );
            let answer = scene.ask(name, &payload);
            assert!(answer.is_denied(), "{name}: {section}: {answer:?}");
        }
    }
}
