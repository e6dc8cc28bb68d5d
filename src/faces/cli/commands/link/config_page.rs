//! `msg link config`: prints or writes the configuration of a server or of a cluster.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::link::server_config::{
    self, ConfigFile, ConfigFileKind, ConfigFiles, Listen, MachineUser, NodeAddress, Password, ServerPlan,
    TlsFiles,
};
use crate::domain::link::{LinkAddress, MachineName};
use crate::domain::shell_word;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::link::{link_status, write_config_files};
use crate::ops::{CommandError, CommandErrorKind, Op};
use crate::sys::random;

/// Print a ready configuration of a server, with a user for each machine
///
/// It contains new passwords. With --output, the files are written with mode 600: the configuration, and one file for
/// each machine and for the admin.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg link config --server --machine laptop --machine buildbox --store \"$PWD/data\" --output nats
  nats-server -c nats/nats-server.conf
  msg link config --server --machine a --machine b --store \"$PWD/data\" --listen 0.0.0.0:4222 --tls server.pem --tls-key server.key
  msg link config --cluster n1=10.0.0.1 --cluster n2=10.0.0.2 --cluster n3=10.0.0.3 --machine a --machine b \\
    --tls server.pem --tls-key server.key --tls-ca ca.pem --output nats")]
pub(super) struct ServerConfigArgs {
    /// For one server
    #[arg(long, conflicts_with = "cluster")]
    server: bool,
    /// For a cluster: a node and its host, three or five times
    #[arg(long, value_name = "NAME=HOST")]
    cluster: Vec<String>,
    /// A machine of the mesh; each gets a user of its own
    #[arg(long, value_name = "NAME")]
    machine: Vec<String>,
    /// The name of the mesh; by default that of this mesh, else `team`
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Where the server listens; with `--cluster` only the port counts
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:4222")]
    listen: String,
    /// Where the server keeps its data
    #[arg(long, value_name = "DIR", default_value = "/var/lib/nats/ravenry")]
    store: String,
    /// The certificate of the server
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls: Option<String>,
    /// The key of that certificate
    #[arg(long, value_name = "FILE", requires = "tls")]
    tls_key: Option<String>,
    /// Who signed certificates of clients and nodes
    #[arg(long, value_name = "FILE", requires = "tls")]
    tls_ca: Option<String>,
    /// Write the files into this directory instead of printing them
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(super) fn run(op: &Op, args: &ServerConfigArgs) -> Result<CommandOutput, CommandError> {
    if !args.server && args.cluster.is_empty() {
        return Err(CommandError::new(
            CommandErrorKind::Usage,
            "missing option: give `--server` or `--cluster NAME=HOST`",
        )
        .hint("for example: `msg link config --server --machine laptop --machine buildbox`"));
    }
    let mesh = match &args.name {
        Some(name) => name.clone(),
        None => {
            link_status(op)?.config.map_or("team".to_string(), |config| config.address.mesh().to_string())
        }
    };
    // The name is checked as it is in an address.
    LinkAddress::parse(&format!("nats://host/{mesh}")).map_err(|error| invalid(error.to_string()))?;
    let files = generate(op, args, &mesh)?;
    match &args.output {
        Some(directory) => {
            let named: Vec<(String, String)> =
                files.files.iter().map(|file| (file.name.clone(), file.text.clone())).collect();
            let written = write_config_files(op, directory, &named)?;
            Ok(WrittenReport { files, written, link: link_line(args, &mesh)? }.into())
        }
        None => Ok(PrintedReport(files).into()),
    }
}

/// How a machine links with what is configured; `HOST` where only a person knows by which name it reaches the server.
fn link_line(args: &ServerConfigArgs, mesh: &str) -> Result<String, CommandError> {
    let Listen { host, port } = listen(&args.listen)?;
    let hosts: Vec<String> = match args.cluster.as_slice() {
        [] if args.tls.is_none() => vec![format!("127.0.0.1:{port}")],
        [] if ["0.0.0.0", "::", "[::]"].contains(&host.as_str()) => vec![format!("HOST:{port}")],
        [] => vec![format!("{host}:{port}")],
        nodes => {
            let hosts = nodes.iter().filter_map(|node| Some(node.split_once('=')?.1));
            hosts.map(|host| format!("{host}:{port}")).collect()
        }
    };
    let scheme = if args.tls.is_some() { "tls" } else { "nats" };
    let replicas = match args.cluster.len() {
        0 => String::new(),
        nodes => format!(" --replicas {nodes}"),
    };
    Ok(format!("msg link {scheme}://{}/{mesh}{replicas}", hosts.join(",")))
}

fn generate(op: &Op, args: &ServerConfigArgs, mesh: &str) -> Result<ConfigFiles, CommandError> {
    // The server may be started in any directory. Those of a cluster are on machines of their own.
    let on_server = |path: &String| match args.cluster.is_empty() {
        true => op.cwd.join(op.home.expand(path)).to_string_lossy().into_owned(),
        false => path.clone(),
    };
    let listen = listen(&args.listen)?;
    if args.cluster.is_empty() && args.tls.is_none() && !server_config::is_loopback(&listen.host) {
        op.warn(
            "without TLS the server listens on 127.0.0.1 alone: `--tls` and `--tls-key` name a certificate",
        );
    }
    let machines = args.machine.iter().map(|name| {
        let id = MachineName::new(name.as_str()).map_err(|error| invalid(error.to_string()))?;
        Ok(MachineUser { id: id.to_string(), password: password() })
    });
    let plan = ServerPlan {
        mesh: mesh.to_string(),
        machines: machines.collect::<Result<_, CommandError>>()?,
        admin: password(),
        listen,
        monitor_port: 8222,
        store_dir: on_server(&args.store),
        max_file_store_gib: 10,
        tls: args.tls.as_ref().zip(args.tls_key.as_ref()).map(|(certificate, key)| TlsFiles {
            certificate: on_server(certificate),
            key: on_server(key),
            authority: args.tls_ca.as_ref().map(on_server),
            must_verify_clients: false,
        }),
        is_durable: true,
    };
    let made = match args.cluster.is_empty() {
        true => server_config::server(&plan),
        false => {
            let nodes = args.cluster.iter().map(|node| {
                let (name, host) = node.split_once('=').ok_or_else(|| {
                    invalid(format!("`{}` is not a node: write NAME=HOST", node.escape_debug()))
                })?;
                Ok(NodeAddress {
                    name: name.to_string(),
                    host: host.to_string(),
                    client_port: plan.listen.port,
                    cluster_port: 6222,
                    monitor_port: 8222,
                    store_dir: None,
                })
            });
            let nodes = nodes.collect::<Result<Vec<_>, CommandError>>()?;
            server_config::cluster(&plan, &nodes, &password().plain)
        }
    };
    made.map_err(|error| invalid(error.to_string()))
}

fn invalid(text: String) -> CommandError {
    CommandError::new(CommandErrorKind::InvalidValue, text)
}

fn listen(text: &str) -> Result<Listen, CommandError> {
    let wrong = || invalid(format!("`{}` is not HOST:PORT", text.escape_debug()));
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    Ok(Listen { host: host.to_string(), port: port.parse().map_err(|_| wrong())? })
}

/// A new password, and what the server stores of it where this program can make that.
fn password() -> Password {
    let mut bytes = [0; 20];
    let (first, second) = (random::uuid(), random::uuid());
    bytes
        .iter_mut()
        .zip(first.as_bytes().iter().chain(second.as_bytes()))
        .for_each(|(byte, random)| *byte = *random);
    let plain = server_config::password_text(bytes);
    #[cfg(feature = "link")]
    let hash = server_config::hash_password(&plain, *random::uuid().as_bytes());
    #[cfg(not(feature = "link"))]
    let hash = None;
    Password { plain, hash }
}

fn file_json(file: &ConfigFile) -> Value {
    let (kind, of) = match &file.kind {
        ConfigFileKind::Server { node } => ("server", node.clone()),
        ConfigFileKind::Credentials { user } => ("credentials", Some(user.clone())),
    };
    json!({ "name": file.name, "kind": kind, "of": of })
}

struct PrintedReport(ConfigFiles);

impl Report for PrintedReport {
    fn json(&self) -> Map<String, Value> {
        let file = |file: &ConfigFile| {
            let mut keys = file_json(file);
            keys["text"] = file.text.as_str().into();
            keys
        };
        Map::from_iter([("files".to_string(), self.0.files.iter().map(file).collect())])
    }

