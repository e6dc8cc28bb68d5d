//! What the tests of linked machines share. None of these files has a test.

pub mod config_server;
pub mod files;
pub mod ground;
pub mod impostor;
pub mod jwt;
pub mod layout;
pub mod machine;
pub mod peer;
pub mod ports;
#[allow(dead_code, reason = "shared with the storm, which uses more of it")]
pub mod proxy;
pub mod server;
pub mod tls;
