//! The state-store-writer: keep. Makes the files that lanes want true in their state stores.

mod batch;
pub mod canary;
pub mod commit_message;
mod service;
pub mod store;
mod wanted;

pub use service::{Error, Options, run};
