//! A plan arrives: from which versions, with which control labels, and whether it asks for a new run.

use super::input::{Outcome, PlanArrival};
use super::queue::Discipline;
use super::run::{Cancel, Run, RunState};
use super::step::Transition;
use super::{ControlMemory, GateState, Lane, Life};
use crate::id::Source;
use crate::plan::{PlanRef, WorkflowAction};
use crate::time::Timestamp;

/// Whether a plan was made from older objects than another.
fn is_older(new: &[Source], seen: &[Source]) -> bool {
    new.iter()
        .any(|new| seen.iter().any(|old| old.key == new.key && new.resource_version < old.resource_version))
}

impl Lane {
    pub(super) fn plan_arrived(
        &mut self,
        arrival: PlanArrival,
        now: Timestamp,
    ) -> Result<Transition, Outcome> {
        let PlanArrival { plan, sources, controls, unsupported } = arrival;
        if is_older(&sources, &self.seen) {
            return Err(Outcome::Stale);
        }
        let known = sources == self.seen
            && self.arrived.as_ref() == Some(&plan.digest)
            && unsupported == self.unsupported
            && self.controls.knows(controls.resource_version);
        if known && self.life != Life::Released {
            return Err(Outcome::Duplicate);
        }
        let gone = self.life == Life::Released && self.seen.iter().any(|old| old.uid == plan.uid);
        let deletes = |known: &PlanRef| known.uid == plan.uid && known.action == WorkflowAction::Delete;
        let mut plans = self.current_plan().into_iter().chain(self.queue.last());
        let undone = plan.action == WorkflowAction::Configure && plans.any(deletes);
        if gone || undone {
            return Err(Outcome::Stale);
        }
        self.life = Life::Live;
        self.seen = sources;
        self.arrived = Some(plan.digest.clone());
        self.unsupported = unsupported;
        self.note_replacement(&plan);
        self.enqueue(plan);
        self.read_controls(&controls, now);
        Ok(Transition::PlanArrived)
    }

    /// Rule 9: another object has this name now; its predecessor's job must end first.
    fn note_replacement(&mut self, plan: &PlanRef) {
        if self.uid().is_some_and(|uid| *uid != plan.uid) {
            // What was asked of the old object is not asked of this one.
            self.controls = ControlMemory { floor: self.controls.floor, ..ControlMemory::default() };
        }
        let Some(run) = self.run.as_mut().filter(|run| run.plan.uid != plan.uid) else { return };
        if !(run.plan.action == WorkflowAction::Delete && run.is_past_pipelines()) {
            let old = &run.plan.uid;
            self.notice =
                Some(format!("the object with uid {old} was replaced before its delete pipelines could run"));
        }
        if let RunState::Running { cancel, .. } = &mut run.state {
            *cancel = Some(Cancel::Replaced);
        }
    }

    fn enqueue(&mut self, plan: PlanRef) {
        if let Some(run) = self.run.as_mut().filter(|run| run.covers(&plan)) {
            self.queue.clear();
            self.gate = GateState::Open;
            if run.state == RunState::Superseded {
                self.controls.again = true; // what ended it early is taken back
            }
            if !run.has_job() && run.plan.pipelines == plan.pipelines {
                run.plan = plan; // the same work on an object with, say, other labels
            }
            return;
        }
        let same_gates = self.awaited_gates() == plan.gates && !self.queue.is_empty();
        if plan.gates.is_empty() {
            self.gate = GateState::Open;
        } else if !same_gates {
            self.gate = GateState::Closed { reason: "its Promise has not been looked at yet".into() };
        }
        let name = self.key.0.name.clone();
        self.queue.push(Discipline::LatestWins, &name, plan);
    }
}

impl Run {
    /// Whether nothing is left to do for this plan. A delete that came to a halt begins anew with a changed one.
    fn covers(&self, plan: &PlanRef) -> bool {
        self.plan.same_work(plan)
            && (self.plan.work_hash == plan.work_hash || self.has_job() || self.is_past_pipelines())
    }
}
