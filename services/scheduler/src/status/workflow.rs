//! What Promises and requests have in common: pipelines, works, and whether it is reconciled.

use domain::lane::{Lane, PipelinePhase, Run, RunState};
use domain::plan::WorkflowAction;
use runtime::clock::rfc3339;
use serde_json::{Map, Value, json};

use super::Facts;
use super::conditions::Conditions;

/// How a lane stands, in the words of the conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Unsupported,
    Paused,
    /// The plan waits for its run.
    Waiting,
    InProgress,
    Suspended,
    Failed,
    Aborted,
    /// The pipelines are done, the stores are not.
    Writing,
    Done,
}

pub(super) fn standing(lane: &Lane) -> Standing {
    let running = lane.run.as_ref().is_some_and(Run::has_job);
    match &lane.run {
        _ if !lane.unsupported.is_empty() && !running => Standing::Unsupported,
        _ if lane.controls.paused && !running => Standing::Paused,
        Some(run) if running => match run.state {
            RunState::Running { .. } => Standing::InProgress,
            _ => Standing::Waiting,
        },
        _ if !lane.queue.is_empty() => Standing::Waiting,
        None => Standing::Waiting,
        Some(run) => match run.state {
            RunState::Running { .. } | RunState::Dependents => Standing::InProgress,
            RunState::Superseded => Standing::Waiting,
            RunState::Suspended { .. } => Standing::Suspended,
            RunState::Failed { .. } => Standing::Failed,
            RunState::Aborted => Standing::Aborted,
            RunState::Writing | RunState::Pruning => Standing::Writing,
            RunState::Complete => Standing::Done,
        },
    }
}

/// The failed pipeline's name and why.
pub(super) fn failure(lane: &Lane) -> Option<(&str, &str)> {
    let run = lane.run.as_ref()?;
    let RunState::Failed { pipeline } = run.state else { return None };
    let pipeline = run.pipeline(pipeline)?;
    Some((&pipeline.name, pipeline.message.as_deref().unwrap_or("no reason was given")))
}

pub(super) fn workflow_conditions(facts: &Facts<'_>, standing: Standing, conditions: &mut Conditions) {
    let lane = facts.lane;
    let deleting = lane.current_plan().is_some_and(|plan| plan.action == WorkflowAction::Delete);
    match (deleting, standing) {
        (false, Standing::Failed) => {
            let (name, why) = failure(lane).unwrap_or_default();
            let message = format!("A Configure Pipeline has failed: {name}: {why}");
            conditions.set("ConfigureWorkflowCompleted", "False", "ConfigureWorkflowFailed", message);
        }
        (false, Standing::Writing | Standing::Done) => {
            conditions.set(
                "ConfigureWorkflowCompleted",
                "True",
                "PipelinesExecutedSuccessfully",
                "Pipelines completed",
            );
        }
        (false, _) => {
            let message = "Pipelines are still in progress";
            conditions.set("ConfigureWorkflowCompleted", "False", "PipelinesInProgress", message);
        }
        (true, Standing::Failed) => {
            let (name, why) = failure(lane).unwrap_or_default();
            let message = format!("The Delete Pipeline has failed: {name}: {why}");
            conditions.set("DeleteWorkflowCompleted", "False", "DeleteWorkflowFailed", message);
        }
        (true, Standing::Suspended) => {
            let message = "The delete workflow is suspended";
            conditions.set("DeleteWorkflowCompleted", "False", "DeleteWorkflowSuspended", message);
        }
        (true, Standing::Writing | Standing::Done) => {
            conditions.set(
                "DeleteWorkflowCompleted",
                "True",
                "PipelinesExecutedSuccessfully",
                "Pipelines completed",
            );
        }
        (true, _) => {
            let message = "Pipelines are still in progress";
            conditions.set("DeleteWorkflowCompleted", "False", "PipelinesInProgress", message);
        }
    }
    works(lane, conditions);
    reconciled(lane, standing, conditions);
    if !lane.unsupported.is_empty() {
        let fields: Vec<String> = lane.unsupported.iter().map(ToString::to_string).collect();
        conditions.set("Supported", "False", "NotActedOn", fields.join("; "));
    }
}

/// The message of the first store that fails.
fn failing_store(lane: &Lane) -> Option<String> {
    lane.footprint.stores.iter().find_map(|(store, writes)| {
        writes.failure.as_ref().map(|failure| format!("{store}: {}", failure.message))
    })
}

fn works(lane: &Lane, conditions: &mut Conditions) {
    let unplaced: Vec<String> = lane
        .unplaced()
        .map(|output| {
            format!(
                "{} of pipeline {}: no Destination matches {}",
                output.directory,
                output.pipeline,
                labels(&output.selector)
            )
        })
        .collect();
    let misplaced = lane.footprint.placements.iter().find(|placement| placement.misplaced);
    if lane.run.is_none() {
        conditions.set("WorksSucceeded", "Unknown", "WorksPending", "Nothing has run yet");
    } else if let Some(message) = failing_store(lane) {
        conditions.set("WorksSucceeded", "False", "WorksFailing", message);
    } else if !unplaced.is_empty() {
        conditions.set("WorksSucceeded", "Unknown", "WorksPending", unplaced.join("; "));
    } else if let Some(placement) = misplaced {
        let message = format!("Destination {} no longer matches; it is still written", placement.destination);
        conditions.set("WorksSucceeded", "False", "WorksMisplaced", message);
    } else if lane.footprint.is_written() {
        conditions.set("WorksSucceeded", "True", "WorksSucceeded", "All documents are written");
    } else {
        conditions.set("WorksSucceeded", "Unknown", "WorksPending", "Documents are being written");
    }
}

