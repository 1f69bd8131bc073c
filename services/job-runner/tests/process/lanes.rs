//! One job per lane and host, and never an older one after a newer one.

use std::fs;
use std::time::Duration;

use job_runner::process::{self, FenceToken, Outcome};
use tokio::sync::watch;

use crate::harness::{Host, outcome, run, token};

#[tokio::test]
async fn an_older_token_is_refused_and_runs_nothing() {
    let host = Host::new();
    assert_eq!(outcome(host.job("true"), 2).await, Outcome::Succeeded);
    let finished = run(host.job("true"), 1).await.unwrap();
    assert_eq!(finished.report.outcome, Outcome::Fenced { highest: token(2) });
    assert!(
        finished.report.containers.is_empty() && finished.output.is_none() && finished.metadata.is_none()
    );
    assert_eq!(outcome(host.job("true"), 2).await, Outcome::Succeeded, "the same again is a redelivery");
    let attempts =
        [(2, Outcome::Succeeded), (1, Outcome::Fenced { highest: FenceToken { attempt: 2, ..token(2) } })];
    for (attempt, expected) in attempts {
        let token = FenceToken { attempt, ..token(2) };
        let report = process::run(host.job("true"), token, watch::channel(false).1).await.unwrap().report;
        assert_eq!(report.outcome, expected);
    }
    assert_eq!(outcome(host.job("true"), 3).await, Outcome::Succeeded);
}

#[tokio::test]
async fn another_lane_is_another_fence() {
    let host = Host::new();
    assert_eq!(outcome(host.job("true"), 2).await, Outcome::Succeeded);
    let mut other = host.job("true");
    other.lock = host.path("redis.default.other");
    assert_eq!(outcome(other, 1).await, Outcome::Succeeded);
}

#[tokio::test]
async fn a_redelivery_waits_for_the_lane() {
    let host = Host::new();
    let first = tokio::spawn(outcome(host.waiting_job(""), 1));
    let mut call = host.call().await;
    let mut impatient = host.job("true");
    impatient.limits.lock_wait = Duration::from_millis(50);
    assert_eq!(outcome(impatient, 1).await, Outcome::LaneBusy);
    let (cancel, cancelled) = watch::channel(false);
    let waiting = tokio::spawn(process::run(host.job("true"), token(1), cancelled));
    cancel.send(true).unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().report.outcome, Outcome::Cancelled);
    let second = tokio::spawn(outcome(host.waiting_job(""), 1));
    call.answer().await;
    assert_eq!(first.await.unwrap(), Outcome::Succeeded);
    host.call().await.answer().await;
    assert_eq!(second.await.unwrap(), Outcome::Succeeded);
}

#[tokio::test]
async fn a_newer_job_ends_an_older_one_and_then_runs() {
    let host = Host::new();
    let older = tokio::spawn(outcome(host.waiting_job("setsid sleep 1000 &"), 1));
    let call = host.call().await;
    let newer = tokio::spawn(outcome(host.job("true"), 2));
    assert_eq!(older.await.unwrap(), Outcome::Superseded { by: token(2) });
    call.all_gone().await;
    assert_eq!(newer.await.unwrap(), Outcome::Succeeded);
}

#[tokio::test]
async fn an_older_job_does_not_disturb_a_newer_one() {
    let host = Host::new();
    let newer = tokio::spawn(outcome(host.waiting_job(""), 2));
    let mut call = host.call().await;
    assert_eq!(outcome(host.job("true"), 1).await, Outcome::Fenced { highest: token(2) });
    call.answer().await;
    assert_eq!(newer.await.unwrap(), Outcome::Succeeded);
}

#[tokio::test]
async fn a_lock_file_that_cannot_be_used_is_named() {
    let host = Host::new();
    let mut job = host.job("true");
    job.lock = host.path("missing/lane");
    fs::write(host.path("broken"), "not a token").unwrap();
    for (lock, expected) in [("missing/lane", "No such file"), ("broken", "not a token")] {
        job.lock = host.path(lock);
        let Outcome::Refused(why) = outcome(job.clone(), 1).await else { panic!("not refused") };
        assert!(why.contains(lock) && why.contains(expected), "{why}");
    }
}
