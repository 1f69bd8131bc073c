//! Admission by request-reply: the only way by which specs are written.

use std::collections::BTreeMap;

use domain::id::ObjectKey;
use domain::problem::Problem;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::envelope::Message;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "request")]
pub enum AdmitRequest {
    /// Create, or merge by last-applied.
    Apply {
        object: Value,
        /// The directory and file that the object comes from, for directory sync.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        origin: Option<Origin>,
    },
    /// Set labels, or remove those without a value.
    Label { object: ObjectKey, labels: BTreeMap<String, Option<String>> },
    /// Ask for the object's deletion; it goes when its lane has cleaned up.
    Delete {
        object: ObjectKey,
        /// Only if it still comes from there.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        origin: Option<Origin>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Origin {
    pub directory: String,
    pub file: String,
    /// Digest of the document; a deletion by hand holds until it changes.
    pub digest: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "answer")]
pub enum AdmitAnswer {
    #[serde(rename_all = "camelCase")]
    Done { change: Change, object: ObjectKey, problems: Vec<Problem> },
    /// All errors of the object at once; nothing was written.
    Refused { problems: Vec<Problem> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    Created,
    Configured,
    Unchanged,
    /// Marked for deletion, or deleted where nothing has to be cleaned up.
    Deleted,
}

impl Message for AdmitRequest {
    const TYPE: &'static str = "admit";
    const VERSION: u32 = 1;
}

impl Message for AdmitAnswer {
    const TYPE: &'static str = "admitted";
    const VERSION: u32 = 1;
}
