//! RESULT: how jobs end and what stores answer.

use domain::footprint::{Place, StoreId};
use domain::id::{LaneKey, ObjectKey};
use domain::lane::{JobOutcome, WriteResult};
use domain::token::JobId;
use serde::{Deserialize, Serialize};

use crate::envelope::Message;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultMessage {
    #[serde(flatten)]
    pub body: ResultBody,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum ResultBody {
    Job(JobEnd),
    Write(WriteAnswer),
    Destination(DestinationAnswer),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobEnd {
    pub lane: LaneKey,
    pub job: JobId,
    pub end: JobOutcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteAnswer {
    pub lane: LaneKey,
    pub store: StoreId,
    /// Serial of the wanted footprint that the answer is about.
    pub serial: u64,
    pub answer: WriteResult,
}

/// Whether a Destination can be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DestinationAnswer {
    pub destination: ObjectKey,
    /// Generation of the Destination that the answer is about.
    pub generation: i64,
    /// Where the Destination's documents stand now.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub place: Option<Place>,
    /// The store as an object.
    pub store: ObjectKey,
    pub answer: WriteResult,
}

impl Message for ResultMessage {
    const TYPE: &'static str = "result";
    const VERSION: u32 = 1;
}
