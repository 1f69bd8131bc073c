//! Control labels: what a person asks of a lane by labelling its object.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::ResourceVersion;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ControlLabel {
    /// `kratix.io/manual-reconciliation`: cancel the running job, then everything from pipeline 0.
    ManualReconciliation,
    /// `internal.workflows.kratix.io/run-from-start`: let the running job end, then everything from pipeline 0.
    RunFromStart,
    /// `kratix.io/paused`: nothing starts while it is there.
    Paused,
    /// `kratix.io/workflow-suspended`: taken away, the suspended pipeline is resumed.
    WorkflowSuspended,
    /// `kratix.io/reconcile-resources`, on a Promise: run all its requests from the start.
    ReconcileResources,
}

impl ControlLabel {
    pub const ALL: [Self; 5] = [
        Self::ManualReconciliation,
        Self::RunFromStart,
        Self::Paused,
        Self::WorkflowSuspended,
        Self::ReconcileResources,
    ];

    pub fn key(self) -> &'static str {
        match self {
            Self::ManualReconciliation => "kratix.io/manual-reconciliation",
            Self::RunFromStart => "internal.workflows.kratix.io/run-from-start",
            Self::Paused => "kratix.io/paused",
            Self::WorkflowSuspended => "kratix.io/workflow-suspended",
            Self::ReconcileResources => "kratix.io/reconcile-resources",
        }
    }
}

/// The control labels that an object carried at some version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Controls {
    pub labels: BTreeSet<ControlLabel>,
    pub resource_version: ResourceVersion,
}
