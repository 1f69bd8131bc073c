//! Rule 4: control labels act once, when they appear, and the scheduler takes them off.

use domain::control::ControlLabel;
use domain::id::{ResourceVersion, Source, Uid};
use domain::lane::{ControlRequest, Input, Outcome};

use crate::story::{Story, lane_key};

/// The label is on the object until it is taken off; it has acted once.
#[test]
fn a_label_acts_once() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.all_succeed();
    cache.written();
    cache.label(ControlLabel::ManualReconciliation);
    assert_eq!(cache.state(), "running 2/0/1");
    cache.touch();
    cache.all_succeed();
    cache.touch();
    assert_eq!(cache.state(), "complete 2");
    let off = cache.take_off(ControlLabel::ManualReconciliation);
    cache.cleared(ControlLabel::ManualReconciliation, off);
    cache.arrives();
    assert_eq!(cache.state(), "complete 2");
    cache.label(ControlLabel::ManualReconciliation);
    assert_eq!(cache.state(), "running 3/0/1");
}

/// Two labels of which both are on at once ask for one run.
#[test]
fn two_labels_ask_for_one_run() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.all_succeed();
    cache.written();
    cache.label(ControlLabel::ManualReconciliation);
    cache.label(ControlLabel::RunFromStart);
    assert_eq!(cache.state(), "running 2/0/1 again");
    cache.all_succeed();
    cache.written();
    assert_eq!(cache.state(), "complete 3", "the second label appeared while the first one's run was on");
}

/// A version of the object from before the label was taken off does not act again.
#[test]
fn an_old_version_with_the_label_does_not_act_again() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.label(ControlLabel::RunFromStart);
    cache.all_succeed();
    let with_label = cache.arrival();
    let off = cache.take_off(ControlLabel::RunFromStart);
    cache.cleared(ControlLabel::RunFromStart, off);
    assert_eq!(cache.step(with_label), Outcome::Duplicate);
    assert_eq!(cache.state(), "writing 2");
}

/// The same for a plan that is new because of another object, and has read this one before the label was off.
#[test]
fn labels_of_an_old_version_are_not_read() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.label(ControlLabel::RunFromStart);
    cache.all_succeed();
    cache.written();
    let Input::PlanArrived(mut arrival) = cache.arrival() else { unreachable!() };
    let off = cache.take_off(ControlLabel::RunFromStart);
    cache.cleared(ControlLabel::RunFromStart, off);
    let promise = Source {
        key: lane_key("promises_platform_kratix_io._.redis").0,
        uid: Uid("promise".into()),
        resource_version: ResourceVersion(off.0 + 1),
    };
    arrival.sources.push(promise);
    assert_eq!(cache.step(Input::PlanArrived(arrival)), Outcome::Applied);
    assert_eq!(cache.state(), "complete 2");
}

/// Somebody puts the label on again before the lane heard that it was taken off.
#[test]
fn a_label_that_is_put_on_again_acts_again() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.label(ControlLabel::RunFromStart);
    cache.all_succeed();
    cache.written();
    assert_eq!(cache.state(), "complete 2");
    let off = cache.take_off(ControlLabel::RunFromStart);
    cache.label(ControlLabel::RunFromStart);
    assert_eq!(cache.state(), "complete 2", "as far as it knows, it is the same label");
    cache.cleared(ControlLabel::RunFromStart, off);
    assert_eq!(cache.state(), "running 3/0/1");
    assert!(cache.pending().contains(&"clear run-from-start".into()));
}

/// A label that comes without any other change of the object is seen.
#[test]
fn a_label_is_seen_when_only_the_labels_are_newer() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.all_succeed();
    cache.written();
    let Input::PlanArrived(mut arrival) = cache.arrival() else { unreachable!() };
    arrival.controls.resource_version.0 += 1;
    arrival.controls.labels.insert(ControlLabel::RunFromStart);
    let input = Input::PlanArrived(arrival);
    assert_eq!(cache.step(input.clone()), Outcome::Applied);
    assert_eq!(cache.state(), "running 2/0/1");
    assert_eq!(cache.step(input), Outcome::Duplicate);
}

/// kratix-C10: nothing starts while the label is there; then everything runs from its start.
#[test]
fn a_pause_holds_until_its_label_is_gone() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.label(ControlLabel::Paused);
    cache.succeeds();
    assert_eq!(cache.state(), "superseded 1 paused");
    assert_eq!(cache.waiting().as_deref(), Some("paused"));
    cache.plan(2, &["one", "two"]);
    assert_eq!(cache.state(), "superseded 1 +plan paused");
    cache.unlabel(ControlLabel::Paused);
    assert_eq!(cache.state(), "running 2/0/1");
}

/// kratix-C10: also what was done already.
#[test]
fn a_pause_taken_back_runs_a_complete_lane_again() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.all_succeed();
    cache.written();
    cache.label(ControlLabel::Paused);
    assert_eq!(cache.waiting().as_deref(), Some("paused"));
    cache.unlabel(ControlLabel::Paused);
    assert_eq!(cache.state(), "running 2/0/1");
}

/// A pause by command has no label; the next change of the object does not take it back.
#[test]
fn a_pause_by_command_is_not_taken_back_by_a_change() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.all_succeed();
    cache.written();
    cache.asks(ControlRequest::Pause);
    assert_eq!(cache.asks(ControlRequest::Pause), Outcome::Duplicate);
    cache.plan(2, &["one"]);
    assert_eq!(cache.state(), "complete 1 +plan paused");
    cache.asks(ControlRequest::Resume);
    assert_eq!(cache.state(), "running 2/0/1");
}

/// A pause by label that is taken back by command: the label has had its day.
#[test]
fn a_resume_takes_the_pause_label_off() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.label(ControlLabel::Paused);
    assert!(!cache.pending().contains(&"clear paused".into()));
    cache.asks(ControlRequest::Resume);
    assert!(cache.pending().contains(&"clear paused".into()));
    cache.touch();
    assert_eq!(cache.state(), "running 1/0/1 again");
}

/// A pause keeps neither a running job nor its writes from their end.
#[test]
fn a_pause_lets_writes_through() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.succeeds();
    cache.label(ControlLabel::Paused);
    cache.written();
    assert_eq!(cache.state(), "complete 1 paused");
}

/// `kratix.io/reconcile-resources` on a Promise: its requests are asked, it does nothing itself.
#[test]
fn a_promise_restarts_its_requests() {
    let mut redis = Story::promise();
    redis.plan(1, &["setup"]);
    redis.all_succeed();
    redis.written();
    redis.reported();
    redis.label(ControlLabel::ReconcileResources);
    assert_eq!(redis.state(), "complete 1");
    let expected =
        ["restart dependents", "clear reconcile-resources", "install API", "wake dependents", "report"];
    assert_eq!(redis.pending(), expected);
}

/// On a request the same label means nothing, as upstream.
#[test]
fn a_request_does_not_restart_anybody() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.label(ControlLabel::ReconcileResources);
    assert_eq!(cache.pending(), ["start 1/0/1", "report"]);
}

/// What is told to nobody is told once: at rest nothing is pending.
#[test]
fn a_settled_lane_has_nothing_pending() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.all_succeed();
    cache.written();
    assert_eq!(cache.pending(), ["report"]);
    let report = Input::Performed { sequence: cache.lane.sequence, resource_version: ResourceVersion(12) };
    assert_eq!(cache.step(report.clone()), Outcome::Applied);
    assert_eq!(cache.step(report), Outcome::Duplicate);
    assert_eq!(cache.pending(), Vec::<String>::new());
    assert!(cache.lane.is_resting());
}
