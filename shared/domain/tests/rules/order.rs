//! Rules 1, 3 and 4: one job per lane, in order, of the newest plan.

use domain::control::ControlLabel;
use domain::lane::{ControlRequest, JobOutcome, Outcome};

use crate::story::Story;

/// Rule 1, kratix-W4: one job at a time, the next only after the one before it has succeeded.
#[test]
fn pipelines_run_one_after_another() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    assert_eq!(cache.state(), "running 1/0/1");
    cache.succeeds();
    assert_eq!(cache.state(), "running 1/1/1");
    cache.succeeds();
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.started, ["run 1: one", "run 1: two"]);
}

/// kratix-W5: whatever else happens while a job runs, it stays the only one.
#[test]
fn a_running_job_is_the_only_one() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.touch();
    cache.announce();
    cache.gate_opens();
    cache.plan(2, &["one"]);
    cache.asks(ControlRequest::Retry);
    cache.asks(ControlRequest::Resume);
    assert_eq!(cache.started, ["run 1: one"]);
}

/// kratix-W1: without pipelines there is nothing to wait for.
#[test]
fn a_plan_without_pipelines_is_complete_at_once() {
    let mut cache = Story::request();
    cache.plan(1, &[]);
    cache.assert_settled();
    assert_eq!(cache.state(), "complete 1");
}

/// Rule 3, kratix-W12: 1 ends, 2 runs, an update arrives, 2 ends, the new 1 starts, the old 3 never runs.
#[test]
fn an_update_lets_the_running_pipeline_end_and_starts_anew() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two", "three"]);
    cache.succeeds();
    assert_eq!(cache.pipeline(), "two");

    cache.plan(2, &["one", "two", "three"]);
    assert_eq!(cache.state(), "running 1/1/1 +plan", "the job is left to end");
    cache.succeeds();
    assert_eq!(cache.state(), "running 2/0/1");

    cache.all_succeed();
    cache.written();
    cache.assert_settled();
    let all = ["run 1: one", "run 1: two", "run 2: one", "run 2: two", "run 2: three"];
    assert_eq!(cache.started, all);
}

/// Rule 3: the same if the job that was left to end fails.
#[test]
fn an_update_starts_after_a_failure_as_well() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.plan(2, &["one", "two"]);
    cache.fails();
    assert_eq!(cache.state(), "running 2/0/1");
}

/// Latest wins: what was overtaken while it waited never runs.
#[test]
fn only_the_newest_waiting_plan_runs() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    for spec in 2..=5 {
        cache.plan(spec, &[&format!("one-of-{spec}")]);
    }
    cache.succeeds();
    assert_eq!(cache.started, ["run 1: one", "run 2: one-of-5"]);
}

/// kratix-W10: a changed spec starts at pipeline 0.
#[test]
fn a_change_after_completion_runs_everything() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.all_succeed();
    cache.written();
    cache.plan(2, &["one", "two"]);
    assert_eq!(cache.state(), "running 2/0/1");
}

/// kratix-W11: back to a spec that ran before is a change like any other.
#[test]
fn back_and_forth_runs_each_time() {
    let mut cache = Story::request();
    for (run, spec) in (1..).zip([1, 2, 1]) {
        cache.plan(spec, &["one"]);
        assert_eq!(cache.state(), format!("running {run}/0/1"));
        cache.all_succeed();
        cache.written();
        cache.assert_settled();
    }
}

/// A change that is taken back before it could start costs nothing.
#[test]
fn a_change_that_is_taken_back_in_time_leaves_the_run_alone() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.plan(2, &["other"]);
    cache.plan(1, &["one", "two"]);
    cache.all_succeed();
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.started, ["run 1: one", "run 1: two"]);
}

/// The same change, taken back when the run had already been ended for it.
#[test]
fn a_change_that_is_taken_back_late_runs_everything() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.needs_promise(2);
    cache.plan(2, &["other"]);
    cache.succeeds();
    assert_eq!(cache.state(), "superseded 1 +plan gated");
    cache.needs_promise(1);
    cache.plan(1, &["one", "two"]);
    cache.all_succeed();
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.started, ["run 1: one", "run 2: one", "run 2: two"]);
}

