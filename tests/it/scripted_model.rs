//! Tests of the scripted model that real clients are run against, over plain HTTP.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use model::{Api, Call, Request, Server, Step};

#[path = "../real-clients/model/mod.rs"]
mod model;

/// Posts a body, and returns the body of the answer.
fn post(server: &Server, path: &str, head: &str, body: &[u8]) -> String {
    let url = server.url("");
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{head}Content-Length: {length}\r\n\r\n"
    )
    .unwrap();
    stream.write_all(body).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_string()
}

fn ask(server: &Server, path: &str, body: &Value) -> String {
    post(server, path, "", body.to_string().as_bytes())
}

/// The data events of a stream, in order.
fn data(stream: &str) -> Vec<Value> {
    let lines = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|_| json!(line))).collect()
}

fn turn(stream: bool) -> Value {
    json!({ "model": "m", "stream": stream, "tools": [{ "name": "t" }] })
}

fn step() -> Step {
    Step::say("I will.").and_call(Call::new("edit", json!({ "path": "a" })))
}

#[test]
fn what_is_said_can_depend_on_what_is_asked() {
    let server = Server::start();
    server.play("", [Step::say("dropped")]);
    server.direct("", |request| Step::say(if request.count("left") > 0 { "right" } else { "what?" }));
    let ask = |text: &str| {
        let body = json!({ "tools": [{ "name": "t" }], "messages": [{ "role": "user", "content": text }] });
        ask(&server, "/v1/messages", &body)
    };
    assert!(ask("not left").contains("right"));
    assert!(ask("nothing").contains("what?"));
    assert_eq!(server.requests("").len(), 2);
    server.play("", [Step::say("in order again")]);
    assert!(ask("not left").contains("in order again"));
}

#[test]
fn a_request_can_be_refused() {
    let server = Server::start();
    server.play("", [Step::refuse(429, json!({ "error": "too many" })), Step::say("now")]);
    let refused: Value = serde_json::from_str(&ask(&server, "/v1/messages", &turn(false))).unwrap();
    assert_eq!(refused, json!({ "error": "too many" }));
    assert!(ask(&server, "/v1/messages", &turn(false)).contains("now"));
}

#[test]
fn each_api_says_it_in_one_piece() {
    let check = |path: &str, places: [&str; 3]| {
        let server = Server::start();
        server.play("", [step()]);
        let answer: Value = serde_json::from_str(&ask(&server, path, &turn(false))).unwrap();
        let found =
            places.map(|place| answer.pointer(place).unwrap_or_else(|| panic!("{path}: {place}: {answer}")));
        let input = match found[2] {
            Value::String(text) => serde_json::from_str(text).unwrap(),
            input => input.clone(),
        };
        assert_eq!(
            (found[0], found[1], input),
            (&json!("I will."), &json!("edit"), json!({ "path": "a" })),
            "{path}"
        );
    };
    check("/v1/messages?beta=true", ["/content/0/text", "/content/1/name", "/content/1/input"]);
    check("/v1/responses", ["/output/0/content/0/text", "/output/1/name", "/output/1/arguments"]);
    let call = "/choices/0/message/tool_calls/0/function";
    let places = ["/choices/0/message/content", &format!("{call}/name"), &format!("{call}/arguments")];
    check("/v1/chat/completions", places);
    let part = "/candidates/0/content/parts";
    let places = [
        format!("{part}/0/text"),
        format!("{part}/1/functionCall/name"),
        format!("{part}/1/functionCall/args"),
    ];
    check("/v1beta/models/m:generateContent", [&places[0], &places[1], &places[2]]);
}

