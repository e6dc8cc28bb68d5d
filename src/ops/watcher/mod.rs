//! Watching the mesh: for one agent's mail, for a whole screen, for a client that subscribed.

pub mod awareness_watcher;
pub(super) mod changes;
pub(super) mod mesh_watcher;
pub mod screen_watcher;
