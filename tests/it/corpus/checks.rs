//! Checks for everything that parses input from others, whatever the input is.
//!
//! `fuzz/` is a crate of its own, and this file is its library: its targets call these functions with generated input,
//! and `tests/it/corpus.rs` calls them with the files in `fuzz/corpus/`. A function has the name of its target and
//! panics if a check fails.

use std::collections::HashSet;

use ravenry::domain::hook::{HookAnswer, HookEvent, HookMoment, ToolUse};
use ravenry::domain::knowledge::scheme::{
    QueryBudget, QueryEvent, QueryFacts, QueryOutlineRow, QueryWorld, evaluate,
};
use ravenry::domain::knowledge::{
    AnchorVerdict, Basis, Cell, CellKey, CellValue, Origin, RecordField, RecordId, Stamp, Statement,
    WriterId, merge,
};
use ravenry::domain::patch::{apply_patch_paths, diff_paths};
use ravenry::domain::pattern::{LetterCase, NormalPath, Overlap, Pattern, SearchBudget};
use ravenry::domain::shell::{CommandPrediction, ShellEnvironment, predict_command};
use ravenry::domain::text_edit::json::{Dialect, Document, EntrySlot, Json, JsonNode, NodeKind};
use ravenry::domain::text_edit::toml::Tables;
use ravenry::domain::{AnyEventKind, Harness, escape_invisible};
use ravenry::faces::mcp::parse_with_every_tool;
use ravenry::faces::mcp::transport::{InputLine, LineRead, parse, read_line};
use ravenry::harness::hook_codec::{decode, encode, max_answer_chars};
use ravenry::store::{LogContent, parse_event};
use ravenry::sys::outline::{SourceLanguage, parse as parse_outline};

/// What each frame of a log of knowledge begins with. A length and a checksum follow.
const FRAME_MARK: [u8; 4] = [0xf5, b'k', b'f', b'r'];

