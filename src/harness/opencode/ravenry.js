// ravenry for OpenCode: tells `msg` what happens in a session, and OpenCode what `msg` answers.
//
// Put here by `msg install opencode`, taken away by `msg uninstall opencode`. Whatever goes wrong is silence: where `msg` is
// missing, broken or slow, OpenCode works as if this file were not there.

// Every function that is exported here is a plugin to OpenCode.
export const Ravenry = async ({ client, directory }) => {
  if (!IS_GIVEN && process.env.OPENCODE_CONFIG_CONTENT?.includes("/ravenry-given.js")) return {}
  // By id: { root, met, news, agent, model, interrupted, working, prompted, waiter }.
  const sessions = new Map()
  // `opencode run` ends with its session: there the only moment to make it go on is before that.
  const endsWhenIdle = process.argv.slice(2).find((word) => !word.startsWith("-")) === "run"

  // A session may be older than this process, so nobody waits for `session.created` alone.
  function meet(id, info) {
    let session = sessions.get(id)
    if (!session) {
      session = { root: id }
      sessions.set(id, session)
      session.met = introduce(id, session, info).catch(() => {})
    }
    return session.met.then(() => session)
  }

  async function introduce(id, session, info) {
    info ??= (await client.session.get({ path: { id } }))?.data
    if (info?.parentID) {
      // A subagent acts as the session that started it, however far up.
      session.root = (await meet(info.parentID)).root
      return
    }
    const properties = { sessionID: id, info: { id, directory } }
    const answer = await hook("session.created", { cwd: directory, properties })
    session.news = answer.context
  }

  const parent = (id, session) => (session.root === id ? undefined : session.root)

  // What follows when the session has nothing more to do: mail makes it go on. The text is ours alone; what others wrote
  // comes by `chat.message`, not as the user's words.
  async function settle(id, send) {
    const session = await meet(id)
    // That it is idle may be told twice, before the prompt of the first time is there.
    if (session.root !== id || session.interrupted || session.prompted) return
    session.prompted = true
    const idle = { cwd: directory, properties: { sessionID: id } }
    const answer = await hook("session.idle", idle)
    session.prompted = Boolean(answer.goOn)
    if (answer.goOn) return send(prompt(id, session, answer.goOn))
    if (!endsWhenIdle) rest(id, session, idle)
  }

  // Without these OpenCode takes its default agent, which may do more than the user allowed.
  function prompt(id, { agent, model }, text) {
    return { path: { id }, body: { agent, model, parts: [{ type: "text", text }] } }
  }

  // While the session rests, `msg` waits beside it for mail.
  const rest = quietly(async (id, session, idle) => {
    session.waiter?.stop()
    const waiter = run(["waiter", "opencode"], idle)
    session.waiter = waiter
    const { goOn } = await waiter.answer
    if (!goOn || session.waiter !== waiter) return
    session.prompted = true
    await client.session.promptAsync(prompt(id, session, goOn))
  })

  function rouse(session) {
    session?.waiter?.stop()
    if (session) session.waiter = undefined
  }

  async function leave(id) {
    const session = sessions.get(id)
    sessions.delete(id)
    rouse(session)
    if (session?.root === id) await hook("session.deleted", { cwd: directory, properties: { sessionID: id } })
  }

  return {
    event: quietly(async ({ event }) => {
      const { sessionID, info, error, part } = event.properties ?? {}
      const id = sessionID ?? info?.id
      if (event.type === "message.part.updated" && part?.type === "tool") {
        Object.assign(sessions.get(part.sessionID) ?? {}, { working: part.messageID })
      }
      if (event.type === "session.created") await meet(id, info)
      if (event.type === "session.deleted") await leave(id)
      // Who was stopped by the user is not set going by others.
      if (event.type === "session.error" && error?.name === "MessageAbortedError") (await meet(id)).interrupted = true
      if (event.type === "session.idle" && !endsWhenIdle) {
        await settle(id, (prompt) => client.session.promptAsync(prompt))
      }
    }),

    // The loop that is running looks for a newer prompt when this answer is complete. If it has asked for a tool, it goes on
    // by itself; if it will after these words, it is told a little earlier than it had to be.
    "experimental.text.complete": quietly(async ({ sessionID, messageID }) => {
      if (!endsWhenIdle || sessions.get(sessionID)?.working === messageID) return
      await settle(sessionID, ({ path, body }) => client.session.prompt({ path, body: { ...body, noReply: true } }))
    }),

    "chat.message": quietly(async ({ sessionID }, { message, parts }) => {
      const session = await meet(sessionID)
      rouse(session)
      Object.assign(session, { agent: message.agent, model: message.model, interrupted: false, prompted: false })
      const said = parts.filter((part) => part.type === "text")
      const answer = await hook("chat.message", {
        cwd: directory,
        parentSessionID: parent(sessionID, session),
        input: { sessionID },
        output: { message: { model: message.model }, parts: said },
      })
      const text = [session.news, answer.context].filter(Boolean).join("\n\n")
      session.news = undefined
      if (!text) return
      // Parts are in the order of their ids.
      const id = `${parts.at(-1)?.id ?? "prt_"}ravenry`
      parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true })
    }),

    "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
      const ask = quietly(async () => {
        const session = await meet(sessionID)
        return hook("tool.execute.before", {
          cwd: directory,
          parentSessionID: parent(sessionID, session),
          input: { tool, sessionID, callID },
          output: { args: output.args },
        })
      })
      const answer = await ask()
      if (answer?.deny) throw new Error(answer.deny)
    },

    "tool.execute.after": quietly(async ({ tool, sessionID, callID, args }, output) => {
      const session = await meet(sessionID)
      const exit = output?.metadata?.exit
      const answer = await hook("tool.execute.after", {
        cwd: directory,
        parentSessionID: parent(sessionID, session),
        input: { tool, sessionID, callID, args },
        // Of a shell command.
        output: exit === undefined ? undefined : { metadata: { exit } },
      })
      if (answer.context && typeof output.output === "string") output.output += `\n\n${answer.context}`
    }),

    // OpenCode tells its shell nothing about the session; `msg` knows this variable.
    "shell.env": quietly(async ({ sessionID }, output) => {
      if (sessionID) output.env.OPENCODE_SESSION_ID = (await meet(sessionID)).root
    }),

    dispose: quietly(async () => {
      await Promise.all([...sessions.keys()].map(leave))
    }),
  }
}

function quietly(handler) {
  return async (...given) => {
    try {
      return await handler(...given)
    } catch {}
  }
}

// Calls `msg hook` and returns what it answers: some of `deny`, `context` and `goOn`, or nothing of them.
function hook(event, payload) {
  return run(["hook", "opencode", event], payload, LIMIT_MS).answer
}
