//! The server of the configuration: how to connect, and what is known of it.

use crate::store::{LinkConfig, LinkCredentials, ServerSummary};
use crate::sys::nats::{ConnectOptions, Credentials, Nats};

/// How to connect.
pub(super) fn options(config: &LinkConfig) -> ConnectOptions {
    let credentials = match &config.credentials {
        LinkCredentials::None => Credentials::None,
        LinkCredentials::Creds(path) => Credentials::CredsFile(path.clone()),
        LinkCredentials::User(path) => Credentials::UserFile(path.clone()),
    };
    ConnectOptions {
        credentials,
        ca_file: config.ca.clone(),
        client_cert: config.client_certificate.clone(),
        must_use_tls: config.address.requires_tls(),
        replicas: usize::from(config.replicas),
        ..ConnectOptions::new(config.address.servers(), config.address.mesh(), config.machine.as_str())
    }
}

/// What is known of it.
pub(super) fn summary(nats: &Nats) -> ServerSummary {
    let facts = nats.server_facts();
    ServerSummary {
        name: facts.name,
        version: facts.version,
        api_level: facts.api_level,
        cluster: facts.cluster,
        is_encrypted: facts.tls,
        round_trip_micros: u64::try_from(facts.round_trip.as_micros()).unwrap_or(u64::MAX),
        clock_offset_millis: facts
            .clock_offset
            .map(|offset| offset.as_millis().try_into().unwrap_or(i64::MAX)),
    }
}
