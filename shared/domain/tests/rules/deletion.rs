//! Rule 8: deletion runs all delete pipelines, removes every file, and then lets the object go.

use domain::control::ControlLabel;
use domain::lane::{ControlRequest, Outcome};

use crate::story::{Story, store};

fn settled(mut story: Story) -> Story {
    story.plan(1, &["one", "two"]);
    story.all_succeed();
    story.written();
    story
}

/// kratix-D1: without delete pipelines only the files have to go.
#[test]
fn without_delete_pipelines_the_files_go_at_once() {
    let mut cache = settled(Story::request());
    cache.delete(&[]);
    assert_eq!(cache.state(), "delete pruning 2");
    cache.written();
    assert_eq!(cache.files(), Vec::<String>::new());
    assert_eq!(cache.pending(), ["release"]);
    cache.released();
    assert_eq!(cache.state(), "released");
    assert_eq!(cache.pending(), Vec::<String>::new());
}

/// kratix-D2, and more than upstream: all delete pipelines run, in order; what they leave is discarded.
#[test]
fn all_delete_pipelines_run() {
    let mut cache = settled(Story::request());
    cache.delete(&["first", "second"]);
    cache.succeeds();
    assert_eq!(cache.state(), "delete running 2/1/1");
    assert_eq!(cache.files(), ["one@dev", "two@dev"], "files go after the last pipeline");
    cache.succeeds();
    cache.written();
    assert_eq!(cache.files(), Vec::<String>::new());
    assert_eq!(cache.started[2..], ["run 2: first", "run 2: second"]);
}

/// kratix-D3: one job.
#[test]
fn a_running_delete_is_the_only_one() {
    let mut cache = settled(Story::request());
    cache.delete(&["gone"]);
    cache.touch();
    cache.delete_of(7, &["gone"]);
    assert_eq!(cache.state(), "delete running 2/0/1");
}

/// kratix-D4: the manual label cancels the delete job and runs it again.
#[test]
fn a_delete_is_restarted_by_label() {
    let mut cache = settled(Story::request());
    cache.delete(&["gone"]);
    cache.label(ControlLabel::ManualReconciliation);
    assert_eq!(cache.state(), "delete running 2/0/1 cancel=restart again");
    cache.cancelled();
    assert_eq!(cache.state(), "delete running 3/0/1");
}

/// kratix-D7: a failed delete is visible, and can be retried or restarted.
#[test]
fn a_failed_delete_can_be_retried() {
    let mut cache = settled(Story::request());
    cache.delete(&["first", "second"]);
    cache.succeeds();
    cache.fails();
    assert_eq!(cache.waiting().as_deref(), Some("pipeline second has failed: exit code 1"));
    assert_eq!(cache.files(), ["one@dev", "two@dev"]);
    cache.asks(ControlRequest::Retry);
    assert_eq!(cache.state(), "delete running 2/1/2");
    cache.fails();
    cache.label(ControlLabel::ManualReconciliation);
    assert_eq!(cache.state(), "delete running 3/0/1");
}

/// A failed delete of which the pipelines are changed runs anew, with the new ones.
#[test]
fn a_failed_delete_takes_a_changed_plan() {
    let mut cache = settled(Story::request());
    cache.delete_of(1, &["first", "broken"]);
    cache.succeeds();
    cache.fails();
    cache.delete_of(2, &["repaired"]);
    assert_eq!(cache.state(), "delete running 3/0/1");
    assert_eq!(cache.pipeline(), "repaired");
    cache.succeeds();
    cache.written();
    assert_eq!(cache.pending(), ["release"]);
}

/// A delete that is through is not run again for a changed plan.
#[test]
fn a_delete_runs_once() {
    let mut cache = settled(Story::request());
    cache.delete_of(1, &["gone"]);
    cache.succeeds();
    cache.delete_of(2, &["gone", "more"]);
    assert_eq!(cache.state(), "delete pruning 2");
    cache.label(ControlLabel::ManualReconciliation);
    assert_eq!(cache.asks(ControlRequest::Restart), Outcome::Stale);
    cache.written();
    assert_eq!(cache.state(), "delete complete 2");
}

/// kratix-D8: it waits for the running configure job, whether that succeeds or fails.
#[test]
fn a_delete_waits_for_the_running_job() {
    for succeeds in [true, false] {
        let mut cache = Story::request();
        cache.plan(1, &["one", "two"]);
        cache.delete(&["gone"]);
        assert_eq!(cache.state(), "running 1/0/1 +delete");
        if succeeds {
            cache.succeeds();
        } else {
            cache.fails();
        }
        assert_eq!(cache.state(), "delete running 2/0/1");
        cache.succeeds();
        cache.written();
        assert_eq!(cache.files(), Vec::<String>::new());
        assert_eq!(cache.pending(), ["release"]);
    }
}

/// Files that the store never took do not keep the object from going.
#[test]
fn a_delete_does_not_wait_for_writes_that_fail() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.succeeds();
    cache.write_fails();
    cache.delete(&[]);
    assert_eq!(cache.asked(), [(store("git"), 2)], "the removal is asked at once, in place of the write");
    cache.written();
    assert_eq!(cache.pending(), ["release"]);
}