/// The events of each harness. The first byte of an input chooses one; the rest is the payload.
pub const EVENTS: [(Harness, &[&str]); 8] = [
    (
        Harness::named("claude"),
        &[
            "SessionStart",
            "SessionEnd",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "Stop",
            "PostToolBatch",
        ],
    ),
    (
        Harness::named("codex"),
        &["SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "Other"],
    ),
    (
        Harness::named("gemini"),
        &[
            "SessionStart",
            "SessionEnd",
            "BeforeAgent",
            "BeforeTool",
            "AfterTool",
            "AfterAgent",
            "BeforeModel",
        ],
    ),
    (
        Harness::named("opencode"),
        &[
            "tool.execute.before",
            "tool.execute.after",
            "chat.message",
            "event",
            "session.created",
            "session.idle",
            "session.deleted",
            "dispose",
        ],
    ),
    (
        Harness::named("pi"),
        &[
            "session_start",
            "session_shutdown",
            "before_agent_start",
            "tool_call",
            "tool_result",
            "agent_before_settle",
            "agent_end",
        ],
    ),
    (
        Harness::named("copilot"),
        &[
            "sessionStart",
            "sessionEnd",
            "userPromptSubmitted",
            "preToolUse",
            "postToolUse",
            "postToolUseFailure",
            "agentStop",
            "permissionRequest",
            "SessionStart",
            "SessionEnd",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "Stop",
        ],
    ),
    (
        Harness::named("kimi"),
        &[
            "SessionStart",
            "SessionEnd",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "Stop",
            "SubagentStart",
            "SubagentStop",
        ],
    ),
    (
        Harness::named("qwen"),
        &[
            "SessionStart",
            "SessionEnd",
            "UserPromptSubmit",
            "PermissionRequest",
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "Stop",
        ],
    ),
];

pub fn claude(data: &[u8]) {
    decoder(Harness::named("claude"), data);
}

pub fn codex(data: &[u8]) {
    decoder(Harness::named("codex"), data);
}

pub fn gemini(data: &[u8]) {
    decoder(Harness::named("gemini"), data);
}

pub fn opencode(data: &[u8]) {
    decoder(Harness::named("opencode"), data);
}

pub fn pi(data: &[u8]) {
    decoder(Harness::named("pi"), data);
}

pub fn copilot(data: &[u8]) {
    decoder(Harness::named("copilot"), data);
}

pub fn kimi(data: &[u8]) {
    decoder(Harness::named("kimi"), data);
}

pub fn qwen(data: &[u8]) {
    decoder(Harness::named("qwen"), data);
}

/// A settings file. The first byte chooses the dialect; the rest is the file, parsed as JSON and as TOML.
pub fn settings(data: &[u8]) {
    let Some((first, content)) = data.split_first() else { return };
    let dialects = [Dialect::Strict, Dialect::Comments, Dialect::CommentsAndTrailingCommas];
    json_settings(content, dialects[usize::from(*first) % dialects.len()]);
    toml_settings(content);
}

/// An entry that is added is there once, and after it is removed the file has its original meaning.
fn json_settings(content: &[u8], dialect: Dialect) {
    let Ok(before) = Document::parse(content, dialect) else { return };
    let list = ["hooks", "Stop"].map(str::to_string);
    let is_ours = |node: &JsonNode| node.member("command").and_then(JsonNode::text) == Some("ours");
    let slot = EntrySlot { list: &list, within: Some("hooks"), is_ours: &is_ours };
    // An entry of the file may look like ours.
    if !before.places(&slot).is_ok_and(|places| places.is_empty()) {
        return;
    }
    let handler = Json::object([("command", "ours".into())]);
    let group = Json::object([("hooks", Json::List(vec![handler]))]);
    let mut with = before.clone();
    if with.put(&slot, &group).is_err() {
        return;
    }
    assert_eq!(with.places(&slot).expect("it is there").len(), 1);
    let mut again = with.clone();
    again.put(&slot, &group).expect("it is there");
    assert_eq!(again.into_bytes(), with.clone().into_bytes(), "twice is once");
    let stays = |path: &[String]| before.get(path).is_ok_and(|node| node.is_some());
    with.take(&slot, &stays).expect("it can be taken out");
    let after = Document::parse(&with.into_bytes(), dialect).expect("it can be read");
    assert_eq!(meaning(&after), meaning(&before));
}

fn meaning(document: &Document) -> String {
    fn of(node: &JsonNode) -> String {
        match &node.kind {
            NodeKind::List(items) => format!("{:?}", items.iter().map(of).collect::<Vec<_>>()),
            NodeKind::Object(members) => {
                let members = members.iter().map(|member| (member.name.as_str(), of(&member.value)));
                format!("{:?}", members.collect::<Vec<_>>())
            }
            leaf => format!("{leaf:?}"),
        }
    }
    document.get(&[]).ok().flatten().map(of).expect("there is an outermost object")
}

fn toml_settings(content: &[u8]) {
    let Ok(before) = Tables::parse(content, &["hooks", "state"], "trusted_hash") else { return };
    let entries = before.entries().expect("it was read");
    if entries.iter().any(|entry| entry.name == "ours") {
        return;
    }
    let mut with = before.clone();
    if with.put("ours", "hash").is_err() {
        return;
    }
    let ours = with.entries().expect("it is there").into_iter().filter(|entry| entry.name == "ours").count();
    assert_eq!(ours, 1);
    with.take("ours").expect("it can be taken out");
    assert_eq!(with.entries().expect("it can be read"), entries);
}

fn decoder(harness: Harness, data: &[u8]) {
    let Some((first, payload)) = data.split_first() else { return };
    let (_, events) = EVENTS.iter().find(|(other, _)| *other == harness).expect("each harness has events");
    let event = events[usize::from(*first) % events.len()];
    let decode = || decode(harness, event, payload).map_err(|error| error.to_string());
    let decoded = decode();
    assert_eq!(decoded, decode(), "the same says the same");
    match &decoded {
        Ok(decoded) => {
            event_makes_sense(event, decoded);
            answers_can_be_told(harness, event, decoded);
        }
        // A value of an unexpected type must not make the whole payload unreadable.
        Err(error) => {
            let value = serde_json::from_slice::<serde_json::Value>(payload);
            let is_object = value.is_ok_and(|value| value.is_object());
            assert!(!is_object || error.contains("duplicate field"), "{error}");
        }
    }
}

fn event_makes_sense(event: &str, decoded: &HookEvent) {
    let name = event.to_lowercase();
    match &decoded.moment {
        HookMoment::BeforeTool(tool) => {
            tool_use_makes_sense(tool);
            assert!(tool.changed.is_none() || name.contains("pretooluse"), "nothing has changed yet");
        }
        HookMoment::AfterTool(tool) | HookMoment::AskingLeave(tool) => tool_use_makes_sense(tool),
        _ => {}
    }
    let is_tool = matches!(decoded.moment, HookMoment::BeforeTool(_) | HookMoment::AfterTool(_));
    // OpenCode may name the event in the payload.
    assert!(is_tool == (name.contains("tool") && !name.contains("batch")) || event == "event", "{event}");
}

fn tool_use_makes_sense(tool: &ToolUse) {
    let paths = tool.edits.iter().chain(tool.changed.iter().flatten());
    paths.for_each(|path| assert!(!path.is_empty(), "a path is not empty"));
    assert!(tool.edits.is_empty() || tool.command.is_none(), "a tool edits or runs");
}

/// Any decoded text can be encoded in an answer, as one line of JSON.
fn answers_can_be_told(harness: Harness, event: &str, decoded: &HookEvent) {
    let text = format!("{:?} {}", decoded.moment, decoded.cwd.as_deref().unwrap_or_default());
    for answer in [HookAnswer::Deny(text.clone()), HookAnswer::Context(text.clone()), HookAnswer::GoOn(text)]
    {
        if let Some(said) = encode(harness, event, &answer) {
            assert!(!said.contains('\n'));
            assert!(serde_json::from_str::<serde_json::Value>(&said).is_ok_and(|said| said.is_object()));
            assert!(matches!(answer, HookAnswer::Deny(_)) || max_answer_chars(harness, event).is_some());
        }
    }
    assert_eq!(encode(harness, event, &HookAnswer::Silence), None);
}

/// A small tree in `/w`, which is a git work tree.
struct SmallWorld;

impl ShellEnvironment for SmallWorld {
    fn is_dir(&self, path: &str) -> bool {
        ["", "/w", "/w/src", "/w/docs", "/home/me", "/tmp"].contains(&path.trim_end_matches('/'))
    }

    fn read(&self, path: &str) -> Option<String> {
        match path {
            "/w/fix.patch" => Some("--- a/src/one.rs\n+++ b/src/one.rs\n@@ -1 +1 @@\n-x\n+y\n".to_string()),
            "/w/list.txt" => Some("one.txt\ntwo.txt\n".to_string()),
            "/w/README.md" => Some(String::new()),
            _ => None,
        }
    }

    fn work_tree(&self, dir: &str) -> Option<String> {
        dir.starts_with("/w").then(|| "/w".to_string())
    }

    fn home(&self) -> Option<String> {
        Some("/home/me".to_string())
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name == "OUT").then(|| "/w/out".to_string())
    }
}

