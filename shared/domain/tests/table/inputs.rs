//! One input of every kind, made to concern the record that it meets as closely as it can.

use std::time::Duration;

use domain::control::ControlLabel;
use domain::footprint::StoreId;
use domain::id::ResourceVersion;
use domain::lane::{ControlRequest, Input, JobOutcome, Lane, RunState, Timer, WriteResult};
use domain::plan::WorkflowAction;
use domain::token::{JobId, Token};

use crate::story::{Story, group, labels, store};

pub(crate) fn all(story: &Story) -> Vec<(&'static str, Input)> {
    let mut inputs = plans(story);
    inputs.extend(gates(story));
    inputs.extend(jobs(story));
    inputs.extend(writes(&story.lane));
    inputs.extend(timers(&story.lane));
    inputs.extend(controls(story));
    inputs.extend(destinations(story));
    inputs.extend(reports(&story.lane));
    inputs
}

/// What the object may say next.
fn plans(story: &Story) -> Vec<(&'static str, Input)> {
    use WorkflowAction::{Configure, Delete};
    let next = |change: &dyn Fn(&mut Story)| {
        let mut story = story.clone();
        if story.plan.is_none() {
            story.is_planned(1, Configure, &["one", "two"]);
        }
        change(&mut story);
        story.version += 1;
        story.arrival()
    };
    let label = |label| {
        next(&|story| {
            story.labels.insert(label);
        })
    };
    let known = story.plan.is_some().then(|| story.arrival());
    let mut inputs: Vec<_> = known.into_iter().map(|known| ("plan, known", known)).collect();
    inputs.extend([
        (
            "plan, of spec 1, no labels",
            next(&|story| {
                story.labels.clear();
                story.is_planned(1, Configure, &["one", "two"]);
            }),
        ),
        ("plan, of spec 3", next(&|story| story.is_planned(3, Configure, &["three"]))),
        (
            "plan, of spec 3, gated",
            next(&|story| {
                story.needs_promise(3);
                story.is_planned(3, Configure, &["three"]);
            }),
        ),
        (
            "plan, of spec 3, older",
            next(&|story| {
                story.is_planned(3, Configure, &["three"]);
                story.version = 0;
            }),
        ),
        ("plan, delete", next(&|story| story.is_planned(1, Delete, &["gone", "more"]))),
        ("plan, delete of spec 4", next(&|story| story.is_planned(4, Delete, &["other"]))),
        (
            "plan, of a new object",
            next(&|story| {
                story.life += 1;
                story.labels.clear();
                story.is_planned(1, Configure, &["one", "two"]);
            }),
        ),
        ("label manual-reconciliation", label(ControlLabel::ManualReconciliation)),
        ("label run-from-start", label(ControlLabel::RunFromStart)),
        ("label reconcile-resources", label(ControlLabel::ReconcileResources)),
        ("label paused", label(ControlLabel::Paused)),
    ]);
    inputs
}

fn gates(story: &Story) -> Vec<(&'static str, Input)> {
    let gates = story.lane.awaited_gates().to_vec();
    let selector = labels(&[]);
    let closed = Some("not complete".to_owned());
    vec![
        ("gate opens", Input::GateChanged { gates: gates.clone(), closed: None, selector: selector.clone() }),
        ("gate closes", Input::GateChanged { gates, closed, selector }),
        ("dependents gone", Input::DependentsGone),
    ]
}

