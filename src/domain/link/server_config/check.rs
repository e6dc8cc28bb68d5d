//! What a plan must be before it becomes text: no name may break out of a subject, and no path out of its quotation marks.

use std::collections::BTreeSet;

use super::{ADMIN, NodeAddress, Password, ServerConfigError, ServerPlan};

pub(super) fn plan(plan: &ServerPlan) -> Result<(), ServerConfigError> {
    token("mesh", &plan.mesh)?;
    if plan.machines.is_empty() {
        return Err(ServerConfigError::NoMachine);
    }
    for machine in &plan.machines {
        token("machine", &machine.id)?;
        if machine.id == ADMIN {
            return Err(ServerConfigError::Reserved);
        }
        password(&machine.password)?;
    }
    password(&plan.admin)?;
    unique("machine", plan.machines.iter().map(|machine| &machine.id))?;
    text("address", &plan.listen.host)?;
    text("directory", &plan.store_dir)?;
    if let Some(tls) = &plan.tls {
        for path in [Some(&tls.certificate), Some(&tls.key), tls.authority.as_ref()].into_iter().flatten() {
            text("path", path)?;
        }
    }
    Ok(())
}

pub(super) fn nodes(
    plan: &ServerPlan,
    nodes: &[NodeAddress],
    route_password: &str,
) -> Result<(), ServerConfigError> {
    // Two can't agree on anything when one is away, and four lose as many as three.
    if !matches!(nodes.len(), 3 | 5) {
        return Err(ServerConfigError::NodeCount(nodes.len()));
    }
    for node in nodes {
        token("node", &node.name)?;
        host(&node.host)?;
        if let Some(dir) = &node.store_dir {
            text("directory", dir)?;
        }
    }
    unique("node", nodes.iter().map(|node| &node.name))?;
    token("password of the routes", route_password)?;
    if plan.tls.is_none() && !nodes.iter().all(|node| is_loopback(&node.host)) {
        return Err(ServerConfigError::ClusterWithoutTls);
    }
    Ok(())
}

pub fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<core::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A name that is one token of a subject, a part of the name of a stream, and of an account.
fn token(what: &'static str, text: &str) -> Result<(), ServerConfigError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if (1..=64).contains(&text.len()) && text.bytes().all(fits) {
        return Ok(());
    }
    Err(ServerConfigError::Token { what, text: text.to_string() })
}

/// A host that is a part of a URL.
fn host(host: &str) -> Result<(), ServerConfigError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':');
    if !host.is_empty() && host.bytes().all(fits) {
        return Ok(());
    }
    Err(ServerConfigError::Text { what: "address", text: host.to_string() })
}

/// Credentials are lines, and quoted in the configuration of a server.
fn password(password: &Password) -> Result<(), ServerConfigError> {
    let fits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if fits(&password.plain) && password.hash.as_deref().is_none_or(fits) {
        return Ok(());
    }
    Err(ServerConfigError::Text { what: "password", text: "…".to_string() })
}

fn text(what: &'static str, text: &str) -> Result<(), ServerConfigError> {
    if !text.is_empty() && !text.chars().any(char::is_control) {
        return Ok(());
    }
    Err(ServerConfigError::Text { what, text: text.to_string() })
}

fn unique<'a>(what: &'static str, names: impl Iterator<Item = &'a String>) -> Result<(), ServerConfigError> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(ServerConfigError::Twice { what, name: name.clone() });
        }
    }
    Ok(())
}
