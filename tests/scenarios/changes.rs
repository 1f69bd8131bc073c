//! What a change of the Promise or the request leads to: exactly the files that the newest workflow produces.

use anyhow::Result;
use serde_json::{Value, json};
use tests::Stage;
use tests::manifests::{Promise, gated, noted, pipeline, thing};
use tests::stage::{condition, promise_key};

use crate::{installed, path, paths};

/// Applies the Promise with other pipelines and waits until it and the request follow.
async fn change(stage: &Stage, request: &domain::id::ObjectKey, configure: Vec<Value>) -> Result<()> {
    let before = stage.record(request).await?.run_counter;
    stage.apply(&Promise::with(configure).manifest()).await?;
    stage
        .until_lane(request, "run again and settled", |lane| lane.run_counter > before && lane.is_settled())
        .await?;
    Ok(())
}

/// kratix-W10, kratix-W18: N -> N+1 -> N-1 -> renamed -> 0; each time the repository holds what is produced, no more.
#[tokio::test]
async fn workflows_grow_shrink_and_are_renamed() -> Result<()> {
    let stage = installed(&Promise::with(["one", "two"].map(noted))).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    stage.reconciled(&request).await?;
    for pipelines in [&["one", "two", "three"][..], &["one", "three"], &["renamed", "three"], &[], &["one"]] {
        change(&stage, &request, pipelines.iter().map(|name| noted(name)).collect()).await?;
        assert_eq!(stage.repository.files()?, paths("team-a", "cache", pipelines), "{pipelines:?}");
    }
    Ok(())
}

/// kratix-S4, kratix-S5: a named directory has a group of its own; when it vanishes, its files do.
#[tokio::test]
async fn a_directory_with_selectors_appears_and_vanishes() -> Result<()> {
    let with = pipeline(
        "one",
        "out one.yaml 1; out extra/file.yaml 2; selectors '[{directory: extra, matchLabels: {environment: prod}}]'",
    );
    let stage = installed(&Promise::with([with])).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    stage.reconciled(&request).await?;
    let files = stage.repository.files()?;
    assert_eq!(files.len(), 2);
    assert_eq!(files[0], path("team-a", "cache", "one"));
    assert!(files[1].starts_with("prod/resources/team-a/things/cache/one/"), "{files:?}");
    assert!(files[1].ends_with("/extra/file.yaml"), "{files:?}");
    change(&stage, &request, vec![pipeline("one", "out one.yaml 1")]).await?;
    assert_eq!(stage.repository.files()?, paths("team-a", "cache", &["one"]));
    Ok(())
}

/// The run's own selector moves: the files are at the new Destination first, then leave the old one.
#[tokio::test]
async fn a_selector_that_moves_takes_the_files_with_it() -> Result<()> {
    let stage = installed(&Promise::with([noted("one")])).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    stage.reconciled(&request).await?;
    let selectors = json!([{"matchLabels": {"environment": "prod"}}]);
    stage.apply(&Promise { selectors, ..Promise::with([noted("one")]) }.manifest()).await?;
    stage.until_lane(&request, "moved", |lane| lane.run_counter == 2 && lane.is_settled()).await?;
    assert_eq!(stage.repository.files()?, [path("team-a", "cache", "one").replacen("dev", "prod", 1)]);
    Ok(())
}

/// kratix-W12: an update while pipeline 2 of 3 runs. 2 ends, 3 never runs, 1 of the new run starts.
#[tokio::test]
async fn an_update_lets_the_running_pipeline_end_and_starts_over() -> Result<()> {
    let stage = Stage::start(1).await?;
    stage.signals.gate("two")?;
    stage.apply_destinations().await?;
    stage.apply(&Promise::with([noted("one"), gated("two"), noted("three")]).manifest()).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    for line in ["start team-a/cache one", "end team-a/cache one", "start team-a/cache two"] {
        stage.signals.expect(line)?;
    }
    stage.apply(&thing("team-a", "cache", 2)).await?;
    stage
        .until_lane(&request, "told of the update", |lane| lane.newest_plan().unwrap().generation == 2)
        .await?;
    stage.signals.open("two")?;
    for line in
        ["end team-a/cache two", "start team-a/cache one", "end team-a/cache one", "start team-a/cache two"]
    {
        stage.signals.expect(line)?;
    }
    stage.signals.open("two")?;
    stage.reconciled(&request).await?;
    for line in ["end team-a/cache two", "start team-a/cache three", "end team-a/cache three"] {
        stage.signals.expect(line)?;
    }
    assert_eq!(stage.repository.files()?, paths("team-a", "cache", &["one", "two", "three"]));
    Ok(())
}