/// A lane that never ran: its object goes as well.
#[test]
fn an_object_that_never_ran_can_be_deleted() {
    let mut cache = Story::request();
    cache.delete(&["gone"]);
    cache.succeeds();
    assert_eq!(cache.pending(), ["release"]);
    cache.released();
    assert_eq!(cache.state(), "released");
}

/// kratix-C10: a pause holds a deletion too; then it runs.
#[test]
fn a_paused_object_is_deleted_later() {
    let mut cache = settled(Story::request());
    cache.label(ControlLabel::Paused);
    cache.delete(&["gone"]);
    assert_eq!(cache.state(), "complete 1 +delete paused");
    assert_eq!(cache.waiting().as_deref(), Some("paused"));
    cache.unlabel(ControlLabel::Paused);
    assert_eq!(cache.state(), "delete running 2/0/1");
    cache.all_succeed();
    cache.written();
    assert_eq!(cache.started[2..], ["run 2: gone"], "once");
    assert_eq!(cache.pending(), ["release"]);
}

/// A pause that comes after the delete pipelines is no reason to run them again.
#[test]
fn a_pause_during_the_prune_repeats_nothing() {
    let mut cache = settled(Story::request());
    cache.delete(&["gone"]);
    cache.succeeds();
    cache.label(ControlLabel::Paused);
    cache.unlabel(ControlLabel::Paused);
    assert_eq!(cache.state(), "delete pruning 2");
    cache.written();
    assert_eq!(cache.state(), "delete complete 2");
}

/// What this version does not act on keeps nobody from deleting the object.
#[test]
fn an_unsupported_object_can_be_deleted() {
    let mut cache = Story::request();
    cache.unsupported(&["spec.dryRun"]);
    cache.plan(1, &["one"]);
    cache.delete(&["gone"]);
    assert_eq!(cache.state(), "delete running 1/0/1 unsupported");
    cache.succeeds();
    assert_eq!(cache.pending(), ["release"]);
}

/// INV-2: after the delete, nothing configures the object again, however late it comes.
#[test]
fn no_configure_follows_a_delete() {
    let mut cache = settled(Story::request());
    cache.delete(&[]);
    assert_eq!(cache.plan(2, &["one"]), Outcome::Stale);
    cache.written();
    assert_eq!(cache.plan(2, &["one"]), Outcome::Stale);
    assert_eq!(cache.pending(), ["release"]);
    cache.released();
    assert_eq!(cache.plan(2, &["one"]), Outcome::Stale);
    assert_eq!(cache.delete(&["gone"]), Outcome::Stale);
    assert_eq!(cache.released(), Outcome::Duplicate);
    assert_eq!(cache.state(), "released");
}

/// The status of the last moment was written; the answer comes after the release.
#[test]
fn a_late_report_does_not_wake_the_tombstone() {
    let mut cache = settled(Story::request());
    cache.delete(&[]);
    cache.written();
    let sequence = cache.lane.sequence;
    cache.released();
    let resource_version = domain::id::ResourceVersion(99);
    let late = domain::lane::Input::Performed { sequence, resource_version };
    assert_eq!(cache.step(late), Outcome::Stale);
}

/// It is released only when everything is gone.
#[test]
fn a_release_that_was_not_asked_for_is_stale() {
    let mut cache = settled(Story::request());
    assert_eq!(cache.released(), Outcome::Stale);
    cache.delete(&[]);
    assert_eq!(cache.released(), Outcome::Stale, "the store has not answered");
}

/// Of a Promise: its delete pipelines, then its requests, then its own files, its API, and itself.
#[test]
fn a_promise_goes_after_its_requests() {
    let mut redis = settled(Story::promise());
    redis.reported();
    assert_eq!(redis.dependents_gone(), Outcome::Stale);
    redis.delete(&["gone"]);
    redis.succeeds();
    assert_eq!(redis.state(), "delete dependents 2");
    assert!(redis.pending().contains(&"delete dependents".into()));
    assert_eq!(redis.waiting().as_deref(), Some("its requests are being deleted"));
    assert_eq!(redis.files(), ["one@dev", "two@dev"]);

    redis.dependents_gone();
    assert_eq!(redis.state(), "delete pruning 2");
    redis.written();
    assert_eq!(redis.pending(), ["remove API", "release"]);
    redis.released();
    assert_eq!(redis.state(), "released");
}

/// A paused Promise does not begin to delete its requests.
#[test]
fn a_paused_promise_keeps_its_requests() {
    let mut redis = settled(Story::promise());
    redis.delete(&[]);
    redis.label(ControlLabel::Paused);
    assert!(!redis.pending().contains(&"delete dependents".into()));
    redis.unlabel(ControlLabel::Paused);
    assert_eq!(redis.state(), "delete dependents 2");
    assert!(redis.pending().contains(&"delete dependents".into()));
}
