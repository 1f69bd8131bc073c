//! The job-runner: do. Takes the jobs of lanes, runs each pipeline's containers, and says how they ended.

mod assemble;
mod cancels;
mod end;
mod expand;
pub mod images;
pub mod metadata;
pub mod outputs;
pub mod process;
mod service;

pub use service::{Error, Options, default_slots, run};
