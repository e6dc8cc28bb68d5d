// The extension, in a host that is made up, with a `msg` that is made up: node --test src/harness/*/*.test.mjs
import assert from "node:assert/strict"
import { test } from "node:test"
import { BROKEN, ends, HEARD, leavesOneBehind, lives, load, program, shim, until, WAITS } from "../shim/testing.mjs"

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
  return { ...(await extension(msg.path)), told: msg.told, waiters: msg.waiters }
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
  ["tool_result", { ...tool, content, isError: false }, { ...tool, isError: false }, { context: "t" }, { content: [...content, { type: "text", text: "t" }] }],
  ["agent_before_settle", { outcome: "completed", entries: [] }, { outcome: "completed" }, { goOn: "t" }, goesOn],
]

for (const [type, event, tells, answer, result] of EVENTS) {
  test(`${type}: msg is told, and its answer is pi's`, async () => {
    const { fire, told } = await answering({ [type]: answer })
    assert.deepEqual(await fire(type, event), result)
    const hooks = (await told()).filter(({ args }) => args[0] === "hook")
    assert.deepEqual(hooks, [{ args: ["hook", "pi", type], input: { event: { type, ...tells }, ctx: TOLD } }])
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
  assert.deepEqual(events.sort(), [...EVENTS.map(([type]) => type), "agent_settled", "turn_end"].sort())
})

test("tokens are told once, with whatever is told next", async () => {
  const { fire, told } = await answering({})
  await fire("turn_end", { message: { usage: { totalTokens: 110 } } })
  await fire("turn_end", { message: { usage: { input: 5, output: 2 } } })
  await fire("turn_end", { message: {} })
  await fire("turn_end", {})
  await fire("tool_call", tool)
  await fire("tool_call", tool)
  assert.deepEqual((await told()).map(({ input }) => input.event.tokens), [117, undefined])
})

test("why a command failed is told, and no more of what it said", async () => {
  const { fire, told } = await answering({})
  const content = [{ type: "text", text: `${"x".repeat(5000)}\n\nCommand exited with code 1` }]
  await fire("tool_result", { ...tool, content, isError: true })
  const [{ input }] = await told()
  assert.equal(input.event.content[0].text, content[0].text.slice(-200))
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

for (const [name, make] of Object.entries(HEARD)) {
  test(`a refusal counts where msg ${name} after it`, async () => {
    const { fire } = await extension(await make(), { limit: 2_000 })
    assert.deepEqual(await fire("tool_call", tool), { block: true, reason: "no" })
  })
}

const wakes = [[message("mail"), { triggerTurn: true }]]

test("while pi rests a waiter waits, and what wakes pi is the mail, not as the user's words", async () => {
  const { fire, sent, told } = await answering({ waiter: { goOn: "There is mail." }, before_agent_start: { context: "mail" } })
  assert.equal(await fire("agent_settled"), undefined)
  await until(() => sent.length)
  assert.deepEqual(sent, wakes)
  const settled = { event: { type: "agent_before_settle", outcome: "completed" }, ctx: TOLD }
  const prompted = { event: { type: "before_agent_start", prompt: "There is mail." }, ctx: TOLD }
  assert.deepEqual(await told(), [
    { args: ["waiter", "pi"], input: settled },
    { args: ["hook", "pi", "before_agent_start"], input: prompted },
  ])
})

test("mail that only the end of a turn can carry wakes too", async () => {
  const { fire, sent } = await answering({ waiter: { goOn: "There is mail." }, agent_before_settle: { goOn: "mail" } })
  await fire("agent_settled")
  await until(() => sent.length)
  assert.deepEqual(sent, wakes)
})

test("where others read the mail first pi rests on, but not for ever", async () => {
  const { fire, sent, told, waiters } = await answering({ waiter: { goOn: "There is mail." } })
  await fire("agent_settled")
  const count = await until(async () => {
    const before = (await told()).length
    await fire("tool_call", tool)
    await fire("tool_call", tool)
    return (await told()).length === before + 2 && (await waiters()).length
  })
  assert.ok(count > 1 && count < 10, `${count} waiters`)
  assert.deepEqual(sent, [])
})

for (const [type, event] of [["before_agent_start", { prompt: "p" }], ["session_shutdown", { reason: "quit" }]]) {
  test(`${type} stops the waiter`, async () => {
    const { fire, sent, waiters } = await answering({ waiter: WAITS })
    await fire("agent_settled")
    const [pid] = await until(async () => (await waiters()).length && waiters())
    assert.ok(lives(pid))
    await fire(type, event)
    await until(() => !lives(pid))
    assert.deepEqual([sent, (await waiters()).length], [[], 1])
  })
}

test("a session that has just started rests too", async () => {
  const { fire, waiters } = await answering({ waiter: WAITS })
  await fire("session_start", { reason: "startup" })
  const [pid] = await until(async () => (await waiters()).length && waiters())
  await fire("before_agent_start", { prompt: "p" })
  await until(() => !lives(pid))
})

test("there is one waiter, however often pi settles", async () => {
  const { fire, waiters } = await answering({ waiter: WAITS })
  for (const number of [1, 2, 3]) {
    await fire("agent_settled")
    await until(async () => (await waiters()).length === number)
  }
  const pids = await waiters()
  await until(() => pids.filter(lives).length === 1)
  await fire("session_shutdown", { reason: "quit" })
  await until(() => !pids.some(lives))
})

test("a waiter that ends in silence is not started again", async () => {
  const { fire, sent, waiters } = await answering({})
  await fire("agent_settled")
  const [pid] = await until(async () => (await waiters()).length && waiters())
  await until(() => !lives(pid))
  await fire("tool_call", tool)
  assert.deepEqual([sent, (await waiters()).length], [[], 1])
})

for (const [name, make] of Object.entries(BROKEN)) {
  test(`a waiter is silence where msg ${name}`, async () => {
    const { fire, sent } = await extension(await make(), { limit: 300 })
    assert.equal(await fire("agent_settled"), undefined)
    await fire("agent_settled", {}, {})
    await fire("agent_settled", {}, undefined)
    await fire("agent_settled")
    await fire("session_shutdown", { reason: "quit" })
    assert.deepEqual(sent, [])
  })
}

// A child that could not be started has the process id 0, by which the whole group would be meant.
test("stopping what could not be started stops nobody else", async () => {
  await ends(`
    import ravenry from ${JSON.stringify(await shim(FILE, await BROKEN["is not there"]()))}
    const handlers = {}
    ravenry({ on: (event, handler) => (handlers[event] = handler), sendMessage: () => {} })
    const ctx = { cwd: "/", sessionManager: { getSessionId: () => "s" } }
    await Promise.all([handlers.agent_settled({}, ctx), handlers.agent_settled({}, ctx), handlers.session_shutdown({}, ctx)])
  `)
})

test("a waiter does not keep pi from ending", async () => {
  const msg = await program({ waiter: WAITS })
  await ends(`
    import ravenry from ${JSON.stringify(await shim(FILE, msg.path))}
    const handlers = {}
    ravenry({ on: (event, handler) => (handlers[event] = handler), sendMessage: () => {} })
    await handlers.agent_settled({}, { cwd: "/", sessionManager: { getSessionId: () => "s" } })
  `)
  // The real one ends when it sees that pi is gone.
  for (const pid of await until(async () => (await msg.waiters()).length && msg.waiters())) process.kill(pid, "SIGKILL")
})

test("what msg left behind does not keep pi from ending", async () => {
  const file = await shim(FILE, await leavesOneBehind(), { limit: 200 })
  await ends(`
    import ravenry from ${JSON.stringify(file)}
    const handlers = {}
    ravenry({ on: (event, handler) => (handlers[event] = handler), sendMessage: () => {} })
    const ctx = { cwd: "/", sessionManager: { getSessionId: () => "s" } }
    await handlers.tool_call({ toolName: "bash", toolCallId: "c", input: { command: "ls" } }, ctx)
  `)
})

test("an installed copy leaves the process to one that is given", async () => {
  const before = process.argv
  process.argv = ["node", "pi", "-e", "/run/ravenry-given.ts"]
  try {
    assert.deepEqual((await extension("/bin/true")).events, [])
  } finally {
    process.argv = before
  }
  assert.notDeepEqual((await extension("/bin/true")).events, [])
})