/// Only work starts a run: labels, annotations and the object's status do not.
#[test]
fn the_same_work_starts_no_run() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.all_succeed();
    cache.written();
    assert_eq!(cache.touch(), Outcome::Applied);
    assert_eq!(cache.arrives(), Outcome::Duplicate);
    assert_eq!(cache.state(), "complete 1");
}

/// A plan made from older objects than another says nothing.
#[test]
fn an_older_plan_is_stale() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    let older = cache.arrival();
    cache.plan(2, &["two"]);
    assert_eq!(cache.step(older), Outcome::Stale);
    cache.succeeds();
    assert_eq!(cache.pipeline(), "two");
}

/// kratix-W7: a failure stops the run, and nothing is started by itself.
#[test]
fn a_failure_stays() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.fails();
    assert_eq!(cache.state(), "failed 1/0");
    assert_eq!(cache.waiting().as_deref(), Some("pipeline one has failed: exit code 1"));
    assert!(cache.waits_for().is_failure());
    cache.touch();
    cache.announce();
    cache.reported();
    assert_eq!(cache.state(), "failed 1/0");
    assert_eq!(cache.pending(), Vec::<String>::new());
}

/// kratix-W8: the manual label runs everything again.
#[test]
fn a_failure_is_run_again_by_label() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.succeeds();
    cache.fails();
    cache.label(ControlLabel::ManualReconciliation);
    assert_eq!(cache.state(), "running 2/0/1");
    cache.all_succeed();
    cache.written();
    cache.assert_settled();
}

/// A retry runs the failed pipeline alone, under a higher token of the same run.
#[test]
fn a_retry_goes_on_at_the_failed_pipeline() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.succeeds();
    cache.fails();
    assert_eq!(cache.asks(ControlRequest::Retry), Outcome::Applied);
    assert_eq!(cache.state(), "running 1/1/2");
    cache.all_succeed();
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["one@dev", "two@dev"]);
}

/// Rule 3 for a retry: what is no longer the newest plan is not gone on with.
#[test]
fn a_failure_of_an_overtaken_plan_is_not_retried() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.fails();
    cache.needs_promise(2);
    cache.plan(2, &["one"]);
    assert_eq!(cache.asks(ControlRequest::Retry), Outcome::Stale);
    assert_eq!(cache.state(), "failed 1/0 +plan gated");
}

/// Rule 4, kratix-W6: the job is cancelled; everything starts again only when it has ended.
#[test]
fn a_manual_reconciliation_waits_for_the_cancelled_job() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.succeeds();
    cache.label(ControlLabel::ManualReconciliation);
    assert_eq!(cache.state(), "running 1/1/1 cancel=restart again");
    assert!(cache.pending().contains(&"cancel 1/1/1".into()));
    cache.cancelled();
    assert_eq!(cache.state(), "running 2/0/1");
}

/// Rule 4: the same when the job ends in another way before it hears of it.
#[test]
fn any_end_of_the_cancelled_job_will_do() {
    for end in [
        JobOutcome::Succeeded { groups: Vec::new(), contributed: None, log: None },
        JobOutcome::Failed { message: "killed".into(), log: None },
        JobOutcome::Suspended { message: String::new(), retry_after: None, contributed: None, log: None },
    ] {
        let mut cache = Story::request();
        cache.plan(1, &["one", "two"]);
        cache.label(ControlLabel::ManualReconciliation);
        let job = cache.current();
        cache.ends(job, end);
        assert_eq!(cache.state(), "running 2/0/1");
        assert_eq!(cache.started, ["run 1: one", "run 2: one"]);
    }
}

/// kratix-W13: an update and the manual label together; the job is cancelled, and one new run starts.
#[test]
fn an_update_with_the_manual_label_cancels_the_job() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.label(ControlLabel::ManualReconciliation);
    cache.plan(2, &["one"]);
    assert_eq!(cache.state(), "running 1/0/1 cancel=restart +plan again");
    cache.cancelled();
    cache.all_succeed();
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.started, ["run 1: one", "run 2: one"]);
}

