// ravenry for pi: tells `msg` what happens in a session, and pi what `msg` answers.
//
// Put here by `msg install pi`, taken away by `msg uninstall pi`. Whatever goes wrong is silence: where `msg` is missing,
// broken or slow, pi works as if this file were not there. There are no types in it, so that any node runs it as it is.

import { spawn } from "node:child_process"

const MSG = "@MSG@"
const LIMIT_MS = 5_000
const MOST_OUTPUT = 1024 * 1024
// So often pi rests on without a turn in between.
const MOST_RESTS = 5
const SETTLED = { outcome: "completed" }

export default function ravenry(pi) {
  const message = (content) => ({ customType: "ravenry", content, display: true })
  let waiter

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
        return await answer(said, (told) => hook(event, told, ctx), ctx)
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

  on("tool_result", async ({ toolName, toolCallId, input, content }, ask) => {
    const { context } = await ask({ toolName, toolCallId, input })
    return context ? { content: [...content, { type: "text", text: context }] } : undefined
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

// Starts `msg`. Without a limit it may take as long as it likes, and keeps nobody from ending meanwhile.
function run(args, payload, limit) {
  let stop
  const answer = new Promise((resolve) => {
    const said = []
    let length = 0
    let child
    const end = (answer) => {
      clearTimeout(timer)
      resolve(answer)
    }
    stop = () => {
      // One that could not be started has the process id 0, by which our whole group would be meant.
      if (child?.pid) child.kill("SIGKILL")
      end({})
    }
    const timer = limit && setTimeout(stop, limit)
    try {
      child = spawn(MSG, args, { stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
      child.on("error", stop)
      child.on("close", (code) => end(code === 0 ? understand(said) : {}))
      child.stdout.on("data", (chunk) => {
        length += chunk.length
        if (length > MOST_OUTPUT) stop()
        else said.push(chunk)
      })
      // It need not listen to the end.
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(payload))
      if (!limit) {
        child.unref()
        child.stdout.unref?.()
      }
    } catch {
      stop()
    }
  })
  return { answer, stop }
}

function understand(said) {
  try {
    const { deny, context, goOn } = JSON.parse(Buffer.concat(said).toString("utf8"))
    const text = (value) => (typeof value === "string" && value ? value : undefined)
    return { deny: text(deny), context: text(context), goOn: text(goOn) }
  } catch {
    return {}
  }
}
