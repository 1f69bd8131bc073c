//! A lane: all that belongs to one ordering key. Its record is the only place where order and exclusion live.
//!
//! [`Lane::step`] decides, [`Lane::pending`] says what is to be done. Actions are a function of the record alone, so
//! a service performs them after its compare-and-set, again after a duplicate, and again in the sweep.
//!
//! ```text
//!                 PlanArrived / GateChanged(open) / Control
//!   (waiting) ------------------------------------------------> Running(pipeline 0)
//!   Running(n)  --JobFinished(succeeded)--> Running(n+1) | Writing
//!               --JobFinished(failed)-----> Failed         (nothing is pruned)
//!               --JobFinished(suspended)--> Suspended --TimerFired, resume--> Running(n)
//!               --any end, newer plan-----> Superseded, then Running(0) of the new run
//!   Running(n)  --the last of a delete----> Dependents (a Promise) | Pruning
//!   Dependents  --DependentsGone----------> Pruning
//!   Writing     --all writes answered-----> Pruning | Complete
//!   Pruning     --answered----------------> Complete       (a deletion is then released: a tombstone)
//! ```

mod arrival;
mod control;
mod input;
mod job;
mod outputs;
mod pending;
mod queue;
mod run;
mod settle;
mod step;
mod waiting;

pub use control::ControlMemory;
pub use input::{ControlRequest, Input, JobOutcome, Outcome, PlanArrival, Timer, WriteResult};
pub use pending::Action;
pub use queue::{Discipline, Queue};
pub use run::{Cancel, PipelinePhase, PipelineState, Run, RunState};
pub use step::Transition;
pub use waiting::Waiting;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::footprint::Footprint;
use crate::id::{LaneKey, ResourceVersion, Source, Uid};
use crate::output::Output;
use crate::plan::{Gate, Labels, PlanRef, WorkflowAction, WorkflowType};
use crate::problem::Problem;
use crate::token::{JobId, Token};

/// The record of one lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lane {
    pub key: LaneKey,
    /// When the stream of records was made; part of every job id.
    pub incarnation: u64,
    /// Counts transitions from 1, without a gap.
    pub sequence: u64,
    /// What the newest transition was.
    pub transition: Transition,
    /// Highest run number ever used here.
    pub run_counter: u64,
    pub life: Life,
    /// Versions of the objects that the newest plan was made from.
    pub seen: Vec<Source>,
    /// Digest of that plan.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arrived: Option<Digest>,
    /// Plans that wait for their run.
    pub queue: Queue,
    pub gate: GateState,
    pub run: Option<Run>,
    /// Digest of the status that the pipelines have contributed so far.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub contributed: Option<Digest>,
    /// Selector of the default group that the Promise's own workflow has written; for a request: its Promise's.
    #[serde(skip_serializing_if = "Labels::is_empty", default)]
    pub workflow_selector: Labels,
    pub outputs: Vec<Output>,
    pub footprint: Footprint,
    pub destinations: DestinationsSeen,
    pub controls: ControlMemory,
    /// What this version does not act on: while there is any, the lane runs nothing but its deletion.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unsupported: Vec<Problem>,
    /// Something its owner should know, such as delete pipelines that could not run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub notice: Option<String>,
    pub performed: Performed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Life {
    /// Nothing has arrived yet.
    #[default]
    New,
    Live,
    /// The object is gone; run counter and sequence stay for ever.
    Released,
}

/// Whether the plan that waits may start, as far as other lanes are concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "gate")]
pub enum GateState {
    #[default]
    Open,
    Closed {
        reason: String,
    },
}

/// The Destinations that the placements were decided with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DestinationsSeen {
    pub revision: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub digest: Option<Digest>,
}

/// How far the outside has been told: status reported, dependents woken, API installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Performed {
    /// Sequence of the last transition that others can see.
    pub visible: u64,
    /// Everything up to here was told.
    pub told: u64,
    /// Resource version of the object after its last status write.
    pub resource_version: ResourceVersion,
}

impl Lane {
    /// An empty record, as a lane without one is read.
    pub fn new(key: LaneKey, incarnation: u64) -> Self {
        Self {
            key,
            incarnation,
            sequence: 0,
            transition: Transition::Created,
            run_counter: 0,
            life: Life::New,
            seen: Vec::new(),
            arrived: None,
            queue: Queue::default(),
            gate: GateState::Open,
            run: None,
            contributed: None,
            workflow_selector: Labels::new(),
            outputs: Vec::new(),
            footprint: Footprint::default(),
            destinations: DestinationsSeen::default(),
            controls: ControlMemory::default(),
            unsupported: Vec::new(),
            notice: None,
            performed: Performed::default(),
        }
    }

    /// The job whose result can still be accepted.
    pub fn job(&self) -> Option<JobId> {
        let run = self.run.as_ref()?;
        let token = run.token()?;
        Some(JobId { uid: run.plan.uid.clone(), incarnation: self.incarnation, token })
    }

    /// Highest token that any job of this lane has had.
    pub fn highest_token(&self) -> Option<Token> {
        self.run.as_ref().map(Run::last_token)
    }

    /// The plan that was run last, or is being run.
    pub fn current_plan(&self) -> Option<&PlanRef> {
        self.run.as_ref().map(|run| &run.plan)
    }

    /// The plan that ought to be in force: the one that waits, else the current one.
    pub fn newest_plan(&self) -> Option<&PlanRef> {
        self.queue.last().or_else(|| self.current_plan())
    }

    pub fn uid(&self) -> Option<&Uid> {
        self.newest_plan().map(|plan| &plan.uid)
    }

    pub fn is_promise(&self) -> bool {
        self.newest_plan().is_some_and(|plan| plan.workflow == WorkflowType::Promise)
    }

    pub fn is_deleting(&self) -> bool {
        self.life == Life::Live
            && self.newest_plan().is_some_and(|plan| plan.action == WorkflowAction::Delete)
    }

    /// Gates that the waiting plan still needs.
    pub fn awaited_gates(&self) -> &[Gate] {
        self.queue.first().map_or(&[], |plan| &plan.gates)
    }

    /// Outputs for which no Destination was found.
    pub fn unplaced(&self) -> impl Iterator<Item = &Output> {
        self.outputs.iter().filter(|output| !self.footprint.placements.iter().any(|p| p.holds(output)))
    }

    /// The work of this configure plan is done and stands in the stores: others may build on it.
    pub fn has_completed(&self, work_hash: &Digest) -> bool {
        self.run.as_ref().is_some_and(|run| {
            run.state == RunState::Complete
                && run.plan.action == WorkflowAction::Configure
                && run.plan.work_hash == *work_hash
        })
    }

    /// Nothing is run, because the newest plan holds something that this version does not act on.
    pub(crate) fn is_held_unsupported(&self) -> bool {
        !self.unsupported.is_empty() && !self.is_deleting()
    }

    /// Run complete, footprint confirmed, nothing waiting.
    pub fn is_settled(&self) -> bool {
        match self.life {
            Life::New | Life::Released => true,
            Life::Live => {
                self.queue.is_empty()
                    && !self.controls.again
                    && !self.is_held_unsupported()
                    && self.run.as_ref().is_some_and(|run| run.state == RunState::Complete)
                    && self.footprint.is_confirmed()
            }
        }
    }
}
