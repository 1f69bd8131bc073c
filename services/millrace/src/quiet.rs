//! When a system is quiet: every object's newest spec is in PLAN, every PLAN is in its record, and nothing is under way.
//!
//! Looking is not atomic, so the streams' last sequences are read before and after; only a look during which nothing
//! was published counts. The last thing to happen is often an acknowledgement, which nobody can subscribe to:
//! therefore a short recheck while something drains, and one a second in any case, besides the one at every change.

pub(crate) mod judge;
mod probe;

pub(crate) use judge::{Standing, Verdict, View};
pub(crate) use probe::Probe;

use std::time::Duration;

use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::failure::Failure;
use crate::sync;

/// While messages are being acknowledged.
const DRAINING: Duration = Duration::from_millis(20);
/// In any case.
const FLOOR: Duration = Duration::from_secs(1);

/// Looks again and again, and returns once the system is quiet. `seen` gets every look; all but the last few hold
/// lanes only, since the rest does not matter as long as one of them is at work.
pub(crate) async fn reached(
    probe: &Probe,
    sync: &mut watch::Receiver<sync::Standing>,
    mut seen: impl FnMut(&View, &Standing),
) -> Result<(View, Verdict), Failure> {
    let mut changes = probe.changes().await?;
    loop {
        let began = Instant::now();
        let synced = sync.borrow_and_update().clone();
        let mut view = probe.lanes().await?;
        let standing = if let Some(reason) = judge::at_work(&view, probe.now()) {
            Standing::Busy(reason)
        } else {
            view = probe.look().await?;
            judge::judge(&view, &synced, probe.now())
        };
        seen(&view, &standing);
        let pause = match standing {
            Standing::Quiet(verdict) if sync.has_changed().is_ok_and(|changed| !changed) => {
                return Ok((view, verdict));
            }
            Standing::Quiet(_) | Standing::Draining(_) => DRAINING,
            Standing::Busy(_) => FLOOR,
        };
        // A large system takes long to look at; most of the time is to be left to it.
        tokio::time::sleep(DRAINING.max(began.elapsed() * 2)).await;
        tokio::select! {
            _ = changes.next() => {}
            _ = sync.changed() => {}
            () = tokio::time::sleep(pause) => {}
        }
        drain(&mut changes);
    }
}

/// Looks at every change, for ever.
pub(crate) async fn follow<T>(probe: &Probe, mut seen: impl FnMut(&View)) -> Result<T, Failure> {
    let mut changes = probe.changes().await?;
    loop {
        let began = Instant::now();
        seen(&probe.lanes().await?);
        tokio::time::sleep(DRAINING.max(began.elapsed() * 2)).await;
        drain(&mut changes);
        changes.next().await;
    }
}

/// One look answers all changes before it.
fn drain(changes: &mut BoxStream<'static, ()>) {
    while let Some(Some(())) = changes.next().now_or_never() {}
}
