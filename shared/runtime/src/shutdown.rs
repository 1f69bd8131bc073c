//! Ending in order: stop pulling, hand back what is held, within the grace period.

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// How long a service may take to end.
pub const GRACE: Duration = Duration::from_secs(10);

/// A cheap handle; every copy sees the same request.
#[derive(Clone, Debug)]
pub struct Shutdown {
    requested: watch::Receiver<bool>,
}

/// Asks for the shutdown. Dropping it asks too.
#[derive(Debug)]
pub struct Trigger(watch::Sender<bool>);

impl Shutdown {
    pub fn new() -> (Trigger, Self) {
        let (sender, requested) = watch::channel(false);
        (Trigger(sender), Self { requested })
    }

    /// On SIGTERM and SIGINT; a second signal ends the process at once.
    pub fn on_signals() -> std::io::Result<Self> {
        let (trigger, shutdown) = Self::new();
        let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        tokio::spawn(async move {
            let mut code = 143;
            for round in 0..2 {
                tokio::select! {
                    _ = term.recv() => {}
                    _ = int.recv() => code = 130,
                }
                if round == 0 {
                    trigger.request();
                }
            }
            std::process::exit(code);
        });
        Ok(shutdown)
    }

    pub fn is_requested(&self) -> bool {
        *self.requested.borrow()
    }

    /// Returns once it was asked for.
    pub async fn requested(&mut self) {
        // An error means that the trigger was dropped, which asks too.
        let _ = self.requested.wait_for(|requested| *requested).await;
    }
}

impl Trigger {
    pub fn request(&self) {
        self.0.send_replace(true);
    }
}