fn labels(selector: &domain::plan::Labels) -> String {
    let pairs: Vec<String> = selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if pairs.is_empty() { "an empty selector".into() } else { pairs.join(",") }
}

fn reconciled(lane: &Lane, standing: Standing, conditions: &mut Conditions) {
    let failing = failing_store(lane).is_some();
    let (status, reason, message) = match standing {
        Standing::Unsupported => ("Unknown", "Unsupported", "Pending"),
        Standing::Paused => ("Unknown", "PausedReconciliation", "Paused"),
        Standing::Suspended => ("Unknown", "WorkflowSuspended", "Suspended"),
        Standing::Failed => ("False", "ConfigureWorkflowFailed", "Failing"),
        Standing::Waiting | Standing::InProgress => ("Unknown", "WorkflowPending", "Pending"),
        Standing::Aborted => ("Unknown", "Aborted", "Aborted"),
        Standing::Writing | Standing::Done if failing => ("False", "WorksFailing", "Failing"),
        Standing::Writing => ("Unknown", "WorksPending", "Pending"),
        Standing::Done => ("True", "Reconciled", "Reconciled"),
    };
    conditions.set("Reconciled", status, reason, message);
}

/// Counters and the list of pipelines, as upstream has them.
pub(super) fn pipelines(lane: &Lane, status: &mut Map<String, Value>) {
    let Some(run) = &lane.run else { return };
    let count = |phase| run.pipelines.iter().filter(|pipeline| pipeline.phase == phase).count();
    status.insert("workflows".into(), run.pipelines.len().into());
    status.insert("workflowsSucceeded".into(), count(PipelinePhase::Succeeded).into());
    status.insert("workflowsFailed".into(), count(PipelinePhase::Failed).into());
    let list: Vec<Value> =
        run.pipelines.iter().enumerate().map(|(index, pipeline)| entry(run, index, pipeline)).collect();
    let mut workflows = Map::from_iter([("pipelines".to_owned(), Value::from(list))]);
    if let RunState::Suspended { .. } = run.state {
        workflows.insert("suspendedGeneration".into(), run.plan.generation.into());
    }
    let done = matches!(run.state, RunState::Writing | RunState::Pruning | RunState::Complete);
    if let Some(last) = run.pipelines.last()
        && done
        && run.plan.action == WorkflowAction::Configure
    {
        workflows.insert("lastSuccessfulConfigureWorkflowTime".into(), rfc3339(last.since).into());
    }
    status.insert("kratix".into(), json!({ "workflows": workflows }));
}

fn entry(run: &Run, index: usize, pipeline: &domain::lane::PipelineState) -> Value {
    let mut entry = json!({
        "name": pipeline.name,
        "phase": pipeline.phase.as_str(),
        "lastTransitionTime": rfc3339(pipeline.since),
    });
    if let Some(message) = &pipeline.message {
        entry["message"] = message.as_str().into();
    }
    if let RunState::Suspended { pipeline: at, retry_at: Some(due) } = run.state
        && usize::try_from(at) == Ok(index)
    {
        entry["nextRetryAt"] = rfc3339(due).into();
        entry["attempts"] = pipeline.attempts.into();
    }
    entry
}

/// `status.millrace`: the run, its phase, and where everything stands.
pub(super) fn own(lane: &Lane) -> Value {
    let placements: Vec<Value> = lane
        .footprint
        .placements
        .iter()
        .map(|placement| {
            let revision =
                lane.footprint.stores.get(&placement.store).and_then(|writes| writes.revision.clone());
            let written = placement.wanted == placement.confirmed;
            json!({
                "pipeline": placement.pipeline,
                "destination": placement.destination,
                "path": placement.place.prefix,
                "revision": revision.filter(|_| written),
            })
        })
        .collect();
    let phase = lane.run.as_ref().map_or_else(
        || "Waiting".to_owned(),
        |run| format!("{:?}", standing(lane)).replace("InProgress", phase_of(run)),
    );
    let mut own = json!({ "run": lane.run_counter, "phase": phase, "placements": placements });
    if let domain::lane::GateState::Closed { reason } = &lane.gate
        && !lane.queue.is_empty()
    {
        own["waitingFor"] = reason.as_str().into();
    }
    if let Some(notice) = &lane.notice {
        own["notice"] = notice.as_str().into();
    }
    own
}

fn phase_of(run: &Run) -> &'static str {
    match run.state {
        RunState::Dependents => "DeletingRequests",
        _ => "Running",
    }
}
