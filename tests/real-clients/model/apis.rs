//! The four APIs: how each is recognised, and how each encodes the model's answer.

use serde_json::{Map, Value, json};

use super::{Call, Request};

/// Tokens that every answer reports.
pub(super) const TOKENS_IN: u64 = 100;
const TOKENS_OUT: u64 = 10;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Api {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's Chat Completions.
    Chat,
    Gemini,
}

/// One event of a stream: its name, if the API has names, and its data.
type Event = (Option<String>, String);

impl Api {
    /// The API that a path belongs to, and the lane before it.
    pub fn of_path(path: &str) -> (Option<Self>, String) {
        let path = path.split('?').next().unwrap_or_default();
        let ends = [
            ("/messages", Self::Anthropic),
            ("/responses", Self::Responses),
            ("/chat/completions", Self::Chat),
        ];
        for (end, api) in ends {
            if let Some(lane) = path.strip_suffix(end) {
                return (Some(api), lane.trim_end_matches("/v1").trim_matches('/').to_string());
            }
        }
        if let Some((lane, method)) = path.split_once("/models/").filter(|(_, rest)| !rest.contains('/')) {
            let lane = ["/v1beta", "/v1alpha", "/v1"]
                .iter()
                .find_map(|version| lane.strip_suffix(version))
                .unwrap_or(lane);
            let is_turn = method.ends_with(":generateContent") || method.ends_with(":streamGenerateContent");
            return (is_turn.then_some(Self::Gemini), lane.trim_matches('/').to_string());
        }
        let lane = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        (None, lane.to_string())
    }

    /// The model's text and tool calls, encoded, and the content type.
    pub(super) fn answer(
        self,
        request: &Request,
        text: Option<&str>,
        calls: &[Call],
        id: &str,
    ) -> (&'static str, String) {
        let model = request.body["model"].as_str().unwrap_or("fake");
        let (events, whole) = match self {
            Self::Anthropic => anthropic(model, text, calls, id),
            Self::Responses => responses(model, text, calls, id),
            Self::Chat => chat(model, text, calls, id),
            Self::Gemini => gemini(text, calls, id),
        };
        if !request.is_streamed() {
            return ("application/json", whole.to_string());
        }
        let lines = events.into_iter().map(|(name, data)| {
            let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
            format!("{name}data: {data}\n\n")
        });
        ("text/event-stream", lines.collect())
    }
}

