// ravenry for pi: tells `msg` what happens in a session, and pi what `msg` answers.
//
// Put here by `msg install pi`, taken away by `msg uninstall pi`. Whatever goes wrong is silence: where `msg` is missing,
// broken or slow, pi works as if this file were not there. There are no types in it, so that any node runs it as it is.

// So often pi rests on without a turn in between.
const MOST_RESTS = 5
const SETTLED = { outcome: "completed" }

export default function ravenry(pi) {
  if (!IS_GIVEN && process.argv.some((word) => word.endsWith("/ravenry-given.ts"))) return
  const message = (content) => ({ customType: "ravenry", content, display: true })
  let waiter
  // Used since `msg` was told last.
  let tokens = 0

  // While pi rests, `msg` waits beside it for mail. What wakes pi is the mail itself: it is shown as ours, not as the
  // user's words, and a turn that is begun like this asks no hook for it.
  async function rest(ctx, again = MOST_RESTS) {
    const mine = run(["waiter", "pi"], payload("agent_before_settle", SETTLED, ctx))
    waiter = mine
    const { goOn } = await mine.answer
    if (!goOn || waiter !== mine) return
    const { context } = await hook("before_agent_start", { prompt: goOn }, ctx)
    // Somebody else may have read it. Then pi rests on.
    const text = context ?? (await hook("agent_before_settle", SETTLED, ctx)).goOn
    if (text) pi.sendMessage(message(text), { triggerTurn: true })
    else if (waiter === mine && again > 0) await rest(ctx, again - 1)
  }

  function rouse() {
    waiter?.stop()
    waiter = undefined
  }

  // Nobody waits for this.
  function settle(ctx) {
    rouse()
    rest(ctx).catch(() => {})
  }

  // A handler that throws blocks the tool, and one that is merely unknown to an older pi is never called.
  const on = (event, answer) =>
    pi.on(event, async (said, ctx) => {
      try {
        const ask = (told) => {
          const used = tokens > 0 ? { tokens } : {}
          tokens = 0
          return hook(event, { ...told, ...used }, ctx)
        }
        return await answer(said, ask, ctx)
      } catch {
        return undefined
      }
    })

  on("session_start", async ({ reason }, ask, ctx) => {
    const { context } = await ask({ reason })
    if (context) pi.sendMessage(message(context), { deliverAs: "nextTurn" })
    settle(ctx)
  })

  on("session_shutdown", async ({ reason }, ask) => {
    rouse()
    await ask({ reason })
  })

  on("before_agent_start", async ({ prompt }, ask) => {
    rouse()
    const { context } = await ask({ prompt })
    return context ? { message: message(context) } : undefined
  })

  on("tool_call", async ({ toolName, toolCallId, input }, ask) => {
    const { deny } = await ask({ toolName, toolCallId, input })
    return deny ? { block: true, reason: deny } : undefined
  })

  on("tool_result", async ({ toolName, toolCallId, input, content, isError }, ask) => {
    // Why a command failed stands at its end.
    const said = content?.findLast?.((part) => typeof part?.text === "string")?.text.slice(-200)
    const told = { toolName, toolCallId, input, isError }
    const { context } = await ask(isError && said ? { ...told, content: [{ type: "text", text: said }] } : told)
    return context ? { content: [...content, { type: "text", text: context }] } : undefined
  })

  on("turn_end", async ({ message }) => {
    const { totalTokens, input = 0, output = 0 } = message?.usage ?? {}
    tokens += totalTokens ?? input + output
  })

  on("agent_before_settle", async ({ outcome }, ask) => {
    // Who was stopped by the user, or by an error, is not set going by others.
    if (outcome !== "completed") return undefined
    const { goOn } = await ask({ outcome })
    return goOn ? { entries: [{ type: "custom_message", ...message(goOn) }], continue: true } : undefined
  })

  on("agent_settled", async (_, ask, ctx) => {
    settle(ctx)
  })
}

// Calls `msg hook` and returns what it answers: some of `deny`, `context` and `goOn`, or nothing of them.
async function hook(event, told, ctx) {
  return run(["hook", "pi", event], payload(event, told, ctx), LIMIT_MS).answer
}

function payload(event, told, ctx) {
  const where = { cwd: ctx.cwd, sessionId: ctx.sessionManager?.getSessionId(), model: ctx.model?.id }
  return { event: { type: event, ...told }, ctx: where }
}
