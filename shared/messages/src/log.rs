//! A job's log, as it is stored by digest.

use serde::{Deserialize, Serialize};

/// Containers in the order in which they ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobLog(pub Vec<ContainerLog>);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerLog {
    pub container: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// Bytes that were beyond the limit and not kept.
    pub dropped: u64,
}