#[test]
fn each_api_says_it_bit_by_bit() {
    let check = |path: &str, texts: &str, inputs: &str, last: Value| {
        let server = Server::start();
        server.play("", [step()]);
        let events = data(&ask(&server, path, &turn(true)));
        let all = |place: &str| -> String {
            events
                .iter()
                .filter_map(|event| event.pointer(place))
                .map(|bit| bit.as_str().map_or(bit.to_string(), str::to_string))
                .collect()
        };
        assert!(all(texts).starts_with("I will."), "{path}: {events:?}");
        assert!(all(inputs).contains(r#"{"path":"a"}"#), "{path}: {events:?}");
        let end = events.last().unwrap();
        assert!(end == &last || end["type"] == last, "{path}: {end}");
    };
    check("/v1/messages", "/delta/text", "/delta/partial_json", json!("message_stop"));
    check("/v1/responses", "/delta", "/delta", json!("response.completed"));
    let arguments = "/choices/0/delta/tool_calls/0/function/arguments";
    check("/v1/chat/completions", "/choices/0/delta/content", arguments, json!("[DONE]"));
    let server = Server::start();
    server.play("", [step()]);
    let events = data(&ask(&server, "/v1beta/models/m:streamGenerateContent?alt=sse", &turn(false)));
    assert_eq!(
        events[0]["candidates"][0]["content"]["parts"][1]["functionCall"]["args"],
        json!({ "path": "a" })
    );
}

#[test]
fn a_text_is_a_freeform_input() {
    let server = Server::start();
    server.play("", [Step::call(Call::new("apply_patch", json!("*** Begin Patch")))]);
    let answer: Value = serde_json::from_str(&ask(&server, "/v1/responses", &turn(false))).unwrap();
    assert_eq!(
        (&answer["output"][0]["type"], &answer["output"][0]["input"]),
        (&json!("custom_tool_call"), &json!("*** Begin Patch"))
    );
}

#[test]
fn each_lane_has_its_own_script_and_side_questions_take_none_of_it() {
    let server = Server::start();
    server.play("alice", [Step::say("one"), Step::say("two")]);
    server.play("bob", [Step::say("three")]);
    let said = |path: &str, body: &Value| {
        let answer: Value = serde_json::from_str(&ask(&server, path, body)).unwrap();
        answer["content"][0]["text"].as_str().unwrap().to_string()
    };
    assert_eq!(said("/alice/v1/messages", &turn(false)), "one");
    assert_eq!(said("/alice/v1/messages", &json!({ "messages": [] })), "ok");
    assert_eq!(said("/bob/v1/messages", &turn(false)), "three");
    assert_eq!(said("/alice/v1/messages", &turn(false)), "two");
    assert_eq!(said("/alice/v1/messages", &turn(false)), "ok", "the script is over");
    let steps: Vec<Option<usize>> = server.requests("alice").iter().map(|request| request.step).collect();
    assert_eq!(steps, [Some(0), None, Some(1), Some(2)]);
    assert_eq!(server.requests("bob").len(), 1);
    assert!(ask(&server, "/alice/v1/messages/count_tokens", &json!({})).contains("input_tokens"));
    assert!(ask(&server, "/alice/v1/telemetry", &json!({})).contains("not in the script"));
}

#[test]
fn codex_offers_tools_in_its_input_too() {
    let server = Server::start();
    server.play("", [Step::say("yes")]);
    let body = json!({ "input": [{ "type": "additional_tools" }] });
    assert!(ask(&server, "/v1/responses", &body).contains("yes"));
}

#[test]
fn a_zipped_request_is_read_and_what_is_no_json_too() {
    let server = Server::start();
    server.play("", [Step::say("yes")]);
    let mut zip = GzEncoder::new(Vec::new(), Compression::default());
    zip.write_all(turn(false).to_string().as_bytes()).unwrap();
    let answer = post(&server, "/v1/messages", "Content-Encoding: gzip\r\n", &zip.finish().unwrap());
    assert!(answer.contains("yes"), "{answer}");
    post(&server, "/v1/messages", "", b"hello");
    post(&server, "/v1/messages", "Content-Encoding: gzip\r\n", b"hello");
    let bodies: Vec<Value> = server.requests("").into_iter().map(|request| request.body).collect();
    assert_eq!((bodies[0]["model"].as_str(), bodies[1].as_str()), (Some("m"), Some("hello")));
    assert!(bodies[2].as_str().unwrap().starts_with("unreadable"), "{}", bodies[2]);
}

#[test]
fn an_answer_waits_for_what_it_is_told_to_wait_for() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("there");
    let server = Server::start();
    let made = file.clone();
    let maker = move |request: &Request| {
        assert_eq!(request.api, Some(Api::Chat));
        std::fs::write(made, "").unwrap();
    };
    server.play(
        "",
        [
            Step::say("first").meanwhile(maker),
            Step::say("second").when_there_is(&file).after(Duration::from_millis(1)),
        ],
    );
    assert!(ask(&server, "/v1/chat/completions", &turn(false)).contains("first"));
    assert!(file.exists());
    assert!(ask(&server, "/v1/chat/completions", &turn(false)).contains("second"));
}

#[test]
fn paths_tell_api_and_lane() {
    let check = |path: &str, api: Option<Api>, lane: &str| {
        assert_eq!(Api::of_path(path), (api, lane.to_string()), "{path}");
    };
    check("/v1/messages?beta=true", Some(Api::Anthropic), "");
    check("/a/messages", Some(Api::Anthropic), "a");
    check("/a/v1/responses", Some(Api::Responses), "a");
    check("/a/v1/chat/completions", Some(Api::Chat), "a");
    check("/a/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", Some(Api::Gemini), "a");
    check("/a/v1beta/models/gemini-2.5-pro:countTokens", None, "a");
    check("/a/v1/models", None, "a");
    check("/", None, "");
}

#[test]
fn what_was_said_is_found_without_labels() {
    let server = Server::start();
    let body = json!({
        "tools": [{ "name": "t", "description": "mail" }], "system": "mail",
        "messages": [
            { "role": "user", "content": "mail" },
            { "role": "tool", "tool_call_id": "mail", "content": [{ "type": "text", "text": "mail, mail" }] },
        ],
    });
    ask(&server, "/v1/chat/completions", &body);
    let request = &server.requests("")[0];
    assert_eq!(request.conversation(), ["mail", "mail, mail"]);
    assert_eq!(request.count("mail"), 3);
}
