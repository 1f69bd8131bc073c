//! The main job, end to end: manifests in, files in a repository out.

mod changes;
mod controls;
mod crashes;
mod deletion;
mod laptop;
mod order;
mod placement;
mod settled;
mod stores;
mod upstream;

use tests::Stage;
use tests::manifests::Promise;
use tests::stage::promise_key;

/// A stage with the Promise installed and complete.
async fn installed(promise: &Promise) -> anyhow::Result<Stage> {
    let stage = Stage::start(1).await?;
    stage.apply_destinations().await?;
    stage.apply(&promise.manifest()).await?;
    stage.reconciled(&promise_key(&promise.name)).await?;
    Ok(stage)
}

/// Where a pipeline's default group stands, at Destination `dev`.
fn path(namespace: &str, name: &str, pipeline: &str) -> String {
    format!("dev/resources/{namespace}/things/{name}/{pipeline}/5058f/{pipeline}.yaml")
}

fn paths(namespace: &str, name: &str, pipelines: &[&str]) -> Vec<String> {
    let mut paths: Vec<String> = pipelines.iter().map(|pipeline| path(namespace, name, pipeline)).collect();
    paths.sort();
    paths
}
