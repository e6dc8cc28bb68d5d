// What the tests of both shims stand on: a `msg` that is made up, and the shim with its name put in as `msg install` does.
import { spawn } from "node:child_process"
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after } from "node:test"

const dir = await mkdtemp(join(tmpdir(), "ravenry-shims-"))
after(() => rm(dir, { recursive: true, force: true }))
let count = 0

async function executable(text) {
  const path = join(dir, `msg ${(count += 1)}`)
  await writeFile(path, text)
  await chmod(path, 0o755)
  return path
}

// A `msg` that answers each event as told, in silence where nothing is told; and what it was asked. As a waiter it is told
// what to do by `waiter`: WAITS is to wait until it is stopped.
export const WAITS = "waits"

export async function program(answers) {
  const log = join(dir, `log ${(count += 1)}`)
  const path = await executable(`#!${process.execPath}
const fs = require("node:fs")
const args = process.argv.slice(2)
const input = JSON.parse(fs.readFileSync(0, "utf8"))
fs.appendFileSync(${JSON.stringify(log)}, JSON.stringify({ args, input, pid: process.pid }) + "\\n")
const answer = ${JSON.stringify(answers)}[args[2] ?? args[0]]
if (answer === ${JSON.stringify(WAITS)}) setInterval(() => {}, 1000)
else if (answer) console.log(JSON.stringify(answer))
`)
  const calls = async () => {
    const text = await readFile(log, "utf8").catch(() => "")
    return text.split("\n").filter(Boolean).map((line) => JSON.parse(line))
  }
  const told = async () => (await calls()).map(({ args, input }) => ({ args, input }))
  const waiters = async () => (await calls()).filter(({ args }) => args[0] === "waiter").map(({ pid }) => pid)
  return { path, told, waiters }
}

// Waits for a state.
export async function until(look) {
  for (const since = Date.now(); Date.now() - since < 20_000; await new Promise((go) => setTimeout(go, 10))) {
    const found = await look()
    if (found) return found
  }
  throw new Error(`in vain: ${look}`)
}

export function lives(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

// Runs a module to its end, which must come by itself and be a good one. It is in a group of its own, lest it ends us too.
export async function ends(text) {
  const path = join(dir, `host-${(count += 1)}.mjs`)
  await writeFile(path, text)
  const child = spawn(process.execPath, [path], { stdio: "inherit", detached: true, timeout: 20_000 })
  const how = await new Promise((resolve) => child.on("exit", (code, signal) => resolve(code ?? signal)))
  if (how !== 0) throw new Error(`it ended with ${how}`)
}

// The ways in which `msg` may fail, by what it does.
export const BROKEN = {
  "is not there": async () => join(dir, "nothing"),
  "is a directory": async () => dir,
  "is no program": () => executable("\0\0\0"),
  "says garbage": () => executable("#!/bin/sh\necho '{\"deny\": \"no'\n"),
  "says what is no object": () => executable("#!/bin/sh\necho null\n"),
  "says something of another type": () => executable('#!/bin/sh\necho \'{"deny":{"a":1},"context":["b"],"goOn":true}\'\n'),
  "fails while it says no": () => executable('#!/bin/sh\necho \'{"deny":"no","context":"c","goOn":"g"}\'\nexit 3\n'),
  "is killed": () => executable("#!/bin/sh\nkill -9 $$\n"),
  "hangs": () => executable("#!/bin/sh\nexec sleep 1000\n"),
  "hangs with half a word": () => executable("#!/bin/sh\necho '{\"deny\":\"no\"'\nexec sleep 1000\n"),
  "never stops talking": () => executable("#!/bin/sh\nexec yes '{\"deny\":\"no\"}'\n"),
}

// The ways in which it may fail after it said no.
export const HEARD = {
  "hangs": () => executable("#!/bin/sh\necho '{\"deny\":\"no\"}'\nexec sleep 1000\n"),
  "is killed": () => executable("#!/bin/sh\necho '{\"deny\":\"no\"}'\nkill -9 $$\n"),
}

// One that hangs in a child of its own, which lives on with the pipes when its parent is killed, but not for long.
export const leavesOneBehind = () => executable("#!/bin/sh\nsleep 25\n")

// The shim, with `msg` in it. No test waits as long as a client would.
export async function load(file, msg, options) {
  return import(await shim(file, msg, options))
}

export async function shim(file, msg, { limit = 20_000 } = {}) {
  const parts = [file, new URL("./run.js", import.meta.url)].map((part) => readFile(part, "utf8"))
  let text = (await Promise.all(parts)).join("\n")
  for (const [from, to] of [['"@MSG@"', JSON.stringify(msg)], ["LIMIT_MS = 7_000", `LIMIT_MS = ${limit}`]]) {
    if (text.split(from).length !== 2) throw new Error(`${from} stands in ${file} not exactly once`)
    text = text.replace(from, () => to)
  }
  const path = join(dir, `shim-${(count += 1)}.mjs`)
  await writeFile(path, text)
  return path
}
