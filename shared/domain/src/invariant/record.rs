//! What one record shows.

use super::{Findings, Invariant};
use crate::footprint::{Footprint, StoreWrites};
use crate::lane::{Action, GateState, Life, PipelinePhase, Run, RunState};
use crate::plan::WorkflowAction;

/// The footprint agrees with itself: every write that is not answered is known as such.
pub(super) fn footprint(findings: &mut Findings<'_>) {
    let Footprint { placements, stores } = &findings.lane.footprint;
    for pair in placements.windows(2) {
        if let [one, next] = pair {
            findings.require(Invariant::StoreIsFootprint, one.place < next.place, || {
                format!("{} is listed twice or out of order", next.place)
            });
        }
    }
    for placement in placements {
        let place = &placement.place;
        let writes = stores.get(&placement.store);
        findings.require(Invariant::StoreIsFootprint, writes.is_some(), || {
            format!("{place} is in store {}, of which nothing is known", placement.store)
        });
        findings.require(
            Invariant::StoreIsFootprint,
            placement.leaving || placement.wanted.is_some(),
            || format!("nothing is wanted at {place}, which is not leaving"),
        );
        let answered = writes.is_some_and(StoreWrites::is_answered);
        findings.require(Invariant::NoFalseSuccess, !answered || placement.is_confirmed(), || {
            format!("its store has answered, but {place} is not confirmed")
        });
    }
    for (store, writes) in stores {
        findings.require(Invariant::Order, writes.answered <= writes.serial, || {
            format!("store {store} has answered for a serial that was never asked")
        });
        let empty = placements.iter().all(|placement| placement.store != *store);
        findings.require(Invariant::NotStuck, !empty || writes.is_answered(), || {
            format!("store {store} has to answer for nothing")
        });
    }
}

/// One output per pipeline and directory; of a complete run, they are the footprint.
pub(super) fn outputs(findings: &mut Findings<'_>) {
    let lane = findings.lane;
    for (index, output) in lane.outputs.iter().enumerate() {
        let name = format!("{}/{}", output.pipeline, output.directory);
        let earlier = lane.outputs.iter().take(index);
        let twice =
            earlier.filter(|o| o.pipeline == output.pipeline && o.directory == output.directory).count();
        findings.require(Invariant::EffectOnce, twice == 0, || format!("output {name} is listed twice"));
        let stale =
            lane.footprint.placements.iter().find(|placement| {
                placement.holds(output) && placement.wanted.as_ref() != Some(&output.digest)
            });
        findings.require(Invariant::EffectOnce, stale.is_none(), || {
            format!("output {name} is not what is wanted of it")
        });
    }
    let Some(run) = lane.run.as_ref().filter(|run| run.is_past_pipelines()) else { return };
    let old = lane.outputs.iter().find(|output| output.run != run.number);
    findings.require(
        Invariant::StoreIsFootprint,
        old.is_none() || run.plan.action == WorkflowAction::Delete,
        || format!("run {} is through, but an output of an older run is kept", run.number),
    );
    for placement in lane.footprint.placements.iter().filter(|placement| !placement.leaving) {
        let produced = lane.outputs.iter().any(|output| placement.holds(output));
        findings.require(Invariant::StoreIsFootprint, produced || run.state == RunState::Dependents, || {
            format!("run {} is through and did not produce {}", run.number, placement.place)
        });
    }
}

