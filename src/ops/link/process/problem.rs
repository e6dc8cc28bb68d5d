//! What went wrong between this machine and the server, in words for a person, each with a way out.

use crate::domain::link::MachineName;
use crate::ops::error::CommandError;
use crate::store::{LinkConfig, LinkProblem};
use crate::sys::nats::{NatsError, TlsProblem};

/// The problem that an error of the server or of the way there is.
pub(in crate::ops::link) fn of(error: &NatsError, config: &LinkConfig) -> LinkProblem {
    let address = config.address.to_string();
    let (kind, hints): (&str, Vec<String>) = match error {
        NatsError::Unreachable { .. } | NatsError::Disconnected => (
            "unreachable",
            vec![
                format!("check that `nats-server` runs there and that no firewall blocks `{address}`"),
                "the link tries again by itself; messages are kept and sent then".to_string(),
            ],
        ),
        NatsError::WrongCredentials { .. } => (
            "wrong_credentials",
            vec!["give the right file: `msg link URL --credentials FILE`; `msg link config --server` prints a configuration with one user for each machine".to_string()],
        ),
        NatsError::CredentialsUnreadable { .. } | NatsError::CredentialsOpen { .. } => (
            "credentials",
            vec!["the file must be yours and closed to others: `chmod 600 FILE`".to_string()],
        ),
        NatsError::Tls { problem, .. } => ("tls", vec![tls_way_out(problem).to_string()]),
        NatsError::TooOld { .. } => (
            "too_old",
            vec!["install nats-server 2.11 or later; the one of Debian stable is older".to_string()],
        ),
        NatsError::NoJetStream { .. } => (
            "no_jetstream",
            vec!["start it with `jetstream { … }` in its configuration: `msg link config --server` prints one".to_string()],
        ),
        NatsError::TtlNotHonoured { .. } => (
            "no_ttl",
            vec!["use nats-server 2.11 or later: otherwise a machine that is gone keeps its names, tasks and paths".to_string()],
        ),
        NatsError::OtherStream { .. } => (
            "other_stream",
            vec!["messages could get lost or be read by others there: link with another name of the mesh, or let the admin of the server delete that stream".to_string()],
        ),
        NatsError::PermissionMissing { .. } => (
            "permission_missing",
            vec!["the server's configuration must allow it: `msg link config --server --machine NAME` prints what each machine needs".to_string()],
        ),
        NatsError::StreamFull { .. } => (
            "server_full",
            vec!["a machine that is away for long fills it: let it fetch its mail, or raise `max_bytes` of the stream; messages stay queued here".to_string()],
        ),
        NatsError::DiskFull { .. } => (
            "server_disk_full",
            vec!["free space on the disk of the server, or raise `max_file_store`; messages stay queued here".to_string()],
        ),
        NatsError::TooLarge { .. } => (
            "too_large",
            vec!["raise `max_payload` of the server, or put the text into a file of the repository".to_string()],
        ),
        NatsError::TimedOut { .. } | NatsError::Unknown { .. } | NatsError::NotReady { .. } => (
            "no_answer",
            vec!["a cluster that elects a leader needs some seconds; the link tries again by itself".to_string()],
        ),
        NatsError::Refused { .. } | NatsError::Malformed { .. } | NatsError::Client { .. } => (
            "refused",
            vec!["see the log of the server; `msg link run` says what the link does".to_string()],
        ),
    };
    LinkProblem { kind: kind.to_string(), text: error.to_string(), hints }
}

fn tls_way_out(problem: &TlsProblem) -> &'static str {
    match problem {
        TlsProblem::Expired => {
            "renew the certificate of the server, then restart it; or is the clock of this machine wrong?"
        }
        TlsProblem::NotYetValid => {
            "set the clock of this machine, or wait until the certificate of the server is valid"
        }
        TlsProblem::WrongName => {
            "use the host name of the certificate in the URL, or make a certificate for this host"
        }
        TlsProblem::UnknownIssuer => "`--ca FILE` names the authority that signed the server's certificate",
        TlsProblem::NotOffered => {
            "give the server a certificate: `msg link config --server --tls FILE --tls-key FILE`; through a \
             tunnel, `nats://localhost:PORT/NAME` does without one"
        }
        TlsProblem::ClientCertificateWanted | TlsProblem::ClientCertificateRefused(_) => {
            "`--certificate FILE --key FILE` name a certificate of this machine that the server trusts"
        }
        TlsProblem::FileUnreadable { .. } => "give the right file; only its owner may read a key (mode 600)",
        TlsProblem::Other(_) => {
            "`--ca FILE` names the authority that signed the server's certificate; has the certificate \
             expired, or is a clock wrong?"
        }
    }
}

/// Something on this machine, such as a full disk.
pub(super) fn local(error: CommandError) -> LinkProblem {
    LinkProblem { kind: error.kind.name().to_string(), text: error.message, hints: error.hints }
}

/// It has not been connected yet.
pub(super) fn connecting(config: &LinkConfig) -> LinkProblem {
    LinkProblem {
        kind: "connecting".to_string(),
        text: format!("the link to `{}` is not ready yet", config.address),
        hints: vec!["try again in a moment".to_string()],
    }
}

pub(super) fn disconnected(config: &LinkConfig, why: &str) -> LinkProblem {
    let why: String = why.chars().filter(|c| !c.is_control()).take(200).collect();
    let mut problem = of(&NatsError::Disconnected, config);
    if !why.is_empty() {
        problem.text = format!("{}: {why}", problem.text);
    }
    problem
}

pub(super) fn name_in_use(machine: &MachineName) -> LinkProblem {
    LinkProblem {
        kind: "machine_name_in_use".to_string(),
        text: format!("another machine is linked as `{machine}` now"),
        hints: vec![
            "each machine needs a name of its own: `msg link URL --machine NAME`".to_string(),
            "if it is a link of this machine that was killed, its lease is over in half a minute".to_string(),
        ],
    }
}
