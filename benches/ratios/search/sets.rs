//! Sets of records and queries, from JSON lines.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use jiff::Timestamp;
use ravenry::domain::knowledge::{
    Anchor, AnchorTarget, Basis, Origin, Record, RecordId, RecordKind, RecordName, Statement,
};
use serde::Deserialize;

/// A query, and the records that answer it.
#[derive(Debug, Deserialize)]
pub struct SetQuery {
    #[serde(rename = "q")]
    pub words: String,
    pub ids: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct SetRecord {
    id: String,
    text: String,
    kind: Option<String>,
    name: Option<String>,
    #[serde(default)]
    why: String,
    #[serde(default)]
    anchors: Vec<String>,
    #[serde(default)]
    tags: BTreeMap<String, String>,
    #[serde(default)]
    also: BTreeSet<String>,
    #[serde(default)]
    supersedes: Vec<String>,
}

#[derive(Debug)]
pub struct SearchSet {
    pub records: Vec<Record>,
    /// The id of each record in the set.
    pub ids: Vec<String>,
    pub queries: Vec<SetQuery>,
    places: HashMap<RecordId, usize>,
}

impl SearchSet {
    pub fn read(records: &Path, queries: &Path) -> Result<Self, String> {
        let queries = lines::<SetQuery>(queries)?;
        let mut set = Self { records: Vec::new(), ids: Vec::new(), queries, places: HashMap::new() };
        let read = lines::<SetRecord>(records)?;
        let mut superseded: Vec<(usize, String)> = Vec::new();
        for (place, mut read) in read.into_iter().enumerate() {
            superseded.extend(std::mem::take(&mut read.supersedes).into_iter().map(|old| (place, old)));
            set.ids.push(read.id.clone());
            let record = record(read, place).map_err(|why| format!("record {}: {why}", place + 1))?;
            if set.places.insert(record.id.clone(), place).is_some() {
                return Err(format!("record {}: `{}` is there already", place + 1, record.id));
            }
            set.records.push(record);
        }
        let places: HashMap<&String, usize> =
            set.ids.iter().enumerate().map(|(place, id)| (id, place)).collect();
        for (new, old) in superseded {
            let old = *places.get(&old).ok_or_else(|| format!("there is no record `{old}` to supersede"))?;
            let (new_id, old_id) = (set.records[new].id.clone(), set.records[old].id.clone());
            set.records[new].supersedes.insert(old_id);
            set.records[old].superseded_by.insert(new_id);
        }
        match set.queries.iter().flat_map(|query| &query.ids).find(|id| !places.contains_key(id)) {
            Some(id) => Err(format!("a query asks for `{id}`, which is not among the records")),
            None if set.queries.is_empty() => Err("there are no queries".to_string()),
            None => Ok(set),
        }
    }

    pub fn id_of(&self, record: &RecordId) -> Option<String> {
        self.places.get(record).map(|place| self.ids[*place].clone())
    }

    /// All that a record has, as one text: what the baselines search.
    pub fn texts(&self) -> Vec<String> {
        let text = |record: &Record| {
            let said = &record.statement;
            let mut parts =
                vec![record.id.name.to_string(), said.description.clone(), said.rationale.clone()];
            parts.extend(record.also.iter().cloned());
            parts.extend(record.tags.values().cloned());
            parts.extend(record.anchors.iter().map(|anchor| anchor.target.to_string()));
            parts.join("\n")
        };
        self.records.iter().map(text).collect()
    }

    /// That many records: these, again and again, each time with words of their own.
    pub fn repeated(&self, count: usize) -> Vec<Record> {
        let all = self.records.iter().cycle().enumerate().take(count);
        all.map(|(number, record)| {
            let mut record = record.clone();
            let round = number / self.records.len();
            let name = format!("{}-{round}", record.id.name);
            record.id.name = RecordName::derive(&name).unwrap_or_else(|| record.id.name.clone());
            record.statement.description.push_str(&format!(" In part{round} see item_{number}."));
            record
        })
        .collect()
    }
}

fn lines<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Vec<T>, String> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("can't read {shown}: {error}"))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parsed = lines
        .map(|(at, line)| serde_json::from_str(line).map_err(|error| format!("{shown}:{}: {error}", at + 1)));
    parsed.collect()
}

fn record(read: SetRecord, place: usize) -> Result<Record, String> {
    let kind = read.kind.as_deref().unwrap_or("note");
    let kind = RecordKind::parse(kind).ok_or_else(|| format!("unknown kind `{kind}`"))?;
    // As `msg learn` does it: an id that is not a name says nothing.
    let given = read.name.as_deref().or(RecordName::new(&read.id).is_ok().then_some(&read.id));
    let name = match given {
        Some(name) => RecordName::new(name).map_err(|error| error.to_string())?,
        None => RecordName::derive(&format!("r{place} {}", read.id)).ok_or("no name")?,
    };
    let at = Timestamp::from_second(1_790_000_000 + 60 * place as i64).map_err(|error| error.to_string())?;
    let anchors = read.anchors.iter().map(|text| AnchorTarget::parse(text).map(Anchor::new));
    let statement =
        Statement { rationale: read.why, ..Statement::new(read.text, Basis::Read, Origin::new("Ann", at)) };
    Ok(Record {
        tags: read.tags,
        anchors: anchors.collect::<Result<_, _>>().map_err(|error| error.to_string())?,
        also: read.also,
        ..Record::new(RecordId::new(kind, name), statement)
    })
}
