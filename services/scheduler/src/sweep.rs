//! The sweep: whatever a lost message or a crash has left undone is found by reading everything once in a while.

use std::collections::HashMap;
use std::time::Duration;

use domain::id::LaneKey;
use domain::lane::{Life, RunState};
use messages::envelope;
use messages::plan::PlanEntry;
use messages::subject;
use runtime::bus::Stored;
use runtime::telemetry::chain;

use crate::decode::arrival;
use crate::status;
use crate::{Error, Scheduler};

/// Pause between sweeps.
pub(crate) const EVERY: Duration = Duration::from_secs(30);

impl Scheduler {
    pub(crate) async fn sweep(&self) -> Result<(), Error> {
        let records = self.records.scan(None).await?;
        let records: HashMap<LaneKey, Stored> =
            records.into_iter().map(|stored| (stored.lane.key.clone(), stored)).collect();
        for latest in self.plans.scan(subject::ALL_PLANS).await?.iter().filter(|latest| !latest.is_end()) {
            match envelope::decode::<PlanEntry>(|name| latest.header(name), &latest.payload) {
                Ok(received) => self.compare(&received.message, &records).await,
                Err(error) => {
                    tracing::error!(subject = latest.subject, error = chain(&error), "plan left out");
                }
            }
        }
        for stored in records.into_values().filter(|stored| stored.lane.life == Life::Live) {
            let key = stored.lane.key.clone();
            let waits = stored.lane.run.as_ref().is_some_and(|run| run.state == RunState::Dependents);
            if stored.lane.pending().is_empty() && stored.lane.awaited_gates().is_empty() {
                continue;
            }
            let mut done = self.perform(stored.lane, None).await;
            if waits && done.is_ok() {
                done = self.check_dependents(&key, None).await;
            }
            if let Err(error) = done {
                tracing::warn!(lane = %key, error = chain(&error), "left for the next sweep");
            }
        }
        self.catch_up_destinations().await
    }

    /// A plan that its lane has not seen.
    async fn compare(&self, entry: &PlanEntry, records: &HashMap<LaneKey, Stored>) {
        let seen = records.get(&entry.lane).map(|stored| &stored.lane);
        let known = seen.is_some_and(|lane| {
            lane.seen == entry.sources && lane.arrived == entry.plan.as_ref().map(|plan| plan.digest.clone())
        });
        if known || arrival(entry).is_none() {
            return;
        }
        if let Err(error) = self.take_plan(entry, None).await {
            tracing::warn!(lane = %entry.lane, error = chain(&error), "left for the next sweep");
        }
    }

    /// Destinations whose canary nobody has answered for, and lanes that have not seen their newest state.
    async fn catch_up_destinations(&self) -> Result<(), Error> {
        let contents = self.places.now();
        for (key, object) in &contents.objects {
            let observed = object.status().and_then(|status| status.get("observedGeneration"));
            let observed = observed.and_then(serde_json::Value::as_i64) == object.metadata.generation;
            // A store that refused may take it now.
            let current = observed && status::destination::is_ready(object);
            if key.kind.plural == "destinations" && !current {
                self.order_canary(key, object, None).await?;
            }
        }
        self.move_lanes(None).await
    }
}
