//! What is to be done for a lane, read off its record.

use super::input::Timer;
use super::run::RunState;
use super::{Lane, Life};
use crate::control::ControlLabel;
use crate::digest::Digest;
use crate::footprint::{StoreId, WriteFailure};
use crate::plan::WorkflowAction;
use crate::time::Timestamp;
use crate::token::JobId;

/// One thing to do, idempotent by what it names. Data only; services do it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    StartJob {
        job: JobId,
        plan: Digest,
        contributed: Option<Digest>,
    },
    CancelJob {
        job: JobId,
    },
    /// Make the lane's footprint true in this store.
    Write {
        store: StoreId,
        serial: u64,
    },
    ArmTimer {
        timer: Timer,
        at: Timestamp,
    },
    /// Project the record onto the object's status, and put the suspend label on it while [`Lane::is_suspended`].
    ReportStatus,
    /// Take the label off, if the object is still at the version that `controls.read` names: on a newer one it may
    /// have been put on again, and the plan of that version is on its way.
    ClearControl {
        label: ControlLabel,
    },
    /// Requests of this Promise may wait for it.
    WakeDependents,
    /// Ask every request of this Promise for a run of its own.
    RestartDependents,
    DeleteDependents,
    InstallApi {
        plan: Digest,
    },
    RemoveApi,
    /// Take our finalizer off the object.
    Release,
}

impl Lane {
    /// All that is pending, in the order in which it should be done.
    pub fn pending(&self) -> Vec<Action> {
        if self.life != Life::Live {
            return Vec::new();
        }
        let mut actions = Vec::new();
        self.pending_job(&mut actions);
        self.pending_writes(&mut actions);
        for label in self.labels_to_clear() {
            if label == ControlLabel::ReconcileResources {
                actions.push(Action::RestartDependents);
            }
            actions.push(Action::ClearControl { label });
        }
        let releasable = self.is_releasable();
        if self.performed.told < self.performed.visible && !releasable {
            self.pending_news(&mut actions);
        }
        let deletes = self.run.as_ref().is_some_and(|run| run.state == RunState::Dependents);
        if deletes && !self.controls.paused {
            actions.push(Action::DeleteDependents);
        }
        if releasable {
            if self.is_promise() {
                actions.push(Action::RemoveApi);
            }
            actions.push(Action::Release);
        }
        actions
    }

    fn pending_job(&self, actions: &mut Vec<Action>) {
        let (Some(run), Some(job)) = (&self.run, self.job()) else {
            if let Some(run) = self.run.as_ref().filter(|_| self.may_go_on())
                && let RunState::Suspended { pipeline, retry_at: Some(at) } = run.state
            {
                actions.push(Action::ArmTimer { timer: Timer::Resume { run: run.number, pipeline }, at });
            }
            return;
        };
        // A cancelled job's message stays out until a runner has answered it: it may never have been started.
        let cancelled = matches!(run.state, RunState::Running { cancel: Some(_), .. });
        actions.push(Action::StartJob {
            job: job.clone(),
            plan: run.plan.digest.clone(),
            contributed: self.contributed.clone(),
        });
        if cancelled {
            actions.push(Action::CancelJob { job });
        }
    }

    fn pending_writes(&self, actions: &mut Vec<Action>) {
        for (store, writes) in self.footprint.stores.iter().filter(|(_, writes)| !writes.is_answered()) {
            let serial = writes.serial;
            match &writes.failure {
                Some(WriteFailure { retry_at: Some(at), .. }) => {
                    let timer = Timer::Write { store: store.clone(), serial };
                    actions.push(Action::ArmTimer { timer, at: *at });
                }
                Some(WriteFailure { retry_at: None, .. }) | None => {
                    actions.push(Action::Write { store: store.clone(), serial });
                }
            }
        }
    }

    /// What others have not been told yet.
    fn pending_news(&self, actions: &mut Vec<Action>) {
        if self.is_promise()
            && let Some(plan) = self.newest_plan().filter(|plan| plan.action == WorkflowAction::Configure)
        {
            actions.push(Action::InstallApi { plan: plan.digest.clone() });
            if self.has_completed(&plan.work_hash) {
                actions.push(Action::WakeDependents);
            }
        }
        actions.push(Action::ReportStatus);
    }

    /// Nothing more happens to this lane by itself soon, so what was told is worth recording.
    pub fn is_resting(&self) -> bool {
        let working = self
            .run
            .as_ref()
            .is_some_and(|run| matches!(run.state, RunState::Running { .. } | RunState::Dependents));
        let writing =
            self.footprint.stores.values().any(|writes| !writes.is_answered() && writes.failure.is_none());
        !working && !writing && self.labels_to_clear().next().is_none()
    }
}