    fn text(&self, page: &mut Page) {
        for file in &self.0.files {
            page.line(style::bold(&format!("# {}", file.name)));
            page.foreign_text(&file.text);
            page.line("");
        }
    }
}

struct WrittenReport {
    files: ConfigFiles,
    written: Vec<PathBuf>,
    /// The command of each machine, without what differs.
    link: String,
}

impl Report for WrittenReport {
    fn json(&self) -> Map<String, Value> {
        let files = self.files.files.iter().zip(&self.written).map(|(file, path)| {
            let mut keys = file_json(file);
            keys["path"] = json!(path);
            keys
        });
        Map::from_iter([("files".to_string(), files.collect())])
    }

    fn text(&self, page: &mut Page) {
        for path in &self.written {
            page.line(format!("wrote {}", path.display()));
        }
        page.line("");
        for (file, path) in self.files.files.iter().zip(&self.written) {
            if let ConfigFileKind::Server { node } = &file.kind {
                let node = node.as_ref().map_or(String::new(), |node| format!(" {node}"));
                let path = path.to_string_lossy();
                page.line(format!("Start the server{node}:   nats-server -c {}", shell_word(&path)));
            }
        }
        for file in &self.files.files {
            if let ConfigFileKind::Credentials { user } = &file.kind
                && user != server_config::ADMIN
            {
                let link = &self.link;
                page.line(format!("On {user}:   {link} --machine {user} --credentials {}", file.name));
            }
        }
    }
}
