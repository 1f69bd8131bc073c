//! Whatever ends a job, no process of it is left.

use std::time::Duration;

use job_runner::process::{self, Outcome};
use rustix::process::Signal;
use tokio::sync::watch;

use crate::harness::{Host, outcome, run, token};

/// Processes that left their session, their parent, or both. All hold the line.
const DETACHED: &str =
    "for i in 1 2 3 4 5 6 7 8 9 10; do setsid sleep 1000 & (setsid sleep 1000 & (sleep 1000 &) &); done";

#[tokio::test]
async fn leftovers_are_gone_when_the_command_ends() {
    let host = Host::new();
    let running = tokio::spawn(outcome(host.waiting_job(DETACHED), 1));
    let mut call = host.call().await;
    call.answer().await;
    assert_eq!(running.await.unwrap(), Outcome::Succeeded);
    call.all_gone().await;
}

#[tokio::test]
async fn cancelling_kills_all() {
    let host = Host::new();
    let (cancel, cancelled) = watch::channel(false);
    let running = tokio::spawn(process::run(host.waiting_job(DETACHED), token(1), cancelled));
    let call = host.call().await;
    cancel.send(true).unwrap();
    let report = running.await.unwrap().unwrap().report;
    assert_eq!(report.outcome, Outcome::Cancelled);
    assert_eq!((report.containers[0].exit_code, report.containers[0].signal), (None, None));
    call.all_gone().await;
}

#[tokio::test]
async fn a_job_cancelled_before_it_starts_is_cancelled() {
    let host = Host::new();
    let (_cancel, cancelled) = watch::channel(true);
    let report = process::run(host.job("sleep 1000"), token(1), cancelled).await.unwrap().report;
    assert_eq!(report.outcome, Outcome::Cancelled);
}

#[tokio::test]
async fn nobody_left_to_cancel_is_no_cancel() {
    let host = Host::new();
    let (cancel, cancelled) = watch::channel(false);
    let running = tokio::spawn(process::run(host.waiting_job(""), token(1), cancelled));
    let mut call = host.call().await;
    drop(cancel);
    call.answer().await;
    assert_eq!(running.await.unwrap().unwrap().report.outcome, Outcome::Succeeded);
}

#[tokio::test]
async fn dropping_the_future_kills_all() {
    let host = Host::new();
    let running = tokio::spawn(run(host.waiting_job(DETACHED), 1));
    let call = host.call().await;
    running.abort();
    call.all_gone().await;
}

#[tokio::test]
async fn the_wall_limit_kills_all_and_keeps_the_log() {
    let host = Host::new();
    let mut job = host.waiting_job(&format!("echo before; {DETACHED}"));
    job.limits.wall = Duration::from_secs(3);
    let running = tokio::spawn(run(job, 1));
    let call = host.call().await;
    let report = running.await.unwrap().unwrap().report;
    assert_eq!(report.outcome, Outcome::TimedOut);
    assert_eq!(report.containers[0].stdout, "before\n");
    call.all_gone().await;
}

#[tokio::test]
async fn a_killed_runner_takes_its_job_along_and_frees_the_lane() {
    let host = Host::new();
    let runner = host.runner();
    let call = host.call().await;
    runner.signal(Signal::KILL);
    assert_eq!(outcome(host.job("true"), 1).await, Outcome::Succeeded);
    call.all_gone().await;
    assert_eq!(runner.said().await, "");
}

#[tokio::test]
async fn a_stopped_runner_loses_its_job_and_the_lane() {
    let host = Host::new();
    let runner = host.runner();
    let call = host.call().await;
    runner.signal(Signal::STOP);
    // The same token: it waits for the lock and asks for nothing.
    assert_eq!(outcome(host.job("true"), 1).await, Outcome::Succeeded);
    call.all_gone().await;
    runner.signal(Signal::CONT);
    assert_eq!(runner.said().await, "RunnerSilent");
}

#[tokio::test]
async fn a_killed_supervisor_takes_its_job_along_and_frees_the_lane() {
    let host = Host::new();
    let runner = host.runner();
    let call = host.call().await;
    runner.signal_supervisor(Signal::KILL);
    assert_eq!(outcome(host.job("true"), 1).await, Outcome::Succeeded);
    call.all_gone().await;
    let said = runner.said().await;
    assert!(said.contains("redis.default.example") && said.contains("without a report"), "{said}");
}

#[tokio::test]
async fn a_supervisor_that_cannot_be_started_is_an_error() {
    let host = Host::new();
    let mut job = host.job("true");
    job.supervisor = "/does/not/exist".into();
    let error = run(job.clone(), 1).await.unwrap_err().to_string();
    assert!(error.contains("redis.default.example") && error.contains("/does/not/exist"), "{error}");
    job.supervisor = "/bin/true".into();
    let error = run(job, 1).await.unwrap_err().to_string();
    assert!(error.contains("without a report"), "{error}");
}
