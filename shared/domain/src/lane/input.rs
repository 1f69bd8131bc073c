//! All that can happen to a lane, and how it was taken.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::control::{ControlLabel, Controls};
use crate::digest::Digest;
use crate::footprint::StoreId;
use crate::id::{ResourceVersion, Source};
use crate::output::OutputGroup;
use crate::placement::Destinations;
use crate::plan::{Gate, Labels, PlanRef};
use crate::problem::Problem;
use crate::token::{JobId, Token};

#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    PlanArrived(PlanArrival),
    /// How the gates of the waiting plan stand. `selector`: what the Promise's workflow wrote for default groups.
    GateChanged {
        gates: Vec<Gate>,
        closed: Option<String>,
        selector: Labels,
    },
    /// No request of this Promise has a job or a footprint any more.
    DependentsGone,
    JobFinished {
        job: JobId,
        outcome: JobOutcome,
        destinations: Destinations,
    },
    WriteAnswered {
        store: StoreId,
        serial: u64,
        result: WriteResult,
    },
    TimerFired(Timer),
    Control(ControlRequest),
    DestinationsChanged(Destinations),
    /// A control label was removed from the object, which is at this version now.
    ControlCleared {
        label: ControlLabel,
        resource_version: ResourceVersion,
    },
    /// The outside has been told everything up to this sequence.
    Performed {
        sequence: u64,
        resource_version: ResourceVersion,
    },
    /// The object's finalizer is off: it is gone.
    Released,
}

/// The newest plan of an object. Deletion arrives as a plan of kind delete.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanArrival {
    pub plan: PlanRef,
    pub sources: Vec<Source>,
    pub controls: Controls,
    pub unsupported: Vec<Problem>,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "outcome")]
pub enum JobOutcome {
    #[serde(rename_all = "camelCase")]
    Succeeded {
        groups: Vec<OutputGroup>,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        contributed: Option<Digest>,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        log: Option<Digest>,
    },
    Failed {
        message: String,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        log: Option<Digest>,
    },
    Cancelled {
        #[serde(skip_serializing_if = "Option::is_none", default)]
        log: Option<Digest>,
    },
    #[serde(rename_all = "camelCase")]
    Suspended {
        message: String,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        retry_after: Option<Duration>,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        contributed: Option<Digest>,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        log: Option<Digest>,
    },
    /// A sink knows a higher token than the job's; nothing ran.
    Refused { highest: Token },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "result")]
pub enum WriteResult {
    /// The store holds what was wanted. No revision: nothing had to be done.
    Written {
        revision: Option<String>,
    },
    Failed {
        message: String,
    },
}

impl WriteResult {
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}

/// What a timer was set for. A timer of an older run or serial is stale.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "timer")]
pub enum Timer {
    Resume { run: u64, pipeline: u32 },
    Write { store: StoreId, serial: u64 },
}

/// What a person asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ControlRequest {
    Pause,
    /// Takes back a pause; resumes what is suspended.
    Resume,
    /// Cancels the running job, then runs everything from pipeline 0.
    Restart,
    /// Cancels the running job and stays stopped until the next change.
    Abort,
    /// Runs a failed pipeline again.
    Retry,
}

/// How an input was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Applied,
    /// It was applied before; its actions may have to be performed again.
    Duplicate,
    /// It belongs to something that is over, or that is not known here.
    Stale,
}
