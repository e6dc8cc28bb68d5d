//! Tests of edits of JSON: what must change, and that nothing else does.

use proptest::prelude::*;

use super::EditError;
use super::json::{Dialect, Document, EntrySlot, Json, JsonNode};

const LENIENT: Dialect = Dialect::CommentsAndTrailingCommas;

fn path(text: &str) -> Vec<String> {
    text.split('.').filter(|word| !word.is_empty()).map(str::to_string).collect()
}

fn hook(command: &str) -> Json {
    Json::object([("command", command.into()), ("timeout", Json::Number(10))])
}

fn group(command: &str) -> Json {
    Json::object([("matcher", "X".into()), ("hooks", Json::List(vec![hook(command)]))])
}

fn is_ours(node: &JsonNode) -> bool {
    node.member("command").and_then(JsonNode::text).is_some_and(|text| text.starts_with("ours"))
}

/// Adds a hook to the list of an event.
fn put(text: &str, event: &str, command: &str) -> Result<String, EditError> {
    let mut document = Document::parse(text.as_bytes(), LENIENT)?;
    let list = path(&format!("hooks.{event}"));
    document.put(&EntrySlot { list: &list, within: Some("hooks"), is_ours: &is_ours }, &group(command))?;
    Ok(String::from_utf8(document.into_bytes()).unwrap())
}

/// Removes it; `stays` are containers that were there before.
fn take(text: &str, event: &str, stays: &[&str]) -> String {
    let mut document = Document::parse(text.as_bytes(), LENIENT).unwrap();
    let list = path(&format!("hooks.{event}"));
    let stays = |path: &[String]| stays.contains(&path.join(".").as_str());
    document.take(&EntrySlot { list: &list, within: Some("hooks"), is_ours: &is_ours }, &stays).unwrap();
    String::from_utf8(document.into_bytes()).unwrap()
}

#[track_caller]
fn check(before: &str, after: &str, stays: &[&str]) {
    let with = put(before, "Stop", "ours").unwrap();
    assert_eq!(with, after);
    assert_eq!(put(&with, "Stop", "ours").unwrap(), with, "it is there already");
    assert_eq!(put(&with, "Stop", "ours 2").unwrap(), with.replace("\"ours\"", "\"ours 2\""), "in its place");
    assert_eq!(take(&with, "Stop", stays), before);
}

#[test]
fn into_a_file_with_comments() {
    check(
        "// mine\n{\n  // the model\n  \"model\": \"opus\", // best\n  \"x\": [1, 2] // last\n  /* end */\n}\n",
        "// mine\n{\n  // the model\n  \"model\": \"opus\", // best\n  \"x\": [1, 2], // last\n  \"hooks\": {\n    \
         \"Stop\": [\n      {\n        \"matcher\": \"X\",\n        \"hooks\": [\n          {\n            \
         \"command\": \"ours\",\n            \"timeout\": 10\n          }\n        ]\n      }\n    ]\n  }\n  /* end */\n}\n",
        &[],
    );
}

#[test]
fn beside_hooks_of_others() {
    check(
        "{\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\"hooks\": [{\"command\": \"theirs\"}]},\n\t\t],\n\t},\n}",
        "{\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\"hooks\": [{\"command\": \"theirs\"}]},\n\t\t\t{\n\t\t\t\t\
         \"matcher\": \"X\",\n\t\t\t\t\"hooks\": [\n\t\t\t\t\t{\n\t\t\t\t\t\t\"command\": \"ours\",\n\t\t\t\t\t\t\
         \"timeout\": 10\n\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t},\n\t\t],\n\t},\n}",
        &["hooks", "hooks.Stop"],
    );
}

#[test]
fn one_line_stays_one_line() {
    let ours = "{\"matcher\":\"X\",\"hooks\":[{\"command\":\"ours\",\"timeout\":10}]}";
    check("{\"a\":1}", &format!("{{\"a\":1,\"hooks\":{{\"Stop\":[{ours}]}}}}"), &[]);
    check(
        "{\"hooks\":{\"Stop\":[{}]}}",
        &format!("{{\"hooks\":{{\"Stop\":[{{}},{ours}]}}}}"),
        &["hooks", "hooks.Stop"],
    );
    check("{\"hooks\":{}}", &format!("{{\"hooks\":{{\"Stop\":[{ours}]}}}}"), &["hooks"]);
}

