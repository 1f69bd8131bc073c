//! Pipelines strictly one after another per resource.

use std::collections::BTreeMap;

use anyhow::Result;
use messages::trace::TraceParent;
use tests::Stage;
use tests::manifests::{Promise, noted, pipeline, thing};
use tests::stage::{condition, promise_key};

use crate::{installed, path, paths};

/// kratix-W4: one job at a time, in order, then finished; the files of all pipelines are there. Two of each service.
#[tokio::test]
async fn pipelines_run_in_order() -> Result<()> {
    let stage = Stage::start(2).await?;
    stage.apply_destinations().await?;
    let promise =
        Promise { promise: vec![noted("setup")], ..Promise::with(["one", "two", "three"].map(noted)) };
    stage.apply(&promise.manifest()).await?;
    stage.reconciled(&promise_key("things")).await?;
    stage.signals.expect("start /things setup")?;
    stage.signals.expect("end /things setup")?;

    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    let object = stage.reconciled(&request).await?;
    for name in ["one", "two", "three"] {
        stage.signals.expect(&format!("start team-a/cache {name}"))?;
        stage.signals.expect(&format!("end team-a/cache {name}"))?;
    }
    let mut expected = paths("team-a", "cache", &["one", "two", "three"]);
    expected.insert(0, "dev/dependencies/things/setup/5058f/setup.yaml".into());
    assert_eq!(stage.repository.files()?, expected);
    assert_eq!(stage.repository.read(&path("team-a", "cache", "two"))?, "from team-a/cache\n");

    // kratix-F9: the conditions say so, and where everything stands.
    let status = object.status().unwrap();
    assert_eq!(condition(&object, "ConfigureWorkflowCompleted").unwrap()["message"], "Pipelines completed");
    assert_eq!(condition(&object, "WorksSucceeded").unwrap()["status"], "True");
    assert_eq!(status["message"], "Resource requested");
    assert_eq!((&status["workflows"], &status["workflowsSucceeded"]), (&3.into(), &3.into()));
    let placements = status["millrace"]["placements"].as_array().unwrap();
    assert_eq!(placements.len(), 3);
    assert!(
        placements
            .iter()
            .all(|placement| placement["destination"] == "dev" && placement["revision"].is_string())
    );
    Ok(())
}

/// Twelve requests at once, two of each service: within one resource nothing overlaps, and all complete.
#[tokio::test]
async fn requests_run_beside_each_other_and_never_two_jobs_of_one() -> Result<()> {
    let stage = Stage::start(2).await?;
    stage.apply_destinations().await?;
    stage.apply(&Promise::with(["one", "two"].map(noted)).manifest()).await?;
    let names: Vec<String> = (0..12).map(|n| format!("cache-{n}")).collect();
    let mut keys = Vec::new();
    for name in &names {
        keys.push(stage.apply(&thing("team-a", name, 1)).await?);
    }
    for key in &keys {
        stage.reconciled(key).await?;
    }
    let mut said: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in stage.signals.all() {
        let [word, who, pipeline] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        said.entry(who.to_owned()).or_default().push(format!("{word} {pipeline}"));
    }
    assert_eq!(said.len(), names.len());
    for (who, lines) in said {
        assert_eq!(lines, ["start one", "end one", "start two", "end two"], "{who}");
    }
    Ok(())
}

/// The status that pipeline n writes is in the input of n+1; keys are replaced, conditions merged by type.
#[tokio::test]
async fn status_is_the_channel_between_pipelines() -> Result<()> {
    let first = pipeline("first", "status 'stage: one'; status 'endpoint: {host: a, port: 1}'");
    let second = pipeline(
        "second",
        "grep -q 'stage: one' /kratix/input/object.yaml; cp /kratix/input/object.yaml /kratix/output/seen.yaml; \
         status 'stage: two'",
    );
    let stage = installed(&Promise::with([first, second])).await?;
    let request = stage.apply(&thing("team-a", "cache", 7)).await?;
    let object = stage.reconciled(&request).await?;
    let status = object.status().unwrap();
    assert_eq!(status["stage"], "two");
    assert_eq!(status["endpoint"]["port"], 1);
    let seen = stage.repository.read("dev/resources/team-a/things/cache/second/5058f/seen.yaml")?;
    let seen: serde_json::Value = serde_saphyr::from_str(&seen)?;
    assert_eq!(seen["spec"]["size"], 7);
    assert_eq!(seen["status"]["stage"], "one");
    assert_eq!(seen["metadata"]["name"], "cache");
    Ok(())
}

/// One trace from `apply` to the acknowledged write: every transition of the lane carries it, by whichever of the
/// four services it was caused; and the events are numbered without a gap.
#[tokio::test]
async fn one_trace_goes_through_every_hop() -> Result<()> {
    let stage = installed(&Promise::with(["one", "two"].map(noted))).await?;
    let trace: TraceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse()?;
    let request = stage.apply_traced(&thing("team-a", "cache", 1), trace).await?;
    stage
        .until_lane(&request, "at rest", |lane| tests::lane_settled(lane) && lane.pending().is_empty())
        .await?;
    let events = stage.events(&request).await?;
    let types: Vec<&str> = events.iter().map(|event| &*event["ce-type"]).collect();
    for wanted in ["run-started", "pipeline-succeeded", "run-completed"] {
        assert!(types.contains(&&*format!("dev.millrace.lane.{wanted}.v1")), "{types:?}");
    }
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["ce-sequence"], (number + 1).to_string(), "{types:?}");
        let hop: TraceParent = event["traceparent"].parse()?;
        assert_eq!(hop.trace, trace.trace, "{}", event["ce-type"]);
        assert_ne!(hop.span, trace.span);
    }
    Ok(())
}
