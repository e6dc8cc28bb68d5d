// The plugin, in a host that is made up, with a `msg` that is made up: node --test src/harness/*/*.test.mjs
import assert from "node:assert/strict"
import { test } from "node:test"
import { BROKEN, ends, HEARD, lives, load, program, shim, until, WAITS } from "../shim/testing.mjs"

const FILE = new URL("./ravenry.js", import.meta.url)
const DIRECTORY = "/home/dev/project"

// A client of OpenCode's that knows these sessions and writes down what it is asked to do.
function host(sessions = {}) {
  const asked = []
  const note = (what) => async (call) => void asked.push({ what, ...call })
  const get = async ({ path }) => ({ data: sessions[path.id] })
  const session = { get, prompt: note("prompt"), promptAsync: note("promptAsync") }
  return { asked, client: { session } }
}

// The plugin's hooks, and what `msg` was told.
async function plugin(answers, { sessions, argv = [] } = {}) {
  const msg = await program(answers)
  const { Ravenry, ...more } = await load(FILE, msg.path)
  assert.deepEqual(more, {}, "all that is exported is a plugin to OpenCode")
  const { asked, client } = host(sessions)
  const before = process.argv
  process.argv = ["bun", "opencode", ...argv]
  const hooks = await Ravenry({ client, directory: DIRECTORY })
  process.argv = before
  return { hooks, asked, told: msg.told, waiters: msg.waiters }
}

const created = (id, more = {}) => ({ event: { type: "session.created", properties: { sessionID: id, info: { id, ...more } } } })
const event = (type, properties) => ({ event: { type, properties } })
const message = () => ({
  message: { id: "msg_1", agent: "plan", model: { providerID: "p", modelID: "m" } },
  parts: [{ id: "prt_1", type: "text", text: "hello" }, { id: "prt_2", type: "file", url: "data:," }],
})

test("a session joins, and its first message carries what it was told", async () => {
  const { hooks, told } = await plugin({ "session.created": { context: "You are A." }, "chat.message": { context: "mail" } })
  await hooks.event(created("ses_1"))
  const output = message()
  await hooks["chat.message"]({ sessionID: "ses_1" }, output)
  assert.deepEqual(output.parts.at(-1), {
    id: "prt_2ravenry", sessionID: "ses_1", messageID: "msg_1", type: "text", text: "You are A.\n\nmail", synthetic: true,
  })
  const next = message()
  await hooks["chat.message"]({ sessionID: "ses_1" }, next)
  assert.equal(next.parts.at(-1).text, "mail")
  const [start, prompt] = await told()
  assert.deepEqual(start, {
    args: ["hook", "opencode", "session.created"],
    input: { cwd: DIRECTORY, properties: { sessionID: "ses_1", info: { id: "ses_1", directory: DIRECTORY } } },
  })
  assert.deepEqual(prompt, {
    args: ["hook", "opencode", "chat.message"],
    input: {
      cwd: DIRECTORY,
      input: { sessionID: "ses_1" },
      output: { message: { model: { providerID: "p", modelID: "m" } }, parts: [message().parts[0]] },
    },
  })
})

test("a session that is older than the process joins with its next message", async () => {
  const { hooks, told } = await plugin({}, { sessions: { ses_old: { id: "ses_old" } } })
  await Promise.all([hooks["chat.message"]({ sessionID: "ses_old" }, message()), hooks.event(created("ses_old"))])
  assert.deepEqual((await told()).map(({ args }) => args[2]), ["session.created", "chat.message"])
})

test("nothing to say leaves everything as it is", async () => {
  const { hooks, asked } = await plugin({})
  await hooks.event(created("ses_1"))
  const output = message()
  await hooks["chat.message"]({ sessionID: "ses_1" }, output)
  assert.deepEqual(output, message())
  const result = { output: "done" }
  await hooks["tool.execute.after"]({ tool: "bash", sessionID: "ses_1", callID: "c", args: {} }, result)
  assert.deepEqual(result, { output: "done" })
  await hooks["tool.execute.before"]({ tool: "bash", sessionID: "ses_1", callID: "c" }, { args: {} })
  await hooks.event(event("session.idle", { sessionID: "ses_1" }))
  assert.deepEqual(asked, [])
})

test("what is refused is thrown", async () => {
  const { hooks, told } = await plugin({ "tool.execute.before": { deny: "`a` is reserved by Alice." } })
  await hooks.event(created("ses_1"))
  const call = hooks["tool.execute.before"]({ tool: "write", sessionID: "ses_1", callID: "c" }, { args: { filePath: "a" } })
  await assert.rejects(call, { message: "`a` is reserved by Alice." })
  assert.deepEqual((await told())[1], {
    args: ["hook", "opencode", "tool.execute.before"],
    input: { cwd: DIRECTORY, input: { tool: "write", sessionID: "ses_1", callID: "c" }, output: { args: { filePath: "a" } } },
  })
})

