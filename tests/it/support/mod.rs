//! What the tests share: environments, shells, captured hook calls and clients. None of these files has a test.

pub mod chance;
pub mod environment;
pub mod hook_call;
pub mod hook_fixture;
pub mod mcp_client;
pub mod running;
pub mod skip;
pub mod terminal;
