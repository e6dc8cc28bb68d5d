#!/usr/bin/env python3
"""Draws the screens of Claude Code and calls its hooks. Files in its directory say how it behaves; a prompt's first word
says what it does."""
import json, os, subprocess, sys, termios, time, tty

# On a busy machine a hook may take its time.
os.environ["MSG_TEST_NO_HOOK_LIMIT"] = "1"
LABELS = {"trust": ["No, exit", "Yes, I trust this folder"], "ask": ["Yes", "No"]}
session = sys.argv[sys.argv.index("--session-id") + 1] if "--session-id" in sys.argv else "resumed"
out = os.fdopen(os.dup(1), "w", encoding="utf-8")
words, reply, draft, shown = [], [], "", ""
# Whether it was told in this start that the folder is trusted, and heeds that only in the next one.
heeds_later = False


def is_set(name):
    return os.path.exists(name)


def hook(event, **more):
    if is_set("no-hooks") or heeds_later or is_set("only-start") and event != "SessionStart":
        return ""
    call = {"session_id": session, "cwd": os.getcwd(), "hook_event_name": event, **more}
    done = subprocess.run(["msg", "hook", "claude", event], input=json.dumps(call).encode(), stdout=subprocess.PIPE)
    return done.stdout.decode()


def other_client():
    """What a worker may start in its shell: another client, with hooks and a session of its own."""
    global session
    session = "of-another-client"
    hook("SessionStart", source="startup")
    hook("UserPromptSubmit", prompt="something else")
    hook("Stop", stop_hook_active=False, last_assistant_message="I did something else")
    open("delegated", "w").close()
    sys.exit(0)


def client_apart():
    """What a worker may leave running: another client, without a terminal, that has joined."""
    subprocess.run(["msg", "join", "Apart", "--session", "of-a-client-apart", "-q"])
    open("joined", "w").close()
    while not is_set("go"):
        time.sleep(0.02)
    sys.exit(0)


def draw(above, line, below, cursor=None):
    width = os.get_terminal_size(0).columns
    rule = "─" * width
    lines = above + [rule, "❯\u00a0" + line, rule] + below
    out.write("\x1b[2J\x1b[H" + "\r\n".join(lines))
    out.write("\x1b[%d;%dH" % (len(above) + 2, 3 + len(line)))
    out.flush()


def idle():
    said = ["❯ " + words[-1], "", "● " + reply[-1], ""] if words else ["Welcome", ""]
    draw(said, shown, ["  ? for shortcuts"])


def working():
    draw(["❯ " + words[-1], "", "✻ Churning… (1s)"], "", ["  esc to interrupt"])


def dialog(kind):
    rule = "─" * os.get_terminal_size(0).columns
    head = {
        "trust": [" Accessing workspace:", "", " " + os.getcwd(), "", " Quick safety check: Is this a project you trust?", ""],
        "ask": [" Bash command", "", "   rm -r build", "", " Do you want to proceed?"],
    }[kind]
    selected = 0
    while True:
        labels = [(" ❯ " if i == selected else "   ") + ("%d. " % (i + 1) if kind == "ask" else "") + label
                  for i, label in enumerate(LABELS[kind])]
        out.write("\x1b[2J\x1b[H" + "\r\n".join(["", rule] + head + labels + ["", " Enter to confirm · Esc to cancel"]))
        out.flush()
        key = os.read(0, 4096)
        if key.endswith((b"A", b"B")):
            selected = max(0, min(len(labels) - 1, selected + (1 if key.endswith(b"B") else -1)))
        elif key == b"\r":
            open("chosen", "w").close()
            return selected


def leave(code):
    hook("SessionEnd", reason="prompt_input_exit")
    sys.exit(code)


def take(text):
    global draft, shown
    words.append(text.split("\n")[0])
    with open("prompts", "a", encoding="utf-8") as log:
        log.write(json.dumps(text) + "\n")
    hook("UserPromptSubmit", prompt=text)
    working()
    what = text.split(" ")[0]
    said = "I did: " + text.split("\n")[0]
    if what in ("slow", "later"):
        while not is_set("go"):
            time.sleep(0.02)
    if what in ("build", "repeat", "reread"):
        for i in range(1 if what == "build" else 4):
            call = {"tool_name": "Bash", "tool_use_id": "call-%d" % i, "tool_input": {"command": "make " + what}}
            if what == "reread":
                call.update(tool_name="Read", tool_input={"file_path": "/a", "limit": 9})
            else:
                hook("PreToolUse", **call)
            while what == "build" and not is_set("go"):
                time.sleep(0.02)
            hook("PostToolUse", tool_response={"stdout": ""}, **call)
        while not is_set("go"):
            time.sleep(0.02)
    if what in ("ask", "later"):
        said = "chosen: %d" % dialog("ask")
    if what == "delegate":
        subprocess.run(["claude", "--other-client"])
        while not is_set("go"):
            time.sleep(0.02)
    if what == "apart":
        subprocess.Popen(["claude", "--client-apart"], start_new_session=True)
    if what == "beside":
        subprocess.Popen(["sh", "-c", "claude --client-apart; true"])
    if what == "nest":
        subprocess.run(["msg", "run", "echo", "nested", "--json"], stdout=open("nested", "wb"))
    if what == "self":
        own = os.environ["MSG_RUN"]
        subprocess.run(["msg", "tell", own, "x", "--json"], stdout=open("self", "wb"))
        above = {**os.environ, "ABOVE": own}
        subprocess.run(["msg", "run", "upwards", "x", "--json"], env=above, stdout=open("child", "wb"))
    reply.append(said)
    hook("Stop", stop_hook_active=False, last_assistant_message=said)
    if what == "exit":
        leave(0)
    if what == "crash":
        leave(3)
    if is_set("typing"):
        draft = shown = "half a thought"
    idle()


if "--other-client" in sys.argv:
    other_client()
if "--client-apart" in sys.argv:
    client_apart()
tty.setraw(0)
out.write("\x1b[?2004h")
if is_set("trust") and not is_set("trusted"):
    if dialog("trust") == 0:
        sys.exit(0)
    if is_set("later"):
        open("trusted", "w").close()
        heeds_later = True
hook("SessionStart", source="startup")
idle()
buffer = b""
while True:
    piece = os.read(0, 65536)
    if not piece:
        sys.exit(0)
    buffer += piece
    while buffer:
        if buffer.startswith(b"\x1b[200~"):
            if b"\x1b[201~" not in buffer:
                break
            text, buffer = buffer[6:].split(b"\x1b[201~", 1)
            draft = text.decode()
            feeds = draft.count("\n")
            shown = "[Pasted text #1 +%d lines]" % feeds if feeds else draft
            idle()
        elif buffer.startswith(b"\r"):
            buffer = buffer[1:]
            if draft and not is_set("deaf"):
                text, draft, shown = draft, "", ""
                take(text)
        else:
            buffer = buffer[1:]
