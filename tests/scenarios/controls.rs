//! Control labels.

use anyhow::Result;
use tests::Stage;
use tests::manifests::{Promise, gated, noted, pipeline, thing};
use tests::stage::condition;

use crate::installed;

const MANUAL: &str = "kratix.io/manual-reconciliation";
const FROM_START: &str = "internal.workflows.kratix.io/run-from-start";

/// kratix-W6, kratix-W13: manual reconciliation cancels the running job, then everything runs from pipeline 0.
#[tokio::test]
async fn manual_reconciliation_cancels_and_starts_over() -> Result<()> {
    let stage = Stage::start(1).await?;
    stage.signals.gate("two")?;
    stage.apply_destinations().await?;
    stage.apply(&Promise::with([noted("one"), gated("two")]).manifest()).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    for line in ["start team-a/cache one", "end team-a/cache one", "start team-a/cache two"] {
        stage.signals.expect(line)?;
    }
    stage.label(&request, MANUAL, Some("true")).await?;
    for line in ["start team-a/cache one", "end team-a/cache one", "start team-a/cache two"] {
        stage.signals.expect(line)?;
    }
    stage.signals.open("two")?;
    let object = stage.until(&request, "Reconciled without the label", |object| {
        tests::stage::is_reconciled(object, Some(1)) && object.label(MANUAL).is_none()
    });
    object.await?;
    assert_eq!(stage.record(&request).await?.run_counter, 2, "the label acts once");
    Ok(())
}

/// kratix-W14: run-from-start waits for the running job.
#[tokio::test]
async fn run_from_start_waits_for_the_running_job() -> Result<()> {
    let stage = Stage::start(1).await?;
    stage.signals.gate("one")?;
    stage.apply_destinations().await?;
    stage.apply(&Promise::with([gated("one"), noted("two")]).manifest()).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    stage.signals.expect("start team-a/cache one")?;
    stage.label(&request, FROM_START, Some("true")).await?;
    stage.until(&request, "without the label", |object| object.label(FROM_START).is_none()).await?;
    stage.signals.open("one")?;
    stage.signals.expect("end team-a/cache one")?;
    stage.signals.expect("start team-a/cache one")?;
    stage.signals.open("one")?;
    stage.until_lane(&request, "settled", tests::lane_settled).await?;
    assert_eq!(stage.record(&request).await?.run_counter, 2);
    Ok(())
}

/// kratix-W8: a failed run is started again by the label, and its status follows.
#[tokio::test]
async fn a_failed_run_is_started_again_by_the_label() -> Result<()> {
    // Fails as long as the file is not there.
    let stage =
        installed(&Promise::with([pipeline("one", "test -e /kratix-scripts/ready; out one.yaml 1")])).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    stage
        .until(&request, "failed", |object| {
            condition(object, "Reconciled").is_some_and(|condition| condition["status"] == "False")
        })
        .await?;
    std::fs::write(stage.signals.directory().join("ready"), "")?;
    stage.label(&request, MANUAL, Some("true")).await?;
    stage.reconciled(&request).await?;
    Ok(())
}

const SUSPENDED: &str = "kratix.io/workflow-suspended";

/// kratix-W15: a suspended pipeline shows its message and holds the label; taken off, that pipeline runs again.
#[tokio::test]
async fn a_suspended_pipeline_is_resumed_by_taking_the_label_off() -> Result<()> {
    let second = pipeline(
        "two",
        "say start; out two.yaml x; test -e /kratix-scripts/ready || \
         echo '{suspend: true, message: waiting for approval}' > /kratix/metadata/workflow-control.yaml",
    );
    let stage = installed(&Promise::with([noted("one"), second, noted("three")])).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    let object = stage.until(&request, "suspended", |object| {
        object.label(SUSPENDED) == Some("true")
            && condition(object, "Reconciled").is_some_and(|found| found["reason"] == "WorkflowSuspended")
    });
    let pipelines = object.await?.status().unwrap()["kratix"]["workflows"]["pipelines"].clone();
    assert_eq!(
        (&pipelines[1]["phase"], &pipelines[1]["message"]),
        (&"Suspended".into(), &"waiting for approval".into())
    );
    stage.until_lane(&request, "written", |lane| lane.footprint.is_written()).await?;
    assert_eq!(
        stage.repository.files()?,
        crate::paths("team-a", "cache", &["one"]),
        "a suspended pipeline wants nothing"
    );
    std::fs::write(stage.signals.directory().join("ready"), "")?;
    stage.label(&request, SUSPENDED, None).await?;
    stage.reconciled(&request).await?;
    let starts: Vec<String> =
        stage.signals.all().into_iter().filter(|line| line.starts_with("start")).collect();
    assert_eq!(starts, ["one", "two", "two", "three"].map(|name| format!("start team-a/cache {name}")));
    Ok(())
}

/// `retryAfter`: the same pipeline runs again by a timer, and the label goes by itself.
#[tokio::test]
async fn a_pipeline_that_asks_for_it_is_run_again_later() -> Result<()> {
    let once = pipeline(
        "one",
        "say start; out one.yaml x; grep -q 'tried:' /kratix/input/object.yaml || {
           status 'tried: once'; echo 'retryAfter: 1s' > /kratix/metadata/workflow-control.yaml; }",
    );
    let stage = installed(&Promise::with([once])).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    stage
        .until(&request, "Reconciled without the label", |object| {
            tests::stage::is_reconciled(object, Some(1)) && object.label(SUSPENDED).is_none()
        })
        .await?;
    assert_eq!(stage.signals.all(), ["start team-a/cache one", "start team-a/cache one"]);
    assert_eq!(stage.record(&request).await?.run_counter, 1, "the same run");
    Ok(())
}
