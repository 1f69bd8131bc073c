//! Cancels as core messages: fast, may be lost; the record says the same at the next tick.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex};

use domain::id::LaneKey;
use domain::token::JobId;
use futures::StreamExt;
use messages::envelope;
use messages::job::JobCommand;
use messages::subject::{DEFAULT_POOL, cancels_of};
use runtime::shutdown::Shutdown;
use tokio::sync::watch;

type Running = Arc<Mutex<HashMap<LaneKey, (JobId, watch::Sender<bool>)>>>;

/// The jobs that this runner holds, and how to end each.
pub(crate) struct Cancels {
    running: Running,
}

/// A job's entry; goes with this.
pub(crate) struct Registered {
    running: Running,
    lane: LaneKey,
}

impl Cancels {
    pub(crate) async fn listen(
        client: &async_nats::Client,
        mut shutdown: Shutdown,
    ) -> Result<Self, async_nats::SubscribeError> {
        let mut messages = client.subscribe(cancels_of(DEFAULT_POOL)).await?;
        let running = Running::default();
        let jobs = running.clone();
        tokio::spawn(async move {
            loop {
                let message = tokio::select! {
                    () = shutdown.requested() => return,
                    message = messages.next() => message,
                };
                let Some(message) = message else { return };
                let header = |name: &str| message.headers.as_ref()?.get(name).map(|v| v.as_str().to_owned());
                match envelope::decode::<JobCommand>(header, &message.payload) {
                    Ok(received) => cancel(&jobs, &received.message),
                    Err(error) => tracing::warn!(%error, "a cancel that cannot be read"),
                }
            }
        });
        Ok(Self { running })
    }

    /// None when this runner still works on a job of the lane: the message came again although it was in hand.
    pub(crate) fn register(
        &self,
        lane: &LaneKey,
        job: &JobId,
        cancel: watch::Sender<bool>,
    ) -> Option<Registered> {
        let mut running = self.running.lock().ok()?;
        match running.entry(lane.clone()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(free) => {
                free.insert((job.clone(), cancel));
                Some(Registered { running: self.running.clone(), lane: lane.clone() })
            }
        }
    }
}

fn cancel(running: &Running, command: &JobCommand) {
    if let Ok(running) = running.lock()
        && let Some((_, cancel)) = running.get(&command.lane).filter(|(job, _)| *job == command.job)
    {
        cancel.send_replace(true);
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        if let Ok(mut running) = self.running.lock() {
            running.remove(&self.lane);
        }
    }
}
