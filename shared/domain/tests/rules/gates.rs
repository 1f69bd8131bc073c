//! Rule 7: a lane waits for what its plan needs of others.

use domain::lane::Outcome;
use domain::plan::Gate;

use crate::story::{Story, lane_key};

/// A request waits, with a reason, until its Promise is complete.
#[test]
fn a_request_waits_for_its_promise() {
    let mut cache = Story::request();
    cache.needs_promise(1);
    cache.plan(1, &["one"]);
    assert_eq!(cache.state(), "no run +plan gated");
    cache.gate_closes("Promise redis is not complete");
    assert_eq!(cache.waiting().as_deref(), Some("Promise redis is not complete"));
    assert_eq!(cache.gate_closes("Promise redis is not complete"), Outcome::Duplicate);
    cache.gate_opens();
    assert_eq!(cache.state(), "running 1/0/1");
}

/// The gate is of the plan that waits: a newer plan with another gate has to be looked at anew.
#[test]
fn a_newer_plan_has_its_own_gate() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.needs_promise(1);
    cache.plan(2, &["one"]);
    let old = cache.lane.awaited_gates().to_vec();
    cache.gate_opens();
    cache.needs_promise(2);
    cache.plan(3, &["one"]);
    assert_eq!(cache.state(), "running 1/0/1 +plan gated");
    let late =
        domain::lane::Input::GateChanged { gates: old, closed: None, selector: crate::story::labels(&[]) };
    assert_eq!(cache.step(late), Outcome::Stale);
    cache.succeeds();
    assert_eq!(cache.state(), "superseded 1 +plan gated");
    cache.gate_opens();
    assert_eq!(cache.state(), "running 2/0/1");
}

/// Open while the job of the old run runs, closed again before it ends.
#[test]
fn a_gate_may_close_again() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.needs_promise(1);
    cache.plan(2, &["one"]);
    cache.gate_opens();
    cache.gate_closes("Promise redis is being updated");
    cache.succeeds();
    assert_eq!(cache.state(), "superseded 1 +plan gated");
}

/// A gate in front of nothing is not known here.
#[test]
fn a_gate_without_a_plan_is_stale() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    assert_eq!(cache.gate_opens(), Outcome::Stale);
}

/// A deletion needs nobody.
#[test]
fn a_delete_passes_the_gate() {
    let mut cache = Story::request();
    cache.needs_promise(1);
    cache.plan(1, &["one"]);
    cache.delete(&["gone"]);
    assert_eq!(cache.state(), "delete running 1/0/1");
    cache.fails();
    cache.delete_of(1, &["repaired"]);
    assert_eq!(cache.gate_closes("nothing is behind it"), Outcome::Stale);
}

/// What the gate asks: complete for this work, not for any.
#[test]
fn a_promise_is_complete_for_its_newest_work() {
    let mut redis = Story::promise();
    redis.plan(1, &["setup"]);
    let plan = redis.plan_of(1, domain::plan::WorkflowAction::Configure, &["setup"]);
    redis.succeeds();
    assert!(!redis.lane.has_completed(&plan.work_hash), "the store has not answered");
    redis.written();
    assert!(redis.lane.has_completed(&plan.work_hash));
    assert!(redis.pending().contains(&"wake dependents".into()));
    redis.plan(2, &["setup"]);
    assert!(!redis.lane.has_completed(&plan.work_hash));
}

/// A required Promise is a gate like another.
#[test]
fn a_promise_waits_for_its_requirements() {
    let mut redis = Story::promise();
    let mut plan = redis.plan_of(1, domain::plan::WorkflowAction::Configure, &["setup"]);
    let needed = lane_key("promises_platform_kratix_io._.cert-manager");
    plan.gates = vec![Gate::PromiseInstalled { promise: needed.clone(), version: Some("v1".into()) }];
    let arrival = domain::lane::PlanArrival {
        plan,
        sources: Vec::new(),
        controls: domain::control::Controls::default(),
        unsupported: Vec::new(),
    };
    redis.step(domain::lane::Input::PlanArrived(arrival));
    assert_eq!(redis.lane.awaited_gates()[0].promise(), &needed);
    assert_eq!(redis.state(), "no run +plan gated");
    redis.gate_opens();
    assert_eq!(redis.state(), "running 1/0/1");
}
