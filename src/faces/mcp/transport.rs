//! The stdio transport for the SDK: JSON-RPC messages, one per line.
//!
//! Two threads do the blocking reads and writes, so a client that never reads blocks nothing, and the process can exit
//! without waiting for either. The length of a line is limited; a line that is not a message is answered as JSON-RPC
//! requires, if possible, and dropped. An answer that delivers mail carries a ticket, which learns whether the answer
//! was written.
//!
//! At most 64 requests are open at a time; then nothing more is read, so a client that never reads costs no more than
//! that.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, GetMeta, JsonRpcMessage, RequestId,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::ops::HandoverOutcome;

use super::handover_signal::{HandoverSender, PendingHandovers};
use super::shutdown::Shutdown;

/// Maximum length of a line in bytes: more than any text that may be sent, so that most texts that are too long get a
/// proper error.
pub const MAX_LINE: usize = 16 * 1024 * 1024;
/// Capacity in bytes that the line buffer keeps between lines.
const KEPT: usize = 64 * 1024;
/// Maximum number of queued lines in each direction.
const QUEUE: usize = 16;
/// Maximum number of unanswered requests. Beyond that nothing more is read, which limits the cost of a client that
/// never reads.
const MAX_OPEN: usize = 64;

/// One line of input.
#[derive(Debug)]
pub enum InputLine {
    Message(Box<ClientJsonRpcMessage>),
    /// Not a valid message, but it can be answered.
    Bad(Box<TxJsonRpcMessage<RoleServer>>),
    /// Empty, or not to be answered.
    Nothing,
}

/// What was read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LineRead {
    Line,
    /// The line was too long, and was dropped.
    TooLong,
    EndOfInput,
}

/// Reads a line of at most `most` bytes into `line`, without its line end.
pub fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>, most: usize) -> io::Result<LineRead> {
    line.clear();
    line.shrink_to(KEPT);
    let mut fits = true;
    loop {
        let part = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            part => part?,
        };
        if part.is_empty() {
            // An incomplete last line is ignored.
            return Ok(LineRead::EndOfInput);
        }
        let end = part.iter().position(|byte| *byte == b'\n');
        let length = end.unwrap_or(part.len());
        fits = fits && line.len() + length <= most;
        if fits {
            line.extend_from_slice(&part[..length]);
        }
        input.consume(end.map_or(length, |end| end + 1));
        if end.is_some() {
            return Ok(if fits { LineRead::Line } else { LineRead::TooLong });
        }
    }
}

/// Parses a line. Text that is not JSON is answered without an id; a notification is not answered.
pub fn parse(line: &[u8]) -> InputLine {
    // Whitespace as JSON defines it, which excludes form feed.
    if line.iter().all(|byte| b" \t\r\n".contains(byte)) {
        return InputLine::Nothing;
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return InputLine::Message(Box::new(message));
    }
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        return bad(ErrorData::parse_error("this is not JSON", None), None);
    };
    let id = value.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    match (value.get("method"), id) {
        (Some(Value::String(_)), None) if value.get("id").is_none() => InputLine::Nothing,
        (None, Some(_)) => InputLine::Nothing,
        (_, id) => bad(ErrorData::invalid_request("this is not a JSON-RPC 2.0 request", None), id),
    }
}

fn bad(error: ErrorData, id: Option<RequestId>) -> InputLine {
    InputLine::Bad(Box::new(JsonRpcMessage::error(error, id)))
}

pub(super) struct StdioTransport {
    lines: mpsc::Receiver<InputLine>,
    out: mpsc::Sender<OutgoingLine>,
    tickets: PendingHandovers,
    room: Arc<Semaphore>,
    /// The permits of requests whose answer is not written yet: one per request, also if a client uses an id several
    /// times.
    open: HashMap<RequestId, Vec<OwnedSemaphorePermit>>,
    /// The client has sent a valid first request.
    has_begun: bool,
}

/// A line to write.
struct OutgoingLine {
    bytes: Vec<u8>,
    ticket: Option<HandoverSender>,
    /// Written instead if the answer was withdrawn.
    instead: Vec<u8>,
    written: oneshot::Sender<io::Result<()>>,
}

impl StdioTransport {
    pub(super) fn open(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        tickets: PendingHandovers,
        end: &Shutdown,
    ) -> io::Result<Self> {
        let (sender, lines) = mpsc::channel(QUEUE);
        let near = end.clone();
        spawn("mcp input", move || {
            read_all(BufReader::new(input), &sender);
            // The client has gone, so calls that wait for mail are stopped.
            near.begin();
        })?;
        let (out, parcels) = mpsc::channel(QUEUE);
        let end = end.clone();
        spawn("mcp output", move || write_all(output, parcels, &end))?;
        let room = Arc::new(Semaphore::new(MAX_OPEN));
        Ok(Self { lines, out, tickets, room, open: HashMap::new(), has_begun: false })
    }