/// The whole input is a shell command.
pub fn shell(data: &[u8]) {
    let command = String::from_utf8_lossy(data);
    let reading = predict_command(&command, "/w", &SmallWorld);
    assert_eq!(reading, predict_command(&command, "/w", &SmallWorld), "the same says the same");
    reading_makes_sense(&reading);
    // A syntax error must not hide the commands that a shell runs before it.
    let after = predict_command(&format!("rm first\n{command}"), "/w", &SmallWorld);
    assert_eq!(after.writes.first().map(|written| written.path.as_str()), Some("/w/first"));
}

fn reading_makes_sense(reading: &CommandPrediction) {
    let mut seen = HashSet::new();
    for written in &reading.writes {
        assert!(written.path.starts_with('/'), "{:?} is not absolute", written.path);
        assert!(!written.path.contains('\0'), "{:?} can't be a path", written.path);
        assert!(!written.by.is_empty(), "{:?} is written by nobody", written.path);
        assert!(!written.is_pattern || globset::Glob::new(&written.path).is_ok(), "{:?}", written.path);
        assert!(seen.insert((&written.path, written.extent, written.is_pattern)), "{:?} twice", written.path);
    }
}

/// The first byte is the number of directories to strip; the rest is a patch.
pub fn patch(data: &[u8]) {
    let Some((first, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let paths = apply_patch_paths(&text);
    paths_are_each_one(&paths);
    for path in &paths {
        assert!(!path.contains('\n') && text.contains(path.as_str()), "{path:?} does not stand there");
        assert_eq!(path.trim(), path);
    }
    let strip = usize::from(*first % 4);
    paths_are_each_one(&diff_paths(&text, strip));
    for path in diff_paths(&text, 0) {
        // Only a quoted path may differ from the text.
        assert!(text.contains(&path) || text.contains('"'), "{path:?} does not stand there");
    }
}

fn paths_are_each_one(paths: &[String]) {
    let mut seen = HashSet::new();
    for path in paths {
        assert!(!path.is_empty(), "a path is not empty");
        assert!(seen.insert(path), "{path:?} twice");
    }
}

/// One byte decides whether case matters; then two patterns and a path, one per line.
pub fn pattern(data: &[u8]) {
    let Some((first, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let mut lines = text.splitn(3, '\n');
    let root = NormalPath::absolute("/w/project");
    let mut next = || Pattern::new(lines.next()?, &root).ok();
    let (Some(one), Some(two)) = (next(), next()) else { return };
    let case = if first % 2 == 1 { LetterCase::Ignored } else { LetterCase::Matters };
    let (one, two) = (one.with_case(case), two.with_case(case));
    let common = one.overlap(&two, &SearchBudget::for_one_pair());
    assert_eq!(one.overlaps(&two), two.overlaps(&one), "`{one}` and `{two}`");
    if let Overlap::At(common) = &common {
        assert!(one.covers(common), "`{one}` and `{two}` have {common:?} in common");
        assert!(two.covers(common), "`{two}` and `{one}` have {common:?} in common");
    }
    // A path cannot contain a NUL.
    let path = root.join(&lines.next().unwrap_or("src/main.rs").replace('\0', "0"));
    for pattern in [&one, &two] {
        assert!(!pattern.covers(&path) || pattern.may_cover(&path));
        let literal = Pattern::literal(path.clone()).with_case(case);
        assert!(!pattern.covers(&path) || pattern.overlaps(&literal), "`{pattern}` covers {path:?}");
        if !pattern.is_literal() {
            let again = Pattern::new(&pattern.written_from(&root), &root).map(|again| again.with_case(case));
            assert!(again.is_ok_and(|again| again == *pattern) || pattern.written_from(&root).len() > 1024);
        }
    }
    if one.covers(&path) && two.covers(&path) {
        assert!(common != Overlap::Apart, "both `{one}` and `{two}` cover {path:?}");
    }
}

/// Lines of a feed from any writer: each parsed event is a sentence without characters that a terminal obeys.
pub fn feed(data: &[u8]) {
    for event in data.split(|byte| *byte == b'\n').filter_map(parse_event) {
        let (subject, phrase) = (event.subject(), event.phrase());
        assert!(!phrase.is_empty(), "{event:?} says nothing");
        for text in [&subject, &phrase] {
            assert_eq!(escape_invisible(text), text.as_str(), "nothing in it is obeyed");
            assert!(text.chars().count() < 1000, "{} characters", text.chars().count());
        }
        assert_eq!(AnyEventKind::named(event.what.name()), event.what, "it is what it is called");
    }
}

/// The input of a server: lines end where they should, none exceeds the limit, and input that cannot be parsed gets at
/// most one answer.
pub fn mcp(data: &[u8]) {
    const MOST: usize = 256;
    let mut input = std::io::BufReader::with_capacity(7, data);
    let mut line = Vec::new();
    // Text after the last line end was cut off.
    let mut expected: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    expected.pop();
    for expected in expected {
        let fits = expected.len() <= MOST;
        let read = read_line(&mut input, &mut line, MOST).expect("memory can be read");
        assert_eq!(read, if fits { LineRead::Line } else { LineRead::TooLong });
        if fits {
            assert_eq!(line, expected);
        }
    }
    let read = read_line(&mut input, &mut line, MOST).expect("memory can be read");
    assert_eq!(read, LineRead::EndOfInput);
    for line in data.split(|byte| *byte == b'\n') {
        match parse(line) {
            InputLine::Bad(answer) => {
                assert!(serde_json::to_string(&answer).is_ok_and(|text| !text.contains('\n')));
            }
            InputLine::Message(_) => {
                assert!(serde_json::from_slice::<serde_json::Value>(line).is_ok());
            }
            InputLine::Nothing => {}
        }
        if let Ok(serde_json::Value::Object(arguments)) = serde_json::from_slice(line) {
            parse_with_every_tool(arguments);
        }
    }
}

/// Nobody's worktree: everything is stale, and every search finds the one record.
struct StaleFacts(RecordId);

impl QueryFacts for StaleFacts {
    fn verdict(&self, _: &RecordId) -> Option<AnchorVerdict> {
        Some(AnchorVerdict::Stale)
    }

    fn search(&self, _: &str, limit: usize) -> Vec<RecordId> {
        vec![self.0.clone(); limit.min(3)]
    }

    fn outline(&self, _: &str) -> Option<Vec<QueryOutlineRow>> {
        None
    }

    fn history(&self, _: &RecordId) -> Vec<QueryEvent> {
        Vec::new()
    }

    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }

    fn is_out_of_time(&self) -> bool {
        false
    }
}

/// Any text has an answer, the same one each time, and within the budget.
pub fn expression(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let id = RecordId::parse("decision/one-flock").expect("it is an id");
    let writer = WriterId::new("ann").expect("it is a writer");
    let origin = Origin::new("ann", jiff::Timestamp::UNIX_EPOCH);
    let said = Statement::new("One flock guards all names.", Basis::Read, origin);
    let statement = Statement { impact: Some(8), ..said };
    let key = CellKey { record: id.clone(), field: RecordField::Text, entry: String::new(), writer };
    let value = CellValue::Statement { statement: Box::new(statement), replaces: Vec::new() };
    let snapshot = merge([Cell { key, stamp: Stamp::default(), value }]);
    let facts = StaleFacts(id);
    let world = QueryWorld { snapshot: &snapshot, facts: &facts };
    let budget = QueryBudget { steps: 20_000, cells: 50_000, ..QueryBudget::default() };
    let answer = evaluate(&text, &world, budget);
    let shown = answer.to_string();
    assert_eq!(shown, evaluate(&text, &world, budget).to_string(), "the same says the same");
    assert!(!answer.is_value() || shown.len() <= budget.answer_bytes);
}

/// A file of any language has symbols that are in it, in order, each of which is found by its name. The first byte chooses
/// the language.
pub fn outline(data: &[u8]) {
    let Some((choice, text)) = data.split_first() else { return };
    let files = ["a.rs", "a.ts", "a.tsx", "a.py", "a.go"];
    let Some(language) = SourceLanguage::of_file(files[usize::from(*choice) % files.len()]) else { return };
    let text = String::from_utf8_lossy(text);
    let Some(outline) = parse_outline(language, &text) else { return };
    // A line may end with a form feed or the like in a language; the parsers count `\n` alone.
    let lines = text.split('\n').count();
    for symbol in &outline.symbols {
        let (first, last) = (symbol.first_line as usize, symbol.last_line as usize);
        assert!(0 < first && first <= last && last <= lines, "{symbol:?} of {lines} lines");
        assert!(!outline.called(&symbol.qualified).is_empty() || symbol.name.trim().is_empty(), "{symbol:?}");
    }
    assert_eq!(outline.print().is_empty(), outline.symbols.is_empty());
    assert!(parse_outline(language, &text).is_none_or(|again| again == outline), "the same says the same");
}

/// Whatever is in a file of the log is read without a panic, twice alike, and a torn frame after it costs nothing. As chance
/// makes no frame whose checksum is right, the file is read with right checksums too.
pub fn log(data: &[u8]) {
    log_file(data);
    log_file(&with_checksums(data));
}

/// Each frame ends where the next one begins.
fn with_checksums(data: &[u8]) -> Vec<u8> {
    let marks = data.windows(FRAME_MARK.len()).enumerate().filter(|(_, bytes)| *bytes == FRAME_MARK);
    let starts: Vec<usize> = marks.map(|(at, _)| at).collect();
    let mut mended = data.to_vec();
    for (nth, start) in starts.iter().enumerate() {
        let frame = &mut mended[*start..starts.get(nth + 1).copied().unwrap_or(data.len())];
        let Some((prefix, payload)) = frame.split_at_mut_checked(12) else { continue };
        prefix[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        let sum = crc32fast::hash(&[&prefix[4..8], payload].concat());
        prefix[8..].copy_from_slice(&sum.to_le_bytes());
    }
    mended
}

fn log_file(data: &[u8]) {
    let read = LogContent::of_file(data);
    assert_eq!(LogContent::of_file(data), read, "the same says the same");
    let torn = LogContent::of_file(&[data, &FRAME_MARK, &[200, 0, 0, 0]].concat());
    assert_eq!(torn.cells, read.cells, "what was whole is still there");
    assert!(read.cells.is_sorted_by(|one, other| one.key < other.key), "one cell for each key");
    merge(read.cells);
}
