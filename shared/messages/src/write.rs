//! WRITE: make this lane's footprint true in this store, or the Destination's canary. What is wanted stands in the
//! record, or in the Destination.

use domain::footprint::{Place, StoreId};
use domain::id::{LaneKey, ObjectKey};
use serde::{Deserialize, Serialize};

use crate::envelope::Message;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteCommand {
    pub store: StoreId,
    #[serde(flatten)]
    pub target: WriteTarget,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "target")]
pub enum WriteTarget {
    /// `serial` of the wanted footprint when the command was given; the record may have moved on.
    Lane { lane: LaneKey, serial: u64 },
    /// Canary documents, and whether the store can be written. `previous`: where they stood before.
    Destination {
        destination: ObjectKey,
        generation: i64,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        previous: Option<Place>,
    },
}

impl Message for WriteCommand {
    const TYPE: &'static str = "write";
    const VERSION: u32 = 1;
}
