//! The repository: what is not ours stays, failures are shown, a store that comes back is caught up with.

use anyhow::Result;
use domain::id::{ObjectKey, ResourceKind};
use serde_json::json;
use tests::Stage;
use tests::manifests::{Promise, destination, noted, store, thing};
use tests::stage::condition;
use tests::{Repository, lane_settled};

use crate::{installed, path};

/// Files and commits of others are kept, whatever we write and delete.
#[tokio::test]
async fn what_others_commit_is_kept() -> Result<()> {
    let stage = installed(&Promise::with([noted("one")])).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    stage.reconciled(&request).await?;
    stage.repository.commit_as_other(stage.directory.path(), "dev/resources/team-a/README.md", "ours\n")?;
    let theirs = stage.repository.tip()?;
    stage.delete(&request).await?;
    stage.gone(&request).await?;
    assert_eq!(stage.repository.files()?, ["dev/resources/team-a/README.md"]);
    stage.repository.git(&["merge-base", "--is-ancestor", &theirs, "main"])?;
    Ok(())
}

/// kratix-F8, kratix-F9: a run that changes nothing makes no commit, and the revision stays.
#[tokio::test]
async fn a_run_that_changes_nothing_makes_no_commit() -> Result<()> {
    let stage = installed(&Promise::with([noted("one")])).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    let before = stage.reconciled(&request).await?;
    let commits = stage.repository.commits()?;
    stage.label(&request, "kratix.io/manual-reconciliation", Some("true")).await?;
    stage.until_lane(&request, "run again", |lane| lane.run_counter == 2 && lane.is_settled()).await?;
    assert_eq!(stage.repository.commits()?, commits);
    let after = stage.reconciled(&request).await?;
    let placements = |object: &resources::Object| object.status().unwrap()["millrace"]["placements"].clone();
    assert_eq!(placements(&before), placements(&after));
    Ok(())
}

/// kratix-F9: a store that refuses is named in the conditions of request and Destination; another goes on.
#[tokio::test]
async fn a_failing_store_is_shown_and_holds_up_nobody_else() -> Result<()> {
    let stage = Stage::start(1).await?;
    let broken = Repository(stage.directory.path().join("broken"));
    std::fs::write(&broken.0, "a file, no repository")?;
    stage.apply(&store("broken", &broken)).await?;
    stage.apply(&destination("bad", "broken", &json!({"environment": "bad"}))).await?;
    stage.apply_destinations().await?;
    stage.apply(&Promise::with([noted("one")]).manifest()).await?;
    let good = stage.apply(&thing("team-a", "good", 1)).await?;
    stage.reconciled(&good).await?;

    let selectors = json!([{"matchLabels": {"environment": "bad"}}]);
    let mut other = Promise { name: "others".into(), selectors, ..Promise::with([noted("one")]) }.manifest();
    other["spec"]["api"] = serde_json::from_str(
        &other["spec"]["api"].to_string().replace("thing", "other").replace("Thing", "Other"),
    )?;
    stage.apply(&other).await?;
    let mut request = thing("team-a", "bad", 1);
    request["apiVersion"] = "test.millrace.dev/v1".into();
    request["kind"] = "Other".into();
    let bad = stage.apply(&request).await?;
    let object = stage.until(&bad, "failing", |object| {
        condition(object, "Reconciled").is_some_and(|found| found["reason"] == "WorksFailing")
    });
    let object = object.await?;
    assert!(condition(&object, "WorksSucceeded").unwrap()["message"].as_str().unwrap().contains("broken"));
    let key = ObjectKey::new(ResourceKind::new("destinations", "platform.kratix.io"), None, "bad");
    let ready = stage.until(&key, "not ready", |object| {
        condition(object, "Ready").is_some_and(|found| found["reason"] == "StateStoreWriteFailed")
    });
    ready.await?;
    // It is mended: the write is tried again by itself.
    std::fs::remove_file(&broken.0)?;
    stage.until_lane(&bad, "settled", lane_settled).await?;
    let written = path("team-a", "bad", "one").replacen("dev", "bad", 1).replace("things", "others");
    assert_eq!(broken.files()?, [written]);
    // So is the canary, and then the Destination is ready.
    let ready = stage.until(&key, "ready", |object| {
        condition(object, "Ready").is_some_and(|found| found["status"] == "True")
    });
    ready.await?;
    assert!(broken.git(&["ls-tree", "-r", "--name-only", "main"])?.contains("kratix-canary-namespace.yaml"));
    Ok(())
}
