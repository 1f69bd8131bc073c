//! The transition function.

use serde::{Deserialize, Serialize};

use super::input::{Input, Outcome, Timer, WriteResult};
use super::run::RunState;
use super::{GateState, Lane, Life};
use crate::footprint::{StoreId, WriteFailure};
use crate::id::ResourceVersion;
use crate::invariant;
use crate::placement::Destinations;
use crate::plan::{Gate, Labels};
use crate::time::Timestamp;

/// What a transition was, for the public log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transition {
    Created,
    PlanArrived,
    GateChanged,
    RunStarted,
    PipelineSucceeded,
    PipelineFailed,
    PipelineSuspended,
    PipelineCancelled,
    RunRenumbered,
    WriteConfirmed,
    WriteFailed,
    WriteRetried,
    RunCompleted,
    DependentsGone,
    ControlApplied,
    ControlCleared,
    DestinationsChanged,
    StatusReported,
    Released,
}

impl Lane {
    /// Takes one input. Total and pure: the same record, input and time always give the same answer.
    #[must_use]
    pub fn step(mut self, input: Input, now: Timestamp) -> (Self, Outcome) {
        let before = self.clone();
        let taken = match input {
            Input::PlanArrived(arrival) => self.plan_arrived(arrival, now),
            Input::GateChanged { gates, closed, selector } => self.gate_changed(&gates, closed, selector),
            Input::DependentsGone => self.dependents_gone(),
            Input::JobFinished { job, outcome, destinations } => {
                self.job_finished(&job, outcome, &destinations, now)
            }
            Input::WriteAnswered { store, serial, result } => {
                self.write_answered(&store, serial, result, now)
            }
            Input::TimerFired(timer) => self.timer_fired(&timer, now),
            Input::Control(request) => self.control(request, now),
            Input::DestinationsChanged(destinations) => self.destinations_changed(&destinations),
            Input::ControlCleared { label, resource_version } => {
                self.control_cleared(label, resource_version)
            }
            Input::Performed { sequence, resource_version } => self.told(sequence, resource_version),
            Input::Released => self.released(),
        };
        let transition = match taken {
            Ok(transition) => transition,
            Err(outcome) => return (before, outcome),
        };
        self.transition = transition;
        self.advance(now);
        self.sequence += 1;
        if transition != Transition::StatusReported {
            self.performed.visible = self.sequence;
        }
        debug_assert_eq!(invariant::check_step(&before, &self), [], "after a transition");
        (self, Outcome::Applied)
    }

    fn gate_changed(
        &mut self,
        gates: &[Gate],
        closed: Option<String>,
        selector: Labels,
    ) -> Result<Transition, Outcome> {
        if gates.is_empty() || self.awaited_gates() != gates {
            return Err(Outcome::Stale);
        }
        let gate = closed.map_or(GateState::Open, |reason| GateState::Closed { reason });
        let inherits = !self.is_promise() && gate == GateState::Open && self.workflow_selector != selector;
        if self.gate == gate && !inherits {
            return Err(Outcome::Duplicate);
        }
        if inherits {
            self.workflow_selector = selector;
        }
        self.gate = gate;
        Ok(Transition::GateChanged)
    }

    fn dependents_gone(&mut self) -> Result<Transition, Outcome> {
        if self.run.as_ref().is_none_or(|run| run.state != RunState::Dependents) {
            return Err(Outcome::Stale);
        }
        self.remove_everything();
        Ok(Transition::DependentsGone)
    }

    fn write_answered(
        &mut self,
        store: &StoreId,
        serial: u64,
        result: WriteResult,
        now: Timestamp,
    ) -> Result<Transition, Outcome> {
        let writes = self.footprint.stores.get_mut(store).ok_or(Outcome::Stale)?;
        let waits = writes.failure.as_ref().is_some_and(|failure| failure.retry_at.is_some());
        if serial == writes.answered || (serial == writes.serial && waits && result.is_failure()) {
            return Err(Outcome::Duplicate);
        }
        if serial != writes.serial {
            return Err(Outcome::Stale);
        }
        match result {
            WriteResult::Written { revision } => {
                self.footprint.confirm(store, revision);
                Ok(Transition::WriteConfirmed)
            }
            WriteResult::Failed { message } => {
                let attempts = writes.failure.as_ref().map_or(0, |failure| failure.attempts) + 1;
                let retry_at = Some(now + super::settle::backoff(attempts));
                writes.failure = Some(WriteFailure { message, attempts, retry_at });
                Ok(Transition::WriteFailed)
            }
        }
    }

    fn timer_fired(&mut self, timer: &Timer, now: Timestamp) -> Result<Transition, Outcome> {
        match timer {
            Timer::Resume { run: number, pipeline } => {
                let free = self.may_go_on();
                let run = self.run.as_mut().filter(|run| free && run.number == *number);
                let run = run.ok_or(Outcome::Stale)?;
                match run.state {
                    RunState::Suspended { pipeline: at, retry_at: Some(due) }
                        if at == *pipeline && due <= now =>
                    {
                        run.run_pipeline(at, now);
                        Ok(Transition::RunStarted)
                    }
                    _ => Err(Outcome::Stale),
                }
            }
            Timer::Write { store, serial } => {
                let writes = self.footprint.stores.get_mut(store).ok_or(Outcome::Stale)?;
                match &mut writes.failure {
                    Some(failure)
                        if writes.serial == *serial && failure.retry_at.is_some_and(|at| at <= now) =>
                    {
                        failure.retry_at = None;
                        Ok(Transition::WriteRetried)
                    }
                    _ => Err(Outcome::Stale),
                }
            }
        }
    }

    fn destinations_changed(&mut self, destinations: &Destinations) -> Result<Transition, Outcome> {
        if self.life != Life::Live || destinations.revision < self.destinations.revision {
            return Err(Outcome::Stale);
        }
        if self.destinations.digest == Some(destinations.digest()) {
            return Err(Outcome::Duplicate);
        }
        self.place_all(destinations);
        self.footprint.renumber();
        if !self.footprint.is_confirmed() || self.unplaced().next().is_some() {
            self.reopen();
        }
        Ok(Transition::DestinationsChanged)
    }

    fn told(&mut self, sequence: u64, resource_version: ResourceVersion) -> Result<Transition, Outcome> {
        if sequence <= self.performed.told {
            return Err(Outcome::Duplicate);
        }
        if sequence > self.sequence || self.life != Life::Live {
            return Err(Outcome::Stale);
        }
        self.performed.told = sequence;
        self.performed.resource_version = self.performed.resource_version.max(resource_version);
        Ok(Transition::StatusReported)
    }

    fn released(&mut self) -> Result<Transition, Outcome> {
        if self.life == Life::Released {
            return Err(Outcome::Duplicate);
        }
        if !self.is_releasable() {
            return Err(Outcome::Stale);
        }
        // The tombstone: only what must never be forgotten.
        let tombstone = Self::new(self.key.clone(), self.incarnation);
        *self = Self {
            sequence: self.sequence,
            run_counter: self.run_counter,
            life: Life::Released,
            seen: std::mem::take(&mut self.seen),
            arrived: self.arrived.take(),
            footprint: std::mem::take(&mut self.footprint).serials(),
            ..tombstone
        };
        Ok(Transition::Released)
    }
}
