//! The sweep: what a lost message or a crash has left undone is found by reading everything once in a while.

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use crate::shutdown::Shutdown;
use crate::telemetry::chain;

/// Sweeps at once, then after each pause, until the shutdown. A sweep that fails is made up for by the next.
pub async fn until_shutdown<F, S, E>(pause: Duration, mut shutdown: Shutdown, sweep: F)
where
    F: Fn() -> S,
    S: Future<Output = Result<(), E>>,
    E: Error + 'static,
{
    while !shutdown.is_requested() {
        if let Err(error) = sweep().await {
            tracing::warn!(error = chain(&error), "the sweep goes on next time");
        }
        tokio::select! {
            () = shutdown.requested() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}
