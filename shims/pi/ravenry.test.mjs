// The extension, in a host that is made up, with a `msg` that is made up: node --test shims/*/*.test.mjs
import assert from "node:assert/strict"
import { test } from "node:test"
import { BROKEN, load, program } from "../testing.mjs"

const FILE = new URL("./ravenry.ts", import.meta.url)
const CTX = { cwd: "/home/dev/project", model: { id: "m" }, sessionManager: { getSessionId: () => "s-1" } }
const TOLD = { cwd: "/home/dev/project", sessionId: "s-1", model: "m" }

async function extension(msg, limit) {
  const handlers = {}
  const sent = []
  const pi = {
    on: (event, handler) => {
      assert.ok(!handlers[event])
      handlers[event] = handler
    },
    sendMessage: (...message) => sent.push(message),
  }
  const loaded = await load(FILE, msg, limit)
  loaded.default(pi)
  const fire = (type, event = {}, ctx = CTX) => handlers[type]({ type, ...event }, ctx)
  return { fire, sent, events: Object.keys(handlers) }
}

async function answering(answers) {
  const msg = await program(answers)
  return { ...(await extension(msg.path)), told: msg.told }
}

const message = (content) => ({ customType: "ravenry", content, display: true })

// Of each event: what it comes with, what of that `msg` is told, and what `msg` may answer becomes.
const tool = { toolName: "bash", toolCallId: "c", input: { command: "ls" } }
const content = [{ type: "text", text: "done" }]
const goesOn = { entries: [{ type: "custom_message", ...message("t") }], continue: true }
const EVENTS = [
  ["session_start", { reason: "startup" }, { reason: "startup" }, { context: "t" }, undefined],
  ["session_shutdown", { reason: "new", targetSessionFile: "f" }, { reason: "new" }, {}, undefined],
  ["before_agent_start", { prompt: "p", systemPrompt: "long" }, { prompt: "p" }, { context: "t" }, { message: message("t") }],
  ["tool_call", tool, tool, { deny: "no" }, { block: true, reason: "no" }],
  ["tool_result", { ...tool, content, isError: false }, tool, { context: "t" }, { content: [...content, { type: "text", text: "t" }] }],
  ["agent_before_settle", { outcome: "completed", entries: [] }, { outcome: "completed" }, { goOn: "t" }, goesOn],
]

for (const [type, event, tells, answer, result] of EVENTS) {
  test(`${type}: msg is told, and its answer is pi's`, async () => {
    const { fire, told } = await answering({ [type]: answer })
    assert.deepEqual(await fire(type, event), result)
    assert.deepEqual(await told(), [{ args: ["hook", "pi", type], input: { event: { type, ...tells }, ctx: TOLD } }])
  })

  test(`${type}: silence leaves everything as it is`, async () => {
    const { fire, sent } = await answering({})
    assert.equal(await fire(type, event), undefined)
    assert.deepEqual(sent, [])
  })

  test(`${type}: a host that is not as expected is no reason to throw`, async () => {
    const { fire } = await answering({ [type]: answer })
    await fire(type, event, {})
    await fire(type, event, undefined)
    await fire(type, {}, { cwd: "/", sessionManager: { getSessionId: () => { throw new Error("none") } } })
  })
}

test("it listens to nothing else", async () => {
  const { events } = await answering({})
  assert.deepEqual(events, EVENTS.map(([type]) => type))
})

test("what a new session is told comes with its first turn", async () => {
  const { fire, sent } = await answering({ session_start: { context: "You are A." } })
  await fire("session_start", { reason: "startup" })
  assert.deepEqual(sent, [[message("You are A."), { deliverAs: "nextTurn" }]])
})

test("who was interrupted by the user is left alone", async () => {
  const { fire, told } = await answering({ agent_before_settle: { goOn: "t" } })
  for (const outcome of ["aborted", "error", undefined]) assert.equal(await fire("agent_before_settle", { outcome }), undefined)
  assert.deepEqual(await told(), [])
})

for (const [name, make] of Object.entries(BROKEN)) {
  test(`silence where msg ${name}`, async () => {
    const { fire, sent } = await extension(await make(), { limit: 300 })
    for (const [type, event] of EVENTS) assert.equal(await fire(type, event), undefined, type)
    assert.deepEqual(sent, [])
  })
}
