//! What can go wrong with TLS, found in the chain of causes of a failed connection.

use std::error::Error;
use std::path::PathBuf;

use async_nats::rustls;
use rustls::{AlertDescription, CertificateError};

/// Why a connection could not be secured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsProblem {
    #[error("its certificate has expired")]
    Expired,
    #[error("its certificate is not valid yet; check the clock of this machine")]
    NotYetValid,
    #[error("its certificate is signed by an authority that this machine does not trust")]
    UnknownIssuer,
    #[error("its certificate is for another name")]
    WrongName,
    #[error("it wants a certificate of this machine")]
    ClientCertificateWanted,
    #[error("it refuses the certificate of this machine: {0}")]
    ClientCertificateRefused(String),
    #[error("it does not speak TLS")]
    NotOffered,
    #[error("cannot use `{}`: {why}", path.display())]
    FileUnreadable { path: PathBuf, why: String },
    #[error("{0}")]
    Other(String),
}

/// Makes `ring` the provider of the process. Without one, `rustls` panics when two are compiled in.
pub(super) fn install_provider() {
    // An error says that there is one already, which is as good.
    drop(rustls::crypto::ring::default_provider().install_default());
}

/// The problem with TLS that caused this error, if there is one.
pub(super) fn problem_in(error: &(dyn Error + 'static)) -> Option<TlsProblem> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return Some(problem(error));
        }
        // An I/O error names the source of what it wraps, not what it wraps.
        let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if let Some(error) = wrapped.and_then(|wrapped| wrapped.downcast_ref::<rustls::Error>()) {
            return Some(problem(error));
        }
        cause = error.source();
    }
    None
}

fn problem(error: &rustls::Error) -> TlsProblem {
    match error {
        rustls::Error::InvalidCertificate(certificate) => match certificate {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => TlsProblem::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                TlsProblem::NotYetValid
            }
            CertificateError::UnknownIssuer => TlsProblem::UnknownIssuer,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                TlsProblem::WrongName
            }
            other => TlsProblem::Other(format!("its certificate is not accepted: {other}")),
        },
        rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
            TlsProblem::ClientCertificateWanted
        }
        rustls::Error::AlertReceived(
            alert @ (AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::UnknownCA
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::AccessDenied),
        ) => TlsProblem::ClientCertificateRefused(format!("{alert:?}")),
        rustls::Error::InvalidMessage(_) => TlsProblem::NotOffered,
        other => TlsProblem::Other(other.to_string()),
    }
}
