//! Nothing happens where nothing has changed.

use anyhow::Result;
use tests::manifests::{Promise, noted, thing};
use tests::stage::promise_key;

use crate::installed;

/// Services that start anew find everything done: no commit, no transition, no status write for what is settled.
#[tokio::test]
async fn a_restart_of_everything_changes_nothing_that_is_settled() -> Result<()> {
    let mut stage =
        installed(&Promise { promise: vec![noted("setup")], ..Promise::with([noted("one")]) }).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    stage.reconciled(&request).await?;
    let told = |lane: &domain::lane::Lane| lane.pending().is_empty();
    let (promise, tip) = (promise_key("things"), stage.repository.tip()?);
    let mut before = Vec::new();
    for key in [&promise, &request] {
        let lane = stage.until_lane(key, "at rest", told).await?;
        let object = stage.platform.objects.get(key).await?.unwrap();
        before.push((lane.sequence, object.metadata.resource_version));
    }
    for process in &mut stage.processes {
        process.stop()?;
    }
    stage.processes.clear();
    for service in tests::stage::SERVICES {
        stage.start_service(service, 1)?;
    }
    // Their first sweeps are over when a new request has gone all the way.
    let other = stage.apply(&thing("team-b", "other", 1)).await?;
    stage.reconciled(&other).await?;
    for (key, (sequence, version)) in [&promise, &request].into_iter().zip(before) {
        assert_eq!(stage.record(key).await?.sequence, sequence, "{key}");
        let object = stage.platform.objects.get(key).await?.unwrap();
        assert_eq!(object.metadata.resource_version, version, "{key}");
    }
    let changed = stage.repository.git(&["diff", "--name-only", &tip, "main"])?;
    assert!(changed.lines().all(|path| path.contains("team-b/")), "{changed}");
    Ok(())
}
