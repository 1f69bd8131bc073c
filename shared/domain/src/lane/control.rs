//! What people ask of a lane, by label or by command.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::input::{ControlRequest, Outcome};
use super::run::{Cancel, Run, RunState};
use super::step::Transition;
use super::{Lane, Life};
use crate::control::{ControlLabel, Controls};
use crate::id::ResourceVersion;
use crate::plan::WorkflowAction;
use crate::time::Timestamp;

/// Which requests are in force, and which labels were seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ControlMemory {
    /// Labels that the object carries; each was acted on when it appeared.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub labels: BTreeSet<ControlLabel>,
    /// Newest version of the object whose labels were read.
    #[serde(default)]
    pub read: ResourceVersion,
    /// A label seen on an older version than this is one that was removed since.
    pub floor: ResourceVersion,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub paused: bool,
    /// A new run of the newest plan is asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub again: bool,
}

impl ControlMemory {
    /// Whether the labels of this version have nothing new to say.
    pub(super) fn knows(&self, version: ResourceVersion) -> bool {
        version <= self.read.max(self.floor)
    }
}

impl Lane {
    /// A label acts once, when it appears; a pause holds as long as the label is there.
    pub(super) fn read_controls(&mut self, controls: &Controls, now: Timestamp) {
        if controls.resource_version < self.controls.floor.max(self.controls.read) {
            return;
        }
        self.controls.read = controls.resource_version;
        for label in ControlLabel::ALL {
            if !controls.labels.contains(&label) {
                if self.controls.labels.remove(&label) {
                    self.label_gone(label, now);
                }
            } else if self.controls.labels.insert(label) {
                self.act_on(label);
            }
        }
    }

    fn act_on(&mut self, label: ControlLabel) {
        match label {
            ControlLabel::Paused => self.controls.paused = true,
            ControlLabel::ManualReconciliation => self.restart(Some(Cancel::Restart)),
            ControlLabel::RunFromStart => self.restart(None),
            // The scheduler asks each request for a run; this lane has nothing to do itself.
            ControlLabel::ReconcileResources | ControlLabel::WorkflowSuspended => {}
        }
    }

    /// Somebody took a label off the object.
    fn label_gone(&mut self, label: ControlLabel, now: Timestamp) {
        match label {
            ControlLabel::Paused => self.unpause(),
            ControlLabel::WorkflowSuspended => self.go_on_if_suspended(now),
            ControlLabel::ManualReconciliation
            | ControlLabel::RunFromStart
            | ControlLabel::ReconcileResources => {}
        }
    }

    /// Labels that have done their work and are to be taken off the object.
    pub(super) fn labels_to_clear(&self) -> impl Iterator<Item = ControlLabel> {
        let holds = |label: &ControlLabel| match label {
            ControlLabel::Paused => self.controls.paused,
            ControlLabel::WorkflowSuspended => self.is_suspended(),
            ControlLabel::ReconcileResources => !self.is_promise(), // it means nothing on a request
            ControlLabel::ManualReconciliation | ControlLabel::RunFromStart => false,
        };
        self.controls.labels.iter().copied().filter(move |label| !holds(label))
    }

    pub(super) fn control_cleared(
        &mut self,
        label: ControlLabel,
        at: ResourceVersion,
    ) -> Result<Transition, Outcome> {
        if !self.controls.labels.contains(&label) {
            return Err(Outcome::Duplicate);
        }
        if at < self.controls.read {
            self.act_on(label); // it was seen on a newer version: somebody has put it on again
        } else {
            self.controls.labels.remove(&label);
        }
        self.controls.floor = self.controls.floor.max(at);
        Ok(Transition::ControlCleared)
    }

    pub(super) fn control(&mut self, request: ControlRequest, now: Timestamp) -> Result<Transition, Outcome> {
        if self.life != Life::Live {
            return Err(Outcome::Stale);
        }
        let taken = match request {
            ControlRequest::Pause if self.controls.paused => return Err(Outcome::Duplicate),
            ControlRequest::Pause => {
                self.controls.paused = true;
                true
            }
            ControlRequest::Resume if self.controls.paused => {
                self.unpause();
                true
            }
            ControlRequest::Resume => self.resume(now),
            ControlRequest::Restart if self.has_deleted() => false,
            ControlRequest::Restart => {
                self.restart(Some(Cancel::Restart));
                true
            }
            ControlRequest::Abort => self.abort()?,
            ControlRequest::Retry => self.retry(now),
        };
        if taken { Ok(Transition::ControlApplied) } else { Err(Outcome::Stale) }
    }

    /// The object's delete pipelines are through: nothing of it is ever run again.
    fn has_deleted(&self) -> bool {
        self.queue.is_empty()
            && self
                .run
                .as_ref()
                .is_some_and(|run| run.plan.action == WorkflowAction::Delete && run.is_past_pipelines())
    }

    /// Asks for a new run; with `cancel` the outstanding job does not get to its end.
    fn restart(&mut self, cancel: Option<Cancel>) {
        if self.has_deleted() {
            return;
        }
        self.controls.again = true;
        if let Some(RunState::Running { cancel: pending, .. }) = self.run.as_mut().map(|run| &mut run.state) {
            *pending = pending.or(cancel);
        }
    }

    /// As upstream: what was paused runs from its start.
    fn unpause(&mut self) {
        if std::mem::take(&mut self.controls.paused) && self.run.is_some() {
            self.restart(None);
        }
    }

    fn go_on_if_suspended(&mut self, now: Timestamp) {
        if self.may_go_on()
            && let Some(run) = self.run.as_mut()
            && let RunState::Suspended { pipeline, .. } = run.state
        {
            run.run_pipeline(pipeline, now);
        }
    }

    fn resume(&mut self, now: Timestamp) -> bool {
        let suspended = self.is_suspended();
        self.go_on_if_suspended(now);
        suspended && self.run.as_ref().is_some_and(Run::has_job)
    }

    fn abort(&mut self) -> Result<bool, Outcome> {
        let Some(run) = self.run.as_mut() else { return Ok(false) };
        match &mut run.state {
            RunState::Running { cancel, .. } => *cancel = Some(Cancel::Abort),
            RunState::Suspended { .. } => run.state = RunState::Aborted,
            RunState::Aborted => return Err(Outcome::Duplicate),
            RunState::Failed { .. }
            | RunState::Dependents
            | RunState::Writing
            | RunState::Pruning
            | RunState::Complete
            | RunState::Superseded => return Ok(false),
        }
        self.controls.again = false;
        Ok(true)
    }

    fn retry(&mut self, now: Timestamp) -> bool {
        if self.may_go_on()
            && let Some(run) = self.run.as_mut()
            && let RunState::Failed { pipeline } = run.state
        {
            return run.run_pipeline(pipeline, now);
        }
        false
    }

    /// Whether the run may go on where it stopped: nobody holds the lane, and nothing newer waits.
    pub(super) fn may_go_on(&self) -> bool {
        self.queue.is_empty() && !self.controls.paused && !self.is_held_unsupported()
    }

    /// A pipeline has asked to be run again later. As long as it waits, the object carries the suspend label.
    pub fn is_suspended(&self) -> bool {
        self.queue.is_empty()
            && self.run.as_ref().is_some_and(|run| matches!(run.state, RunState::Suspended { .. }))
    }
}
