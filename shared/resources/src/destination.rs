//! Destination: a directory in a state store, with labels to be chosen by.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `spec` of a Destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DestinationSpec {
    /// Directory below the store's own path.
    pub path: String,
    pub state_store_ref: StoreRef,
    /// If true, an empty selector does not choose this Destination.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict_match_labels: bool,
    #[serde(default)]
    pub filepath: Filepath,
    #[serde(default)]
    pub cleanup: Cleanup,
    #[serde(default)]
    pub init_workloads: InitWorkloads,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoreRef {
    pub kind: StoreKind,
    pub name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum StoreKind {
    BucketStateStore,
    GitStateStore,
}

impl StoreKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BucketStateStore => "BucketStateStore",
            Self::GitStateStore => "GitStateStore",
        }
    }
}

/// How files are laid out. The mode cannot change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Filepath {
    pub mode: FilepathMode,
    /// Of the one file in mode `aggregatedYAML`; `aggregated.yaml` when unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
}

// The variants carry no docs of their own: the schema is to be a plain `enum`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FilepathMode {
    #[default]
    #[serde(rename = "nestedByMetadata")]
    NestedByMetadata,
    #[serde(rename = "aggregatedYAML")]
    AggregatedYaml,
    #[serde(rename = "none")]
    None,
}

impl FilepathMode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NestedByMetadata => "nestedByMetadata",
            Self::AggregatedYaml => "aggregatedYAML",
            Self::None => "none",
        }
    }
}

/// What happens to the files when the Destination is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Cleanup {
    #[default]
    None,
    All,
}

/// Whether canary documents are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InitWorkloads {
    pub enabled: bool,
}

impl Default for InitWorkloads {
    fn default() -> Self {
        Self { enabled: true }
    }
}
