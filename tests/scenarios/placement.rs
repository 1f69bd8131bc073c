//! Where outputs go.

use anyhow::Result;
use domain::id::{ObjectKey, ResourceKind};
use serde_json::json;
use tests::Stage;
use tests::manifests::{Promise, destination, noted, pipeline, thing};
use tests::stage::{condition, promise_key};

use crate::{installed, path};

fn destination_key(name: &str) -> ObjectKey {
    ObjectKey::new(ResourceKind::new("destinations", "platform.kratix.io"), None, name)
}

/// kratix-S1, kratix-S2: nothing matches, so the request waits and says so; the Destination appears, and it goes on.
#[tokio::test]
async fn a_request_waits_for_a_destination() -> Result<()> {
    let selectors = json!([{"matchLabels": {"environment": "qa"}}]);
    let stage = installed(&Promise { selectors, ..Promise::with([noted("one")]) }).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    let object = stage.until(&request, "unscheduled", |object| {
        condition(object, "WorksSucceeded").is_some_and(|found| {
            found["reason"] == "WorksPending"
                && found["message"].as_str().is_some_and(|m| m.contains("environment=qa"))
        })
    });
    object.await?;
    stage.apply(&destination("qa", "default", &json!({"environment": "qa"}))).await?;
    stage.reconciled(&request).await?;
    assert_eq!(stage.repository.files()?, [path("team-a", "cache", "one").replacen("dev", "qa", 1)]);
    Ok(())
}

/// kratix-S3, kratix-S6, kratix-S11: labels change, the placement stays, misplaced and still written; until it matches again.
#[tokio::test]
async fn a_destination_that_no_longer_matches_is_still_written() -> Result<()> {
    let stage = installed(&Promise::with([pipeline(
        "one",
        "out one.yaml \"$(grep size /kratix/input/object.yaml | tail -1)\"",
    )]))
    .await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    stage.reconciled(&request).await?;
    stage.label(&destination_key("dev"), "environment", Some("other")).await?;
    let misplaced = stage.until(&request, "misplaced", |object| {
        condition(object, "WorksSucceeded").is_some_and(|found| found["reason"] == "WorksMisplaced")
    });
    misplaced.await?;
    stage.apply(&thing("team-a", "cache", 2)).await?;
    stage.until_lane(&request, "settled", |lane| lane.run_counter == 2 && lane.is_settled()).await?;
    assert!(stage.repository.read(&path("team-a", "cache", "one"))?.contains("size: 2"));
    stage.label(&destination_key("dev"), "environment", Some("dev")).await?;
    let again = stage.until(&request, "well placed", |object| {
        condition(object, "WorksSucceeded").is_some_and(|found| found["status"] == "True")
    });
    again.await?;
    Ok(())
}

/// kratix-S8, kratix-S9: a Promise's documents go to all matching Destinations, also to one that comes later.
#[tokio::test]
async fn dependencies_go_to_every_destination() -> Result<()> {
    let promise = Promise { promise: vec![noted("setup")], selectors: json!([]), ..Promise::default() };
    let stage = installed(&promise).await?;
    let file = |destination: &str| format!("{destination}/dependencies/things/setup/5058f/setup.yaml");
    assert_eq!(stage.repository.files()?, ["dev", "prod"].map(file));
    stage.apply(&destination("qa", "default", &json!({}))).await?;
    let placed = |lane: &domain::lane::Lane| lane.is_settled() && lane.footprint.placements.len() == 3;
    stage.until_lane(&promise_key("things"), "placed at the third", placed).await?;
    assert_eq!(stage.repository.files()?, ["dev", "prod", "qa"].map(file));
    Ok(())
}

/// kratix-S7: the Promise's selector wins over its workflow's, and that over the request's own.
#[tokio::test]
async fn the_promise_wins_over_its_workflow_and_that_over_the_request() -> Result<()> {
    let setup = pipeline("setup", "selectors '[{matchLabels: {environment: prod, zone: b}}]'");
    let one =
        pipeline("one", "out one.yaml 1; selectors '[{matchLabels: {environment: qa, zone: c, tier: x}}]'");
    let promise = Promise { promise: vec![setup], ..Promise::with([one]) };
    let stage = Stage::start(1).await?;
    stage.apply_destinations().await?;
    for (name, zone) in [("b", "b"), ("c", "c")] {
        let labels = json!({"environment": "dev", "zone": zone, "tier": "x"});
        stage.apply(&destination(name, "default", &labels)).await?;
    }
    stage.apply(&promise.manifest()).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    stage.reconciled(&request).await?;
    assert_eq!(stage.repository.files()?, [path("team-a", "cache", "one").replacen("dev", "b", 1)]);
    Ok(())
}

/// A Destination's path changes: the files are at the new one, then leave the old one.
#[tokio::test]
async fn a_destination_that_moves_takes_the_files_with_it() -> Result<()> {
    let stage = installed(&Promise::with([noted("one")])).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    stage.reconciled(&request).await?;
    let mut moved = destination("dev", "default", &json!({"environment": "dev"}));
    moved["spec"]["path"] = "elsewhere/dev".into();
    stage.apply(&moved).await?;
    let placed = |lane: &domain::lane::Lane| {
        lane.is_settled()
            && lane.footprint.placements.iter().all(|p| p.place.prefix.starts_with("elsewhere/"))
    };
    stage.until_lane(&request, "moved", placed).await?;
    assert_eq!(stage.repository.files()?, [format!("elsewhere/{}", path("team-a", "cache", "one"))]);
    // The canary documents move too.
    let there = |object: &resources::Object| {
        let place = object.status().and_then(|status| status.pointer("/millrace/canary/prefix"));
        place.is_some_and(|prefix| prefix == "elsewhere/dev")
    };
    stage.until(&destination_key("dev"), "written at its new path", there).await?;
    let all = stage.repository.git(&["ls-tree", "-r", "--name-only", "main"])?;
    assert!(all.contains("elsewhere/dev/dependencies/kratix-canary-namespace.yaml"), "{all}");
    assert!(!all.lines().any(|path| path.starts_with("dev/")), "{all}");
    Ok(())
}

/// Objects without a lane say it too when something of theirs is not acted on, and no longer once it is mended.
#[tokio::test]
async fn data_that_is_not_acted_on_says_so() -> Result<()> {
    let stage = Stage::start(1).await?;
    stage.apply_destinations().await?;
    let mut flat = destination("flat", "default", &json!({}));
    flat["spec"]["filepath"] = json!({"mode": "none"});
    let flat = stage.apply(&flat).await?;
    let unsupported = stage.until(&flat, "not supported", |object| {
        condition(object, "Supported").is_some_and(|found| {
            found["status"] == "False" && found["message"].as_str().unwrap().contains("spec.filepath.mode")
        })
    });
    unsupported.await?;
    let bucket = json!({"apiVersion": "platform.kratix.io/v1alpha1", "kind": "BucketStateStore",
        "metadata": {"name": "minio"}, "spec": {"bucketName": "kratix", "endpoint": "localhost:9000"}});
    let bucket = stage.apply(&bucket).await?;
    stage.until(&bucket, "not supported", |object| condition(object, "Supported").is_some()).await?;
    Ok(())
}
