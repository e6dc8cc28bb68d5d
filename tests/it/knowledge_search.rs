//! How well the search of knowledge finds: the set in `fixtures/search`, and what `cargo bench -- search` prints. What
//! rows and tables of the same records cost.

#[path = "../../benches/ratios/search/mod.rs"]
mod search;

use std::fs;

use ravenry::domain::knowledge::{AnchorFinding, Record, RecordState, TableValue, index_row, table};
use search::sets::SearchSet;
use search::{Quality, compare, own_set};
use serde_json::{Value, json};

/// What was reached when this was written, a little lower. It may rise.
const LEAST: Quality = Quality { first: 0.68, among_five: 0.82, mean_reciprocal: 0.75 };

#[test]
fn ours_finds_more_than_plain_bm25_and_grep() {
    let set = own_set().unwrap();
    assert!(set.records.len() >= 300 && set.queries.len() >= 60);
    let [(_, ours), others @ ..] = compare(&set);
    println!("ours {ours:?}, {others:?}");
    for (name, other) in others {
        assert!(ours.first >= other.first, "{name}: {other:?}, ours {ours:?}");
        assert!(ours.among_five >= other.among_five, "{name}: {other:?}, ours {ours:?}");
        assert!(ours.mean_reciprocal >= other.mean_reciprocal, "{name}: {other:?}, ours {ours:?}");
    }
    assert!(ours.first >= LEAST.first && ours.among_five >= LEAST.among_five, "{ours:?}");
    assert!(ours.mean_reciprocal >= LEAST.mean_reciprocal, "{ours:?}");
}

/// What the commands answer is what the search finds.
#[test]
fn the_commands_find_the_same() {
    let set = own_set().unwrap();
    let (ours, refused) = search::by_commands(&set).unwrap();
    assert_eq!(refused, 0);
    let [(_, direct), ..] = compare(&set);
    // Records of one batch have one time, and a tie is broken by the name: not every place is the same.
    assert!((ours.mean_reciprocal - direct.mean_reciprocal).abs() < 0.02, "{ours:?}, {direct:?}");
    assert!(ours.first >= LEAST.first && ours.among_five >= LEAST.among_five, "{ours:?}");
}

/// A query that has only words of its record, in another order, is no task.
#[test]
fn queries_are_paraphrases() {
    let set = own_set().unwrap();
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|char: char| !char.is_alphanumeric()).filter(|word| word.len() > 3);
        words.map(str::to_lowercase).collect()
    };
    let texts = set.texts();
    let is_copy = |query: &&search::sets::SetQuery| {
        let wanted = set.ids.iter().zip(&texts).filter(|(id, _)| query.ids.contains(id));
        let mut known = wanted.map(|(_, text)| words(text));
        known.any(|known| words(&query.words).iter().all(|word| known.contains(word)))
    };
    let copies: Vec<&str> = set.queries.iter().filter(is_copy).map(|query| query.words.as_str()).collect();
    assert!(copies.len() * 10 <= set.queries.len(), "{copies:?}");
}

#[test]
fn the_newer_of_two_is_above_the_older_in_every_answer() {
    let set = own_set().unwrap();
    let index = ravenry::domain::knowledge::search::SearchIndex::of_records(&set.records);
    let mut pairs = 0;
    for record in set.records.iter().filter(|record| record.is_superseded()) {
        // The old one's own words find it best, and yet it comes second.
        let found = search::ask(&index, &set, &record.statement.description);
        let place = |id| found.iter().position(|other| *other == set.id_of(id).unwrap()).unwrap();
        for new in &record.superseded_by {
            assert!(place(new) < place(&record.id), "{}: {found:?}", record.id);
            pairs += 1;
        }
    }
    assert!(pairs >= 6, "{pairs}");
}

