//! Ready configurations of a `nats-server` for a linked mesh, as text. Whoever calls this writes the files and provides
//! what is random.
//!
//! Each machine has an account of its own, and imports from the account of the mesh what it may use. Permissions of users in
//! one account would not do: the server sends an answer to whatever reply subject a request names, also one that its sender
//! may not publish to, and a stream stores the answer like a message. So one machine could write in the name of another. The
//! reply subject of an import stays in the account of the machine that asked.

use std::fmt;

mod check;
mod grants;
#[cfg(feature = "link")]
mod password;
#[cfg(test)]
mod tests;
mod text;

pub use check::is_loopback;
#[cfg(feature = "link")]
pub use password::hash_password;

/// The user that may do everything in the account of the mesh: see streams, change them and delete them.
pub const ADMIN: &str = "admin";

/// The bytes that a message may have: one of a mebibyte, in JSON, with room for what JSON escapes. The server warns above it.
pub const MAX_PAYLOAD: &str = "8MB";

/// Everything that a configuration needs to know.
#[derive(Clone, Debug)]
pub struct ServerPlan {
    pub mesh: String,
    pub machines: Vec<MachineUser>,
    pub admin: Password,
    /// Where clients connect. Without TLS the server is bound to the loopback address, whatever the host is.
    pub listen: Listen,
    /// The port of the monitoring page, on the loopback address. `msg doctor` reads there whether writes are durable.
    pub monitor_port: u16,
    /// An absolute path.
    pub store_dir: String,
    pub max_file_store_gib: u32,
    pub tls: Option<TlsFiles>,
    /// Write to the disk before a write is acknowledged. Without it a power cut loses minutes of acknowledged writes.
    pub is_durable: bool,
}

/// A machine of the mesh. Its user is named by its id, so a machine finds its id in its credentials.
#[derive(Clone, Debug)]
pub struct MachineUser {
    pub id: String,
    pub password: Password,
}

/// A password, and what the server stores of it.
#[derive(Clone)]
pub struct Password {
    pub plain: String,
    /// Made by `hash_password`. Without it the server stores the password itself.
    pub hash: Option<String>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Listen {
    pub host: String,
    pub port: u16,
}

/// Paths on the machine of the server.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    pub certificate: String,
    pub key: String,
    /// Who signs certificates of clients, and of the other nodes of a cluster. Without it the system's authorities do.
    pub authority: Option<String>,
    /// Ask each client for a certificate as well.
    pub must_verify_clients: bool,
}

/// A node of a cluster. All other nodes reach it at `host`.
#[derive(Clone, Debug)]
pub struct NodeAddress {
    pub name: String,
    pub host: String,
    pub client_port: u16,
    pub cluster_port: u16,
    pub monitor_port: u16,
    /// The one of the plan if there is none here.
    pub store_dir: Option<String>,
}

/// What is to be written: each file with mode 0600, because each holds secrets.
#[derive(Clone, Debug)]
pub struct ConfigFiles {
    pub files: Vec<ConfigFile>,
}

#[derive(Clone, Debug)]
pub struct ConfigFile {
    pub name: String,
    pub kind: ConfigFileKind,
    pub text: String,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ConfigFileKind {
    /// For `nats-server -c`, on the machine of that node; a single server has no name.
    Server { node: Option<String> },
    /// Two lines, the user and its password, for that machine or for `ADMIN`.
    Credentials { user: String },
}

/// Why a plan is not a configuration.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ServerConfigError {
    #[error("`{}` can't name a {what}: use 1 to 64 letters, digits, `_` and `-`", .text.escape_debug())]
    Token { what: &'static str, text: String },
    #[error("`{ADMIN}` is the user for maintenance: give the machine another name")]
    Reserved,
    #[error("there are two {what}s named `{name}`")]
    Twice { what: &'static str, name: String },
    #[error("no machine is named: add --machine NAME for each machine of the mesh")]
    NoMachine,
    #[error("a cluster needs three nodes or five, and {0} are named")]
    NodeCount(usize),
    #[error(
        "nodes of a cluster on several machines need TLS, because passwords and messages would cross the network in the \
         clear: give a certificate, its key and who signed it"
    )]
    ClusterWithoutTls,
    #[error("the {what} `{}` has characters that can't be in a configuration", .text.escape_debug())]
    Text { what: &'static str, text: String },
}

/// A single server, and the credentials of each machine.
pub fn server(plan: &ServerPlan) -> Result<ConfigFiles, ServerConfigError> {
    check::plan(plan)?;
    let main = ConfigFile {
        name: "nats-server.conf".to_string(),
        kind: ConfigFileKind::Server { node: None },
        text: text::single(plan),
    };
    Ok(ConfigFiles { files: std::iter::once(main).chain(credentials(plan)).collect() })
}

/// A cluster of three or five servers, and the credentials of each machine. `route_password` is what nodes prove to each
/// other that they belong together with.
pub fn cluster(
    plan: &ServerPlan,
    nodes: &[NodeAddress],
    route_password: &str,
) -> Result<ConfigFiles, ServerConfigError> {
    check::plan(plan)?;
    check::nodes(plan, nodes, route_password)?;
    let servers = nodes.iter().map(|node| ConfigFile {
        name: format!("nats-server-{}.conf", node.name),
        kind: ConfigFileKind::Server { node: Some(node.name.clone()) },
        text: text::node(plan, node, nodes, route_password),
    });
    Ok(ConfigFiles { files: servers.chain(credentials(plan)).collect() })
}

/// 160 random bits as text that needs no quotation marks anywhere.
pub fn password_text(random: [u8; 20]) -> String {
    use std::fmt::Write as _;
    random.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The prefix of the inboxes of a machine: answers to any other never arrive.
pub fn inbox_prefix(machine: &str) -> String {
    format!("_INBOX_{machine}")
}

fn credentials(plan: &ServerPlan) -> impl Iterator<Item = ConfigFile> {
    let machines = plan.machines.iter().map(|machine| (machine.id.as_str(), &machine.password));
    machines.chain([(ADMIN, &plan.admin)]).map(|(user, password)| ConfigFile {
        name: format!("{user}.user"),
        kind: ConfigFileKind::Credentials { user: user.to_string() },
        text: format!("{user}\n{}\n", password.plain),
    })
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}
