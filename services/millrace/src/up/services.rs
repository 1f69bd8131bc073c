//! Every service as a task of its own; one that ends before it was asked to ends the whole.

use std::fmt::Display;
use std::future::Future;

use runtime::Platform;
use runtime::shutdown::Shutdown;
use runtime::telemetry::chain;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Options;
use crate::console::Console;
use crate::failure::Failure;
use crate::state::StateDir;
use crate::sync::{self, Sync};

/// Which service has ended, and how.
pub(super) type Ended = (&'static str, Result<(), String>);

pub(super) fn spawn(
    tasks: &mut JoinSet<Ended>,
    platform: &Platform,
    options: &Options,
    state: &StateDir,
    shutdown: &Shutdown,
) {
    let (platform, shutdown) = (|| platform.clone(), || shutdown.clone());
    start(tasks, "the inflater", inflater::run(platform(), shutdown()));
    start(tasks, "the scheduler", scheduler::run(platform(), shutdown()));
    let runner = job_runner::Options {
        slots: options.slots,
        images: options.images.clone(),
        state: state.locks(),
        isolation: options.isolation,
    };
    start(tasks, "the job-runner", job_runner::run(platform(), runner, shutdown()));
    let writer = state_store_writer::Options::in_directory(&state.cache());
    start(tasks, "the state-store-writer", state_store_writer::run(platform(), writer, shutdown()));
}

fn start<E: std::error::Error + Send + 'static>(
    tasks: &mut JoinSet<Ended>,
    name: &'static str,
    service: impl Future<Output = Result<(), E>> + Send + 'static,
) {
    tasks.spawn(async move { (name, service.await.map_err(|error| chain(&error))) });
}

pub(super) fn spawn_sync(
    tasks: &mut JoinSet<Ended>,
    platform: &Platform,
    options: &Options,
    state: &StateDir,
    console: &Console,
    standing: watch::Sender<sync::Standing>,
    shutdown: &Shutdown,
) {
    let sync = Sync {
        directories: options.directories.clone(),
        platform: platform.clone(),
        state: state.clone(),
        console: console.clone(),
    };
    let shutdown = shutdown.clone();
    start(tasks, "the directory sync", async move { sync.run(&standing, shutdown).await });
}

/// Returns when one has ended.
pub(super) async fn ended(tasks: &mut JoinSet<Ended>) -> Failure {
    let reason = |reason: &dyn Display| reason.to_string();
    match tasks.join_next().await {
        Some(Ok((service, Err(message)))) => Failure::Service { service, message },
        Some(Ok((service, Ok(())))) => Failure::Service { service, message: reason(&"nobody asked it to") },
        Some(Err(error)) => Failure::Service { service: "a service", message: reason(&error) },
        None => Failure::Service { service: "everything", message: reason(&"nothing was started") },
    }
}
