//! The text of a configuration.

use std::fmt::{self, Write as _};

use super::check::is_loopback;
use super::grants::{self, Answer, Group};
use super::{ADMIN, Listen, MAX_PAYLOAD, MachineUser, NodeAddress, Password, ServerPlan, TlsFiles};

pub(super) fn single(plan: &ServerPlan) -> String {
    let mut out = head(plan, "The server");
    let _ = writeln!(out, "server_name: {}", quoted(&format!("ravenry-{}", plan.mesh)));
    listen(&mut out, plan.tls.as_ref(), &plan.listen);
    limits(&mut out, plan, plan.monitor_port, &plan.store_dir);
    accounts(&mut out, plan);
    out
}

pub(super) fn node(
    plan: &ServerPlan,
    node: &NodeAddress,
    nodes: &[NodeAddress],
    route_password: &str,
) -> String {
    let mut out = head(plan, &format!("Node `{}` of the cluster", node.name));
    let _ = writeln!(out, "server_name: {}", quoted(&node.name));
    // Behind a name any address of the machine may be.
    let host = if node.host.parse::<core::net::IpAddr>().is_ok() || is_loopback(&node.host) {
        node.host.clone()
    } else {
        "0.0.0.0".to_string()
    };
    listen(&mut out, plan.tls.as_ref(), &Listen { host: host.clone(), port: node.client_port });
    limits(&mut out, plan, node.monitor_port, node.store_dir.as_deref().unwrap_or(&plan.store_dir));
    let _ = writeln!(out, "\ncluster {{\n  name: {}", quoted(&format!("ravenry-{}", plan.mesh)));
    let _ = writeln!(out, "  listen: {}", quoted(&address(&host, node.cluster_port)));
    out.push_str("  # What a node proves with that it belongs to the cluster: the same in all files.\n");
    let _ = writeln!(out, "  authorization {{ user: routes, password: {} }}", quoted(route_password));
    if let Some(tls) = &plan.tls {
        out.push_str("  # Each node is client and server here, so its certificate must allow both.\n");
        tls_block(&mut out, "  ", tls, true);
    }
    out.push_str("  routes: [\n");
    for other in nodes.iter().filter(|other| other.name != node.name) {
        let url =
            format!("nats-route://routes:{route_password}@{}", address(&other.host, other.cluster_port));
        let _ = writeln!(out, "    {}", quoted(&url));
    }
    out.push_str("  ]\n}\n");
    accounts(&mut out, plan);
    out
}

fn head(plan: &ServerPlan, what: &str) -> String {
    format!(
        "# {what} of the linked mesh `{}`. Made by `msg link config`, for nats-server 2.11 or later.\n\
         # Only its owner may read this file: it holds secrets. Check it with `nats-server -t -c FILE`, start it with\n\
         # `nats-server -c FILE`, and load a changed one with `nats-server --signal reload`.\n\n",
        plan.mesh
    )
}

fn listen(out: &mut String, tls: Option<&TlsFiles>, listen: &Listen) {
    let host = if tls.is_some() || is_loopback(&listen.host) {
        if tls.is_none() {
            out.push_str(
                "# Without TLS the network could read passwords, so nothing but this machine is served.\n",
            );
        }
        listen.host.as_str()
    } else {
        out.push_str(
            "# There are no TLS files, and the network could read passwords: nothing but this machine is served. Other\n\
             # machines come through `ssh -L 4222:127.0.0.1:4222 HOST`, or make this file again with TLS.\n",
        );
        "127.0.0.1"
    };
    let _ = writeln!(out, "listen: {}", quoted(&address(host, listen.port)));
    if let Some(tls) = tls {
        tls_block(out, "", tls, tls.must_verify_clients);
    }
}

fn tls_block(out: &mut String, indent: &str, tls: &TlsFiles, verify: bool) {
    let _ = writeln!(out, "{indent}tls {{");
    let _ = writeln!(out, "{indent}  cert_file: {}", quoted(&tls.certificate));
    let _ = writeln!(out, "{indent}  key_file: {}", quoted(&tls.key));
    if let Some(authority) = &tls.authority {
        let _ = writeln!(out, "{indent}  ca_file: {}", quoted(authority));
    }
    if verify {
        let _ = writeln!(out, "{indent}  # Who connects needs a certificate, too.");
        let _ = writeln!(out, "{indent}  verify: true");
    }
    // A busy machine takes longer than the two seconds of the default.
    let _ = writeln!(out, "{indent}  timeout: 5");
    let _ = writeln!(out, "{indent}}}");
}