    /// Whether to pass the message to the SDK. Until a client has introduced itself, the SDK accepts only requests.
    fn admits(&mut self, message: &ClientJsonRpcMessage, permit: OwnedSemaphorePermit) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                self.has_begun |= matches!(request.request, ClientRequest::InitializeRequest(_))
                    || request.request.get_meta().protocol_version().is_some();
                self.open.entry(request.id.clone()).or_default().push(permit);
                true
            }
            JsonRpcMessage::Notification(notification) => {
                // A cancelled request is not answered.
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    drop(self.close_one(id));
                }
                self.has_begun
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => self.has_begun,
        }
    }

    /// Releases the permit of one request with this id.
    fn close_one(&mut self, id: &RequestId) -> Option<OwnedSemaphorePermit> {
        let permits = self.open.get_mut(id)?;
        let permit = permits.pop();
        if permits.is_empty() {
            self.open.remove(id);
        }
        permit
    }

    /// Passes a message to the output thread, and waits until it is written.
    fn put(
        &self,
        message: &TxJsonRpcMessage<RoleServer>,
        ticket: Option<HandoverSender>,
        permit: Option<OwnedSemaphorePermit>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + use<> {
        let instead = match (message, &ticket) {
            (JsonRpcMessage::Response(response), Some(_)) => {
                line(&json!({ "jsonrpc": "2.0", "id": response.id, "result": too_late() }))
            }
            _ => Ok(Vec::new()),
        };
        let lines = line(message).and_then(|bytes| Ok((bytes, instead?)));
        let out = self.out.clone();
        async move {
            let _permit = permit;
            let (bytes, instead) = lines?;
            let (written, outcome) = oneshot::channel();
            let parcel = OutgoingLine { bytes, ticket, instead, written };
            out.send(parcel).await.map_err(|_| gone())?;
            outcome.await.unwrap_or_else(|_| Err(gone()))
        }
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_string()).stack_size(512 * 1024).spawn(run).map(drop)
}

fn read_all(mut input: impl BufRead, lines: &mpsc::Sender<InputLine>) {
    let mut buffer = Vec::new();
    loop {
        let line = match read_line(&mut input, &mut buffer, MAX_LINE) {
            Ok(LineRead::Line) => parse(&buffer),
            Ok(LineRead::TooLong) => {
                let text = format!("the line is longer than {} MiB", MAX_LINE / (1024 * 1024));
                bad(ErrorData::invalid_request(text, None), None)
            }
            Ok(LineRead::EndOfInput) | Err(_) => return,
        };
        if !matches!(line, InputLine::Nothing) && lines.blocking_send(line).is_err() {
            return;
        }
    }
}

fn write_all(mut output: impl Write, mut parcels: mpsc::Receiver<OutgoingLine>, end: &Shutdown) {
    while let Some(OutgoingLine { bytes, ticket, instead, written }) = parcels.blocking_recv() {
        let may = ticket.as_ref().is_none_or(HandoverSender::begin);
        let bytes = if may { bytes } else { instead };
        let outcome = output.write_all(&bytes).and_then(|()| output.flush());
        if let Some(ticket) = ticket {
            ticket.end(if may && outcome.is_ok() {
                HandoverOutcome::Delivered
            } else {
                HandoverOutcome::ReaderGone
            });
        }
        if outcome.is_err() {
            end.finish();
        }
        // The SDK may have ended meanwhile.
        drop(written.send(outcome));
    }
}

impl Transport<RoleServer> for StdioTransport {
    type Error = io::Error;

    fn name() -> Cow<'static, str> {
        "stdio".into()
    }

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let ticket = id.and_then(|id| self.tickets.take(id));
        let permit = id.cloned().and_then(|id| self.close_one(&id));
        self.put(&message, ticket, permit)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let permit = Arc::clone(&self.room).acquire_owned().await.ok()?;
            match self.lines.recv().await? {
                InputLine::Message(message) => {
                    if self.admits(&message, permit) {
                        return Some(*message);
                    }
                }
                InputLine::Nothing => {}
                // Not awaited: this future may be dropped at any time, and the answer must not be.
                InputLine::Bad(answer) => drop(tokio::spawn(self.put(&answer, None, Some(permit)))),
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.lines.close();
        Ok(())
    }
}

fn line(message: &impl serde::Serialize) -> Result<Vec<u8>, io::Error> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn too_late() -> Value {
    let text = "error: the answer was not read in time; nothing was taken from the inbox";
    json!({ "content": [{ "type": "text", "text": text }], "isError": true })
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the client is gone")
}