test("after a tool, mail is beneath its output", async () => {
  const { hooks, told } = await plugin({ "tool.execute.after": { context: "mail" } })
  await hooks.event(created("ses_1"))
  const output = { title: "t", output: "done", metadata: { long: "x" } }
  await hooks["tool.execute.after"]({ tool: "bash", sessionID: "ses_1", callID: "c", args: { command: "ls" } }, output)
  assert.deepEqual(output, { title: "t", output: "done\n\nmail", metadata: { long: "x" } })
  const input = { tool: "bash", sessionID: "ses_1", callID: "c", args: { command: "ls" } }
  assert.deepEqual((await told())[1].input, { cwd: DIRECTORY, input })
})

test("how a command ended is told", async () => {
  const { hooks, told } = await plugin({})
  await hooks.event(created("ses_1"))
  const ended = { title: "t", output: "done", metadata: { exit: 3, output: "long" } }
  await hooks["tool.execute.after"]({ tool: "bash", sessionID: "ses_1", callID: "c", args: {} }, ended)
  assert.deepEqual((await told())[1].input.output, { metadata: { exit: 3 } })
})

test("a subagent acts as the session at the top, and doesn't join", async () => {
  const sessions = { ses_2: { id: "ses_2", parentID: "ses_1" }, ses_1: { id: "ses_1" } }
  const { hooks, asked, told } = await plugin({ "session.idle": { goOn: "mail" } }, { sessions })
  await hooks.event(created("ses_3", { parentID: "ses_2" }))
  const env = {}
  await hooks["shell.env"]({ sessionID: "ses_3", cwd: "/" }, { env })
  assert.deepEqual(env, { OPENCODE_SESSION_ID: "ses_1" })
  await hooks["tool.execute.before"]({ tool: "bash", sessionID: "ses_3", callID: "c" }, { args: {} })
  await hooks.event(event("session.idle", { sessionID: "ses_3" }))
  await hooks.event(event("session.deleted", { info: { id: "ses_3" } }))
  assert.deepEqual(asked, [])
  const calls = await told()
  assert.deepEqual(calls.map(({ args }) => args[2]), ["session.created", "tool.execute.before"])
  assert.equal(calls[0].input.properties.sessionID, "ses_1")
  assert.equal(calls[1].input.parentSessionID, "ses_1")
})

test("the shell learns its session, a terminal of the user's does not", async () => {
  const { hooks } = await plugin({})
  const own = { env: { A: "b" } }
  await hooks["shell.env"]({ sessionID: "ses_1", cwd: "/" }, own)
  assert.deepEqual(own.env, { A: "b", OPENCODE_SESSION_ID: "ses_1" })
  const users = { env: {} }
  await hooks["shell.env"]({ cwd: "/" }, users)
  assert.deepEqual(users.env, {})
})

test("an idle session goes on with the agent and the model that it had", async () => {
  const { hooks, asked } = await plugin({ "session.idle": { goOn: "There is mail." } })
  await hooks.event(created("ses_1"))
  await hooks["chat.message"]({ sessionID: "ses_1" }, message())
  await hooks["experimental.text.complete"]({ sessionID: "ses_1" }, { text: "" })
  assert.deepEqual(asked, [], "there is time until it is idle")
  await hooks.event(event("session.idle", { sessionID: "ses_1" }))
  const body = { agent: "plan", model: { providerID: "p", modelID: "m" }, parts: [{ type: "text", text: "There is mail." }] }
  assert.deepEqual(asked, [{ what: "promptAsync", path: { id: "ses_1" }, body }])
})

test("that it is idle, told twice, is one prompt", async () => {
  const { hooks, asked } = await plugin({ "session.idle": { goOn: "There is mail." } })
  await hooks.event(created("ses_1"))
  const idle = () => hooks.event(event("session.idle", { sessionID: "ses_1" }))
  await Promise.all([idle(), idle()])
  await idle()
  assert.equal(asked.length, 1)
  await hooks["chat.message"]({ sessionID: "ses_1" }, message())
  await idle()
  assert.equal(asked.length, 2)
})

