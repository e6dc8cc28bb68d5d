//! Open questions in a brief.

use serde_json::Value;

use super::fixture::Project;

#[track_caller]
fn questions(project: &Project, reader: &[&str]) -> Vec<(String, String, Option<String>)> {
    let args = [&["brief", "Alice", "--json"], reader].concat();
    let answer = project.msg(&project.root(), &args).expect_code(0).json();
    let text = |value: &Value| value.as_str().map(str::to_string);
    let asked = answer["brief"]["questions"].as_array().unwrap().clone();
    asked
        .iter()
        .map(|asked| (text(&asked["from"]).unwrap(), text(&asked["to"]).unwrap(), text(&asked["text"])))
        .collect()
}

fn question(from: &str, to: &str, text: Option<&str>) -> (String, String, Option<String>) {
    (from.to_string(), to.to_string(), text.map(str::to_string))
}

#[test]
fn what_has_no_answer_is_open() {
    let project = Project::new();
    let root = project.root();
    let host = project.join("Alice", &root);
    project.join("Bob", &root);
    project.join("Carol", &root);
    let send = |args: &[&str]| -> String {
        let answer = project.env.ok(&[&["send"], args].concat());
        answer["sent"][0]["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_string()
    };
    let asked = send(&["Bob", "which port?", "--want-ack", "--as", "Alice"]);
    send(&["Alice", "which branch?", "--want-ack", "--as", "Bob"]);
    send(&["Alice", "no hurry", "--as", "Bob"]);
    let open =
        [question("Alice", "Bob", Some("which port?")), question("Bob", "Alice", Some("which branch?"))];
    for reader in ["Alice", "Bob"] {
        assert_eq!(questions(&project, &["--as", reader]), open, "{reader}");
    }
    // The text of a direct message is not for everyone.
    let hidden = [question("Alice", "Bob", None), question("Bob", "Alice", None)];
    assert_eq!(questions(&project, &["--as", "Carol"]), hidden);
    project.env.ok(&["config", "set", "feedPrivacy", "text"]);
    assert_eq!(questions(&project, &["--as", "Carol"]), open);
    project.env.kill(host);
    project.env.ok(&["agents"]);
    assert_eq!(questions(&project, &["--as", "Bob"]), open, "its mail is in its grave");
    project.env.ok(&["read", "--as", "Bob"]);
    project.env.ok(&["ack", &asked, "--as", "Bob"]);
    assert_eq!(questions(&project, &["--as", "Bob"]), open[1..]);
}

#[test]
fn an_answer_closes_it() {
    let project = Project::new();
    let root = project.root();
    project.join("Alice", &root);
    project.join("Bob", &root);
    project.env.ok(&["send", "Alice", "which branch?", "--want-ack", "--as", "Bob"]);
    let mail = project.env.ok(&["read", "--as", "Alice"]);
    let id = mail["messages"][0]["id"].as_str().unwrap().to_string();
    assert_eq!(questions(&project, &["--as", "Alice"]).len(), 1);
    project.env.ok(&["reply", &id, "main", "--as", "Alice"]);
    assert_eq!(questions(&project, &["--as", "Alice"]), []);
}
