//! From the last pipeline to a settled lane: writes, prune, release; and the start of the next run.

use std::time::Duration;

use super::run::{Run, RunState};
use super::{GateState, Lane, Life, Transition};
use crate::footprint::Placement;
use crate::plan::{WorkflowAction, WorkflowType};
use crate::time::Timestamp;

/// Pause before the n-th repetition of a failed write: 1 s, doubled each time, at most 5 minutes.
pub(super) fn backoff(attempts: u32) -> Duration {
    Duration::from_secs(1 << attempts.saturating_sub(1).min(9)).min(Duration::from_mins(5))
}

impl Lane {
    /// Whatever an input has made possible.
    pub(super) fn advance(&mut self, now: Timestamp) {
        self.footprint.renumber();
        if self.may_start() {
            self.start(now);
        }
        self.settle();
    }

    fn may_start(&self) -> bool {
        let wanted = self.controls.again || !self.queue.is_empty();
        let gate = self.queue.is_empty() || self.gate == GateState::Open;
        self.life == Life::Live
            && wanted
            && gate
            && !self.controls.paused
            && !self.is_held_unsupported()
            && !self.run.as_ref().is_some_and(Run::has_job)
    }

    fn start(&mut self, now: Timestamp) {
        let again = self.current_plan().cloned();
        let Some(plan) = self.queue.pop().or(again) else { return };
        self.controls.again = false;
        if self.current_plan().is_some_and(|old| old.uid != plan.uid) {
            self.contributed = None;
        }
        if plan.workflow == WorkflowType::Promise && plan.action == WorkflowAction::Configure {
            self.workflow_selector.clear();
        }
        self.run_counter += 1;
        let mut run = Run::new(self.run_counter, plan, now);
        let has_pipelines = run.run_pipeline(0, now);
        self.run = Some(run);
        if !has_pipelines {
            self.pipelines_done();
        }
        self.transition = self.transition.max_with(Transition::RunStarted);
    }

    /// Rule 5 and rule 8: what comes after the last pipeline.
    pub(super) fn pipelines_done(&mut self) {
        let Some(run) = self.run.as_mut() else { return };
        let number = run.number;
        match (run.plan.action, run.plan.workflow) {
            (WorkflowAction::Configure, _) => {
                run.state = RunState::Writing;
                self.outputs.retain(|output| output.run == number);
                self.leave_unproduced();
            }
            (WorkflowAction::Delete, WorkflowType::Promise) => run.state = RunState::Dependents,
            (WorkflowAction::Delete, WorkflowType::Resource) => self.remove_everything(),
        }
    }

    /// The last part of a deletion. What was still to be written is not waited for: it may never succeed.
    pub(super) fn remove_everything(&mut self) {
        self.set_state(RunState::Pruning);
        self.outputs.clear();
        self.footprint.placements.iter_mut().for_each(Placement::evict);
    }

    /// A complete run has placements to write or to prune again.
    pub(super) fn reopen(&mut self) {
        if let Some(run) = self.run.as_mut()
            && run.plan.action == WorkflowAction::Configure
            && matches!(run.state, RunState::Complete | RunState::Pruning)
        {
            run.state = RunState::Writing;
        }
    }

    fn settle(&mut self) {
        self.footprint.renumber();
        let unplaced = self.unplaced().next().is_some();
        let Some(run) = self.run.as_mut() else { return };
        if run.state == RunState::Writing && !unplaced && self.footprint.is_written() {
            self.footprint.prune_leaving();
            self.footprint.renumber();
            run.state = RunState::Pruning;
        }
        if run.state == RunState::Pruning && self.footprint.is_confirmed() {
            run.state = RunState::Complete;
            self.transition = self.transition.max_with(Transition::RunCompleted);
        }
    }

    /// The end of a deletion: nothing of the object is left anywhere.
    pub(super) fn is_releasable(&self) -> bool {
        self.queue.is_empty()
            && self.run.as_ref().is_some_and(|run| {
                run.plan.action == WorkflowAction::Delete && run.state == RunState::Complete
            })
            && self.footprint.is_empty()
    }
}

impl Transition {
    /// Of two things that happened at once, the one that tells more.
    fn max_with(self, other: Self) -> Self {
        match (self, other) {
            (Self::PlanArrived | Self::GateChanged | Self::ControlApplied | Self::WriteConfirmed, other) => {
                other
            }
            (
                Self::RunStarted | Self::PipelineSucceeded | Self::DependentsGone | Self::DestinationsChanged,
                other @ Self::RunCompleted,
            ) => other,
            (own, _) => own,
        }
    }
}