#[test]
fn line_endings_and_byte_order_mark_stay() {
    let before = "\u{feff}{\r\n    \"a\": 1\r\n}\r\n";
    let with = put(before, "Stop", "ours").unwrap();
    assert!(
        with.starts_with("\u{feff}{\r\n    \"a\": 1,\r\n    \"hooks\": {\r\n        \"Stop\": [\r\n"),
        "{with}"
    );
    assert_eq!(with.matches('\n').count(), with.matches("\r\n").count());
    assert_eq!(take(&with, "Stop", &[]), before);
}

#[test]
fn nothing_is_an_empty_object() {
    for empty in ["", " \n", "\n\n"] {
        assert!(put(empty, "Stop", "ours").unwrap().starts_with("{\n  \"hooks\": {\n"));
    }
    let noted = put("// note\n", "Stop", "ours").unwrap();
    assert!(noted.starts_with("// note\n{\n  \"hooks\""), "{noted}");
}

#[test]
fn others_in_our_group_keep_it() {
    let mixed = "{\"hooks\": {\"Stop\": [{\"matcher\": \"Y\", \"hooks\": [{\"command\": \"ours\"}, {\"command\": \"t\"}]}]}}";
    let with = put(mixed, "Stop", "ours 2").unwrap();
    let expected = mixed.replace("{\"command\": \"ours\"}", "{\"command\": \"ours 2\", \"timeout\": 10}");
    assert_eq!(with, expected);
    assert_eq!(take(&with, "Stop", &[]), mixed.replace("{\"command\": \"ours\"}, ", ""));
}

#[test]
fn one_of_ours_is_enough() {
    let twice = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"ours 1\"}]}, {\"hooks\": [{\"command\": \"t\"}]}, \
                 {\"hooks\": [{\"command\": \"ours 2\"}]}]}}";
    let once = put(twice, "Stop", "ours").unwrap();
    assert_eq!(once.matches("ours").count(), 1, "{once}");
    assert!(once.find("ours").unwrap() < once.find("\"t\"").unwrap(), "in the first place: {once}");
}

#[test]
fn comments_beside_what_goes_stay() {
    let text = "{\n  \"a\": 1, // one\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"ours\"}]}]} // two\n}\n";
    let left = take(text, "Stop", &[]);
    assert!(left.contains("// one") && left.contains("// two"), "{left}");
    assert_eq!(
        Document::parse(left.as_bytes(), LENIENT).unwrap().get(&path("a")).unwrap().map(|n| n.number()),
        Some(Some(1))
    );
}

#[test]
fn refused_with_line_and_column() {
    let refused = |text: &str| {
        let refusal = put(text, "Stop", "ours").unwrap_err();
        (refusal.line, refusal.column, refusal.reason)
    };
    assert_eq!(refused("{\n  \"a\": 1\n  \"b\": 2\n}"), (2, 9, "expected comma".to_string()));
    assert_eq!(refused("{\n  \"ä\": nope\n}"), (2, 8, "unexpected word".to_string()));
    assert_eq!(refused("[1]"), (1, 1, "it must hold an object".to_string()));
    assert_eq!(
        refused("{\"hooks\": []}"),
        (1, 11, "`hooks` is a list, where an object is expected".to_string())
    );
    let text = "{\n \"hooks\": {\n  \"Stop\": \"x\"\n }\n}";
    assert_eq!(refused(text), (3, 11, "`hooks.Stop` is text, where a list is expected".to_string()));
    let text = "{\"hooks\": {\"Stop\": [{\"hooks\": {}}]}}";
    assert_eq!(
        refused(text),
        (1, 31, "`hooks.Stop.0.hooks` is an object, where a list is expected".to_string())
    );
    assert_eq!(refused("{\"hooks\": {}, \"hooks\": {}}"), (1, 15, "`hooks` occurs twice".to_string()));
    assert_eq!(refused(&format!("{{\"a\": {}", "[".repeat(100_000))).2, "maximum nesting depth exceeded");
    assert_eq!(refused("{\n\"a\": \"\t\"}"), (2, 7, "control character in a string".to_string()));
    assert_eq!(refused("{\"a\nb\": 1}").0, 1);
    assert_eq!(refused("{\"a\": 01}").0, 1);
    let strict = Document::parse(b"{\n // x\n}", Dialect::Strict).unwrap_err();
    assert_eq!((strict.line, strict.column, strict.reason.as_str()), (2, 2, "comments are not allowed"));
    let comma = Document::parse(b"{\"a\": 1,}", Dialect::Comments).unwrap_err();
    assert_eq!(comma.reason, "trailing commas are not allowed");
    let bytes = Document::parse(b"{\"a\": \"\xff\"}", LENIENT).unwrap_err();
    assert_eq!((bytes.line, bytes.column), (1, 8));
}

