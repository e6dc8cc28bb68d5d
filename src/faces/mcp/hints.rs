//! Rewrites hints for models that may have no shell: names the tool instead of the command.

/// Command, the tool that does the same, and the tool's action unless that is its default.
const TOOLS: [(&str, &str, Option<&str>); 28] = [
    ("agents", "agents", None),
    ("whoami", "agents", None),
    ("join", "agents", Some("join")),
    ("leave", "agents", Some("leave")),
    ("set-status", "agents", Some("status")),
    ("send", "message", None),
    ("broadcast", "message", Some("broadcast")),
    ("reply", "message", Some("reply")),
    ("ack", "message", Some("ack")),
    ("receipt", "message", Some("receipt")),
    ("read", "inbox", None),
    ("inbox", "inbox", None),
    ("wait", "inbox", None),
    ("reserve", "reserve", None),
    ("release", "reserve", Some("release")),
    ("check", "reserve", Some("check")),
    ("reservations", "reserve", Some("list")),
    ("tasks", "task", None),
    ("unclaim", "task", Some("unclaim")),
    ("complete", "task", Some("complete")),
    ("reopen", "task", Some("reopen")),
    ("feed", "feed", None),
    ("know", "know", None),
    ("learn", "learn", None),
    ("record", "learn", None),
    ("run", "run", Some("start")),
    ("look", "agents", Some("look")),
    ("tell", "run", Some("tell")),
];

/// The hint with commands replaced by tools; a command without a tool is left as it is.
pub(super) fn for_tools(hint: &str) -> String {
    let mut told = String::new();
    for (place, part) in hint.split('`').enumerate() {
        let tool = if place % 2 == 1 { tool(part) } else { None };
        match tool {
            Some(tool) => told.push_str(&tool),
            None if place % 2 == 1 => told.push_str(&format!("`{part}`")),
            None => told.push_str(part),
        }
    }
    // A text with an unpaired backtick is not one of our hints.
    if hint.matches('`').count() % 2 == 1 { hint.to_string() } else { told }
}

fn tool(command: &str) -> Option<String> {
    let mut words = command.strip_prefix("msg ")?.split(' ');
    let name = words.next()?;
    let flag = words.find(|word| word.starts_with("--"));
    let (tool, action) = match (name, flag) {
        ("claim", Some("--next")) => ("task", Some("next")),
        ("claim", _) => ("task", Some("claim")),
        ("handoff", _) => ("task", Some("handoff")),
        ("spec", _) => ("task", Some("spec")),
        ("wait", Some("--for")) => ("agents", Some("wait")),
        ("look", Some("--guide")) => return None,
        ("runs", None) if command == "msg runs" || command.starts_with("msg runs list") => ("run", None),
        ("runs", None) if command.starts_with("msg runs show") => ("run", Some("result")),
        ("runs", None) if command.starts_with("msg runs stop") => ("run", Some("stop")),
        ("knowledge", _) if command.starts_with("msg knowledge list") => ("know", None),
        ("broadcast", Some("--everywhere")) => {
            return Some("the tool `message` with `action` broadcast and `scope` everywhere".to_string());
        }
        // No tool lists agents that are gone.
        (_, Some("--gone")) => return None,
        (name, _) => {
            let (_, tool, action) = TOOLS.iter().find(|(command, ..)| *command == name)?;
            (*tool, *action)
        }
    };
    let action = action.map_or(String::new(), |action| format!(" with the action `{action}`"));
    Some(format!("the tool `{tool}`{action}"))
}

#[cfg(test)]
mod tests {
    use super::for_tools;

    #[test]
    fn tools_stand_for_commands() {
        let check = |hint: &str, expected: &str| assert_eq!(for_tools(hint), expected);
        check("`msg agents` lists who is here", "the tool `agents` lists who is here");
        check("join first: `msg join NAME`", "join first: the tool `agents` with the action `join`");
        check("ask with `msg send Bob \"…\"`", "ask with the tool `message`");
        check(
            "`msg claim --next`, or `msg tasks`",
            "the tool `task` with the action `next`, or the tool `task`",
        );
        check("run `msg doctor` for details about `x`", "run `msg doctor` for details about `x`");
        check("`msg agents --gone` lists them", "`msg agents --gone` lists them");
        check("`msg knowledge list` shows all records", "the tool `know` shows all records");
        check("`msg knowledge pack` mends it", "`msg knowledge pack` mends it");
        check("look with `msg look Bob`", "look with the tool `agents` with the action `look`");
        check("`msg wait --for Bob --until done`", "the tool `agents` with the action `wait`");
        check("`msg look --guide` says how", "`msg look --guide` says how");
        check(
            "`msg broadcast --everywhere TEXT` reaches 2",
            "the tool `message` with `action` broadcast and `scope` everywhere reaches 2",
        );
        check("a lone ` is left", "a lone ` is left");
        check("no command", "no command");
    }
}