fn anthropic(model: &str, text: Option<&str>, calls: &[Call], id: &str) -> (Vec<Event>, Value) {
    let said = text.map(|text| json!({ "type": "text", "text": text }));
    let asked = calls.iter().enumerate().map(|(at, call)| {
        json!({ "type": "tool_use", "id": format!("toolu_{id}_{at}"), "name": call.name, "input": call.input })
    });
    let blocks: Vec<Value> = said.into_iter().chain(asked).collect();
    let stop = if calls.is_empty() { "end_turn" } else { "tool_use" };
    let usage = json!({ "input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT });
    let message = |content: &[Value], stop: Value| {
        json!({
            "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": model, "content": content,
            "stop_reason": stop, "stop_sequence": null, "usage": usage,
        })
    };
    let mut events = vec![json!({ "type": "message_start", "message": message(&[], Value::Null) })];
    for (index, block) in blocks.iter().enumerate() {
        let (start, delta) = match block["type"] == "text" {
            true => (with(block, "text", json!("")), json!({ "type": "text_delta", "text": block["text"] })),
            false => (
                with(block, "input", json!({})),
                json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() }),
            ),
        };
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let end = json!({ "stop_reason": stop, "stop_sequence": null });
    events.push(json!({ "type": "message_delta", "delta": end, "usage": usage }));
    events.push(json!({ "type": "message_stop" }));
    (events.into_iter().map(named).collect(), message(&blocks, json!(stop)))
}

fn responses(model: &str, text: Option<&str>, calls: &[Call], id: &str) -> (Vec<Event>, Value) {
    let said = text.map(|text| {
        json!({
            "type": "message", "id": format!("msg_{id}"), "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        })
    });
    let asked = calls.iter().enumerate().map(|(at, call)| {
        let (kind, key, value) = match &call.input {
            Value::String(text) => ("custom_tool_call", "input", text.clone()),
            input => ("function_call", "arguments", input.to_string()),
        };
        let mut item = json!({
            "type": kind, "id": format!("item_{id}_{at}"), "call_id": format!("call_{id}_{at}"), "name": call.name,
            "status": "completed", key: value,
        });
        // A tool in a namespace: `mcp__server/tool`.
        if let Some((namespace, name)) = call.name.split_once('/') {
            item["namespace"] = json!(namespace);
            item["name"] = json!(name);
        }
        item
    });
    let items: Vec<Value> = said.into_iter().chain(asked).collect();
    let response = |status: &str, output: &[Value], usage: Value| {
        json!({
            "id": format!("resp_{id}"), "object": "response", "created_at": 0, "status": status, "model": model,
            "output": output, "usage": usage, "error": null,
        })
    };
    let usage = json!({
        "input_tokens": TOKENS_IN, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": TOKENS_OUT,
        "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": TOKENS_IN + TOKENS_OUT,
    });
    let whole = response("completed", &items, usage);
    let mut events =
        vec![json!({ "type": "response.created", "response": response("in_progress", &[], Value::Null) })];
    for (index, item) in items.iter().enumerate() {
        let event = |kind: &str, fields: Value| {
            let mut event = json!({ "type": kind, "output_index": index, "item_id": item["id"] });
            merge(&mut event, fields);
            event
        };
        let added = |item: Value| json!({ "type": "response.output_item.added", "output_index": index, "item": item });
        match item["type"].as_str().unwrap_or_default() {
            "message" => {
                let part = &item["content"][0];
                let empty = with(part, "text", json!(""));
                events.extend([
                    added(with(&with(item, "content", json!([])), "status", json!("in_progress"))),
                    event("response.content_part.added", json!({ "content_index": 0, "part": empty })),
                    event("response.output_text.delta", json!({ "content_index": 0, "delta": part["text"] })),
                    event("response.output_text.done", json!({ "content_index": 0, "text": part["text"] })),
                    event("response.content_part.done", json!({ "content_index": 0, "part": part })),
                ]);
            }
            kind => {
                let (key, stem) = match kind {
                    "function_call" => ("arguments", "response.function_call_arguments"),
                    _ => ("input", "response.custom_tool_call_input"),
                };
                events.extend([
                    added(with(item, key, json!(""))),
                    event(&format!("{stem}.delta"), json!({ "delta": item[key] })),
                    event(&format!("{stem}.done"), json!({ key: item[key] })),
                ]);
            }
        }
        events.push(json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
    }
    events.push(json!({ "type": "response.completed", "response": whole }));
    let numbered =
        events.into_iter().enumerate().map(|(at, event)| with(&event, "sequence_number", json!(at)));
    (numbered.map(named).collect(), whole)
}

fn chat(model: &str, text: Option<&str>, calls: &[Call], id: &str) -> (Vec<Event>, Value) {
    let asked: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(at, call)| {
            let function = json!({ "name": call.name, "arguments": call.input.to_string() });
            json!({ "index": at, "id": format!("call_{id}_{at}"), "type": "function", "function": function })
        })
        .collect();
    let stop = if asked.is_empty() { "stop" } else { "tool_calls" };
    let mut message = json!({ "role": "assistant", "content": text });
    if !asked.is_empty() {
        message["tool_calls"] = json!(asked);
    }
    let usage = json!({
        "prompt_tokens": TOKENS_IN, "completion_tokens": TOKENS_OUT, "total_tokens": TOKENS_IN + TOKENS_OUT,
    });
    let answer = |object: &str, fields: Value| {
        let mut answer =
            json!({ "id": format!("chatcmpl-{id}"), "object": object, "created": 0, "model": model });
        merge(&mut answer, fields);
        answer
    };
    let chunk = |choices: Value| answer("chat.completion.chunk", json!({ "choices": choices }));
    let mut last = chunk(json!([]));
    last["usage"] = usage.clone();
    let events = [
        chunk(json!([{ "index": 0, "delta": message, "finish_reason": null }])),
        chunk(json!([{ "index": 0, "delta": {}, "finish_reason": stop }])),
        last,
    ];
    let events = events.into_iter().map(|event| event.to_string()).chain(["[DONE]".to_string()]);
    let choices = json!([{ "index": 0, "message": message, "finish_reason": stop }]);
    let whole = answer("chat.completion", json!({ "choices": choices, "usage": usage }));
    (events.map(|data| (None, data)).collect(), whole)
}

fn gemini(text: Option<&str>, calls: &[Call], id: &str) -> (Vec<Event>, Value) {
    let said = text.map(|text| json!({ "text": text }));
    let asked = calls.iter().enumerate().map(|(at, call)| {
        json!({ "functionCall": { "id": format!("fc_{id}_{at}"), "name": call.name, "args": call.input } })
    });
    let parts: Vec<Value> = said.into_iter().chain(asked).collect();
    let whole = json!({
        "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts }, "finishReason": "STOP" }],
        "usageMetadata": {
            "promptTokenCount": TOKENS_IN, "candidatesTokenCount": TOKENS_OUT,
            "totalTokenCount": TOKENS_IN + TOKENS_OUT,
        },
        "modelVersion": "fake",
        "responseId": id,
    });
    (vec![(None, whole.to_string())], whole)
}

/// An event whose name is its `type`.
fn named(event: Value) -> Event {
    (event["type"].as_str().map(str::to_string), event.to_string())
}

/// The object with one value replaced.
fn with(object: &Value, key: &str, value: Value) -> Value {
    let mut object = object.clone();
    object[key] = value;
    object
}

fn merge(object: &mut Value, more: Value) {
    let more: Map<String, Value> = more.as_object().cloned().unwrap_or_default();
    object.as_object_mut().expect("an object").extend(more);
}