/// kratix-W11: back and forth, each time everything runs again.
#[tokio::test]
async fn a_spec_that_goes_back_and_forth_runs_each_time() -> Result<()> {
    let stage = installed(&Promise::with([noted("one")])).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    for (size, run) in [(1, 1), (2, 2), (1, 3)] {
        stage.apply(&thing("team-a", "cache", size)).await?;
        stage.until_lane(&request, "settled", |lane| lane.run_counter == run && lane.is_settled()).await?;
    }
    // The same once more is no change.
    stage.apply(&thing("team-a", "cache", 1)).await?;
    assert_eq!(stage.record(&request).await?.run_counter, 3);
    Ok(())
}

/// A Promise's change runs the Promise's workflow first, then all its requests.
#[tokio::test]
async fn a_promise_change_reaches_all_requests_after_its_own_workflow() -> Result<()> {
    let promise = |note: &str| Promise {
        promise: vec![noted("setup")],
        note: note.into(),
        ..Promise::with([noted("one")])
    };
    let stage = installed(&promise("first")).await?;
    let mut requests = Vec::new();
    for name in ["a", "b", "c"] {
        requests.push(stage.apply(&thing("team-a", name, 1)).await?);
    }
    for request in &requests {
        stage.reconciled(request).await?;
    }
    let before = stage.signals.all().len();
    stage.apply(&promise("second").manifest()).await?;
    for request in &requests {
        stage.until_lane(request, "run again", |lane| lane.run_counter == 2 && lane.is_settled()).await?;
    }
    let said = stage.signals.all().split_off(before);
    assert_eq!(said[..2], ["start /things setup", "end /things setup"]);
    assert_eq!(said.iter().filter(|line| line.starts_with("end team-a/")).count(), 3, "{said:?}");
    assert_eq!(stage.record(&promise_key("things")).await?.run_counter, 2);
    Ok(())
}

/// kratix-W7: a failing pipeline is shown with its reason, prunes nothing, and is retried after the change.
#[tokio::test]
async fn a_failing_pipeline_prunes_nothing_and_runs_after_the_change() -> Result<()> {
    let stage = installed(&Promise::with(["one", "two"].map(noted))).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    stage.reconciled(&request).await?;
    let broken = Promise::with([noted("renamed"), pipeline("two", "echo no >&2; exit 3"), noted("never")]);
    stage.apply(&broken.manifest()).await?;
    let object = stage
        .until(&request, "failed", |object| {
            condition(object, "Reconciled").is_some_and(|condition| condition["status"] == "False")
        })
        .await?;
    let completed = condition(&object, "ConfigureWorkflowCompleted").unwrap();
    assert_eq!(completed["reason"], "ConfigureWorkflowFailed");
    assert_eq!(
        completed["message"],
        "A Configure Pipeline has failed: two: container only ended with exit code 3"
    );
    let phases: Vec<_> = object.status().unwrap()["kratix"]["workflows"]["pipelines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pipeline| pipeline["phase"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(phases, ["Succeeded", "Failed", "Pending"]);
    stage.until_lane(&request, "written", |lane| lane.footprint.is_written()).await?;
    assert_eq!(stage.repository.files()?, paths("team-a", "cache", &["one", "two", "renamed"]));
    change(&stage, &request, vec![noted("renamed"), noted("two")]).await?;
    assert_eq!(stage.repository.files()?, paths("team-a", "cache", &["renamed", "two"]));
    Ok(())
}

/// An output that must not be: the run fails with the path named, and nothing of it is written.
#[tokio::test]
async fn a_forbidden_output_fails_the_run_with_the_path() -> Result<()> {
    for (script, named) in [
        ("out one.yaml 1; ln -s /etc/passwd /kratix/output/link", "link"),
        ("out one.yaml 1; out .git/config x", ".git"),
        ("out one.yaml 1; mkfifo /kratix/output/queue", "queue"),
    ] {
        let stage = installed(&Promise::with([pipeline("one", script)])).await?;
        let request = stage.apply(&thing("team-a", "cache", 1)).await?;
        let object = stage
            .until(&request, "failed", |object| {
                condition(object, "Reconciled").is_some_and(|condition| condition["status"] == "False")
            })
            .await?;
        let message = condition(&object, "ConfigureWorkflowCompleted").unwrap()["message"].to_string();
        assert!(message.contains(named), "{message}");
        assert_eq!(stage.repository.files()?, Vec::<String>::new());
    }
    Ok(())
}
