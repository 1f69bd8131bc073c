//! PLAN: the newest plan of an object, latest wins, written by compare-and-set.

use domain::control::Controls;
use domain::id::{LaneKey, Source, Uid};
use domain::plan::PlanRef;
use domain::problem::Problem;
use serde::{Deserialize, Serialize};

use crate::envelope::Message;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanEntry {
    pub lane: LaneKey,
    pub uid: Uid,
    pub generation: i64,
    /// The object is under deletion.
    pub deletion: bool,
    pub controls: Controls,
    /// Why there is no plan, or what of it this version does not act on.
    pub problems: Vec<Problem>,
    /// None where the object cannot be planned; then an error is among the problems.
    pub plan: Option<PlanRef>,
    /// Versions of all objects that this entry was made from, in order of their keys.
    pub sources: Vec<Source>,
}

impl Message for PlanEntry {
    const TYPE: &'static str = "plan";
    const VERSION: u32 = 1;
}