fn jobs(story: &Story) -> Vec<(&'static str, Input)> {
    let lane = &story.lane;
    let past = lane.highest_token().unwrap_or(Token { run: 1, pipeline: 0, attempt: 1 });
    let uid = lane.current_plan().or(lane.newest_plan()).map(|plan| plan.uid.clone());
    let uid = uid.unwrap_or(domain::id::Uid("uid-1".into()));
    let job = lane.job().unwrap_or(JobId { uid, incarnation: lane.incarnation, token: past });
    let later = JobId { token: Token { attempt: job.token.attempt + 1, ..job.token }, ..job.clone() };
    let ends = |job: &JobId, outcome: JobOutcome| {
        let destinations = story.destinations.clone();
        Input::JobFinished { job: job.clone(), outcome, destinations }
    };
    let groups = vec![group(".", "of the table")];
    let succeeded = JobOutcome::Succeeded { groups, contributed: None, log: None };
    let message = "so it ended".to_owned();
    let retry_after = Some(Duration::from_mins(1));
    let suspended =
        JobOutcome::Suspended { message: message.clone(), retry_after, contributed: None, log: None };
    let highest = Token { run: 8, pipeline: 0, attempt: 1 };
    vec![
        ("job succeeded", ends(&job, succeeded.clone())),
        ("job failed", ends(&job, JobOutcome::Failed { message, log: None })),
        ("job cancelled", ends(&job, JobOutcome::Cancelled { log: None })),
        ("job suspended for 60s", ends(&job, suspended)),
        ("job refused for run 8", ends(&job, JobOutcome::Refused { highest })),
        ("job never started succeeded", ends(&later, succeeded)),
    ]
}

fn writes(lane: &Lane) -> Vec<(&'static str, Input)> {
    let store: StoreId = store("git");
    let serial = lane.footprint.stores.get(&store).map_or(1, |writes| writes.serial);
    let answered = |serial: u64| Input::WriteAnswered {
        store: store.clone(),
        serial,
        result: WriteResult::Written { revision: None },
    };
    let failed = WriteResult::Failed { message: "unreachable".into() };
    vec![
        ("store has written", answered(serial)),
        ("store has written before", answered(serial - 1)),
        ("store has failed", Input::WriteAnswered { store: store.clone(), serial, result: failed }),
    ]
}

fn timers(lane: &Lane) -> Vec<(&'static str, Input)> {
    let run = lane.run.as_ref();
    let pipeline = match run.map(|run| &run.state) {
        Some(RunState::Suspended { pipeline, .. }) => *pipeline,
        _ => 0,
    };
    let number = run.map_or(1, |run| run.number);
    let store = store("git");
    let serial = lane.footprint.stores.get(&store).map_or(1, |writes| writes.serial);
    vec![
        ("timer to resume", Input::TimerFired(Timer::Resume { run: number, pipeline })),
        ("timer to write", Input::TimerFired(Timer::Write { store, serial })),
    ]
}

fn controls(story: &Story) -> Vec<(&'static str, Input)> {
    let label = ControlLabel::ManualReconciliation;
    vec![
        ("asked to pause", Input::Control(ControlRequest::Pause)),
        ("asked to resume", Input::Control(ControlRequest::Resume)),
        ("asked to restart", Input::Control(ControlRequest::Restart)),
        ("asked to abort", Input::Control(ControlRequest::Abort)),
        ("asked to retry", Input::Control(ControlRequest::Retry)),
        (
            "label taken off",
            Input::ControlCleared { label, resource_version: ResourceVersion(story.version + 1) },
        ),
    ]
}

fn destinations(story: &Story) -> Vec<(&'static str, Input)> {
    let changed = |change: &dyn Fn(&mut Story)| {
        let mut story = story.clone();
        change(&mut story);
        Input::DestinationsChanged(story.destinations)
    };
    vec![
        ("Destinations, known", Input::DestinationsChanged(story.destinations.clone())),
        ("Destinations, one more", changed(&|story| story.destination("prod", &[("env", "prod")]))),
        ("Destinations, relabelled", changed(&|story| story.destination("dev", &[("env", "lab")]))),
        ("Destinations, none left", changed(&|story| story.destination_gone("dev"))),
    ]
}

fn reports(lane: &Lane) -> Vec<(&'static str, Input)> {
    let resource_version = ResourceVersion(0);
    vec![
        ("status reported", Input::Performed { sequence: lane.sequence, resource_version }),
        ("released", Input::Released),
    ]
}
