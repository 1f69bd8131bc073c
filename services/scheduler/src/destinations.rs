//! Destinations and stores: what scheduling sees of them, and what their change sets going.

use std::time::Duration;

use domain::footprint::StoreId;
use domain::id::{LaneKey, ObjectKey, ResourceKind};
use domain::lane::{Input, Life};
use domain::placement::Destinations;
use messages::result::DestinationAnswer;
use messages::subject;
use messages::trace::TraceParent;
use messages::write::{WriteCommand, WriteTarget};
use resources::Object;
use resources::keys::KRATIX_GROUP;
use runtime::bus::Delivery;
use runtime::objects;

use crate::status;
use crate::{Error, Scheduler};

/// A copy that lags longer than this is left to the sweep.
const CATCH_UP: Duration = Duration::from_secs(2);

fn destination_kind() -> ResourceKind {
    ResourceKind::new("destinations", KRATIX_GROUP)
}

impl Scheduler {
    /// All Destinations as this replica knows them. A change that it has not seen yet comes as an intent.
    pub(crate) fn destinations(&self) -> Destinations {
        let contents = self.places.now();
        let (destinations, stores): (Vec<_>, Vec<_>) =
            contents.objects.iter().partition(|(key, _)| key.kind == destination_kind());
        let objects = |list: Vec<(&ObjectKey, &std::sync::Arc<Object>)>| -> Vec<Object> {
            list.into_iter().map(|(_, object)| (**object).clone()).collect()
        };
        inflation::destinations::destinations(&objects(destinations), &objects(stores), contents.revision.0)
    }

    /// A Destination or store was written: its canary, and every lane that may have to move.
    pub(crate) async fn on_destination(&self, delivery: &Delivery) -> Result<(), Error> {
        let key = delivery.key().ok_or_else(|| Error::Subject(delivery.subject.clone()))?;
        let trace = delivery.trace();
        let object = self.platform.objects.get(&key).await?;
        self.catch_up(&key, object.as_ref()).await;
        if key.kind == destination_kind() {
            if let Some(object) = object {
                self.order_canary(&key, &object, trace).await?;
            }
        } else {
            self.order_canaries_in(&key, trace).await?;
        }
        self.move_lanes(trace).await
    }

    /// Waits until the copy of the Destinations is as new as what was just read.
    async fn catch_up(&self, key: &ObjectKey, object: Option<&Object>) {
        let mut places = self.places.clone();
        let caught_up = async {
            match object {
                Some(object) => places.reached(objects::version_of(object)).await,
                None => places.without(key).await,
            }
        };
        if tokio::time::timeout(CATCH_UP, caught_up).await.is_err() {
            tracing::warn!(%key, "changed again meanwhile; its next intent or the sweep follows");
        }
    }

    /// Tells every lane with outputs how the Destinations stand now.
    pub(crate) async fn move_lanes(&self, trace: Option<TraceParent>) -> Result<(), Error> {
        let destinations = self.destinations();
        let (digest, mut failed) = (Some(destinations.digest()), None);
        for stored in self.records.scan(None).await? {
            let lane = stored.lane;
            let places_nothing = lane.outputs.is_empty() && lane.footprint.is_empty();
            if lane.life != Life::Live || places_nothing || lane.destinations.digest == digest {
                continue;
            }
            let moved = self.move_lane(&lane.key, destinations.clone(), trace).await;
            // One lane that fails must not hold up the others.
            failed = failed.or(moved.err());
        }
        failed.map_or(Ok(()), Err)
    }

    async fn move_lane(
        &self,
        key: &LaneKey,
        destinations: Destinations,
        trace: Option<TraceParent>,
    ) -> Result<(), Error> {
        let lane = self.transact(key, trace, vec![Input::DestinationsChanged(destinations)]).await?;
        self.perform(lane, trace).await
    }

    async fn order_canaries_in(&self, store: &ObjectKey, trace: Option<TraceParent>) -> Result<(), Error> {
        let contents = self.places.now();
        for (key, object) in contents.objects.iter().filter(|(key, _)| key.kind == destination_kind()) {
            let uses = store_of(object).is_some_and(|used| used == *store);
            if uses {
                self.order_canary(key, object, trace).await?;
            }
        }
        Ok(())
    }

    /// Asks the writer for the Destination's canary documents.
    pub(crate) async fn order_canary(
        &self,
        key: &ObjectKey,
        destination: &Object,
        trace: Option<TraceParent>,
    ) -> Result<(), Error> {
        let Some(store) = store_of(destination) else { return Ok(()) };
        let Some(known) = self.destinations().all.remove(&key.name) else { return Ok(()) };
        if known.location.is_none() {
            return self.report_missing_store(key, destination, &store).await;
        }
        let store = StoreId::of(&store);
        let subject = subject::write(&store, key);
        let generation = destination.metadata.generation.unwrap_or_default();
        let previous = status::destination::canary_place(destination);
        let target = WriteTarget::Destination { destination: key.clone(), generation, previous };
        let encoded = self.platform.bus.encode(&subject, &WriteCommand { store, target }, trace)?;
        Ok(self.platform.bus.publish_surely(&subject, &encoded, None).await?)
    }

    async fn report_missing_store(
        &self,
        key: &ObjectKey,
        destination: &Object,
        store: &ObjectKey,
    ) -> Result<(), Error> {
        let now = self.platform.clock.now();
        let status = status::destination::without_store(destination, store, now);
        self.write_status(key, destination.clone(), status).await
    }

    /// The writer's answer, as the Destination's and the store's condition.
    pub(crate) async fn report_destination(&self, answer: &DestinationAnswer) -> Result<(), Error> {
        let now = self.platform.clock.now();
        if let Some(object) = self.platform.objects.get(&answer.destination).await? {
            let status = status::destination::destination(&object, answer, now);
            self.write_status(&answer.destination, object, status).await?;
        }
        if let Some(object) = self.platform.objects.get(&answer.store).await? {
            let status = status::destination::store(&object, answer, now);
            self.write_status(&answer.store, object, status).await?;
        }
        Ok(())
    }

    pub(crate) async fn write_status(
        &self,
        key: &ObjectKey,
        mut object: Object,
        status: serde_json::Value,
    ) -> Result<(), Error> {
        object.body.insert("status".into(), status);
        match self.platform.objects.update_status(key, object).await {
            Ok(_) | Err(objects::Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The store object that a Destination names.
pub(crate) fn store_of(destination: &Object) -> Option<ObjectKey> {
    let spec: resources::DestinationSpec = destination.parse_spec().ok()?;
    let reference = spec.state_store_ref;
    let kind = resources::kinds::find(reference.kind.as_str(), KRATIX_GROUP)?;
    Some(ObjectKey::new(ResourceKind::new(kind.plural, kind.group), None, reference.name))
}
