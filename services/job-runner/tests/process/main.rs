//! The process runner, as root or as whoever runs the tests.
#![allow(clippy::unwrap_used, clippy::unwrap_in_result, clippy::panic, reason = "helpers of tests are tests")]

mod commands;
mod endings;
mod harness;
mod lanes;
mod plain;
mod sandbox;
mod user;
