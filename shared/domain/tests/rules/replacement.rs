//! Rule 9: a new object under an old name.

use domain::control::ControlLabel;
use domain::digest::Digest;
use domain::lane::{Action, ControlRequest, JobOutcome, Outcome};

use crate::story::{Story, store};

/// The old object's job is cancelled first; run counter and footprint stay.
#[test]
fn the_old_job_ends_first() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.succeeds();
    cache.written();
    cache.recreated(2, &["three"]);
    assert_eq!(cache.state(), "running 1/1/1 cancel=replaced +plan");
    assert!(cache.lane.notice.as_deref().is_some_and(|notice| notice.contains("uid-1")));
    cache.cancelled();
    assert_eq!(cache.state(), "running 2/0/1");
    assert_eq!(cache.current().uid.0, "uid-2");
    cache.succeeds();
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["three@dev"]);
}

/// A job that ends well before it hears of it is taken for what it is; then the new object's run takes over.
#[test]
fn the_old_job_may_still_succeed() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.recreated(2, &["three"]);
    cache.succeeds();
    assert_eq!(cache.started, ["run 1: one", "run 2: three"]);
    cache.succeeds();
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["three@dev"]);
}

/// The same spec under a new uid is new work.
#[test]
fn the_same_spec_of_another_object_runs() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.all_succeed();
    cache.written();
    cache.recreated(1, &["one"]);
    assert_eq!(cache.state(), "running 2/0/1");
}

/// It comes while its predecessor is being deleted: that job ends, the delete is not finished, and it says so.
#[test]
fn a_replacement_ends_the_old_delete() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.all_succeed();
    cache.written();
    cache.delete(&["gone", "more"]);
    cache.recreated(2, &["one"]);
    assert_eq!(cache.state(), "delete running 2/0/1 cancel=replaced +plan");
    assert!(cache.lane.notice.is_some());
    cache.cancelled();
    cache.succeeds();
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["one@dev"]);
}

/// Its predecessor's delete pipelines had all run: there is nothing to tell.
#[test]
fn a_replacement_after_the_delete_pipelines_is_quiet() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.all_succeed();
    cache.written();
    cache.delete(&["gone"]);
    cache.succeeds();
    assert_eq!(cache.state(), "delete pruning 2");
    cache.recreated(2, &["one"]);
    assert_eq!(cache.lane.notice, None);
    assert_eq!(cache.released(), Outcome::Stale, "that was the old object's");
    cache.succeeds();
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["one@dev"]);
}

/// What pipelines contributed to the status goes to the next ones, in later runs too, but not to another object.
#[test]
fn the_contributed_status_is_the_objects_own() {
    let contributes = |cache: &mut Story, text: &str| {
        let contributed = Some(Digest::of(text.as_bytes()));
        let job = cache.current();
        cache.ends(job, JobOutcome::Succeeded { groups: Vec::new(), contributed, log: None });
    };
    let given = |cache: &Story| {
        cache.lane.pending().into_iter().find_map(|action| match action {
            Action::StartJob { contributed, .. } => contributed,
            _ => None,
        })
    };
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    assert_eq!(given(&cache), None);
    contributes(&mut cache, "connection");
    assert_eq!(given(&cache), Some(Digest::of(b"connection")));
    cache.succeeds();
    cache.plan(2, &["one"]);
    assert_eq!(given(&cache), Some(Digest::of(b"connection")), "nothing newer was contributed");
    cache.recreated(2, &["one"]);
    cache.cancelled();
    assert_eq!(given(&cache), None);
}

/// Pause, labels and requests were the old object's.
#[test]
fn what_was_asked_of_the_old_object_is_forgotten() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.label(ControlLabel::ManualReconciliation);
    cache.asks(ControlRequest::Pause);
    cache.recreated(2, &["one"]);
    assert_eq!(cache.state(), "running 1/0/1 cancel=replaced +plan");
    cache.cancelled();
    cache.all_succeed();
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.state(), "complete 2");
}

/// Its predecessor was suspended: that run is not resumed because the label is not on the new object.
#[test]
fn a_suspended_predecessor_is_not_resumed() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.suspends(None);
    cache.label(ControlLabel::WorkflowSuspended);
    cache.recreated(2, &["other"]);
    assert_eq!(cache.started, ["run 1: one", "run 2: other"]);
}

/// After a complete deletion: run numbers go on, and answers to the old object's writes mean nothing.
#[test]
fn a_new_life_continues_the_numbers() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.all_succeed();
    cache.written();
    cache.delete(&[]);
    cache.written();
    cache.released();
    let sequence = cache.lane.sequence;

    cache.recreated(1, &["one"]);
    assert_eq!(cache.lane.sequence, sequence + 1);
    assert_eq!(cache.state(), "running 3/0/1");
    cache.succeeds();
    for serial in 0..3 {
        assert_ne!(cache.says_written(&store("git"), serial), Outcome::Applied, "serial {serial}");
    }
    assert_eq!(cache.state(), "writing 3");
    cache.written();
    cache.assert_settled();
}

/// An object that comes back after another had its name cannot be: still, the lane goes on.
#[test]
fn a_uid_that_comes_back_is_run_again() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.recreated(2, &["two"]);
    cache.life = 1;
    cache.plan(1, &["one"]);
    assert_eq!(cache.state(), "running 1/0/1 cancel=replaced");
    cache.cancelled();
    assert_eq!(cache.state(), "running 2/0/1");
}

/// Nor can it come back after its delete has begun, with another's plan in between.
#[test]
fn a_uid_that_comes_back_after_its_delete_is_stale() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.delete(&["gone"]);
    cache.succeeds();
    cache.recreated(2, &["two"]);
    cache.life = 1;
    assert_eq!(cache.plan(1, &["one"]), Outcome::Stale);
}

/// A message of the old object that comes after the new one's.
#[test]
fn the_old_objects_plan_is_stale() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    let old = cache.arrival();
    cache.recreated(2, &["one"]);
    assert_eq!(cache.step(old), Outcome::Stale);
}
