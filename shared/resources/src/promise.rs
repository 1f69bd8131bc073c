//! Promise: the API a platform offers and the workflows behind it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::pipeline::Pipeline;
use crate::structural;

/// `spec` of a Promise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PromiseSpec {
    /// A CustomResourceDefinition, see [`crate::api`]. Without one the Promise has no requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "structural::any_object")]
    pub api: Option<Value>,
    #[serde(skip_serializing_if = "Workflows::is_empty")]
    pub workflows: Workflows,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required_promises: Vec<RequiredPromise>,
    /// Objects that go to every matching Destination as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "structural::any_objects")]
    pub dependencies: Vec<Value>,
    /// Squashed into one map of labels; on equal keys the first entry wins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub destination_selectors: Vec<DestinationSelector>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Workflows {
    #[serde(skip_serializing_if = "WorkflowsConfig::is_empty")]
    pub config: WorkflowsConfig,
    /// Run for the Promise itself.
    #[serde(skip_serializing_if = "WorkflowPipelines::is_empty")]
    pub promise: WorkflowPipelines,
    /// Run for each request.
    #[serde(skip_serializing_if = "WorkflowPipelines::is_empty")]
    pub resource: WorkflowPipelines,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkflowsConfig {
    /// Namespace of all jobs of the Promise; unset: that of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline_namespace: Option<String>,
    /// A Go duration (see [`crate::duration`]) after which everything is run again; at least `1m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconciliation_interval: Option<String>,
}

/// The pipelines of one workflow, in the order they run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkflowPipelines {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub configure: Vec<Pipeline>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delete: Vec<Pipeline>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequiredPromise {
    pub name: String,
    /// Any, when unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DestinationSelector {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
}

impl Workflows {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl WorkflowsConfig {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl WorkflowPipelines {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
