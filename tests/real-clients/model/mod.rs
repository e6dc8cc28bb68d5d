//! A scripted stand-in for the APIs of models, on loopback, so that real clients can be run without a network.
//!
//! It speaks Anthropic's Messages, OpenAI's Responses and Chat Completions, and Gemini's `generateContent`, streamed
//! and plain. The part of the path before the API names a *lane*, so that one server serves several clients: each lane
//! has its own script. A request that offers tools is a turn of the agent and takes the next step of its lane; all
//! others (titles, counts and so on) are side questions and get one word. Every request is kept.

mod apis;
mod request;

use std::collections::HashMap;
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tiny_http::{Header, Response};

pub use apis::Api;
pub use request::Request;

/// Longest time that a step waits for its file.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the model does in one turn.
#[derive(Default)]
pub struct Step {
    text: Option<String>,
    calls: Vec<Call>,
    delay: Duration,
    wait_for: Option<PathBuf>,
    meanwhile: Option<Action>,
    refusal: Option<(u16, Value)>,
}

/// Decides by what a request contains.
type Director = Arc<dyn Fn(&Request) -> Step + Send + Sync>;

/// What happens elsewhere during a request.
type Action = Box<dyn FnOnce(&Request) + Send>;

/// A tool call of the model. An input that is a string is a freeform one, as Codex's `apply_patch` takes it.
#[derive(Clone, Debug)]
pub struct Call {
    pub name: String,
    pub input: Value,
}

impl Call {
    pub fn new(name: &str, input: Value) -> Self {
        Self { name: name.to_string(), input }
    }
}

impl Step {
    /// The model says this and stops.
    pub fn say(text: &str) -> Self {
        Self { text: Some(text.to_string()), ..Self::default() }
    }

    /// The model calls a tool.
    pub fn call(call: Call) -> Self {
        Self { calls: vec![call], ..Self::default() }
    }

    /// The model's server refuses the request with this status.
    pub fn refuse(status: u16, body: Value) -> Self {
        Self { refusal: Some((status, body)), ..Self::default() }
    }

    pub fn and_call(mut self, call: Call) -> Self {
        self.calls.push(call);
        self
    }

    /// Adds an action that runs while the client waits for this answer, after those added before.
    pub fn meanwhile(mut self, action: impl FnOnce(&Request) + Send + 'static) -> Self {
        let first = self.meanwhile.take();
        self.meanwhile = Some(Box::new(move |request| {
            if let Some(first) = first {
                first(request);
            }
            action(request);
        }));
        self
    }

    /// The model takes this long to answer.
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The model answers when that file exists.
    pub fn when_there_is(mut self, file: impl Into<PathBuf>) -> Self {
        self.wait_for = Some(file.into());
        self
    }
}

/// The server. It ends when it is dropped.
pub struct Server {
    http: Arc<tiny_http::Server>,
    script: Arc<Mutex<Script>>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Script {
    lanes: HashMap<String, Lane>,
    requests: Vec<Request>,
}

#[derive(Default)]
struct Lane {
    steps: std::collections::VecDeque<Step>,
    taken: usize,
    /// Whoever decides instead of the steps.
    director: Option<Director>,
}

impl Server {
    pub fn start() -> Self {
        let http = Arc::new(tiny_http::Server::http("127.0.0.1:0").expect("a free port on loopback"));
        let script = Arc::<Mutex<Script>>::default();
        let listener = std::thread::spawn({
            let (http, script) = (Arc::clone(&http), Arc::clone(&script));
            move || {
                for request in http.incoming_requests() {
                    let script = Arc::clone(&script);
                    std::thread::spawn(move || answer(request, &script));
                }
            }
        });
        Self { http, script, listener: Some(listener) }
    }

    /// The URL of a lane: `http://127.0.0.1:PORT/LANE`.
    pub fn url(&self, lane: &str) -> String {
        let address = self.http.server_addr().to_ip().expect("an address of the internet");
        format!("http://{address}/{lane}")
    }

