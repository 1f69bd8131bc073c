//! The state-store-writer: keep. Makes the files that lanes want true in their state stores.

pub mod canary;
pub mod commit_message;
mod batch;
mod service;
pub mod store;

pub use service::{Error, Options, run};
