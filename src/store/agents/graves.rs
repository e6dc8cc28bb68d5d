//! `graves/<Name>-<hash of the session>/`: what an agent that is gone left behind, kept until its session comes back.
//!
//! ```text
//! grave.json           why and when it was buried, and by whom
//! registration.json    its last registration
//! inbox/               mail that it never read
//! ```

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::grave_id::GraveId;
use super::registry::{self, Registration, UnreadableFile};
use super::sessions::{self, SessionRecord};
use crate::domain::SessionId;
use crate::store::error::{ParseError, StoreError};
use crate::store::handles::GraveRecords;
use crate::store::layout::Layout;
use crate::store::retrying_read::{self, FileContent, RetryBudget};
use crate::store::wire::time;
use crate::sys::files::{self, FileError};

impl GraveRecords<'_> {
    pub fn all(self) -> Result<GraveScan, StoreError> {
        Ok(all(&self.mesh.layout)?)
    }

    /// The graves of a session, under whatever names it had.
    pub fn of_session(self, session: &SessionId) -> Result<Vec<GraveId>, StoreError> {
        Ok(of_session(&self.mesh.layout, session)?)
    }

    /// The session that gets the lost mail of that grave when it comes back; `None` if it is not known.
    pub fn lost_mail_owner(self, grave: &GraveId) -> Result<Option<SessionRecord>, StoreError> {
        Ok(lost_mail_owner(&self.mesh.layout, grave)?)
    }
}

/// Why an agent is gone.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GoneReason {
    /// Its process ended.
    Died,
    Left,
    Evicted,
    /// Lost mail: it was in the inbox of an unregistered name.
    Lost,
}

/// The content of a grave.
#[derive(Clone, Debug)]
pub struct Grave {
    pub id: GraveId,
    pub why: GoneReason,
    pub at: Timestamp,
    /// The agent that evicted it.
    pub by: Option<String>,
    /// `None` for lost mail, and while the burial is in progress.
    pub record: Option<Registration>,
    pub unread: usize,
}

#[derive(Deserialize, Serialize)]
pub(in crate::store) struct GraveHeader {
    pub(in crate::store) why: GoneReason,
    #[serde(with = "time")]
    pub(in crate::store) at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::store) by: Option<String>,
    /// Nobody was known, when the mail was moved there, whose it could be. Older versions did not look.
    #[serde(default, rename = "ownerless", skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::store) is_ownerless: bool,
}

/// The graves of a session, under whatever names it had.
pub(in crate::store) fn of_session(layout: &Layout, session: &SessionId) -> Result<Vec<GraveId>, FileError> {
    let mut own = Vec::new();
    for id in files::list(&layout.graves())?.iter().filter_map(|name| GraveId::parse(name)) {
        if id.is_of(session) || is_lost_mail_of(layout, &id, session)? {
            own.push(id);
        }
    }
    Ok(own)
}

fn is_lost_mail_of(layout: &Layout, id: &GraveId, session: &SessionId) -> Result<bool, FileError> {
    if !id.is_of_lost_mail() {
        return Ok(false);
    }
    // Usually the session's own file is enough to rule it out.
    let known = sessions::read(layout, session).ok().flatten();
    if !known.is_some_and(|known| had_name_of(&known, id)) {
        return Ok(false);
    }
    Ok(lost_mail_owner(layout, id)?.is_some_and(|owner| owner.last.agent.session == *session))
}

/// The session that lost mail is for: the only one that had the name and joined before the mail was moved there. Who
/// takes the name afterwards may have joined before, too, so mail that is known to have no owner is for nobody.
pub(in crate::store) fn lost_mail_owner(
    layout: &Layout,
    id: &GraveId,
) -> Result<Option<SessionRecord>, FileError> {
    if header(layout, id)?.is_ok_and(|header| header.is_ownerless) {
        return Ok(None);
    }
    let mut owners = sessions::all(layout)?.records.into_iter().filter(|known| had_name_of(known, id));
    let first = owners.next();
    Ok(first.filter(|_| owners.next().is_none()))
}

fn had_name_of(known: &SessionRecord, id: &GraveId) -> bool {
    let agent = &known.last.agent;
    let had_name = agent.all_names().any(|name| name.as_str() == id.name());
    // A newcomer moves the mail away at the moment it takes the name, so its join time equals the grave's time.
    had_name && id.lost_at().is_some_and(|at| agent.joined_at.as_millisecond() < at.as_millisecond())
}

/// Every grave, and those whose `grave.json` cannot be read. Their mail is still there.
#[derive(Clone, Debug, Default)]
pub struct GraveScan {
    pub graves: Vec<Grave>,
    pub unreadable: Vec<UnreadableFile>,
}

pub(in crate::store) fn all(layout: &Layout) -> Result<GraveScan, FileError> {
    let mut found = GraveScan::default();
    for name in files::list(&layout.graves())? {
        let Some(id) = GraveId::parse(&name) else { continue };
        match read(layout, &id)? {
            Ok(grave) => found.graves.push(grave),
            Err(error) => {
                let (path, reason) = (layout.grave(&id).display().to_string(), error.to_string());
                found.unreadable.push(UnreadableFile { stem: name, path, reason, told: None });
            }
        }
    }
    Ok(found)
}

pub(in crate::store) fn read(layout: &Layout, id: &GraveId) -> Result<Result<Grave, ParseError>, FileError> {
    let dir = layout.grave(id);
    let GraveHeader { why, at, by, is_ownerless: _ } = match header(layout, id)? {
        Ok(header) => header,
        Err(error) => return Ok(Err(error)),
    };
    let record = registry::read(&dir.join("registration.json"), id.name())?.and_then(Result::ok);
    let unread = files::list(&dir.join("inbox"))?.iter().filter(|name| name.ends_with(".json")).count();
    Ok(Ok(Grave { id: id.clone(), why, at, by, record, unread }))
}

fn header(layout: &Layout, id: &GraveId) -> Result<Result<GraveHeader, ParseError>, FileError> {
    let parse = |bytes: &[u8]| {
        serde_json::from_slice(bytes).map_err(|error| ParseError::new(format!("`grave.json`: {error}")))
    };
    let content = retrying_read::read(&layout.grave(id).join("grave.json"), RetryBudget::Own, parse)?;
    Ok(match content {
        FileContent::Parsed(header) => Ok(header),
        FileContent::Absent => Err(ParseError::new("it has no `grave.json`")),
        FileContent::Unparsable(error) => Err(error),
    })
}
