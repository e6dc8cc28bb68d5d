// How both plugins call `msg`. `msg install` puts it at the end of each: a plugin is one file.

import { spawn } from "node:child_process"

const MSG = "@MSG@"
// Whether this copy was given to one worker by its command line. An installed copy leaves that process to it.
const IS_GIVEN = false
// Longer than `msg` takes before it ends by itself.
const LIMIT_MS = 7_000
const MOST_OUTPUT = 1024 * 1024

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
    stop = (answer = {}) => {
      // One that could not be started has the process id 0, by which our whole group would be meant.
      if (child?.pid) child.kill("SIGKILL")
      // What it started may live on with its pipes, for which nobody waits.
      child?.stdin?.destroy()
      child?.stdout?.destroy()
      child?.unref()
      end(answer)
    }
    // A refusal that was said counts, whatever `msg` hangs in after that.
    const timer = limit && setTimeout(() => stop(refusal(said)), limit)
    try {
      child = spawn(MSG, args, { stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
      child.on("error", () => stop())
      // Without a code it was killed. Of what it said before that only a refusal counts: mail is given again.
      child.on("close", (code) => end(code === 0 ? understand(said) : code === null ? refusal(said) : {}))
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
  return { answer, stop: () => stop() }
}

function refusal(said) {
  return { deny: understand(said).deny }
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