/// kratix-W14: run-from-start lets the job end, then starts at 0, and the label goes.
#[test]
fn run_from_start_lets_the_job_end() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.label(ControlLabel::RunFromStart);
    assert_eq!(cache.state(), "running 1/0/1 again");
    assert!(cache.pending().contains(&"clear run-from-start".into()));
    cache.succeeds();
    assert_eq!(cache.state(), "running 2/0/1");
}

/// Nobody asked for it: a cancelled job is run again under the next attempt.
#[test]
fn a_job_that_was_cancelled_from_outside_runs_again() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.cancelled();
    assert_eq!(cache.state(), "running 1/0/2");
}

/// An abort ends the job and keeps the lane still until the next change.
#[test]
fn an_abort_lasts_until_the_next_change() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    assert_eq!(cache.asks(ControlRequest::Abort), Outcome::Applied);
    let job = cache.current();
    let end = JobOutcome::Succeeded { groups: Vec::new(), contributed: None, log: None };
    cache.ends(job, end);
    assert_eq!(cache.state(), "aborted 1");
    assert_eq!(cache.waiting().as_deref(), Some("aborted"));
    cache.touch();
    assert_eq!(cache.state(), "aborted 1");
    cache.plan(2, &["one"]);
    assert_eq!(cache.state(), "running 2/0/1");
}

/// An abort also takes back a run that was asked for, until one is asked for again.
#[test]
fn an_abort_takes_back_what_was_asked() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.label(ControlLabel::RunFromStart);
    cache.asks(ControlRequest::Abort);
    cache.cancelled();
    assert_eq!(cache.state(), "aborted 1");
    cache.asks(ControlRequest::Restart);
    assert_eq!(cache.state(), "running 2/0/1");
}

/// INV-4: a result counts once, and only the outstanding job's.
#[test]
fn a_late_result_changes_nothing() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    let first = cache.current();
    cache.succeeds();
    let end = JobOutcome::Failed { message: "late".into(), log: None };
    assert_eq!(cache.ends(first.clone(), end.clone()), Outcome::Duplicate);
    let mut other = first;
    other.incarnation = 6;
    assert_eq!(cache.ends(other.clone(), end.clone()), Outcome::Stale, "of a lost stream");
    other.incarnation = 7;
    other.token.run = 5;
    assert_eq!(cache.ends(other, end), Outcome::Stale, "of a run that never was");
}

/// A sink that has seen a higher token is answered with one above it: run numbers never go back.
#[test]
fn a_refused_run_goes_on_above() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.succeeds();
    let mut highest = cache.current().token;
    highest.run = 41;
    cache.refused(highest);
    assert_eq!(cache.state(), "running 42/1/2");
    cache.all_succeed();
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["one@dev", "two@dev"]);
}

/// A number that no lane can have reached is not believed: the counter could never come down from it.
#[test]
fn an_incredible_refusal_fails_the_run() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    let mut highest = cache.current().token;
    highest.run = u64::MAX;
    cache.refused(highest);
    assert_eq!(cache.state(), "failed 1/0");
    cache.asks(ControlRequest::Retry);
    assert_eq!(cache.state(), "running 1/0/2");
}

/// A field that this version does not act on holds the lane, and nothing says that it is done.
#[test]
fn what_is_not_supported_does_not_run() {
    let mut cache = Story::request();
    cache.unsupported(&["spec.dryRun"]);
    cache.plan(1, &["one"]);
    assert_eq!(cache.state(), "no run +plan unsupported");
    assert_eq!(cache.waiting().as_deref(), Some("not acted on by this version: spec.dryRun"));
    cache.unsupported(&[]);
    cache.plan(2, &["one"]);
    cache.all_succeed();
    cache.written();
    cache.assert_settled();
}

/// The same field, found while a run is on: the run ends early, and is begun anew when it is supported.
#[test]
fn what_is_no_longer_supported_does_not_go_on() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.unsupported(&["spec.dryRun"]);
    cache.touch();
    cache.succeeds();
    assert_eq!(cache.state(), "superseded 1 unsupported");
    assert!(!cache.lane.is_settled());
    cache.unsupported(&[]);
    cache.touch();
    assert_eq!(cache.state(), "running 2/0/1");
}
