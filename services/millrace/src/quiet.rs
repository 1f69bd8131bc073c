//! When a system is quiet: every object's newest spec is in PLAN, every PLAN is in its record, and nothing is under way.
//!
//! Looking is not atomic, so the streams' last sequences are read before and after; only a look during which nothing
//! was published counts. The last thing to happen is often an acknowledgement, which nobody can subscribe to:
//! therefore a short recheck while something drains, and one a second in any case, besides the one at every change.

mod changes;
pub(crate) mod judge;
mod probe;

pub(crate) use judge::{Standing, Verdict, View};
pub(crate) use probe::Probe;

use std::convert::Infallible;
use std::time::Duration;

use runtime::Platform;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::failure::Failure;
use crate::sync;
use changes::Changes;

/// While messages are being acknowledged.
const DRAINING: Duration = Duration::from_millis(20);
/// In any case.
const FLOOR: Duration = Duration::from_secs(1);

/// Opens as soon as the bus answers. `failed` gets every attempt that it did not.
pub(crate) async fn open(platform: &Platform, mut failed: impl FnMut(&Failure)) -> Probe {
    loop {
        match Probe::open(platform).await {
            Ok(probe) => return probe,
            Err(failure) => failed(&failure),
        }
        tokio::time::sleep(FLOOR).await;
    }
}

/// Looks again and again, and returns once the system is quiet. `seen` gets every look, also those that failed; all
/// but the last few hold lanes only, since the rest does not matter as long as one of them is at work.
pub(crate) async fn reached(
    probe: &Probe,
    sync: &mut watch::Receiver<sync::Standing>,
    mut seen: impl FnMut(Result<(&View, &Standing), &Failure>),
) -> (View, Verdict) {
    let mut changes = Changes::default();
    loop {
        let began = Instant::now();
        let synced = sync.borrow_and_update().clone();
        let looked = look(probe, &mut changes, &synced).await;
        seen(looked.as_ref().map(|(view, standing)| (view, standing)));
        let pause = match looked {
            Ok((view, Standing::Quiet(verdict))) if sync.has_changed().is_ok_and(|changed| !changed) => {
                return (view, verdict);
            }
            Ok((_, Standing::Quiet(_) | Standing::Draining(_))) => DRAINING,
            Ok((_, Standing::Busy(_))) | Err(_) => FLOOR,
        };
        // A large system takes long to look at; most of the time is to be left to it.
        tokio::time::sleep(DRAINING.max(began.elapsed() * 2)).await;
        tokio::select! {
            () = changes.next() => {}
            _ = sync.changed() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

async fn look(
    probe: &Probe,
    changes: &mut Changes,
    synced: &sync::Standing,
) -> Result<(View, Standing), Failure> {
    changes.catch_up(|| probe.changes()).await?;
    let view = probe.lanes().await?;
    if let Some(reason) = judge::at_work(&view, probe.now()) {
        return Ok((view, Standing::Busy(reason)));
    }
    let view = probe.look().await?;
    let standing = judge::judge(&view, synced, probe.now());
    Ok((view, standing))
}

/// Looks at once and after every change, for ever. `seen` gets every look, also those that failed.
pub(crate) async fn follow(probe: &Probe, mut seen: impl FnMut(Result<&View, &Failure>)) -> Infallible {
    let mut changes = Changes::default();
    loop {
        let began = Instant::now();
        let looked = look_at_lanes(probe, &mut changes).await;
        seen(looked.as_ref());
        let cost = began.elapsed() * 2;
        match looked {
            Ok(_) => changes.next().await,
            Err(_) => tokio::time::sleep(FLOOR).await,
        }
        // The look comes after the pause: it sees what changed meanwhile, and the last change of all.
        tokio::time::sleep(DRAINING.max(cost)).await;
    }
}

async fn look_at_lanes(probe: &Probe, changes: &mut Changes) -> Result<View, Failure> {
    changes.catch_up(|| probe.changes()).await?;
    probe.lanes().await
}