test("a run that ends with its session goes on before that", async () => {
  const { hooks, asked } = await plugin({ "session.idle": { goOn: "There is mail." } }, { argv: ["--print-logs", "run", "hi"] })
  await hooks.event(created("ses_1"))
  await hooks["chat.message"]({ sessionID: "ses_1" }, message())
  await hooks.event(event("message.part.updated", { part: { type: "tool", sessionID: "ses_1", messageID: "msg_2" } }))
  await hooks["experimental.text.complete"]({ sessionID: "ses_1", messageID: "msg_2" }, { text: "I will." })
  assert.deepEqual(asked, [], "it goes on by itself")
  const output = { text: "done" }
  await hooks["experimental.text.complete"]({ sessionID: "ses_1", messageID: "msg_3" }, output)
  assert.deepEqual(output, { text: "done" })
  const body = {
    agent: "plan", model: { providerID: "p", modelID: "m" }, parts: [{ type: "text", text: "There is mail." }], noReply: true,
  }
  assert.deepEqual(asked, [{ what: "prompt", path: { id: "ses_1" }, body }])
  await hooks.event(event("session.idle", { sessionID: "ses_1" }))
  assert.equal(asked.length, 1)
})

test("who was interrupted by the user is left alone until the user speaks again", async () => {
  const { hooks, asked } = await plugin({ "session.idle": { goOn: "There is mail." } })
  await hooks.event(created("ses_1"))
  await hooks.event(event("session.error", { sessionID: "ses_1", error: { name: "MessageAbortedError" } }))
  await hooks.event(event("session.idle", { sessionID: "ses_1" }))
  assert.deepEqual(asked, [])
  await hooks["chat.message"]({ sessionID: "ses_1" }, message())
  await hooks.event(event("session.idle", { sessionID: "ses_1" }))
  assert.equal(asked.length, 1)
})

test("sessions leave when they are deleted, the rest when OpenCode ends", async () => {
  const { hooks, told } = await plugin({})
  for (const id of ["ses_1", "ses_2", "ses_3"]) await hooks.event(created(id))
  await hooks.event(event("session.deleted", { info: { id: "ses_2" } }))
  await hooks.dispose()
  await hooks.dispose()
  const left = (await told()).filter(({ args }) => args[2] === "session.deleted").map(({ input }) => input.properties.sessionID)
  assert.deepEqual(left.slice(0, 1), ["ses_2"])
  assert.deepEqual(left.slice(1).sort(), ["ses_1", "ses_3"])
})

test("other events cost nothing", async () => {
  const { hooks, told } = await plugin({})
  await hooks.event(event("file.edited", { file: "a" }))
  await hooks.event({ event: { type: "server.connected" } })
  await hooks.event(event("message.part.updated", { part: { type: "tool", sessionID: "ses_1", messageID: "msg_1" } }))
  await hooks.event({})
  assert.deepEqual(await told(), [])
})

for (const [name, make] of Object.entries(BROKEN)) {
  test(`silence where msg ${name}`, async () => {
    const { Ravenry } = await load(FILE, await make(), { limit: 300 })
    const { asked, client } = host()
    const hooks = await Ravenry({ client, directory: DIRECTORY })
    await hooks.event(created("ses_1"))
    const output = message()
    await hooks["chat.message"]({ sessionID: "ses_1" }, output)
    assert.deepEqual(output, message())
    await hooks["tool.execute.before"]({ tool: "bash", sessionID: "ses_1", callID: "c" }, { args: { command: "x".repeat(1 << 20) } })
    const result = { output: "done" }
    await hooks["tool.execute.after"]({ tool: "bash", sessionID: "ses_1", callID: "c", args: {} }, result)
    assert.deepEqual(result, { output: "done" })
    await hooks.event(event("session.idle", { sessionID: "ses_1" }))
    await hooks.dispose()
    assert.deepEqual(asked, [])
  })
}

for (const [name, make] of Object.entries(HEARD)) {
  test(`a refusal counts where msg ${name} after it`, async () => {
    const { Ravenry } = await load(FILE, await make(), { limit: 2_000 })
    const hooks = await Ravenry({ client: host().client, directory: DIRECTORY })
    const call = { tool: "bash", sessionID: "ses_1", callID: "c" }
    await assert.rejects(hooks["tool.execute.before"](call, { args: { command: "ls" } }), { message: "no" })
  })
}

test("a host that is not as expected is no reason to throw", async () => {
  const { hooks } = await plugin({ "session.idle": { goOn: "mail" }, "tool.execute.after": { context: "mail" } })
  await hooks["chat.message"]({ sessionID: "ses_1" }, {})
  await hooks["chat.message"]({}, undefined)
  await hooks["tool.execute.before"]({ tool: "bash", sessionID: "ses_1" }, undefined)
  await hooks["tool.execute.after"]({ tool: "bash", sessionID: "ses_1" }, undefined)
  await hooks["tool.execute.after"]({ tool: "bash", sessionID: "ses_1" }, { output: 7 })
  await hooks["shell.env"]({ sessionID: "ses_1" }, undefined)
  const msg = await program({ "session.idle": { goOn: "mail" } })
  const { Ravenry } = await load(FILE, msg.path)
  const lost = await Ravenry({ client: {}, directory: DIRECTORY })
  await lost.event(event("session.idle", { sessionID: "ses_1" }))
})

