#!/usr/bin/env python3
"""A scripted client: it runs the hooks that stand in its own configuration, as Claude Code and Codex do, and takes a line
of its terminal as a prompt. `run COMMAND` is a shell command of the model, `edit PATH` an edit, anything else is talk."""
import json, os, re, select, subprocess, sys

name, config = sys.argv[1], os.path.expanduser(sys.argv[2])
session = {"claude": "5b0b2a2e-6d3c-4a57-9d0f-111111111111", "codex": "01a1dc89-ba85-7220-9cbc-222222222222"}[name]
hooks = json.load(open(config))["hooks"]
waiting, calls = [], 0


def show(*lines):
    print("\n".join(lines), flush=True)


def hook(event, tool="", **more):
    """What the hooks of an event say: reasons to stop, and what is for the model."""
    reasons, added = [], []
    call = {"session_id": session, "cwd": os.getcwd(), "hook_event_name": event, "permission_mode": "default", **more}
    if tool:
        call["tool_name"] = tool
    for entry in hooks.get(event, []):
        if tool and not re.search(entry.get("matcher") or "", tool):
            continue
        for one in entry["hooks"]:
            pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            process = subprocess.Popen(["sh", "-c", one["command"]], env={**os.environ, **seed(event)}, **pipes)
            if one.get("async"):
                process.stdin.write(json.dumps(call).encode())
                process.stdin.close()
                waiting.append(process)
                continue
            said, errors = process.communicate(json.dumps(call).encode())
            if process.returncode == 2:
                reasons.append(errors.decode())
            answer = json.loads(said) if said.strip() else {}
            own = answer.get("hookSpecificOutput", {})
            if answer.get("decision") == "block" or own.get("permissionDecision") == "deny":
                reasons.append(answer.get("reason") or own.get("permissionDecisionReason"))
            added.append(own.get("additionalContext") or answer.get("systemMessage") or "")
    return [r for r in reasons if r], [a for a in added if a]


def seed(event):
    # The name that the session gets is the same each time.
    return {"MSG_TEST_SEED": "7"} if event == "SessionStart" else {}


def use(tool, does, **tool_input):
    global calls
    calls += 1
    call = {"tool": tool, "tool_input": tool_input, "tool_use_id": "call-%d" % calls}
    refused, added = hook("PreToolUse", **call)
    show(*added)
    if refused:
        show("✗ refused: " + refused[0])
        return
    said = does()
    show(*[line for line in said.splitlines()])
    _, added = hook("PostToolUse", tool_response={"stdout": said}, **call)
    show(*added)


def run(command):
    done = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    return done.stdout.decode()


def write(path):
    with open(path, "a") as file:
        file.write("// by " + name + "\n")
    return path + " is changed"


def turn(prompt):
    show("› " + prompt)
    _, added = hook("UserPromptSubmit", prompt=prompt)
    show(*added)
    what, _, rest = prompt.partition(" ")
    if what == "run":
        use("Bash", lambda: run(rest), command=rest)
    elif what == "edit":
        path = os.path.join(os.getcwd(), rest)
        if name == "codex":
            patch = "*** Begin Patch\n*** Update File: %s\n@@\n+// by codex\n*** End Patch\n" % rest
            use("apply_patch", lambda: write(rest), command=patch)
        else:
            use("Edit", lambda: write(rest), file_path=path, old_string="", new_string="// by claude")
    # A stop that a hook refuses is another round of the model.
    for _ in range(3):
        reasons, _ = hook("Stop", stop_hook_active=False, last_assistant_message="done")
        if not reasons:
            break
        show("↻ " + reasons[0])
    show("· done")


_, told = hook("SessionStart", source="startup", model="scripted")
show(*told)
show("· ready")
while True:
    ready, _, _ = select.select([sys.stdin], [], [], 0.02)
    if ready:
        line = sys.stdin.readline()
        if not line:
            break
        turn(line.strip())
    for process in [one for one in waiting if one.poll() is not None]:
        waiting.remove(process)
        if process.returncode == 2:
            show("⏰ woken")
            turn(process.stderr.read().decode().strip())
hook("SessionEnd", reason="prompt_input_exit")
for process in waiting:
    process.terminate()
