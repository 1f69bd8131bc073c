//! Millrace's program: the command line, and all services in one process.
//!
//! | owns | does not own |
//! |---|---|
//! | commands, the state directory, the NATS server of an `up`, directory sync, when a system is quiet, output | admission (`inflater`), everything that happens to an object after it |
//!
//! Reading order: [`cli`], [`commands`], [`session`], [`state`], [`nats_child`], [`sync`], [`quiet`].

mod admission;
mod cli;
mod commands;
mod complaint;
mod console;
mod deleted;
mod events;
mod exit;
mod failure;
mod kinds;
mod manifests;
pub mod nats_child;
mod output;
mod progress;
mod quiet;
mod session;
mod state;
mod summary;
mod sync;
mod targets;
mod up;

pub use cli::run as main;