const idle = (id) => event("session.idle", { sessionID: id })

test("while a session rests a waiter waits, and its sentence wakes it with the agent and the model that it had", async () => {
  const { hooks, asked, told } = await plugin({ waiter: { goOn: "There is mail." } })
  await hooks.event(created("ses_1"))
  await hooks["chat.message"]({ sessionID: "ses_1" }, message())
  await hooks.event(idle("ses_1"))
  await until(() => asked.length)
  const body = { agent: "plan", model: { providerID: "p", modelID: "m" }, parts: [{ type: "text", text: "There is mail." }] }
  assert.deepEqual(asked, [{ what: "promptAsync", path: { id: "ses_1" }, body }])
  const waiter = (await told()).at(-1)
  assert.deepEqual(waiter, { args: ["waiter", "opencode"], input: { cwd: DIRECTORY, properties: { sessionID: "ses_1" } } })
})

const ends_waiting = {
  "a turn that begins": (hooks) => hooks["chat.message"]({ sessionID: "ses_1" }, message()),
  "a session that is deleted": (hooks) => hooks.event(event("session.deleted", { info: { id: "ses_1" } })),
  "the end of OpenCode": (hooks) => hooks.dispose(),
}
for (const [name, happen] of Object.entries(ends_waiting)) {
  test(`${name} stops the waiter`, async () => {
    const { hooks, asked, waiters } = await plugin({ waiter: WAITS })
    await hooks.event(created("ses_1"))
    await hooks.event(idle("ses_1"))
    const [pid] = await until(async () => (await waiters()).length && waiters())
    assert.ok(lives(pid))
    await happen(hooks)
    await until(() => !lives(pid))
    assert.deepEqual([asked, (await waiters()).length], [[], 1])
  })
}

test("there is one waiter for each session, however often it is idle", async () => {
  const { hooks, waiters } = await plugin({ waiter: WAITS })
  let number = 0
  for (const id of ["ses_1", "ses_2", "ses_1", "ses_2"]) {
    await hooks.event(idle(id))
    number += 1
    await until(async () => (await waiters()).length === number)
  }
  const pids = await waiters()
  await until(() => pids.filter(lives).length === 2)
  await hooks.dispose()
  await until(() => !pids.some(lives))
})

test("nobody waits where mail makes it go on, in a subagent, after an interruption, or in a run that ends", async () => {
  const busy = await plugin({ "session.idle": { goOn: "There is mail." } })
  await busy.hooks.event(idle("ses_1"))
  const sub = await plugin({}, { sessions: { ses_1: { id: "ses_1" } } })
  await sub.hooks.event(created("ses_2", { parentID: "ses_1" }))
  await sub.hooks.event(idle("ses_2"))
  const interrupted = await plugin({})
  await interrupted.hooks.event(event("session.error", { sessionID: "ses_1", error: { name: "MessageAbortedError" } }))
  await interrupted.hooks.event(idle("ses_1"))
  const ending = await plugin({}, { argv: ["run", "hi"] })
  await ending.hooks.event(created("ses_1"))
  await ending.hooks["experimental.text.complete"]({ sessionID: "ses_1", messageID: "msg_1" }, { text: "" })
  for (const { hooks, waiters } of [busy, sub, interrupted, ending]) {
    await hooks.dispose()
    assert.deepEqual(await waiters(), [])
  }
})

test("a waiter that ends in silence is not started again", async () => {
  const { hooks, asked, waiters } = await plugin({})
  await hooks.event(idle("ses_1"))
  const [pid] = await until(async () => (await waiters()).length && waiters())
  await until(() => !lives(pid))
  await hooks["tool.execute.after"]({ tool: "bash", sessionID: "ses_1", callID: "c", args: {} }, { output: "" })
  assert.deepEqual([asked, (await waiters()).length], [[], 1])
})

test("a waiter does not keep OpenCode from ending", async () => {
  const msg = await program({ waiter: WAITS })
  await ends(`
    import { Ravenry } from ${JSON.stringify(await shim(FILE, msg.path))}
    const client = { session: { get: async () => ({ data: { id: "ses_1" } }) } }
    const hooks = await Ravenry({ client, directory: "/" })
    await hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_1" } } })
  `)
  // The real one ends when it sees that OpenCode is gone.
  for (const pid of await until(async () => (await msg.waiters()).length && msg.waiters())) process.kill(pid, "SIGKILL")
})

test("an installed copy leaves the process to one that is given", async () => {
  process.env.OPENCODE_CONFIG_CONTENT = '{"plugin":["file:///run/ravenry-given.js"]}'
  try {
    assert.deepEqual((await plugin({})).hooks, {})
  } finally {
    delete process.env.OPENCODE_CONFIG_CONTENT
  }
  assert.notDeepEqual((await plugin({})).hooks, {})
})
