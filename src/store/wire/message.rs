//! The format of a message file: pi-messenger's six keys, and keys of ours, which it ignores.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::time;
use crate::domain::link::MachineName;
use crate::domain::{Importance, Message, MessageId, MessageKind, SessionId};
use crate::store::error::ParseError;

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Keys {
    id: String,
    from: String,
    to: String,
    text: String,
    #[serde(with = "time")]
    timestamp: Timestamp,
    reply_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    importance: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ack_required: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    broadcast: bool,
    /// Another program may write anything under the next four.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    kind: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    expires_at: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    to_session: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    to_machine: Value,
}

pub(in crate::store) fn parse(bytes: &[u8]) -> Result<Message, ParseError> {
    let keys: Keys = super::surrogates::from_slice(bytes).map_err(ParseError::new)?;
    // An importance that only a later version knows counts as normal.
    let importance = keys.importance.as_deref().and_then(Importance::parse).unwrap_or_default();
    // pi-messenger passes on any text that the model gave as an id.
    let reply_to = keys.reply_to.and_then(|id| MessageId::new(id).ok());
    Ok(Message {
        id: MessageId::new(keys.id).map_err(ParseError::new)?,
        from: keys.from,
        to: keys.to,
        text: keys.text,
        timestamp: keys.timestamp,
        reply_to,
        thread: keys.thread,
        importance,
        needs_ack: keys.ack_required,
        is_broadcast: keys.broadcast,
        // A kind that only a later version knows counts as none.
        kind: keys.kind.as_str().and_then(MessageKind::parse),
        expires_at: keys.expires_at.as_str().and_then(|time| time.parse().ok()),
        to_session: keys.to_session.as_str().and_then(|session| SessionId::new(session).ok()),
        to_machine: keys.to_machine.as_str().and_then(|machine| MachineName::new(machine).ok()),
    })
}

pub(in crate::store) fn bytes(message: &Message) -> Vec<u8> {
    let importance =
        (message.importance != Importance::Normal).then(|| message.importance.name().to_string());
    super::pretty(&Keys {
        id: message.id.to_string(),
        from: message.from.clone(),
        to: message.to.clone(),
        text: message.text.clone(),
        timestamp: message.timestamp,
        reply_to: message.reply_to.as_ref().map(MessageId::to_string),
        thread: message.thread.clone(),
        importance,
        ack_required: message.needs_ack,
        broadcast: message.is_broadcast,
        kind: message.kind.map_or(Value::Null, |kind| kind.name().into()),
        expires_at: message.expires_at.map_or(Value::Null, |at| time::iso(at).into()),
        to_session: message.to_session.as_ref().map_or(Value::Null, |session| session.as_str().into()),
        to_machine: message.to_machine.as_ref().map_or(Value::Null, |machine| machine.as_str().into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::MessageStamp;

    const PI: &str = include_str!("../../../fixtures/pi-messenger/message-1794700676113-gpvjoz.json");
    const PI_050: &str =
        include_str!("../../../fixtures/pi-messenger/v050-message-1794700687456-ymrfai.json");

    /// Another program may have a key of that name for something else.
    #[test]
    fn a_message_with_another_kind_of_session_is_one() {
        let mut keys: Value = serde_json::from_str(PI).unwrap();
        keys["toSession"] = 7.into();
        assert_eq!(parse(keys.to_string().as_bytes()).unwrap().to_session, None);
    }

    #[test]
    fn what_pi_messenger_writes_is_read() {
        let message = parse(PI.as_bytes()).unwrap();
        assert_eq!((message.from.as_str(), message.to.as_str()), ("RedIce", "GoldFalcon"));
        assert_eq!(message.text, "Auth module is ready for review\nsecond line");
        assert_eq!(message.reply_to, None);
        let reply = parse(PI_050.as_bytes()).unwrap().reply_to.unwrap();
        assert_eq!(reply.as_str(), "550e8400-e29b-41d4-a716-446655440000");
    }

    /// An ordinary message has exactly the keys that pi-messenger writes, with the same types.
    #[test]
    fn what_we_write_is_what_pi_messenger_reads() {
        let mut message = parse(PI.as_bytes()).unwrap();
        message.id = MessageStamp::new(1_794_700_676_113_000, 1).id();
        let ours: Value = serde_json::from_slice(&bytes(&message)).unwrap();
        let theirs: Value = serde_json::from_str(PI).unwrap();
        let shape = |value: &Value| -> Vec<(String, std::mem::Discriminant<Value>)> {
            let members = value.as_object().unwrap().iter();
            members.map(|(key, value)| (key.clone(), std::mem::discriminant(value))).collect()
        };
        assert_eq!(shape(&ours), shape(&theirs));
    }

    #[test]
    fn ours_come_back_as_they_were() {
        let message = Message {
            id: MessageStamp::new(1, 2).id(),
            from: "A".into(),
            to: "B".into(),
            text: "\u{1b}[0m \0 ü".into(),
            timestamp: "2026-11-14T23:57:56.113Z".parse().unwrap(),
            reply_to: Some(MessageStamp::new(3, 4).id()),
            thread: Some("t".into()),
            importance: Importance::Urgent,
            needs_ack: true,
            is_broadcast: true,
            kind: Some(MessageKind::Block),
            expires_at: Some("2026-11-15T00:02:56.113Z".parse().unwrap()),
            to_session: Some(SessionId::new("s-1").unwrap()),
            to_machine: Some(MachineName::new("box").unwrap()),
        };
        assert_eq!(parse(&bytes(&message)).unwrap(), message);
    }

    #[test]
    fn a_kind_that_is_not_known_counts_as_none() {
        let mut keys: Value = serde_json::from_str(PI).unwrap();
        for odd in [Value::Null, "shout".into(), 7.into(), serde_json::json!({ "question": true })] {
            (keys["kind"], keys["expiresAt"]) = (odd.clone(), odd);
            let message = parse(keys.to_string().as_bytes()).unwrap();
            assert_eq!((message.kind, message.expires_at), (None, None));
        }
    }
}
