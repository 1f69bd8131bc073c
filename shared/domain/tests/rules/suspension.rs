//! Rule 10: a suspended pipeline frees its worker; a timer or a person resumes it.

use domain::control::ControlLabel;
use domain::lane::{ControlRequest, Outcome, Waiting};

use crate::story::Story;

fn suspended(seconds: Option<u64>) -> Story {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two", "three"]);
    cache.succeeds();
    cache.written();
    cache.suspends(seconds);
    cache
}

/// Rule 2: a suspended pipeline wants nothing; what was placed before stays.
#[test]
fn it_wants_nothing() {
    let cache = suspended(None);
    assert_eq!(cache.state(), "suspended 1/1");
    assert_eq!(cache.files(), ["one@dev"]);
    assert!(cache.lane.footprint.is_confirmed());
    let message = "waits for approval".into();
    let expected = Waiting::Suspended { pipeline: "two".into(), message, retry_at: None };
    assert_eq!(cache.waits_for(), expected);
}

/// kratix-W15: the label is put on, and its removal resumes at the suspended pipeline.
#[test]
fn the_label_taken_off_resumes_at_the_pipeline() {
    let mut cache = suspended(None);
    assert!(cache.lane.is_suspended(), "the object is to carry the label");
    cache.label(ControlLabel::WorkflowSuspended);
    assert_eq!(cache.state(), "suspended 1/1");
    assert!(!cache.pending().contains(&"clear workflow-suspended".into()));
    cache.unlabel(ControlLabel::WorkflowSuspended);
    assert_eq!(cache.state(), "running 1/1/2");
    cache.all_succeed();
    cache.written();
    cache.assert_settled();
}

/// The timer resumes when it is due, not before, and takes the label off.
#[test]
fn a_timer_resumes_at_the_pipeline() {
    let mut cache = suspended(Some(60));
    cache.label(ControlLabel::WorkflowSuspended);
    assert!(cache.pending().contains(&"arm resume 1/1 at 60s".into()));
    cache.passes(59);
    assert_eq!(cache.timers_fire(), []);
    cache.passes(1);
    assert_eq!(cache.timers_fire(), [Outcome::Applied]);
    assert_eq!(cache.state(), "running 1/1/2");
    assert!(cache.pending().contains(&"clear workflow-suspended".into()));
}

/// A person resumes by command.
#[test]
fn a_person_resumes() {
    let mut cache = suspended(Some(3600));
    assert_eq!(cache.asks(ControlRequest::Resume), Outcome::Applied);
    assert_eq!(cache.state(), "running 1/1/2");
    assert_eq!(cache.asks(ControlRequest::Resume), Outcome::Stale);
}

/// It may ask again and again.
#[test]
fn it_may_be_suspended_again() {
    let mut cache = suspended(Some(1));
    for attempt in 2..5 {
        cache.passes(1);
        cache.timers_fire();
        assert_eq!(cache.state(), format!("running 1/1/{attempt}"));
        cache.suspends(Some(1));
    }
}

/// A changed spec starts at pipeline 0, and the old run is not resumed.
#[test]
fn a_change_starts_anew() {
    let mut cache = suspended(Some(60));
    cache.label(ControlLabel::WorkflowSuspended);
    cache.plan(2, &["one"]);
    assert_eq!(cache.state(), "running 2/0/1");
    assert!(cache.pending().contains(&"clear workflow-suspended".into()));
}

/// The label goes together with a change of the spec: the new plan runs, not the old pipeline.
#[test]
fn a_change_without_the_label_starts_anew() {
    let mut cache = suspended(None);
    cache.label(ControlLabel::WorkflowSuspended);
    cache.take_off(ControlLabel::WorkflowSuspended);
    cache.plan(2, &["other"]);
    assert_eq!(cache.started.last().map(String::as_str), Some("run 2: other"));
}

/// Rule 3: while a newer plan waits behind a gate, neither timer nor person resumes the old run.
#[test]
fn an_overtaken_run_is_not_resumed() {
    let mut cache = suspended(Some(60));
    cache.needs_promise(2);
    cache.plan(2, &["one"]);
    cache.passes(60);
    assert_eq!(cache.timers_fire(), [], "its timer is not even armed");
    assert_eq!(cache.asks(ControlRequest::Resume), Outcome::Stale);
    assert_eq!(cache.state(), "suspended 1/1 until 60s +plan gated");
    cache.needs_promise(1);
    cache.plan(1, &["one", "two", "three"]);
    assert_eq!(cache.timers_fire(), [Outcome::Applied], "taken back, the run goes on");
    assert_eq!(cache.state(), "running 1/1/2");
}

/// kratix-C10: a pause stops the timer too; taken back, everything runs from its start.
#[test]
fn a_pause_holds_it() {
    let mut cache = suspended(Some(60));
    cache.label(ControlLabel::Paused);
    cache.passes(60);
    assert_eq!(cache.timers_fire(), []);
    assert_eq!(cache.waits_for(), Waiting::Paused);
    cache.unlabel(ControlLabel::Paused);
    assert_eq!(cache.state(), "running 2/0/1");
}

/// kratix-D5, kratix-D6: a delete pipeline may be suspended as well; the object stays until it has succeeded.
#[test]
fn a_delete_may_be_suspended() {
    let mut cache = suspended(None);
    cache.delete(&["gone"]);
    cache.suspends(Some(5));
    assert_eq!(cache.state(), "delete suspended 2/0 until 5s");
    assert_eq!(cache.files(), ["one@dev"]);
    cache.passes(5);
    cache.timers_fire();
    assert_eq!(cache.state(), "delete running 2/0/2");
    cache.succeeds();
    cache.written();
    assert_eq!(cache.pending(), ["release"]);
}

/// An abort ends the waiting too.
#[test]
fn an_abort_ends_it() {
    let mut cache = suspended(Some(60));
    cache.asks(ControlRequest::Abort);
    assert_eq!(cache.state(), "aborted 1");
    cache.passes(60);
    assert_eq!(cache.timers_fire(), []);
}
