//! Where agents sit: in which pane of tmux, and in which corner of its window.

use serde_json::Value;

use crate::panes::SESSION;
use crate::seeing::Painted;
use crate::support::environment::wait_until;

#[test]
fn tmux_says_where_an_agent_sits() {
    let Some(raven) = Painted::start() else { return };
    let env = &raven.tmux.env;
    env.join("Bob");
    let id = raven.pane.id().to_string();
    let whois = || env.ok(&["whois", "Raven"])["agent"].clone();
    let agent = whois();
    let address = raven.pane.info().unwrap().address();
    assert!(address.starts_with(&format!("{SESSION}:")));
    assert_eq!((agent["place"].as_str(), &agent["corner"]), (Some(address.as_str()), &Value::Null));
    raven.tmux.ask(&["split-window", "-d", "-h", "-t", &id, "--", "sleep", "1000"]);
    assert_eq!(whois()["corner"], "left");
    raven.tmux.ask(&["split-window", "-d", "-v", "-b", "-t", &id, "--", "sleep", "1000"]);
    let agents = env.ok(&["agents"])["agents"].as_array().unwrap().clone();
    let of = |name: &str| agents.iter().find(|agent| agent["name"] == name).unwrap();
    assert_eq!(of("Raven")["corner"], "bottom-left");
    assert_eq!((of("Bob").get("place"), of("Bob").get("corner")), (None, None));
    let text = env.run(&["agents"]).stdout;
    assert!(text.contains(&format!("at {SESSION}:")) && text.contains(", bottom-left"), "{text}");
    assert!(env.run(&["whois", "Raven"]).stdout.contains("sits at"));
    // Nobody sits at a server that is gone.
    raven.tmux.ask(&["kill-server"]);
    wait_until("nobody knows", || whois().get("place").is_none());
}