    /// Sets the script of a lane, and drops what is left of the previous one.
    pub fn play(&self, lane: &str, steps: impl IntoIterator<Item = Step>) {
        let lane_of = Lane { steps: steps.into_iter().collect(), ..Lane::default() };
        self.lock().lanes.insert(lane.to_string(), lane_of);
    }

    /// Lets a function decide what the model does at each turn of a lane, for a lane on which several agents ask at the same
    /// time. It may take as long as it likes.
    pub fn direct(&self, lane: &str, director: impl Fn(&Request) -> Step + Send + Sync + 'static) {
        let lane_of = Lane { director: Some(Arc::new(director)), ..Lane::default() };
        self.lock().lanes.insert(lane.to_string(), lane_of);
    }

    /// All requests of a lane, in order.
    pub fn requests(&self, lane: &str) -> Vec<Request> {
        self.lock().requests.iter().filter(|request| request.lane == lane).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.http.unblock();
        if let Some(listener) = self.listener.take() {
            drop(listener.join());
        }
    }
}

impl Script {
    /// Keeps the request, and returns the model's next step, or who decides on it.
    fn take(&mut self, request: &mut Request) -> (Step, Option<Director>) {
        let mut next = (Step::say("ok"), None);
        if request.is_turn() {
            let lane = self.lanes.entry(request.lane.clone()).or_default();
            request.step = Some(lane.taken);
            lane.taken += 1;
            next = (lane.steps.pop_front().unwrap_or(next.0), lane.director.clone());
        }
        self.requests.push(request.clone());
        next
    }
}

fn answer(mut http: tiny_http::Request, script: &Mutex<Script>) {
    let mut request = Request::read(&mut http);
    let (step, director) = script.lock().unwrap_or_else(PoisonError::into_inner).take(&mut request);
    let step = director.map_or(step, |decide| decide(&request));
    let response = match request.api {
        Some(api) if request.method == "POST" => {
            let Step { text, calls, delay, wait_for, meanwhile, refusal } = step;
            if let Some(meanwhile) = meanwhile {
                meanwhile(&request);
            }
            std::thread::sleep(delay);
            wait_until_there(wait_for);
            if let Some((status, body)) = refusal {
                drop(http.respond(response(status, "application/json", body.to_string())));
                return;
            }
            let id = format!("{:x}", uuid::Uuid::new_v4().as_u128() >> 80);
            let (kind, body) = api.answer(&request, text.as_deref(), &calls, &id);
            response(200, kind, body)
        }
        _ => {
            let (status, body) = aside(&request.path);
            response(status, "application/json", body.to_string())
        }
    };
    // The client may have closed the connection.
    drop(http.respond(response));
}

fn wait_until_there(file: Option<PathBuf>) {
    let Some(file) = file else { return };
    let give_up = Instant::now() + PATIENCE;
    while !file.exists() && Instant::now() < give_up {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn response(status: u16, kind: &str, body: String) -> Response<Cursor<Vec<u8>>> {
    let kind = Header::from_bytes("Content-Type", kind).expect("a header");
    Response::from_string(body).with_status_code(status).with_header(kind)
}

/// Answers to side requests.
fn aside(path: &str) -> (u16, Value) {
    let path = path.split('?').next().unwrap_or_default();
    if path.ends_with("/count_tokens") {
        (200, json!({ "input_tokens": apis::TOKENS_IN }))
    } else if path.ends_with(":countTokens") {
        (200, json!({ "totalTokens": apis::TOKENS_IN }))
    } else if path.ends_with("/models") {
        (200, json!({ "object": "list", "data": [{ "id": "fake", "object": "model" }], "models": [] }))
    } else {
        (
            404,
            json!({ "type": "error", "error": { "type": "not_found_error", "message": "not in the script" } }),
        )
    }
}
