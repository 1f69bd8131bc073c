//! Pipelines strictly one after another per resource.

use anyhow::Result;
use tests::manifests::{Promise, noted, thing};
use tests::stage::promise_key;
use tests::Stage;

/// kratix-W4: one job at a time, in order, then finished; the files of all pipelines are there.
#[tokio::test]
async fn pipelines_run_in_order() -> Result<()> {
    let stage = Stage::start(1).await?;
    stage.apply_destinations().await?;
    stage.apply(&Promise::with(["one", "two", "three"].map(noted)).manifest()).await?;
    stage.reconciled(&promise_key("things")).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    let object = stage.reconciled(&request).await?;
    for name in ["one", "two", "three"] {
        stage.signals.expect(&format!("start team-a/cache {name}"))?;
        stage.signals.expect(&format!("end team-a/cache {name}"))?;
    }
    let file = |name: &str| format!("dev/resources/team-a/things/cache/{name}/5058f/{name}.yaml");
    assert_eq!(stage.repository.files()?, ["one", "three", "two"].map(file));
    eprintln!("{}", serde_json::to_string_pretty(&object.to_value())?);
    Ok(())
}
