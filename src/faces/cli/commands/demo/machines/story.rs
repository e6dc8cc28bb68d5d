//! What two linked machines show: agents, a message, a task, a path, and a network that is cut.

use std::path::Path;

use serde_json::Value;

use super::Machines;
use super::nats_server::{self, NatsServer};
use crate::faces::cli::commands::demo::{DemoTold, Line, Stage, failed, refused_tool};
use crate::ops::{CommandError, CommandErrorKind};
use crate::sys::files;
use crate::sys::tcp_relay::TcpRelay;

const PLAN: &str = "# Parser\n\n- [ ] TASK-01: Read numbers\n- [ ] TASK-02: Read strings\n";
const SOURCE: &str = "fn main() {}\n";

pub(super) fn play(machines: &Machines, program: &Path, told: &mut DemoTold<'_>) -> Result<(), CommandError> {
    let Machines { laptop, tower } = machines;
    told.step("A server on the tower. Its configuration has a user and a password for each machine")?;
    let config = ["link", "config", "--server", "--machine", "laptop", "--machine", "tower"];
    let store = tower.home.path().join("data");
    let places = ["--store", &*store.to_string_lossy(), "--output", nats_server::DIR];
    let made = tower.msg(&[&config[..], &places].concat(), &[])?;
    let (server, started) = NatsServer::start(tower, program)?;
    // The way of the laptop to the server, which can be cut.
    let network = TcpRelay::to(server.port).map_err(|error| failed(&error))?;
    told.lines([
        Line { command: made.command.replace(&*store.to_string_lossy(), "~/data"), ..made },
        started,
    ]);

    told.step("Both machines link their meshes; the laptop has its file of credentials from the tower")?;
    let credentials = files::read(&tower.dir.join(nats_server::DIR).join("laptop.user"))?;
    laptop.put("laptop.user", &credentials.unwrap_or_default())?;
    let link = |stage: &Stage, port: u16, credentials: &str| {
        let name = stage.machine.unwrap_or_default();
        let url = format!("nats://127.0.0.1:{port}/team");
        stage.msg(&["link", &url, "--machine", name, "--credentials", credentials], &[])
    };
    told.lines([link(laptop, network.port(), "laptop.user")?]);
    told.lines([link(tower, server.port, "nats/tower.user")?]);

    told.step("In a clone of one repository on each machine an agent joins, and they see each other")?;
    clone(laptop, tower)?;
    let hosts = (laptop.actor()?, tower.actor()?);
    let join = |stage: &Stage, name: &str, harness: &str, session: &str, pid: String| {
        let hidden = ["--harness", harness, "--session", session, "--pid", &pid];
        stage.msg(&["join", name, "--spec", "plan.md"], &hidden)
    };
    told.lines([join(laptop, "Anna", "claude", "one", hosts.0.pid().to_string())?]);
    told.lines([join(tower, "Bob", "codex", "two", hosts.1.pid().to_string())?]);
    let knows = |name: &'static str| move |answer: &Value| agent(answer, name).is_some();
    laptop.until(told, "the laptop sees Bob", &["agents"], knows("Bob"))?;
    tower.until(told, "the tower sees Anna", &["agents"], knows("Anna"))?;
    told.lines([laptop.msg(&["agents"], &[])?]);

    write_to_bob(machines, &network, told)?;
    share_work(machines, told)?;
    lose_network(machines, &network, told)
}

/// A repository on the laptop, and its clone on the tower, as the directories that commands run in from now on.
fn clone(laptop: &Stage, tower: &Stage) -> Result<(), CommandError> {
    laptop.git(&["init", "-q", "-b", "main"])?;
    for (name, value) in [("user.name", "Robin"), ("user.email", "robin@example.org")] {
        laptop.git(&["config", name, value])?;
    }
    laptop.put("plan.md", PLAN.as_bytes())?;
    laptop.put("src/main.rs", SOURCE.as_bytes())?;
    laptop.git(&["add", "plan.md", "src"])?;
    laptop.git(&["commit", "-q", "-m", "Begin"])?;
    tower.git(&["init", "-q", "-b", "main"])?;
    tower.git(&["pull", "-q", &*laptop.dir.to_string_lossy(), "main"])?;
    Ok(())
}

fn agent<'a>(answer: &'a Value, name: &str) -> Option<&'a Value> {
    answer["agents"].as_array()?.iter().find(|agent| agent["name"] == name)
}

/// The id in `Sent to Bob on tower (queued) as 1nhv93: …`.
fn id_of(sent: &Line) -> Result<String, CommandError> {
    let after = sent.output.split_once(" as ").map_or("", |(_, after)| after);
    let id: String = after.chars().take_while(char::is_ascii_alphanumeric).collect();
    match id.is_empty() {
        true => Err(CommandError::new(CommandErrorKind::Bug, format!("no id in `{}`", sent.output))),
        false => Ok(id),
    }
}

