//! The address of a linked mesh: its servers and its name there, such as `nats://host:4222/team`.

use std::fmt;

const DEFAULT_PORT: u16 = 4222;
const MAX_MESH: usize = 40;

/// Where a mesh is linked: the servers, and the name of the mesh on them.
///
/// ```
/// use ravenry::domain::link::LinkAddress;
/// let address = LinkAddress::parse("tls://a.example,b.example:4223/team").unwrap();
/// assert_eq!(address.servers(), ["tls://a.example:4222", "tls://b.example:4223"]);
/// assert_eq!((address.mesh(), address.requires_tls()), ("team", true));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LinkAddress {
    scheme: &'static str,
    hosts: Vec<String>,
    mesh: String,
}

/// Why a text is not the address of a linked mesh.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LinkAddressError {
    #[error("`{}` does not begin with `nats://` or `tls://`", .0.escape_debug())]
    Scheme(String),
    #[error(
        "a user or password must not be in the address: put it into a file, and name that with `--credentials`"
    )]
    Credentials,
    #[error("the address lacks the name of the mesh after the host, such as `nats://{0}/team`")]
    NoMesh(String),
    #[error("`{}` can't be the name of a mesh: use 1 to 40 lower-case letters, digits and `-`", .0.escape_debug())]
    Mesh(String),
    #[error("`{}` is not a host, or a host and a port", .0.escape_debug())]
    Host(String),
}

impl LinkAddress {
    pub fn parse(text: &str) -> Result<Self, LinkAddressError> {
        let short = || text.chars().take(80).collect::<String>();
        let schemes = ["nats", "tls"];
        let found = schemes
            .into_iter()
            .find_map(|scheme| Some((scheme, text.strip_prefix(scheme)?.strip_prefix("://")?)));
        let (scheme, rest) = found.ok_or_else(|| LinkAddressError::Scheme(short()))?;
        // Before anything that would repeat it in an error.
        if rest.contains('@') {
            return Err(LinkAddressError::Credentials);
        }
        let (hosts, mesh) = rest.split_once('/').unwrap_or((rest, ""));
        let hosts = hosts.split(',').map(host).collect::<Result<Vec<_>, _>>()?;
        let mesh = mesh.trim_end_matches('/');
        if mesh.is_empty() {
            return Err(LinkAddressError::NoMesh(hosts.join(",")));
        }
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if mesh.len() > MAX_MESH || !mesh.bytes().all(is_plain) {
            return Err(LinkAddressError::Mesh(mesh.chars().take(60).collect()));
        }
        Ok(Self { scheme, hosts, mesh: mesh.to_string() })
    }

    /// The address of each server.
    pub fn servers(&self) -> Vec<String> {
        self.hosts.iter().map(|host| format!("{}://{host}", self.scheme)).collect()
    }

    pub fn mesh(&self) -> &str {
        &self.mesh
    }

    pub fn requires_tls(&self) -> bool {
        self.scheme == "tls"
    }

    /// Whether every server is this machine itself: then nobody else can listen on the way.
    pub fn is_loopback(&self) -> bool {
        let is_here = |host: &String| {
            let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
            name == "localhost" || name.starts_with("127.") || name == "[::1]"
        };
        self.hosts.iter().all(is_here)
    }
}

impl fmt::Display for LinkAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}/{}", self.scheme, self.hosts.join(","), self.mesh)
    }
}

/// A host with its port.
fn host(text: &str) -> Result<String, LinkAddressError> {
    let wrong = || LinkAddressError::Host(text.chars().take(80).collect());
    let (name, port) = match text.strip_prefix('[') {
        // An IPv6 address has colons of its own.
        Some(rest) => {
            let (inner, after) = rest.split_once(']').ok_or_else(wrong)?;
            (&text[..inner.len() + 2], after.strip_prefix(':'))
        }
        None => match text.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        },
    };
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    if name.is_empty() || !name.chars().all(is_part) {
        return Err(wrong());
    }
    let port = port.map_or(Ok(DEFAULT_PORT), |port| port.parse().map_err(|_| wrong()))?;
    Ok(format!("{name}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written_alike() {
        for (text, servers, shown) in [
            ("nats://h/team", vec!["nats://h:4222"], "nats://h:4222/team"),
            ("nats://127.0.0.1:5222/a-1/", vec!["nats://127.0.0.1:5222"], "nats://127.0.0.1:5222/a-1"),
            ("tls://[::1]:4/m", vec!["tls://[::1]:4"], "tls://[::1]:4/m"),
        ] {
            let address = LinkAddress::parse(text).unwrap();
            assert_eq!(
                (address.servers(), address.to_string()),
                (servers.iter().map(|s| s.to_string()).collect(), shown.to_string())
            );
            assert_eq!(LinkAddress::parse(shown).unwrap(), address);
        }
        assert!(LinkAddress::parse("nats://localhost/m").unwrap().is_loopback());
        assert!(!LinkAddress::parse("nats://localhost,h/m").unwrap().is_loopback());
    }

    #[test]
    fn what_is_not_an_address_is_refused_and_no_password_is_repeated() {
        for text in [
            "",
            "host:4222/team",
            "http://h/t",
            "nats://h",
            "nats://h/",
            "nats:///t",
            "nats://h:x/t",
            "nats://h:99999/t",
            "nats://h/A",
            "nats://h/a.b",
            "nats://h/a/b",
            "nats://h,,i/t",
            "nats://[::1/t",
            "nats://h h/t",
        ] {
            assert!(LinkAddress::parse(text).is_err(), "{text}");
        }
        let error = LinkAddress::parse(&["nats://anna:", "secret@h/t"].concat()).unwrap_err();
        assert_eq!(error, LinkAddressError::Credentials);
        assert!(!error.to_string().contains("secret"));
    }
}
