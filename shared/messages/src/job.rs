//! JOB: the outstanding job of a lane.

use domain::digest::Digest;
use domain::id::LaneKey;
use domain::token::JobId;
use serde::{Deserialize, Serialize};

use crate::envelope::Message;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobCommand {
    pub lane: LaneKey,
    pub job: JobId,
    /// Digest of the plan.
    pub plan: Digest,
    /// Digest of the status that earlier pipelines contributed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub contributed: Option<Digest>,
}

impl Message for JobCommand {
    const TYPE: &'static str = "job";
    const VERSION: u32 = 1;
}