/// A message to the other machine, with every state of its receipt.
fn write_to_bob(
    machines: &Machines,
    network: &TcpRelay,
    told: &mut DemoTold<'_>,
) -> Result<(), CommandError> {
    let Machines { laptop, tower } = machines;
    told.step("The laptop is without network: a message is queued there, and stored when it is back")?;
    network.cut();
    let sent = laptop.msg(&["send", "Bob", "the parser is ready for review", "--as", "Anna"], &[])?;
    let id = id_of(&sent)?;
    let receipt = ["receipt", &id, "--as", "Anna"];
    let says = |state: &'static str| move |answer: &Value| answer["state"] == state;
    told.lines([sent]);
    laptop.until(told, "the receipt says queued", &receipt, says("queued"))?;
    told.lines([laptop.msg(&receipt, &[])?]);
    told.lines([tower.msg(&["link", "stop"], &[])?]);
    network.heal();
    laptop.until(told, "the receipt says stored", &receipt, says("stored"))?;
    told.lines([laptop.msg(&receipt, &[])?]);

    told.step("Any command on the tower starts its link again. The message arrives, and Bob reads it")?;
    told.lines([tower.msg(&["agents"], &[])?]);
    laptop.until(told, "the receipt says delivered", &receipt, says("delivered"))?;
    told.lines([laptop.msg(&receipt, &[])?, tower.msg(&["read", "--as", "Bob"], &[])?]);
    laptop.until(told, "the receipt says surfaced", &receipt, says("surfaced"))?;
    told.lines([laptop.msg(&receipt, &[])?]);
    Ok(())
}

/// A task and a path, each with one owner over both machines.
fn share_work(machines: &Machines, told: &mut DemoTold<'_>) -> Result<(), CommandError> {
    let Machines { laptop, tower } = machines;
    told.step("A task that Anna has claimed on the laptop is refused to Bob on the tower")?;
    told.lines([laptop.msg(&["claim", "TASK-01", "--as", "Anna"], &[])?]);
    told.lines([tower.no(&["claim", "TASK-01", "--as", "Bob"])?]);

    told.step(
        "So is a path of the repository; what Bob's harness asks before an edit, a copy on the tower answers",
    )?;
    let reserve = ["reserve", "--repo", "src/", "--reason", "new parser", "--as", "Anna"];
    told.lines([laptop.msg(&reserve, &[])?]);
    told.lines([tower.no(&["reserve", "--repo", "src/main.rs", "--as", "Bob"])?]);
    let is_held = |answer: &Value| answer["error"]["kind"] == "reserved";
    tower.until(told, "the copy on the tower has it", &["check", "src/main.rs", "--as", "Bob"], is_held)?;
    let patch = "*** Begin Patch\n*** Update File: src/main.rs\n@@\n-fn main() {}\n+fn main() { parse() }\n*** End Patch";
    told.lines([refused_tool(tower, "apply_patch", patch, "apply_patch to src/main.rs")?]);
    Ok(())
}

/// One machine loses its network, and what it had; then it is back.
fn lose_network(
    machines: &Machines,
    network: &TcpRelay,
    told: &mut DemoTold<'_>,
) -> Result<(), CommandError> {
    let Machines { laptop, tower } = machines;
    told.step("The laptop loses its network. What needs the server is refused there; nothing has changed")?;
    network.cut();
    let is_cut = |answer: &Value| answer["linked"] == false;
    laptop.until(told, "the laptop has noticed", &["link", "status"], is_cut)?;
    told.lines([laptop.expect(5, &["reserve", "--repo", "docs/", "--as", "Anna"], &[])?]);
    told.lines([tower.no(&["claim", "TASK-01", "--as", "Bob"])?]);

    told.step("After 30 seconds the lease of the laptop ends, and others can take what it held")?;
    let is_away =
        |answer: &Value| agent(answer, "Anna").is_some_and(|anna| anna["presence"] == "unreachable");
    tower.until(told, "the lease of the laptop is over", &["agents"], is_away)?;
    told.lines([tower.msg(&["agents"], &[])?]);
    told.lines([tower.msg(&["claim", "TASK-01", "--as", "Bob"], &[])?]);

    told.step("The laptop is back. Anna is told what she has lost, and can't complete it")?;
    network.heal();
    laptop
        .until(told, "the laptop is linked again", &["link", "status"], |answer| answer["linked"] == true)?;
    let is_told = |answer: &Value| answer["messages"].to_string().contains("You lost `TASK-01`");
    laptop.until(told, "Anna is told", &["inbox", "--as", "Anna"], is_told)?;
    told.lines([laptop.msg(&["read", "--as", "Anna"], &[])?]);
    told.lines([laptop.no(&["complete", "TASK-01", "--as", "Anna"])?]);
    told.lines([tower.msg(&["complete", "TASK-01", "--as", "Bob"], &[])?]);
    Ok(())
}
