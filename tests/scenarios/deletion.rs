//! Deletion: delete pipelines in order, then the files, then the object.

use anyhow::Result;
use domain::id::{ObjectKey, ResourceKind};
use tests::Stage;
use tests::manifests::{Promise, gated, noted, pipeline, thing};
use tests::stage::{condition, promise_key};

use crate::{installed, paths};

/// kratix-D2, kratix-D3: both delete pipelines, in order, while the files are still there; then files and object go.
#[tokio::test]
async fn both_delete_pipelines_run_before_the_files_go() -> Result<()> {
    let delete = vec![noted("first"), gated("second")];
    let stage = installed(&Promise { delete, ..Promise::with([noted("one")]) }).await?;
    stage.signals.gate("second")?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    stage.reconciled(&request).await?;
    stage.delete(&request).await?;
    for line in ["start team-a/cache one", "end team-a/cache one", "start team-a/cache first"] {
        stage.signals.expect(line)?;
    }
    stage.signals.expect("end team-a/cache first")?;
    stage.signals.expect("start team-a/cache second")?;
    assert_eq!(
        stage.repository.files()?,
        paths("team-a", "cache", &["one"]),
        "what delete pipelines leave is discarded"
    );
    let object = stage.until(&request, "deleting", |object| {
        condition(object, "DeleteWorkflowCompleted").is_some_and(|condition| condition["status"] == "False")
    });
    let pipelines = object.await?.status().unwrap()["kratix"]["workflows"]["pipelines"].clone();
    let names: Vec<_> =
        pipelines.as_array().unwrap().iter().map(|pipeline| pipeline["name"].clone()).collect();
    assert_eq!(names, ["first", "second"]);
    stage.signals.open("second")?;
    stage.gone(&request).await?;
    assert_eq!(stage.repository.files()?, Vec::<String>::new());
    Ok(())
}

/// kratix-D1: without delete pipelines the files go at once.
#[tokio::test]
async fn without_delete_pipelines_the_files_go_at_once() -> Result<()> {
    let stage = installed(&Promise::with([noted("one")])).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    stage.reconciled(&request).await?;
    stage.delete(&request).await?;
    stage.gone(&request).await?;
    assert_eq!(stage.repository.files()?, Vec::<String>::new());
    // A new one of the name starts anew, above all run numbers that were used.
    stage.apply(&thing("team-a", "cache", 1)).await?;
    stage.reconciled(&request).await?;
    assert!(stage.record(&request).await?.run_counter > 2);
    Ok(())
}

/// kratix-D8: a delete waits for the running configure job.
#[tokio::test]
async fn a_delete_waits_for_the_running_configure_job() -> Result<()> {
    let stage = Stage::start(1).await?;
    stage.signals.gate("one")?;
    stage.apply_destinations().await?;
    let promise = Promise { delete: vec![noted("cleanup")], ..Promise::with([gated("one"), noted("two")]) };
    stage.apply(&promise.manifest()).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    stage.signals.expect("start team-a/cache one")?;
    stage.delete(&request).await?;
    stage.until_lane(&request, "told of the deletion", tests::lane_deleting).await?;
    stage.signals.open("one")?;
    for line in ["end team-a/cache one", "start team-a/cache cleanup", "end team-a/cache cleanup"] {
        stage.signals.expect(line)?;
    }
    stage.gone(&request).await?;
    assert_eq!(stage.repository.files()?, Vec::<String>::new());
    Ok(())
}

/// A failed delete pipeline keeps object and files, is shown, and can be run again.
#[tokio::test]
async fn a_failed_delete_pipeline_keeps_everything_and_can_be_retried() -> Result<()> {
    let delete = vec![pipeline("cleanup", "test -e /kratix-scripts/ready")];
    let stage = installed(&Promise { delete, ..Promise::with([noted("one")]) }).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    stage.reconciled(&request).await?;
    stage.delete(&request).await?;
    let object = stage.until(&request, "failed to delete", |object| {
        condition(object, "DeleteWorkflowCompleted")
            .is_some_and(|found| found["reason"] == "DeleteWorkflowFailed")
    });
    object.await?;
    assert_eq!(stage.repository.files()?, paths("team-a", "cache", &["one"]));
    std::fs::write(stage.signals.directory().join("ready"), "")?;
    stage.label(&request, "kratix.io/manual-reconciliation", Some("true")).await?;
    stage.gone(&request).await?;
    assert_eq!(stage.repository.files()?, Vec::<String>::new());
    Ok(())
}

/// Two requests of one name in two namespaces never touch each other.
#[tokio::test]
async fn requests_of_one_name_do_not_touch_each_other() -> Result<()> {
    let stage =
        installed(&Promise { delete: vec![noted("cleanup")], ..Promise::with([noted("one")]) }).await?;
    let ours = stage.apply(&thing("team-a", "cache", 1)).await?;
    let theirs = stage.apply(&thing("team-b", "cache", 1)).await?;
    stage.reconciled(&ours).await?;
    let before = stage.reconciled(&theirs).await?;
    stage.delete(&ours).await?;
    stage.gone(&ours).await?;
    assert_eq!(stage.repository.files()?, paths("team-b", "cache", &["one"]));
    let after = stage.platform.objects.get(&theirs).await?.unwrap();
    assert_eq!(before.metadata.resource_version, after.metadata.resource_version, "untouched");
    assert_eq!(stage.record(&theirs).await?.run_counter, 1);
    Ok(())
}

/// A Promise's delete pipelines, then its requests, then its own files, its API, and itself.
#[tokio::test]
async fn a_promise_goes_with_its_requests_and_its_api() -> Result<()> {
    let promise = Promise {
        promise: vec![noted("setup")],
        promise_delete: vec![noted("teardown")],
        delete: vec![noted("cleanup")],
        ..Promise::with([noted("one")])
    };
    let stage = installed(&promise).await?;
    let mut requests = Vec::new();
    for namespace in ["team-a", "team-b"] {
        requests.push(stage.apply(&thing(namespace, "cache", 1)).await?);
    }
    for request in &requests {
        stage.reconciled(request).await?;
    }
    let crds = ResourceKind::new("customresourcedefinitions", "apiextensions.k8s.io");
    let crd = ObjectKey::new(crds, None, "things.test.millrace.dev");
    assert!(stage.platform.objects.get(&crd).await?.is_some(), "the API is installed");
    let before = stage.signals.all().len();
    stage.delete(&promise_key("things")).await?;
    stage.gone(&promise_key("things")).await?;
    let said = stage.signals.all().split_off(before);
    assert_eq!(said[..2], ["start /things teardown", "end /things teardown"]);
    assert_eq!(
        said.iter().filter(|line| line.starts_with("end team-") && line.ends_with("cleanup")).count(),
        2
    );
    for request in &requests {
        assert!(stage.platform.objects.get(request).await?.is_none());
    }
    assert!(stage.platform.objects.get(&crd).await?.is_none(), "the API is removed");
    assert_eq!(stage.repository.files()?, Vec::<String>::new());
    Ok(())
}