/// State and attempts agree, and pipelines ran in order (rule 1).
pub(super) fn run(findings: &mut Findings<'_>) {
    let lane = findings.lane;
    let Some(run) = &lane.run else { return };
    findings.require(Invariant::Order, (1..=lane.run_counter).contains(&run.number), || {
        format!("run {} is above the counter {}", run.number, lane.run_counter)
    });
    let names = run.pipelines.iter().map(|pipeline| &pipeline.name);
    findings.require(Invariant::Order, names.eq(&run.plan.pipelines), || {
        format!("run {} has other pipelines than its plan", run.number)
    });
    let at = match run.state {
        RunState::Running { pipeline, .. } => Some((pipeline, PipelinePhase::Running)),
        RunState::Suspended { pipeline, .. } => Some((pipeline, PipelinePhase::Suspended)),
        RunState::Failed { pipeline } => Some((pipeline, PipelinePhase::Failed)),
        RunState::Dependents | RunState::Writing | RunState::Pruning | RunState::Complete => None,
        RunState::Superseded | RunState::Aborted => return ended(run, findings),
    };
    let index = at.map(|(index, _)| usize::try_from(index).unwrap_or(usize::MAX));
    findings.require(Invariant::Order, index.is_none_or(|index| index < run.pipelines.len()), || {
        format!("{:?} is of no pipeline", run.state)
    });
    for (number, pipeline) in run.pipelines.iter().enumerate() {
        let expected = match (index, at) {
            (Some(index), _) if number > index => PipelinePhase::Pending,
            (Some(index), Some((_, phase))) if number == index => phase,
            _ => PipelinePhase::Succeeded,
        };
        let started = (pipeline.attempts > 0) == (expected != PipelinePhase::Pending);
        findings.require(Invariant::Order, pipeline.phase == expected && started, || {
            let (name, phase, attempts) = (&pipeline.name, pipeline.phase, pipeline.attempts);
            format!("{:?}, but {name} is {phase:?} after {attempts} attempts", run.state)
        });
    }
}

/// A run that was ended before its time has no job.
fn ended(run: &Run, findings: &mut Findings<'_>) {
    let running = run.pipelines.iter().find(|pipeline| pipeline.phase == PipelinePhase::Running);
    findings.require(Invariant::SingleRunner, running.is_none(), || {
        format!("{:?}, but a pipeline of run {} is running", run.state, run.number)
    });
}

pub(super) fn life(findings: &mut Findings<'_>) {
    let lane = findings.lane;
    let empty = lane.run.is_none() && lane.queue.is_empty() && lane.footprint.is_empty();
    let holds = match lane.life {
        Life::New => empty && lane.sequence == 0,
        Life::Released => empty && lane.outputs.is_empty(),
        Life::Live => lane.run.is_some() || !lane.queue.is_empty(),
    };
    findings
        .require(Invariant::StoreIsFootprint, holds, || format!("{:?} with the wrong contents", lane.life));
    let gated = lane.gate != GateState::Open;
    findings.require(Invariant::NotStuck, !gated || !lane.queue.is_empty(), || {
        "a gate is closed in front of nothing".into()
    });
    let undone = lane.queue.first().zip(lane.current_plan()).is_some_and(|(waiting, current)| {
        waiting.uid == current.uid
            && current.action == WorkflowAction::Delete
            && waiting.action == WorkflowAction::Configure
    });
    findings.require(Invariant::Order, !undone, || "a configure waits behind the object's delete".into());
    let (told, visible) = (lane.performed.told, lane.performed.visible);
    findings.require(Invariant::Events, told <= lane.sequence && visible <= lane.sequence, || {
        format!("told {told}, visible {visible}")
    });
}

pub(super) fn success(findings: &mut Findings<'_>) {
    let lane = findings.lane;
    let complete = lane.run.as_ref().is_some_and(|run| run.state == RunState::Complete);
    let unplaced = lane.unplaced().next();
    findings.require(Invariant::NoFalseSuccess, !complete || lane.footprint.is_confirmed(), || {
        "complete, but a write is unanswered or something is left to prune".into()
    });
    findings.require(Invariant::NoFalseSuccess, !complete || unplaced.is_none(), || {
        format!("complete, but no Destination takes {unplaced:?}")
    });
}

pub(super) fn not_stuck(findings: &mut Findings<'_>) {
    let lane = findings.lane;
    let moves = |action: &Action| match action {
        Action::StartJob { .. }
        | Action::Write { .. }
        | Action::ArmTimer { .. }
        | Action::DeleteDependents
        | Action::Release => true,
        Action::CancelJob { .. }
        | Action::ReportStatus
        | Action::ClearControl { .. }
        | Action::WakeDependents
        | Action::RestartDependents
        | Action::InstallApi { .. }
        | Action::RemoveApi => false,
    };
    let holds = lane.is_settled() || lane.waiting().is_some() || lane.pending().iter().any(moves);
    findings.require(Invariant::NotStuck, holds, || {
        let state = lane.run.as_ref().map(|run| &run.state);
        format!("{state:?}, not settled, and nothing pending")
    });
}
