//! The checks of each client.

pub mod run;
pub mod served;
mod tools;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::clients::{Client, Leave};
use crate::model::{Request, Server, Step};
use crate::report::{self, Report};
use crate::scene::{FREE, HELD, NEW, OLD, Scene};

use run::{Checked, Run, alike, arrived, ensure, refused, worked};

/// How many times mail makes an agent continue.
const MAIL_TURNS: usize = 2;
const ADDED_BY_SHELL: &str = "by-shell.txt";

pub struct Trial<'a> {
    pub client: &'a dyn Client,
    pub program: PathBuf,
    pub scene: Arc<Scene>,
    pub server: &'a Server,
    /// The client whose tool sends to this one.
    pub peer: Option<Peer>,
}

/// Another client.
#[derive(Clone)]
pub enum Peer {
    Client {
        client: &'static dyn Client,
        program: PathBuf,
    },
    /// It has only MCP tools.
    Inspector(PathBuf),
}

type Files = BTreeMap<PathBuf, (u32, Vec<u8>)>;

impl Trial<'_> {
    pub fn go(&self, report: &mut Report) {
        let name = self.client.name();
        self.client.set_up(&self.scene, &self.server.url(name));
        let alone = self.alone();
        if let Err(wrong) = worked(&self.scene, &alone) {
            // Then the other checks would say nothing about `msg`.
            let wrong = format!("it doesn't even run without us: {wrong}");
            report.check(name, report::EDIT, Err(wrong), &|| alone.to_string());
            report::CHECKS[1..].iter().for_each(|check| report.skip(check, "it does not run without us"));
            return;
        }
        let before = self.scene.files();
        let installed = self.install();
        let touched = difference(&before, &self.scene.files());
        for (key, value) in [("autoRegister", "true"), ("mailTurns", &MAIL_TURNS.to_string())] {
            self.scene.msg(&["config", "set", key, value]);
        }
        self.scene.let_other_in();

        self.among_others(report);
        match self.client.untried_permission() {
            None => self.permission(report),
            Some(why) => report.skip(report::PERMISSION, why),
        }
        self.tools(report);
        self.served(report);
        // A client may tell its model about an MCP server that cannot be started; only hooks must be silent.
        let without = self.scene.run(self.scene.command("msg").args(["install", name, "--no-mcp"]));
        assert_eq!(without.code, Some(0), "{without:?}");
        for (check, spoil) in
            [(report::REMOVED, Scene::remove_msg as fn(&Scene)), (report::BROKEN, Scene::break_msg)]
        {
            spoil(&self.scene);
            let run = self.alone();
            report.check(name, check, worked(&self.scene, &run).and_then(|()| alike(&alone, &run)), &|| {
                run.to_string()
            });
        }
        self.scene.put_msg_there();

        let uninstalled = installed.and_then(|()| self.install()).and_then(|()| self.uninstall());
        let files = self.scene.files();
        // A file that the client itself writes to cannot be compared; it must not contain anything of ours.
        let own = self.client.state().map(|file| self.scene.home().join(file));
        let is_own = |path: &PathBuf| own.as_ref() == Some(path);
        let is_left = |path: &PathBuf| {
            files.get(path).is_some_and(|(_, bytes)| String::from_utf8_lossy(bytes).contains("ravenry"))
        };
        let is_same = |path: &PathBuf| before.get(path) == files.get(path);
        let changed = touched.iter().filter(|path| if is_own(path) { is_left(path) } else { !is_same(path) });
        let changed: Vec<String> = changed.map(|path| path.display().to_string()).collect();
        let run = self.alone();
        let result = uninstalled
            .and_then(|()| ensure(!touched.is_empty(), || "installing changed no file".to_string()))
            .and_then(|()| {
                ensure(changed.is_empty(), || format!("not what they were: {}", changed.join(", ")))
            })
            .and_then(|()| worked(&self.scene, &run))
            .and_then(|()| alike(&alone, &run));
        report.check(name, report::UNINSTALLED, result, &|| run.to_string());
    }

    fn install(&self) -> Checked {
        self.msg("install")
    }

    fn uninstall(&self) -> Checked {
        self.msg("uninstall")
    }

    /// As a user does it, with the `msg` on the PATH.
    fn msg(&self, command: &str) -> Checked {
        let ended = self.scene.run(self.scene.command("msg").args([command, self.client.name()]));
        ensure(ended.code == Some(0), || format!("msg {command}: {ended:?}"))
    }

    fn run(&self, leave: Leave, steps: Vec<Step>) -> Run {
        let lane = self.client.name();
        let earlier = self.server.requests(lane).len();
        self.server.play(lane, steps);
        let mut command = self.scene.command(&self.program);
        self.client.start(&mut command, &self.server.url(lane), "please rename it", leave);
        let ended = self.scene.run(&mut command);
        Run { ended, turns: self.turns_since(earlier) }
    }

    /// The turns of the agent since that many requests.
    fn turns_since(&self, earlier: usize) -> Vec<Request> {
        let all = self.server.requests(self.client.name()).into_iter().skip(earlier);
        all.filter(|request| request.step.is_some()).collect()
    }

    /// A run without reservations: it edits the file that is held otherwise, and uses its shell.
    fn alone(&self) -> Run {
        self.scene.restore();
        drop(std::fs::remove_file(self.scene.repo().join(ADDED_BY_SHELL)));
        let held = self.scene.repo().join(HELD);
        let shell = self.client.shell(&format!("echo hello >> {ADDED_BY_SHELL}"));
        let first = match self.client.read(&held) {
            Some(read) => Step::call(read).and_call(shell),
            None => Step::call(shell),
        };
        self.run(
            Leave::All,
            vec![first, Step::call(self.client.edit(&held, OLD, NEW)), Step::say("It is done.")],
        )
    }

    /// The run with another agent: refusals, mail, identity.
    fn among_others(&self, report: &mut Report) {
        self.scene.restore();
        let [held, free] = [HELD, FREE].map(|file| self.scene.repo().join(file));
        let joined = Arc::new(Mutex::new(Vec::<String>::new()));
        let mail: Vec<String> = (0..4).map(|n| format!("letter-{n}-of-four")).collect();
        let sends = |n: usize| {
            let (scene, joined, text) = (Arc::clone(&self.scene), Arc::clone(&joined), mail[n].clone());
            move |_: &Request| {
                let to = joined.lock().unwrap().first().cloned();
                if let Some(to) = to {
                    scene.msg(&["send", &to, &text, "--as", "Alice"]);
                }
            }
        };
        let looks = {
            let (scene, joined) = (Arc::clone(&self.scene), Arc::clone(&joined));
            move |_: &Request| *joined.lock().unwrap() = scene.names()
        };
        let whoami = self.client.patient("msg whoami --json");
        let mut first = Step::call(self.client.shell(&whoami)).meanwhile(looks);
        for read in [&held, &free].into_iter().filter_map(|path| self.client.read(path)) {
            first = first.and_call(read);
        }
        let steps = vec![
            first,
            Step::call(self.client.edit(&held, OLD, NEW)),
            Step::call(self.client.shell(&format!("sed -i s/old/new/ {HELD}"))),
            Step::say("I will.").and_call(self.client.edit(&free, OLD, NEW)).meanwhile(sends(0)),
            Step::say("I am done.").meanwhile(sends(1)),
            Step::say("I am done again.").meanwhile(sends(2)),
            Step::say("I am done at last.").meanwhile(sends(3)),
            Step::say("Nobody asked me."),
        ];
        let run = self.run(Leave::All, steps);
        let joined = joined.lock().unwrap().clone();
        let name = self.client.name();
        let mut check = |check: &str, result: Checked| report.check(name, check, result, &|| run.to_string());
        let is_untouched =
            || ensure(self.scene.text(HELD) == format!("{OLD}\n"), || format!("{HELD} was changed"));
        check(report::EDIT, refused(&run, 2, 1).and_then(|()| is_untouched()));
        check(report::SHELL, refused(&run, 3, 2).and_then(|()| is_untouched()));
        let edited = self.scene.text(FREE) == format!("{NEW}\n");
        check(report::FREE_PATH, ensure(edited, || format!("{FREE} is {:?}", self.scene.text(FREE))));
        let hears = self.client.hears_after_tools();
        let times = MAIL_TURNS.min(self.client.goes_on());
        let ends = || ensure(run.turns.len() == 5 + times, || format!("it took {} turns", run.turns.len()));
        let stays = || self.never_surfaced(&joined, &mail[times + 1]);
        let early = if hears { Ok(()) } else { arrived(&run, 5, &mail[0]) };
        let at_stop = (0..times).try_for_each(|n| arrived(&run, 5 + n, &mail[1 + n]));
        let at_stop = early.and(at_stop).and_then(|()| ends()).and_then(|()| stays());
        if hears {
            check(report::MAIL, arrived(&run, 4, &mail[0]));
        }
        check(report::STOP, at_stop);
        check(report::IDENTITY, self.known(&run, &joined));
        if !hears {
            report.skip(
                report::MAIL,
                "no hook can tell its model anything after a tool; mail comes at the stop",
            );
        }
    }

    /// Mail that came too late stays in the agent's grave until it comes back.
    fn never_surfaced(&self, joined: &[String], text: &str) -> Checked {
        let to = joined.first().ok_or("it never joined")?;
        let history = self.scene.msg(&["history", to, "--as", "Alice"]);
        let messages = history["messages"].as_array().cloned().unwrap_or_default();
        let late = messages
            .iter()
            .find(|message| message["text"] == text)
            .ok_or("the last letter was never sent")?;
        let receipt = self.scene.msg(&["receipt", late["id"].as_str().unwrap_or_default(), "--as", "Alice"]);
        ensure(receipt["state"] != "surfaced", || format!("the last letter: {receipt}"))
    }

    fn known(&self, run: &Run, joined: &[String]) -> Checked {
        let [name] = joined else { return Err(format!("there were {joined:?} at its first turn")) };
        let turn = run.turns.get(1).ok_or("there was no second turn")?;
        // The JSON of `whoami` may be inside a JSON string.
        let told = turn.conversation().join("\n").replace('\\', "");
        ensure(told.contains(&format!("\"name\":\"{name}\"")), || {
            format!("`msg whoami` did not say that it is {name}")
        })?;
        let knows_session = told.contains("is its session\"");
        let expected = self.client.tells_session();
        ensure(knows_session == expected, || {
            format!("its shell tells its session: {knows_session}, not {expected}")
        })?;
        ensure(run.ended.code == Some(0), || format!("it ended with {:?}", run.ended.code))?;
        let gone = self.scene.msg(&["agents", "--gone"]);
        let mut graves = gone["agents"].as_array().into_iter().flatten();
        let tells = self.client.tells_its_end();
        let left = graves.any(|grave| grave["name"] == **name && (!tells || grave["why"] == "left"));
        ensure(left, || format!("{name} did not leave: {gone}"))?;
        ensure(self.scene.names().is_empty(), || format!("still there: {:?}", self.scene.names()))
    }

    /// The settings allow `msg` and nothing else. The last command shows that the client does ask about others.
    fn permission(&self, report: &mut Report) {
        let forbidden = self.scene.home().join("forbidden.txt");
        let letter = format!("from {}", self.client.name());
        let steps = vec![
            Step::call(self.client.shell("msg whoami --json")),
            Step::call(self.client.shell(&format!("msg send Alice \"{letter}\""))),
            Step::call(self.client.shell(&format!("touch {}", forbidden.display()))),
            Step::say("I am done."),
        ];
        let run = self.run(Leave::Settings, steps);
        let told = run.turns.get(1).is_some_and(|turn| turn.body.to_string().contains("sessionId"));
        let sent = self.scene.msg(&["read", "--as", "Alice"]).to_string().contains(&letter);
        let result = ensure(told, || "`msg whoami` was not run".to_string())
            .and_then(|()| ensure(sent, || "`msg send` sent nothing".to_string()))
            .and_then(|()| {
                ensure(!forbidden.exists(), || {
                    "it does whatever it is told, so this shows nothing".to_string()
                })
            });
        drop(std::fs::remove_file(forbidden));
        report.check(self.client.name(), report::PERMISSION, result, &|| run.to_string());
    }
}

fn difference(before: &Files, after: &Files) -> Vec<PathBuf> {
    let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    paths.into_iter().filter(|path| before.get(*path) != after.get(*path)).cloned().collect()
}
