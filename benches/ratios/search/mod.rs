//! How well the search of knowledge finds, beside grep and plain BM25.
//!
//! `cargo bench -- search [RECORDS QUERIES]…` takes sets by path: two files of JSON lines each, records
//! `{id, text, kind?, name?, why?, anchors?, tags?, also?, supersedes?}` and queries `{q, ids}`. Without paths it takes the
//! set of this repository. Ours are recorded with `msg record` and asked with `msg know --json`, in a project of their own;
//! a text that is too long for one record becomes several. It prints the share of queries with a right answer at the first place and among the first
//! five, the mean of 1 / place (MRR), and how long it takes to build an index of 10,000 records and to ask it.

pub mod baselines;
pub mod by_commands;
pub mod sets;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ravenry::domain::knowledge::search::{SearchIndex, SearchQuery, Standing};

use baselines::{grep, plain_bm25};
use by_commands::RecordedSet;
use sets::SearchSet;

/// How many records the times are measured with.
const MANY: usize = 10_000;
/// How many places of an answer are looked at.
const PLACES: usize = 100;

/// How well one way of searching does on a set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    pub first: f64,
    pub among_five: f64,
    pub mean_reciprocal: f64,
}

impl Quality {
    /// `search` returns ids, the best first.
    pub fn of(set: &SearchSet, mut search: impl FnMut(&str) -> Vec<String>) -> Self {
        let places: Vec<Option<usize>> = set
            .queries
            .iter()
            .map(|query| search(&query.words).iter().position(|id| query.ids.contains(id)))
            .collect();
        let share = |most: usize| {
            let hits = places.iter().flatten().filter(|place| **place < most).count();
            hits as f64 / places.len() as f64
        };
        let reciprocal: f64 = places.iter().flatten().map(|place| 1.0 / (*place as f64 + 1.0)).sum();
        Self { first: share(1), among_five: share(5), mean_reciprocal: reciprocal / places.len() as f64 }
    }
}

/// The set of this repository.
pub fn own_set() -> Result<SearchSet, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/search");
    SearchSet::read(&folder.join("records.jsonl"), &folder.join("queries.jsonl"))
}

/// Our search, plain BM25 and grep.
pub fn compare(set: &SearchSet) -> [(&'static str, Quality); 3] {
    let index = SearchIndex::of_records(&set.records);
    let ours = Quality::of(set, |words| ask(&index, set, words));
    let texts = set.texts();
    let bm25 = plain_bm25::PlainBm25::new(&texts);
    let ids = |places: Vec<usize>| places.into_iter().map(|place| set.ids[place].clone()).collect();
    let plain = Quality::of(set, |words| ids(bm25.search(words)));
    let grep = Quality::of(set, |words| ids(grep::search(&texts, words)));
    [("ours", ours), ("plain BM25", plain), ("grep", grep)]
}

/// Ours by the commands, and how many records they refused.
pub fn by_commands(set: &SearchSet) -> Result<(Quality, usize), String> {
    let recorded = RecordedSet::new(set)?;
    let mut failed = None;
    let ours = Quality::of(set, |words| {
        recorded.ask(words).unwrap_or_else(|why| {
            failed = Some(why);
            Vec::new()
        })
    });
    failed.map_or(Ok((ours, recorded.refused.len())), Err)
}

/// The ids that our search finds.
pub fn ask(index: &SearchIndex, set: &SearchSet, words: &str) -> Vec<String> {
    let hits = index.search(&SearchQuery::new(words, PLACES), |_| Some(Standing::GOOD));
    let keys = hits.into_iter().flatten().filter_map(|hit| hit.key.record().cloned());
    keys.filter_map(|key| set.id_of(&key)).collect()
}

/// Prints the table of each set; an error is a sentence for a person.
pub fn run(args: &[String]) -> Result<String, String> {
    let mut text = String::new();
    if args.is_empty() {
        let set = own_set()?;
        text.push_str(&table("the set of this repository", &set)?);
        text.push_str(&times(&set)?);
    }
    if !args.len().is_multiple_of(2) {
        return Err("name two files for each set: `cargo bench -- search RECORDS QUERIES`".to_string());
    }
    for pair in args.chunks_exact(2) {
        let set = SearchSet::read(&PathBuf::from(&pair[0]), &PathBuf::from(&pair[1]))?;
        text.push_str(&table(&pair[0], &set)?);
    }
    Ok(text)
}

fn table(name: &str, set: &SearchSet) -> Result<String, String> {
    let mut text = format!("{name}: {} records, {} queries\n", set.records.len(), set.queries.len());
    let (ours, refused) = by_commands(set)?;
    if refused > 0 {
        writeln!(text, "  {refused} records were refused, as `msg record` refuses what looks like a secret")
            .unwrap();
    }
    let [(_, within), others @ ..] = compare(set);
    for (name, quality) in [("ours", ours), ("in process", within)].into_iter().chain(others) {
        let Quality { first, among_five, mean_reciprocal } = quality;
        let [first, among_five] = [first, among_five].map(|share| 100.0 * share);
        writeln!(
            text,
            "  {name:<10}  hit@1 {first:5.1} %  hit@5 {among_five:5.1} %  MRR {mean_reciprocal:.3}"
        )
        .unwrap();
    }
    Ok(text)
}

/// How long it takes with many records.
fn times(set: &SearchSet) -> Result<String, String> {
    let records = set.repeated(MANY);
    let milliseconds = |started: Instant| started.elapsed().as_secs_f64() * 1e3;
    let started = Instant::now();
    let index = SearchIndex::of_records(&records);
    let build = milliseconds(started);
    let bytes = index.encode().to_vec();
    let size = bytes.len();
    let started = Instant::now();
    let index = SearchIndex::decode(bytes).map_err(|error| error.to_string())?;
    let decode = milliseconds(started);
    let started = Instant::now();
    for query in &set.queries {
        let found = index.search(&SearchQuery::new(&query.words, 10), |_| Some(Standing::GOOD));
        found.map_err(|error| error.to_string())?;
    }
    let search = milliseconds(started) / set.queries.len() as f64;
    Ok(format!(
        "{MANY} records: {build:.1} ms to build the index of {} KiB, {decode:.2} ms to decode it, {search:.2} ms a query\n",
        size / 1024
    ))
}