fn limits(out: &mut String, plan: &ServerPlan, monitor_port: u16, store_dir: &str) {
    let _ = writeln!(
        out,
        "# For `msg doctor` on this machine, which reads here whether writes are durable. It asks for no password.\n\
         http: {}\n\
         # The longest message of a mesh, in JSON.\n\
         max_payload: {MAX_PAYLOAD}\n\n\
         jetstream {{\n  store_dir: {}",
        quoted(&address("127.0.0.1", monitor_port)),
        quoted(store_dir)
    );
    if plan.is_durable {
        out.push_str(
            "  # A write is on the disk before it is acknowledged. By default a power cut loses minutes of them.\n  \
             sync_interval: always\n",
        );
    } else {
        out.push_str("  # A power cut loses acknowledged writes of the last minutes.\n");
    }
    let _ = writeln!(
        out,
        "  # A full store refuses messages, and loses none.\n  max_file_store: {}GB",
        plan.max_file_store_gib
    );
    out.push_str("  max_memory_store: 64MB\n}\n");
}

fn accounts(out: &mut String, plan: &ServerPlan) {
    let mesh = &plan.mesh;
    let machines = &plan.machines;
    out.push_str(
        "\n# Each machine has an account of its own and imports what it may use of the mesh. Permissions in one account would\n\
         # not do: an answer goes to any reply subject, so a machine could write as another.\naccounts {\n",
    );
    let _ = writeln!(out, "  {} {{\n    jetstream: enabled", hub(mesh));
    out.push_str("    # For maintenance alone: it may change and delete everything here.\n");
    user(out, ADMIN, &plan.admin);
    out.push_str("    exports: [\n");
    export(out, &grants::shared(mesh), machines);
    for machine in machines {
        let own = std::slice::from_ref(machine);
        let _ = writeln!(out, "      # {}", machine.id);
        export(out, &grants::own(mesh, &machine.id), own);
        stream_export(out, &grants::inbox(&machine.id), own.iter());
    }
    out.push_str("    ]\n  }\n");
    for machine in machines {
        account(out, mesh, machine, machines);
    }
    out.push_str("}\n");
}

/// The account of a machine.
fn account(out: &mut String, mesh: &str, machine: &MachineUser, machines: &[MachineUser]) {
    let others = || machines.iter().filter(|other| other.id != machine.id);
    let _ = writeln!(out, "\n  {} {{", account_name(machine));
    user(out, &machine.id, &machine.password);
    if others().next().is_some() {
        out.push_str("    exports: [\n");
        stream_export(out, &grants::presence(mesh, &machine.id), others());
        out.push_str("    ]\n");
    }
    out.push_str("    imports: [\n");
    for group in grants::shared(mesh).iter().chain(&grants::own(mesh, &machine.id)) {
        let _ = writeln!(out, "      # {}", group.why);
        for grant in &group.grants {
            import(out, "service", &hub(mesh), &grant.subject);
        }
    }
    out.push_str("      # What it watches, and that others are there.\n");
    import(out, "stream", &hub(mesh), &grants::inbox(&machine.id));
    for other in others() {
        import(out, "stream", &account_name(other), &grants::presence(mesh, &other.id));
    }
    out.push_str("    ]\n  }\n");
}

fn user(out: &mut String, name: &str, password: &Password) {
    let secret = password.hash.as_deref().unwrap_or_else(|| {
        out.push_str("    # In the clear: keep this file to yourself.\n");
        &password.plain
    });
    let _ = writeln!(out, "    users: [{{ user: {}, password: {} }}]", quoted(name), quoted(secret));
}

fn export(out: &mut String, groups: &[Group], to: &[MachineUser]) {
    for grant in groups.iter().flat_map(|group| &group.grants) {
        let answers = match grant.answer {
            Answer::Single => "",
            Answer::Stream => ", response_type: stream",
        };
        let _ = writeln!(
            out,
            "      {{ service: {}{answers}, accounts: [{}] }}",
            quoted(&grant.subject),
            names(to.iter())
        );
    }
}

fn stream_export<'a>(out: &mut String, subject: &str, to: impl Iterator<Item = &'a MachineUser>) {
    let _ = writeln!(out, "      {{ stream: {}, accounts: [{}] }}", quoted(subject), names(to));
}

fn import(out: &mut String, kind: &str, account: &str, subject: &str) {
    let _ = writeln!(out, "      {{ {kind}: {{ account: {account}, subject: {} }} }}", quoted(subject));
}

fn names<'a>(machines: impl Iterator<Item = &'a MachineUser>) -> String {
    machines.map(account_name).collect::<Vec<_>>().join(", ")
}

/// The account that the streams are in.
fn hub(mesh: &str) -> String {
    format!("MESH_{mesh}")
}

fn account_name(machine: &MachineUser) -> String {
    format!("MACHINE_{}", machine.id)
}

fn address(host: &str, port: u16) -> impl fmt::Display {
    if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// Between quotation marks nothing but these two is special.
fn quoted(text: &(impl fmt::Display + ?Sized)) -> String {
    format!("\"{}\"", text.to_string().replace('\\', "\\\\").replace('"', "\\\""))
}
