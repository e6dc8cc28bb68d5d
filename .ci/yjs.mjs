// Called by .ci/yjs.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import * as Y from "yjs";

const load = (update) => {
  const doc = new Y.Doc();
  Y.applyUpdate(doc, update);
  assert.equal(doc.store.pendingStructs, null, "the update is whole");
  return doc;
};
const cells = (doc) => [...doc.getMap("knowledge").values()];
const stamp = (cell) => cell.ms * 1e6 + (cell.counter ?? 0);
/** The latest text of each record. */
const texts = (doc) => {
  const latest = new Map();
  for (const cell of cells(doc).filter((cell) => cell.is === "statement")) {
    const known = latest.get(cell.record);
    if (!known || stamp(known) < stamp(cell)) latest.set(cell.record, cell);
  }
  return latest;
};
const [first, ...rest] = process.argv.slice(2);

if (first === "--check") {
  const { records } = JSON.parse(readFileSync(0, "utf8"));
  const by = new Map(records.map((record) => [`${record.kind}/${record.name}`, record]));
  assert.equal(by.size, 4);
  assert.equal(by.get("note/from-javascript").description, "JavaScript wrote this 😀");
  assert.equal(by.get("note/from-javascript").author, "node");
  assert.equal(by.get("note/twice").description, "Said last, in JavaScript");
  assert.equal(by.get("decision/one-lock").rationale, "two deadlocked");
  console.log("msg reads what JavaScript writes");
} else if (first === "--same") {
  const one = load(readFileSync(0)).getMap("knowledge").toJSON();
  const two = load(readFileSync(rest[0])).getMap("knowledge").toJSON();
  assert.deepEqual(one, two);
  console.log("and writes it again without a difference");
} else {
  const doc = load(readFileSync(first));
  const { records } = JSON.parse(readFileSync(rest[0], "utf8"));
  const said = texts(doc);
  assert.equal(said.size, records.length);
  for (const record of records) {
    const cell = said.get(`${record.kind}/${record.name}`);
    for (const field of ["description", "rationale", "status", "basis", "author"]) {
      assert.equal(cell[field], record[field], `${record.name}: ${field}`);
    }
    assert.equal(new Date(cell.at).toISOString(), record.at, record.name);
  }
  const lock = cells(doc).filter((cell) => cell.record === "decision/one-lock");
  assert.ok(lock.some((cell) => cell.is === "anchor" && cell.path === "src/flock.rs" && cell.symbol === "lock"));
  assert.ok(lock.some((cell) => cell.field === "tag" && cell.entry === "area" && cell.text === "store"));
  assert.ok(lock.some((cell) => cell.is === "confirmation" && cell.author === "bob"));
  assert.equal(cells(doc).filter((cell) => cell.record === "note/twice" && cell.is === "statement").length, 2);
  console.log("JavaScript reads what msg writes");

  const map = doc.getMap("knowledge");
  const at = new Date().toISOString();
  const cell = (record, description) => ({
    record, field: "text", writer: "javascript", ms: Date.now() + 1000, is: "statement", description, basis: "read", author: "node", at,
  });
  map.set(`${doc.clientID.toString(16)}.0`, cell("note/from-javascript", "JavaScript wrote this 😀"));
  map.set(`${doc.clientID.toString(16)}.1`, cell("note/twice", "Said last, in JavaScript"));
  writeFileSync(rest[1], Y.encodeStateAsUpdate(doc));
}
