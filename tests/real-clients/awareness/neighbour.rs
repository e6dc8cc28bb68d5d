//! The other client: it has changed a file, and is in the middle of its turn until it is let go on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clients::{Client, Leave};
use crate::model::{Request, Step};
use crate::scene::Ended;
use crate::trial::Trial;
use crate::trial::run::Run;

/// The lane of its model.
pub const LANE: &str = "neighbour";
/// A client that has not changed the file by then never does.
const PATIENCE: Duration = Duration::from_secs(90);

/// The client that is the other one, and its program.
pub struct Partner {
    pub client: &'static dyn Client,
    pub program: PathBuf,
}

pub struct Neighbour<'a> {
    trial: &'a Trial<'a>,
    /// Its name as an agent.
    pub name: String,
    earlier: usize,
    release: Sender<()>,
    process: JoinHandle<Ended>,
}

impl<'a> Neighbour<'a> {
    /// Starts it in the work tree with that root. It has changed the file when this returns.
    pub fn start(
        trial: &'a Trial<'a>,
        partner: &Partner,
        root: &Path,
        (file, old, new): (&str, &str, &str),
    ) -> Result<Self, String> {
        let (changed, is_changed) = mpsc::channel();
        let (release, is_released) = mpsc::channel();
        let path = root.join(file);
        let edit = partner.client.edit(&path, old, new);
        let first = partner.client.read(&path).map(Step::call);
        let steps = first.into_iter().chain([
            Step::call(edit),
            // The hook after this command brings mail.
            Step::call(partner.client.shell("echo hello")).meanwhile(move |_| pause(&changed, &is_released)),
            Step::say("It is done."),
        ]);
        let earlier = trial.server.requests(LANE).len();
        let known = trial.scene.names();
        trial.server.play(LANE, steps);
        let mut command = trial.scene.command(&partner.program);
        command.current_dir(root);
        partner.client.start(&mut command, &trial.server.url(LANE), "please look after it", Leave::All);
        let scene = Arc::clone(&trial.scene);
        let process = std::thread::spawn(move || scene.run(&mut command));
        let mut started = Self { trial, name: String::new(), earlier, release, process };
        if is_changed.recv_timeout(PATIENCE).is_err() {
            return Err(format!("the other client did not change {file}: {}", started.go_on()));
        }
        match trial.scene.names().into_iter().find(|name| !known.contains(name)) {
            Some(name) => started.name = name,
            None => return Err(format!("the other client did not join: {}", started.go_on())),
        }
        Ok(started)
    }

    /// Lets it go on, and waits for its end.
    pub fn go_on(self) -> Run {
        drop(self.release);
        let ended = self.process.join().expect("it was run");
        let requests = self.trial.server.requests(LANE).into_iter().skip(self.earlier);
        Run { ended, turns: requests.filter(|request: &Request| request.step.is_some()).collect() }
    }
}

/// Says that the file is changed, and waits until whoever waits for that lets go.
fn pause(changed: &Sender<()>, is_released: &Receiver<()>) {
    changed.send(()).ok();
    is_released.recv().ok();
}
