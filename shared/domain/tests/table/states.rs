//! One representative record for every kind of state.

use domain::control::ControlLabel;
use domain::lane::ControlRequest;

use crate::story::{Story, group, group_for};

type State = (&'static str, fn() -> Story);

pub(crate) fn all() -> Vec<State> {
    vec![
        ("Nothing has arrived yet", Story::request),
        ("The plan waits for its gate", gated),
        ("The plan holds what is not supported", unsupported),
        ("A job runs", running),
        ("A job runs; a newer plan waits", running_with_plan),
        ("A job runs; the object's delete waits", running_with_delete),
        ("A job is cancelled for a restart", restarting),
        ("A job is cancelled for good", aborting),
        ("A job is cancelled; it is another object's", replaced),
        ("A pipeline is suspended until a time", suspended),
        ("A pipeline has failed", failed),
        ("The run was ended for a plan that waits for its gate", superseded),
        ("The lane is paused", paused),
        ("The run was aborted", aborted),
        ("The store has not answered", writing),
        ("The store has failed", failing),
        ("No Destination takes the output", unscheduled),
        ("What was not produced is being removed", pruning),
        ("Complete", complete),
        ("Complete, of a Promise", promise),
        ("A delete pipeline runs", deleting),
        ("A delete pipeline has failed", delete_failed),
        ("A deleted Promise waits for its requests", dependents),
        ("A deleted object's files are being removed", removing),
        ("A deleted object can go", releasable),
        ("Gone", released),
    ]
}

/// Run 1 with pipelines `one` and `two`.
fn running() -> Story {
    let mut story = Story::request();
    story.plan(1, &["one", "two"]);
    story
}

fn gated() -> Story {
    let mut story = Story::request();
    story.needs_promise(1);
    story.plan(1, &["one", "two"]);
    story
}

fn unsupported() -> Story {
    let mut story = Story::request();
    story.unsupported(&["spec.later"]);
    story.plan(1, &["one", "two"]);
    story
}

fn running_with_plan() -> Story {
    let mut story = running();
    story.plan(2, &["one"]);
    story
}

fn running_with_delete() -> Story {
    let mut story = running();
    story.delete_of(1, &["gone"]);
    story
}

fn restarting() -> Story {
    let mut story = running();
    story.label(ControlLabel::ManualReconciliation);
    story
}

fn aborting() -> Story {
    let mut story = running();
    story.asks(ControlRequest::Abort);
    story
}

fn replaced() -> Story {
    let mut story = running();
    story.recreated(1, &["one", "two"]);
    story
}

fn suspended() -> Story {
    let mut story = running();
    story.suspends(Some(0));
    story.label(ControlLabel::WorkflowSuspended);
    story
}

fn failed() -> Story {
    let mut story = running();
    story.succeeds();
    story.written();
    story.fails();
    story
}

fn superseded() -> Story {
    let mut story = running();
    story.needs_promise(2);
    story.plan(2, &["one"]);
    story.succeeds();
    story.written();
    story
}

fn paused() -> Story {
    let mut story = running();
    story.label(ControlLabel::Paused);
    story.succeeds();
    story.written();
    story
}

fn aborted() -> Story {
    let mut story = aborting();
    story.cancelled();
    story
}

fn writing() -> Story {
    let mut story = running();
    story.all_succeed();
    story
}

fn failing() -> Story {
    let mut story = writing();
    story.write_fails();
    story.passes(1);
    story
}

fn unscheduled() -> Story {
    let mut story = running();
    story.succeeds_with(&[group(".", "a")]);
    story.succeeds_with(&[group_for(".", "b", &[("env", "prod")])]);
    story.written();
    story
}

fn complete() -> Story {
    let mut story = writing();
    story.written();
    story.reported();
    story
}

fn pruning() -> Story {
    let mut story = complete();
    story.plan(2, &["one"]);
    story.succeeds();
    let (git, serial) = story.asked().remove(0);
    story.written_in(&git, serial);
    story
}

fn promise() -> Story {
    let mut story = Story::promise();
    story.plan(1, &["one", "two"]);
    story.all_succeed();
    story.written();
    story.reported();
    story
}

fn deleting() -> Story {
    let mut story = complete();
    story.delete_of(1, &["gone", "more"]);
    story
}

fn delete_failed() -> Story {
    let mut story = deleting();
    story.fails();
    story
}

fn dependents() -> Story {
    let mut story = promise();
    story.delete_of(1, &[]);
    story
}

fn removing() -> Story {
    let mut story = complete();
    story.delete_of(1, &[]);
    story
}

fn releasable() -> Story {
    let mut story = removing();
    story.written();
    story
}

fn released() -> Story {
    let mut story = releasable();
    story.released();
    story
}