#[test]
fn a_huge_file_is_no_trouble() {
    let members: Vec<String> =
        (0..20_000).map(|n| format!("  \"key{n}\": [\"{}\"]", "x".repeat(100))).collect();
    let text = format!("{{\n{}\n}}\n", members.join(",\n"));
    let with = put(&text, "Stop", "ours").unwrap();
    assert_eq!(take(&with, "Stop", &[]), text);
}

/// JSON as somebody wrote it: with comments, on one line or on many.
fn value(depth: u32) -> BoxedStrategy<String> {
    let gap = prop_oneof![
        4 => Just(String::new()),
        4 => Just(" ".to_string()),
        4 => Just("\n  ".to_string()),
        1 => Just(" /* , } ] */ ".to_string()),
        1 => Just(" // \" { , \n".to_string()),
        1 => Just("\r\n\t".to_string()),
    ];
    let leaf = prop_oneof![
        Just("null".to_string()),
        Just("-1.5e3".to_string()),
        Just("\"a\\\"// , \\u00e4\"".to_string()),
        Just("true".to_string()),
    ];
    if depth == 0 {
        return leaf.boxed();
    }
    let items = |item: BoxedStrategy<String>| {
        (prop::collection::vec((gap.clone(), item, gap.clone()), 0..4), gap.clone(), any::<bool>())
    };
    let join =
        |open: &str, close: &str, parts: Vec<(String, String, String)>, gap: String, trailing: bool| {
            let comma = if trailing && !parts.is_empty() { "," } else { "" };
            let items: Vec<String> = parts.iter().map(|(a, item, b)| format!("{a}{item}{b}")).collect();
            format!("{open}{}{comma}{gap}{close}", items.join(","))
        };
    let list =
        items(value(depth - 1)).prop_map(move |(parts, gap, trailing)| join("[", "]", parts, gap, trailing));
    let names = ["a", "hooks", "Stop", "Start", "permissions", "command"];
    let member = (prop::sample::select(names.to_vec()), gap.clone(), value(depth - 1));
    let member = member.prop_map(|(name, gap, value)| format!("\"{name}\":{gap}{value}"));
    let object =
        items(member.boxed()).prop_map(move |(parts, gap, trailing)| join("{", "}", parts, gap, trailing));
    prop_oneof![1 => leaf, 2 => list, 4 => object].boxed()
}

fn comments(text: &str) -> usize {
    text.matches("/* , } ] */").count() + text.matches("// \" { ,").count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the file looks like, the edit is refused, or the file has the same content apart from our entry; after
    /// the entry is removed, it has its original content. No comment is lost.
    #[test]
    fn in_and_out_of_anything(text in value(4)) {
        let Ok(before) = Document::parse(text.as_bytes(), LENIENT) else { return Ok(()) };
        let had = |path: &[String]| before.get(path).is_ok_and(|node| node.is_some());
        let stays: Vec<&str> = ["hooks", "hooks.Stop"].into_iter().filter(|name| had(&super::tests::path(name))).collect();
        let Ok(with) = put(&text, "Stop", "ours") else { return Ok(()) };
        prop_assert!(with.contains("\"ours\""));
        prop_assert_eq!(comments(&with), comments(&text));
        prop_assert_eq!(&put(&with, "Stop", "ours").unwrap(), &with);
        let left = take(&with, "Stop", &stays);
        prop_assert_eq!(comments(&left), comments(&text));
        let after = Document::parse(left.as_bytes(), LENIENT).unwrap();
        prop_assert_eq!(after.meaning(), before.meaning(), "{} -> {} -> {}", text, with, left);
    }

    /// Others add entries after ours, which is then removed from between them.
    #[test]
    fn out_from_between_others(text in value(4)) {
        let theirs = |text: &str| -> Result<String, EditError> {
            let mut document = Document::parse(text.as_bytes(), LENIENT)?;
            let list = path("hooks.Stop");
            document.put(&EntrySlot { list: &list, within: None, is_ours: &|_| false }, &"theirs".into())?;
            Ok(String::from_utf8(document.into_bytes()).unwrap())
        };
        let Ok(with) = put(&text, "Stop", "ours") else { return Ok(()) };
        let (with, without) = (theirs(&with).unwrap(), theirs(&text).unwrap());
        let left = take(&with, "Stop", &[]);
        prop_assert_eq!(comments(&left), comments(&text));
        let [left, without] = [&left, &without].map(|it| Document::parse(it.as_bytes(), LENIENT).unwrap().meaning());
        prop_assert_eq!(left, without);
    }
}