#[test]
fn sets_that_can_not_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let records = write("r", "{\"id\":\"1\",\"text\":\"one flock\"}\n{\"id\":\"2\",\"text\":\"two\"}\n");
    let queries = write("q", "{\"q\":\"flock\",\"ids\":[\"1\"]}\n");
    let answer = search::run(&[records.clone(), queries.clone()]).unwrap();
    assert!(answer.contains("2 records, 1 queries\n  ours        hit@1 100.0 %"), "{answer}");
    let refused = |records: &str, queries: &str| {
        let error = search::run(&[records.to_string(), queries.to_string()]).unwrap_err();
        error.replace(folder.path().to_str().unwrap(), "DIR")
    };
    assert_eq!(
        refused(&records, &write("x", "{\"q\":\"a\",\"ids\":[\"9\"]}")),
        "a query asks for `9`, which is not among the records"
    );
    assert_eq!(refused(&records, &write("e", "")), "there are no queries");
    assert!(refused(&write("b", "{}\n"), &queries).starts_with("DIR/b:1: missing field `id`"));
    let kind = write("k", "{\"id\":\"1\",\"text\":\"x\",\"kind\":\"rumour\"}");
    assert_eq!(refused(&kind, &queries), "record 1: unknown kind `rumour`");
    assert!(refused("/nowhere", &queries).starts_with("can't read /nowhere: "));
    assert_eq!(
        search::run(&[records]).unwrap_err(),
        "name two files for each set: `cargo bench -- search RECORDS QUERIES`"
    );
}

/// A share of the tokens that compact JSON needs, by two tokenizers.
fn share_of_json(text: &str, json: &Value) -> f64 {
    let json = json.to_string();
    let shares = [tiktoken_rs::o200k_base().unwrap(), tiktoken_rs::cl100k_base().unwrap()].map(|tokenizer| {
        let [ours, theirs] = [text, &json].map(|text| tokenizer.encode_ordinary(text).len());
        ours as f64 / theirs as f64
    });
    shares.into_iter().fold(0.0, f64::max)
}

/// The records of the set, every tenth with a stale anchor.
fn with_states(set: &SearchSet) -> Vec<(&Record, RecordState)> {
    let states = set.records.iter().enumerate().map(|(number, record)| {
        let mut state = RecordState::fresh(record);
        if number % 10 == 0 {
            state.findings.fill(AnchorFinding::Stale);
        }
        (record, state)
    });
    states.collect()
}

#[test]
fn rows_cost_a_quarter_less_than_json() {
    let set = own_set().unwrap();
    let records = with_states(&set);
    let rows: Vec<String> = records.iter().map(|(record, state)| index_row(record, state)).collect();
    let json = records.iter().map(|(record, state)| {
        // A row without a mark says `fresh`, too.
        let verdict = state.verdict().as_str();
        let mut json =
            json!({ "kind": record.id.kind.as_str(), "name": record.id.name.as_str(), "verdict": verdict });
        if let Some(new) = record.superseded_by.first() {
            json["supersededBy"] = new.to_string().into();
        }
        assert!(record.statement.description.chars().count() <= 200, "a row has all of it");
        json["description"] = record.statement.description.as_str().into();
        json["at"] = record.anchors[0].target.to_string().into();
        json
    });
    let share = share_of_json(&rows.join("\n"), &json.collect());
    assert!(rows.len() >= 200 && share <= 0.75, "{share}");
}

#[test]
fn tables_cost_a_fifth_less_than_json() {
    let set = own_set().unwrap();
    let text = |text: &str| TableValue::Text(text.to_string());
    let symbol = |text: &str| TableValue::Symbol(text.to_string());
    let rows: Vec<Vec<TableValue>> = set
        .records
        .iter()
        .map(|record| {
            let said = &record.statement;
            let at = record.anchors[0].target.to_string();
            let confidence = TableValue::Number(record.confidence);
            vec![
                symbol(record.id.name.as_str()),
                confidence,
                text(&said.description),
                text(&said.rationale),
                symbol(&at),
            ]
        })
        .collect();
    let json = set.records.iter().map(|record| {
        json!({
            "name": record.id.name.as_str(),
            "confidence": record.confidence,
            "description": record.statement.description,
            "rationale": record.statement.rationale,
            "at": record.anchors[0].target.to_string(),
        })
    });
    let shown = table(&["name", "confidence", "description", "rationale", "at"], &rows);
    let share = share_of_json(&shown, &json.collect());
    assert!(rows.len() >= 200 && share <= 0.8, "{share}");
}
