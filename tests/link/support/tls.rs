//! Certificates that are good, and some that are not.

use std::fs;
use std::path::Path;

use ravenry::domain::link::server_config::TlsFiles;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

/// Who signs certificates.
pub struct Authority {
    pub pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// What is asked of a certificate.
pub struct Wanted<'a> {
    pub host: &'a str,
    pub expired: bool,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// Makes `NAME.pem` and `NAME.key`, and `NAME-ca.pem` of this authority.
    pub fn sign(&self, dir: &Path, name: &str, wanted: &Wanted<'_>) -> TlsFiles {
        let mut params = CertificateParams::new(vec![wanted.host.to_string()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        if wanted.expired {
            params.not_after = date_time_ymd(2001, 1, 1);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        let write = |suffix: &str, text: String| {
            let path = dir.join(format!("{name}{suffix}"));
            fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_string()
        };
        TlsFiles {
            certificate: write(".pem", certificate),
            key: write(".key", key.serialize_pem()),
            authority: Some(write("-ca.pem", self.pem.clone())),
            must_verify_clients: false,
        }
    }
}
