//! A plan: immutable data made by the inflater, the full ordered list of pipelines with no choices left in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;
use crate::id::{LaneKey, Uid};
use crate::output::Selector;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WorkflowAction {
    Configure,
    Delete,
}

impl WorkflowAction {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configure => "configure",
            Self::Delete => "delete",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WorkflowType {
    Promise,
    Resource,
}

impl WorkflowType {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Promise => "promise",
            Self::Resource => "resource",
        }
    }
}

/// What a lane needs of another before a run may start.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "gate")]
pub enum Gate {
    /// The Promise's workflow is complete for this work hash.
    #[serde(rename_all = "camelCase")]
    PromiseComplete { promise: LaneKey, work_hash: Digest },
    /// A required Promise is installed, at the version when one is given.
    #[serde(rename_all = "camelCase")]
    PromiseInstalled { promise: LaneKey, version: Option<String> },
}

impl Gate {
    pub fn promise(&self) -> &LaneKey {
        match self {
            Self::PromiseComplete { promise, .. } | Self::PromiseInstalled { promise, .. } => promise,
        }
    }
}

/// Stored by the digest of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub lane: LaneKey,
    pub uid: Uid,
    pub generation: i64,
    pub workflow: WorkflowType,
    pub action: WorkflowAction,
    /// Name of the Promise.
    pub promise: String,
    /// Of the specs the plan was made from: the object's and its Promise's. Nothing else moves it.
    pub work_hash: Digest,
    pub gates: Vec<Gate>,
    /// `destinationSelectors` of the Promise, in the order written.
    pub selectors: Vec<Selector>,
    pub pipelines: Vec<Pipeline>,
    /// The object as the containers see it in `/kratix/input/object.yaml`; status is added per job.
    pub input: Value,
}

impl Plan {
    pub fn digest(&self) -> Digest {
        Digest::of_json(self)
    }

    /// What a lane remembers of a plan.
    pub fn reference(&self) -> PlanRef {
        PlanRef {
            digest: self.digest(),
            uid: self.uid.clone(),
            generation: self.generation,
            workflow: self.workflow,
            action: self.action,
            promise: self.promise.clone(),
            work_hash: self.work_hash.clone(),
            pipelines: self.pipelines.iter().map(|pipeline| pipeline.name.clone()).collect(),
            gates: self.gates.clone(),
            selectors: self.selectors.clone(),
        }
    }
}

/// The containers of one pipeline, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pipeline {
    pub name: String,
    pub containers: Vec<Container>,
    /// Parts of the pipeline's spec that only a Kubernetes Job understands, as written.
    #[serde(skip_serializing_if = "Value::is_null", default)]
    pub kubernetes: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    pub name: String,
    pub image: String,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub command: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub args: Vec<String>,
    /// In order; a later duplicate wins.
    pub env: Vec<EnvVar>,
    /// Parts of the container that only a Kubernetes Job understands, as written.
    #[serde(skip_serializing_if = "Value::is_null", default)]
    pub kubernetes: Value,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvVar {
    pub name: String,
    pub value: String,
}

/// A plan as a lane's record holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanRef {
    pub digest: Digest,
    pub uid: Uid,
    pub generation: i64,
    pub workflow: WorkflowType,
    pub action: WorkflowAction,
    pub promise: String,
    pub work_hash: Digest,
    /// Names, in order.
    pub pipelines: Vec<String>,
    pub gates: Vec<Gate>,
    pub selectors: Vec<Selector>,
}

impl PlanRef {
    /// Whether both ask for the same work: then no new run is needed.
    pub fn same_work(&self, other: &Self) -> bool {
        self.uid == other.uid
            && self.action == other.action
            // A delete runs once per life of an object, whatever its spec becomes meanwhile.
            && (self.action == WorkflowAction::Delete || self.work_hash == other.work_hash)
    }
}

/// Equality labels, the only kind of selector that Promises have.
pub type Labels = BTreeMap<String, String>;
