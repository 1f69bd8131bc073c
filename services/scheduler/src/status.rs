//! Status as a projection of the record: pure, one file per kind; and the one place that writes it.

mod conditions;
pub(crate) mod destination;
mod promise;
mod request;
mod support;
mod workflow;

use domain::control::ControlLabel;
use domain::id::{LaneKey, ResourceVersion};
use domain::lane::Lane;
use domain::plan::WorkflowType;
use domain::time::Timestamp;
use messages::plan::PlanEntry;
use messages::trace::TraceParent;
use resources::Object;
use runtime::objects;
use serde_json::{Map, Value};

use crate::{Error, Scheduler};

/// Its removal by a person resumes what is suspended.
const SUSPENDED: ControlLabel = ControlLabel::WorkflowSuspended;

/// Reads that race with other writers before the report is left to the next transition.
const ATTEMPTS: u32 = 5;

/// What a status is made from.
pub(crate) struct Facts<'a> {
    pub(crate) lane: &'a Lane,
    pub(crate) object: &'a Object,
    /// The status that the pipelines contributed.
    pub(crate) contributed: Map<String, Value>,
    pub(crate) now: Timestamp,
}

fn project(facts: &Facts<'_>) -> Value {
    match facts.lane.newest_plan().map(|plan| plan.workflow) {
        Some(WorkflowType::Promise) => promise::status(facts),
        Some(WorkflowType::Resource) | None => request::status(facts),
    }
}

impl Scheduler {
    /// The condition of an object without a lane, of which something is not acted on; or is again.
    pub(crate) async fn report_support(&self, entry: &PlanEntry) -> Result<(), Error> {
        let key = &entry.lane.0;
        let Some(object) = self.platform.objects.get(key).await? else { return Ok(()) };
        let status = support::status(&object, &entry.problems, self.platform.clock.now());
        self.write_status(key, object, status).await
    }

    /// Writes the lane's status, and the label of a suspended one; returns what the object then is and how much of the record it shows.
    ///
    /// Reads the object, then the record, writes with the object's version as precondition, and reads the record
    /// again: what is written is never older than what another replica wrote.
    pub(crate) async fn report(
        &self,
        key: &LaneKey,
        trace: Option<TraceParent>,
    ) -> Result<Option<(u64, ResourceVersion)>, Error> {
        for _ in 0..ATTEMPTS {
            let Some(mut object) = self.platform.objects.get(&key.0).await? else { return Ok(None) };
            let stored = self.records.load(key).await?;
            if stored.lane.uid().map(|uid| &*uid.0) != object.metadata.uid.as_deref() {
                return Ok(None); // another object of this name: its plan is on its way
            }
            if stored.lane.is_suspended() && object.label(SUSPENDED.key()).is_none() {
                object.metadata.labels.insert(SUSPENDED.key().into(), "true".into());
                object = match self.platform.objects.update(&key.0, object).await {
                    Ok(labelled) => labelled,
                    Err(objects::Error::Conflict(_)) => continue,
                    Err(error) => return Err(error.into()),
                };
                self.platform.bus.publish_intent(&key.0, trace).await?;
            }
            let contributed = match &stored.lane.contributed {
                Some(digest) => self.platform.artifacts.get_json(digest).await?,
                None => Map::new(),
            };
            let now = self.platform.clock.now();
            let status = project(&Facts { lane: &stored.lane, object: &object, contributed, now });
            let written = if object.status() == Some(&status) {
                Ok(object)
            } else {
                let mut next = object;
                next.body.insert("status".into(), status);
                self.platform.objects.update_status(&key.0, next).await
            };
            let object = match written {
                Ok(object) => object,
                Err(objects::Error::Conflict(_)) => continue,
                Err(objects::Error::NotFound(_)) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            if self.records.load(key).await?.at == stored.at {
                return Ok(Some((stored.lane.performed.visible, objects::version_of(&object))));
            }
        }
        Ok(None) // it moves fast; the transition that comes to rest reports
    }
}
