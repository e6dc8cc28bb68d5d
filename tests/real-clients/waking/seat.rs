//! How each client is run in a terminal, where a user could type.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::clients::{Client, Leave};
use crate::model::Call;
use crate::scene::Scene;

/// How a client is woken, and how its state is recognised.
#[derive(Clone, Copy)]
pub struct Seat {
    client: &'static str,
    /// The way it is woken, as `send` names it.
    pub rung: &'static str,
    /// Whether a waiter of ours runs beside it while it is idle.
    pub waits: bool,
    /// The text on the screen while it asks for permission, and the key that grants it.
    pub dialog: Option<(&'static str, &'static str)>,
    /// The role of messages with a peer's words, if it is not the user's.
    pub role: Option<&'static str>,
    /// Whether its sessions outlive the terminal, in a process that serves all of them.
    pub lives_on: bool,
    /// Requests from the wake-up to the one with the mail: two if no hook is called at the start of that turn.
    pub requests: usize,
}

/// The clients that can be woken.
const ALL: [Seat; 8] = [
    Seat {
        client: "codex",
        rung: "queue",
        waits: false,
        dialog: Some(("Would you like to run the following command?", "y")),
        role: Some("developer"),
        lives_on: true,
        requests: 1,
    },
    Seat {
        client: "pi",
        rung: "extension",
        waits: true,
        dialog: None,
        role: None,
        lives_on: false,
        requests: 1,
    },
    Seat {
        client: "claude",
        rung: "rewake",
        waits: true,
        dialog: Some(("Do you want to proceed?", "Enter")),
        role: None,
        lives_on: false,
        requests: 1,
    },
    Seat {
        client: "opencode",
        rung: "plugin",
        waits: true,
        dialog: None,
        role: None,
        lives_on: false,
        requests: 1,
    },
    Seat {
        client: "kimi",
        rung: "paste",
        waits: false,
        dialog: None,
        role: None,
        lives_on: false,
        requests: 1,
    },
    Seat {
        client: "qwen",
        rung: "server",
        waits: false,
        dialog: Some(("Yes, allow once", "Enter")),
        role: None,
        lives_on: false,
        requests: 2,
    },
    Seat {
        client: "gemini",
        rung: "paste",
        waits: false,
        dialog: None,
        role: None,
        lives_on: false,
        requests: 1,
    },
    Seat {
        client: "copilot",
        rung: "paste",
        waits: false,
        dialog: None,
        role: None,
        lives_on: false,
        requests: 1,
    },
];

impl Seat {
    pub fn of(client: &dyn Client) -> Option<Self> {
        ALL.into_iter().find(|seat| seat.client == client.name())
    }

    /// Writes the settings in which its user has answered all questions.
    pub fn set_up(&self, client: &dyn Client, scene: &Scene, url: &str) {
        client.set_up(scene, url);
        let repo = scene.repo();
        match self.client {
            "claude" => {
                let answered = json!({
                    "hasCompletedOnboarding": true, "theme": "dark", "bypassPermissionsModeAccepted": true,
                    "customApiKeyResponses": { "approved": ["sk-ant-dummy"], "rejected": [] },
                    "projects": { repo.display().to_string(): {
                        "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true,
                    } },
                });
                scene.write(".claude.json", &answered.to_string());
            }
            // Its user trusts the folder.
            "kimi" => {
                let path = repo.display().to_string();
                let name = repo.file_name().unwrap_or_default().to_string_lossy();
                let file = format!("wd_{name}_{}", &ravenry::domain::sha256(path.as_bytes())[..12]);
                let trusted = json!({ "root": path, "trustedAt": 1 });
                scene.write(&format!(".kimi-code/workspace-trust/{file}"), &trusted.to_string());
            }
            "copilot" => {
                let trusted = json!({ "trustedFolders": [repo], "trusted_folders": [repo] });
                scene.write(".copilot/config.json", &trusted.to_string());
            }
            // Users have the daemon.
            "codex" => {
                scene.write(
                    ".codex/rules/asking.rules",
                    "prefix_rule(pattern = [\"touch\"], decision = \"prompt\")\n",
                );
                let config = format!(
                    "model = \"gpt-6-sol\"\nmodel_provider = \"fake\"\ncheck_for_update_on_startup = false\n\
                     approval_policy = \"on-request\"\nsandbox_mode = \"danger-full-access\"\n\n\
                     [analytics]\nenabled = false\n\n[features]\napps = false\ndaemon_auto_start = true\n\n\
                     [projects.\"{}\"]\ntrust_level = \"trusted\"\n\n\
                     [model_providers.fake]\nname = \"fake\"\nbase_url = \"{url}/v1\"\nwire_api = \"responses\"\n\
                     env_key = \"FAKE_KEY\"\n",
                    repo.display()
                );
                scene.write(".codex/config.toml", &config);
            }
            _ => {}
        }
    }

