//! Records and actions in a few words.

use domain::footprint::StoreId;
use domain::lane::{Action, Cancel, GateState, Lane, Life, Run, RunState, Timer};
use domain::plan::WorkflowAction;
use domain::time::Timestamp;

use super::START;

/// `[delete ]<state> <run>/<pipeline>/<attempt>`, then what holds or drives the lane.
pub(crate) fn state(lane: &Lane) -> String {
    let base = match (lane.life, &lane.run) {
        (Life::New, _) => "new".into(),
        (Life::Released, _) => "released".into(),
        (Life::Live, None) => "no run".into(),
        (Life::Live, Some(run)) => run_state(run),
    };
    let mut text = base;
    if let Some(waiting) = lane.queue.first() {
        text += match waiting.action {
            WorkflowAction::Configure => " +plan",
            WorkflowAction::Delete => " +delete",
        };
    }
    let flags = [
        (lane.gate != GateState::Open, " gated"),
        (lane.controls.paused, " paused"),
        (lane.controls.again, " again"),
        (!lane.unsupported.is_empty(), " unsupported"),
        (lane.unplaced().next().is_some(), " unscheduled"),
        (lane.footprint.stores.values().any(|writes| writes.failure.is_some()), " store-failing"),
    ];
    flags.into_iter().filter(|(set, _)| *set).for_each(|(_, word)| text += word);
    text
}

fn run_state(run: &Run) -> String {
    let number = run.number;
    let text = match &run.state {
        RunState::Running { cancel, .. } => {
            let why = match cancel {
                None => "",
                Some(Cancel::Restart) => " cancel=restart",
                Some(Cancel::Abort) => " cancel=abort",
                Some(Cancel::Replaced) => " cancel=replaced",
            };
            format!("running {}{why}", run.last_token())
        }
        RunState::Suspended { pipeline, retry_at: None } => format!("suspended {number}/{pipeline}"),
        RunState::Suspended { pipeline, retry_at: Some(at) } => {
            format!("suspended {number}/{pipeline} until {}", seconds(*at))
        }
        RunState::Failed { pipeline } => format!("failed {number}/{pipeline}"),
        RunState::Dependents => format!("dependents {number}"),
        RunState::Writing => format!("writing {number}"),
        RunState::Pruning => format!("pruning {number}"),
        RunState::Complete => format!("complete {number}"),
        RunState::Superseded => format!("superseded {number}"),
        RunState::Aborted => format!("aborted {number}"),
    };
    match run.plan.action {
        WorkflowAction::Configure => text,
        WorkflowAction::Delete => format!("delete {text}"),
    }
}

pub(crate) fn action(action: &Action) -> String {
    match action {
        Action::StartJob { job, .. } => format!("start {}", job.token),
        Action::CancelJob { job } => format!("cancel {}", job.token),
        Action::Write { store, serial } => format!("write {}#{serial}", short(store)),
        Action::ArmTimer { timer, at } => format!("arm {} at {}", timer_name(timer), seconds(*at)),
        Action::ReportStatus => "report".into(),
        Action::ClearControl { label } => {
            format!("clear {}", label.key().rsplit('/').next().unwrap_or_default())
        }
        Action::WakeDependents => "wake dependents".into(),
        Action::RestartDependents => "restart dependents".into(),
        Action::DeleteDependents => "delete dependents".into(),
        Action::InstallApi { .. } => "install API".into(),
        Action::RemoveApi => "remove API".into(),
        Action::Release => "release".into(),
    }
}

fn timer_name(timer: &Timer) -> String {
    match timer {
        Timer::Resume { run, pipeline } => format!("resume {run}/{pipeline}"),
        Timer::Write { store, serial } => format!("write {}#{serial}", short(store)),
    }
}

fn seconds(at: Timestamp) -> String {
    format!("{}s", (at.0 - START) / 1000)
}

fn short(store: &StoreId) -> &str {
    store.as_str().rsplit('-').next().unwrap_or_default()
}
