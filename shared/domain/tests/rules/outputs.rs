//! Rules 2 and 5: outputs are wanted at once; what a complete run did not produce goes, and only then it is done.

use domain::control::ControlLabel;
use domain::lane::{ControlRequest, Outcome};

use crate::story::{Story, group, group_for};

/// Rule 2: the next pipeline does not wait for the write.
#[test]
fn an_output_is_wanted_before_the_next_pipeline_ends() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.succeeds();
    assert_eq!(cache.pending(), ["start 1/1/1", "write git#1", "report"]);
    cache.written();
    assert_eq!(cache.state(), "running 1/1/1");
    assert_eq!(cache.files(), ["one@dev"]);
}

/// Rule 2: what a superseded or failed run has produced is written.
#[test]
fn outputs_of_an_unfinished_run_are_written() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.plan(2, &["one", "two"]);
    cache.succeeds();
    cache.succeeds();
    cache.fails();
    cache.written();
    assert_eq!(cache.state(), "failed 2/1");
    assert_eq!(cache.files(), ["one@dev"]);
}

/// INV-6: complete only when the store has acknowledged.
#[test]
fn a_run_is_complete_when_the_store_says_so() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.all_succeed();
    assert_eq!(cache.state(), "writing 1");
    assert!(!cache.lane.is_settled());
    cache.written();
    assert_eq!(cache.state(), "complete 1");
}

/// Rule 5: N -> N-1 prunes after everything else is confirmed.
#[test]
fn a_removed_pipeline_takes_its_files_with_it() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.all_succeed();
    cache.written();
    cache.plan(2, &["one"]);
    cache.all_succeed();
    assert_eq!(cache.state(), "writing 2");
    let (git, serial) = cache.asked().remove(0);
    cache.written_in(&git, serial);
    assert_eq!(cache.state(), "pruning 2");
    assert_eq!(cache.files(), ["one@dev", "two@dev"]);
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["one@dev"]);
}

/// Rule 5: N -> 0, which upstream leaves behind.
#[test]
fn no_pipelines_leave_no_files() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.all_succeed();
    cache.written();
    cache.plan(2, &[]);
    assert_eq!(cache.state(), "pruning 2");
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), Vec::<String>::new());
}

/// kratix-W18: a renamed pipeline's old files go once all pipelines have run.
#[test]
fn a_renamed_pipeline_takes_its_old_files_with_it() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.all_succeed();
    cache.written();
    cache.plan(2, &["one", "three"]);
    cache.succeeds();
    cache.written();
    assert_eq!(cache.files(), ["one@dev", "two@dev"]);
    cache.succeeds();
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["one@dev", "three@dev"]);
}

/// Rule 5: a failed run prunes nothing, however far it came.
#[test]
fn a_failed_run_prunes_nothing() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.all_succeed();
    cache.written();
    cache.plan(2, &["one", "three"]);
    cache.succeeds();
    cache.fails();
    cache.written();
    assert_eq!(cache.files(), ["one@dev", "two@dev"]);
}

/// Rule 5, kratix-S4: groups of one pipeline are updated, removed, added and replaced.
#[test]
fn groups_come_and_go() {
    let mut cache = Story::request();
    let dev = [("env", "dev")];
    cache.plan(1, &["one"]);
    cache.succeeds_with(&[group(".", "a"), group_for("x", "b", &dev)]);
    cache.written();
    assert_eq!(cache.files(), ["one@dev", "one/9dd4e@dev"]);
    let removed_and_added = [group(".", "changed"), group_for("y", "b", &dev)];
    cache.plan(2, &["one"]);
    cache.succeeds_with(&removed_and_added);
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["one/41529@dev", "one@dev"]);
}

/// A group that a pipeline no longer leaves stays as it is while the run can still fail, wherever its place is by then.
#[test]
fn a_vanished_group_waits_for_the_end_of_the_run() {
    let mut cache = Story::request();
    let dev = [("env", "dev")];
    cache.plan(1, &["one", "two"]);
    cache.succeeds_with(&[group(".", "a"), group_for("x", "b", &dev)]);
    cache.succeeds();
    cache.written();
    cache.plan(2, &["one", "two"]);
    cache.succeeds_with(&[group(".", "a")]);
    cache.fails();
    cache.written();
    assert_eq!(cache.files(), ["one@dev", "one/9dd4e@dev", "two@dev"]);
    let leaving = cache.lane.footprint.placements.iter().filter(|p| p.leaving).count();
    assert_eq!(leaving, 1);
    cache.asks(ControlRequest::Retry);
    cache.succeeds();
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["one@dev", "two@dev"]);
}

/// kratix-S3: the same output again asks nothing of the store.
#[test]
fn the_same_output_is_not_written_again() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.succeeds();
    cache.written();
    cache.label(ControlLabel::ManualReconciliation);
    cache.succeeds();
    assert_eq!(cache.state(), "complete 2");
    assert_eq!(cache.asked(), []);
}

/// A run that wrote nothing yet is overtaken by one that produces other things: only theirs remain.
#[test]
fn what_was_never_written_is_not_written_for_its_removal() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.succeeds();
    cache.write_fails();
    cache.plan(2, &["two"]);
    cache.succeeds();
    let wanted: Vec<_> = cache.lane.footprint.placements.iter().map(|p| p.wanted.is_some()).collect();
    assert_eq!(wanted, [false, true], "what may be there of the first is to go, without being written again");
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["two@dev"]);
}

/// An output without files places nothing, and takes away what stood there.
#[test]
fn an_empty_output_leaves_nothing() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.succeeds();
    cache.written();
    cache.label(ControlLabel::ManualReconciliation);
    cache.succeeds_with(&[]);
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), Vec::<String>::new());
}

/// A directory named twice is one group: the last.
#[test]
fn a_group_named_twice_counts_once() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.succeeds_with(&[group(".", "first"), group(".", "second")]);
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.lane.outputs.len(), 1);
}

/// A new plan arrives in the middle of a prune: the new run takes over, and the prune still happens.
#[test]
fn a_change_during_the_prune_takes_over() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.all_succeed();
    cache.written();
    cache.plan(2, &["one"]);
    cache.all_succeed();
    let (git, serial) = cache.asked().remove(0);
    cache.written_in(&git, serial);
    assert_eq!(cache.state(), "pruning 2");
    let (_, late) = cache.asked().remove(0);
    cache.plan(3, &["two"]);
    cache.all_succeed();
    assert_eq!(cache.says_written(&git, late), Outcome::Stale);
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["two@dev"]);
}
