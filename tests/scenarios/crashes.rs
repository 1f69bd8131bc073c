//! kill -9 of services: the run goes on, nothing is left over.

use anyhow::Result;
use tests::Stage;
use tests::manifests::{Promise, gated, noted, thing};

use crate::paths;

/// The runner dies while pipeline 2 of 3 runs: its tree is gone, another takes the same job, and all is as it should be.
#[tokio::test]
async fn a_runner_that_dies_is_replaced() -> Result<()> {
    let mut stage = Stage::start(1).await?;
    stage.signals.gate("two")?;
    stage.apply_destinations().await?;
    stage.apply(&Promise::with([noted("one"), gated("two"), noted("three")]).manifest()).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    for line in ["start team-a/cache one", "end team-a/cache one", "start team-a/cache two"] {
        stage.signals.expect(line)?;
    }
    let runner = stage.processes.iter_mut().find(|process| process.name() == "job-runner-0").unwrap();
    runner.kill()?;
    stage.start_service("job-runner", 1)?;
    stage.signals.expect("start team-a/cache two")?;
    stage.signals.open("two")?;
    stage.reconciled(&request).await?;
    let record = stage.record(&request).await?;
    assert_eq!((record.run_counter, record.highest_token().unwrap().pipeline), (1, 2));
    assert_eq!(stage.repository.files()?, paths("team-a", "cache", &["one", "two", "three"]));
    Ok(())
}

/// Every service is killed at some moment of a run and started again: it converges.
#[tokio::test]
async fn services_that_die_in_the_middle_are_caught_up_with() -> Result<()> {
    let mut stage = Stage::start(1).await?;
    stage.apply_destinations().await?;
    stage.apply(&Promise::with(["one", "two"].map(noted)).manifest()).await?;
    for (round, service) in tests::stage::SERVICES.iter().enumerate() {
        let request = stage.apply(&thing("team-a", &format!("cache-{round}"), 1)).await?;
        stage.signals.next()?;
        let position =
            stage.processes.iter().rposition(|process| process.name().starts_with(service)).unwrap();
        stage.processes[position].kill()?;
        stage.start_service(service, round + 1)?;
        stage.reconciled(&request).await?;
        while stage.signals.next()? != format!("end team-a/cache-{round} two") {}
    }
    let mut expected: Vec<String> =
        (0..4).flat_map(|round| paths("team-a", &format!("cache-{round}"), &["one", "two"])).collect();
    expected.sort();
    assert_eq!(stage.repository.files()?, expected);
    Ok(())
}

/// A job's message comes again while the job is in hand, as after a stall of the bus: it is not run a second time.
#[tokio::test]
async fn a_job_that_is_delivered_twice_runs_once() -> Result<()> {
    let stage = Stage::start(1).await?;
    stage.signals.gate("one")?;
    stage.apply_destinations().await?;
    stage.apply(&Promise::with([gated("one"), noted("two")]).manifest()).await?;
    let request = stage.apply(&thing("team-a", "cache", 1)).await?;
    stage.signals.expect("start team-a/cache one")?;
    stage.deliver_job_again(&request).await?;
    // Another slot has it in hand now, and gives it back: the first of its redeliveries shows that.
    let again = |log: &str| log.matches("job received").count() >= 3;
    stage.until_log("job-runner-0", "given back", again)?;
    stage.signals.open("one")?;
    stage.until_lane(&request, "settled", tests::lane_settled).await?;
    let expected =
        ["start one", "end one", "start two", "end two"].map(|line| line.replace(' ', " team-a/cache "));
    assert_eq!(stage.signals.all(), expected);
    Ok(())
}