    /// The client in a terminal with its first prompt, in a new session or a resumed one.
    pub fn start(
        &self,
        client: &dyn Client,
        program: &Path,
        url: &str,
        (prompt, session): (&str, Option<&str>),
    ) -> Command {
        // The variables are those of a run without a terminal.
        let mut headless = Command::new(program);
        client.start(&mut headless, url, prompt, Leave::Settings);
        let mut command = Command::new(program);
        for (key, value) in headless.get_envs() {
            if let Some(value) = value {
                command.env(key, value);
            }
        }
        match self.client {
            "claude" => {
                // A resumed session asks for nothing, so that this mode is tested too.
                let mode = if session.is_some() { "bypassPermissions" } else { "default" };
                command.args(["--permission-mode", mode]);
                if let Some(session) = session {
                    command.args(["--resume", session]);
                }
                command.arg(prompt);
            }
            "pi" => {
                command.args(["--model", "fake/fake-model"]);
                command.args(session.into_iter().flat_map(|session| ["--session", session])).arg(prompt);
            }
            // It takes no prompt in a terminal: that is typed.
            "kimi" => {
                command.arg("--yolo").args(session.into_iter().flat_map(|session| ["-r", session]));
            }
            "qwen" => {
                command.args(session.into_iter().flat_map(|session| ["-r", session]));
                command.args(["--approval-mode", "default", "-i", prompt]);
            }
            "opencode" => {
                command.args(session.into_iter().flat_map(|session| ["--session", session]));
                command.args(["--prompt", prompt]);
            }
            "gemini" => {
                _ = command.args([
                    "-m",
                    "gemini-2.5-pro",
                    "--skip-trust",
                    "--approval-mode",
                    "yolo",
                    "-i",
                    prompt,
                ]);
            }
            "copilot" => {
                command.args(session.into_iter().flat_map(|session| ["--resume", session]));
                command.args(["--allow-all-tools", "-i", prompt]);
            }
            _ => {
                command.args(session.into_iter().flat_map(|session| ["resume", session])).arg(prompt);
            }
        }
        command
    }

    /// What stands on the screen when the first prompt can be typed, if it can't be an argument.
    pub fn typed_at(&self) -> Option<&'static str> {
        (self.client == "kimi").then_some("context: ")
    }

    /// A tool call that runs a command.
    pub fn shell(&self, client: &dyn Client, command: &str) -> Call {
        match self.client {
            // Its newer models have one tool, which takes JavaScript.
            "codex" => Call::new(
                "exec",
                json!(format!(
                    "text(JSON.stringify(await tools.exec_command({})));",
                    json!({ "cmd": command })
                )),
            ),
            _ => client.shell(command),
        }
    }

    /// What a person types to leave.
    pub fn exit_command(&self) -> &'static str {
        match self.client {
            "codex" | "gemini" | "pi" => "/quit",
            _ => "/exit",
        }
    }

    /// A call of a tool of our MCP server.
    pub fn tool(&self, client: &dyn Client, name: &str) -> Option<Call> {
        match self.client {
            "codex" => Some(Call::new(
                "exec",
                json!(format!("text(JSON.stringify(await tools.mcp__ravenry__{name}({{}})));")),
            )),
            _ => client.tool(name, json!({})),
        }
    }
}
