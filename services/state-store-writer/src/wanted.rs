//! What a record or a Destination wants in a store now, as changes of repositories.

use std::collections::{BTreeMap, BTreeSet};

use domain::digest::Digest;
use domain::footprint::Place;
use domain::id::ObjectKey;
use domain::lane::Lane;
use messages::trace::TraceParent;
use messages::write::WriteTarget;
use resources::DestinationSpec;
use runtime::pack;
use runtime::telemetry::chain;

use crate::canary::{self, Arrangement};
use crate::service::{Error, StoreName, Writer};
use crate::store::{self, Change, StorePath};

/// One command of the batch.
#[derive(Clone)]
pub(crate) struct Order {
    pub(crate) target: WriteTarget,
    pub(crate) trace: Option<TraceParent>,
}

/// What an order comes to in one repository.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) changes: Vec<Change>,
    pub(crate) updated: BTreeSet<String>,
    pub(crate) removed: BTreeSet<String>,
    pub(crate) canary: bool,
    /// An earlier command of this lane and store was never answered: even with nothing to do, the branch must move,
    /// so that a push that a frozen writer has prepared cannot land.
    pub(crate) must_move: bool,
}

/// What is wanted for one order, by repository and branch.
pub(crate) struct Wanted {
    /// Of the record it was read from; none for a Destination.
    pub(crate) serial: Option<u64>,
    pub(crate) has_revision: bool,
    /// Of a Destination.
    pub(crate) place: Option<Place>,
    pub(crate) work: BTreeMap<(String, String), Work>,
}

impl Writer {
    pub(crate) async fn wanted(&self, store: &StoreName, order: &Order) -> Result<Option<Wanted>, Error> {
        match &order.target {
            WriteTarget::Lane { lane, .. } => {
                let lane = self.records.load(lane).await?.lane;
                self.wanted_of_lane(store, &lane).await
            }
            WriteTarget::Destination { destination, previous, .. } => {
                self.wanted_of_destination(destination, previous.as_ref()).await
            }
        }
    }

    async fn wanted_of_lane(&self, store: &StoreName, lane: &Lane) -> Result<Option<Wanted>, Error> {
        let Some(writes) = lane.footprint.stores.get(&store.id).filter(|writes| !writes.is_answered()) else {
            return Ok(None);
        };
        let mut work: BTreeMap<(String, String), Work> = BTreeMap::new();
        for placement in lane.footprint.placements.iter().filter(|p| p.store == store.id) {
            let Place { repository, branch, prefix } = &placement.place;
            let place = work.entry((repository.clone(), branch.clone())).or_default();
            place.must_move = writes.serial > writes.answered + 1;
            let prefix = StorePath::parse(prefix).map_err(|error| unusable(store, &error))?;
            if let Some(digest) = &placement.wanted {
                place.changes.push(Change::Replace { prefix, files: self.files(store, digest).await? });
                if placement.wanted != placement.confirmed {
                    place.updated.insert(placement.name.clone());
                }
            } else {
                place.changes.push(Change::Remove { prefix });
                place.removed.insert(placement.name.clone());
            }
        }
        let (serial, has_revision) = (Some(writes.serial), writes.revision.is_some());
        Ok(Some(Wanted { serial, has_revision, place: None, work }))
    }

    async fn files(
        &self,
        store: &StoreName,
        digest: &Digest,
    ) -> Result<BTreeMap<StorePath, bytes::Bytes>, Error> {
        let files = pack::unpack(&self.platform.artifacts.get(digest).await?)?;
        files
            .into_iter()
            .map(|(path, content)| match StorePath::parse(&path) {
                Ok(path) => Ok((path, content)),
                Err(error) => Err(unusable(store, &error)),
            })
            .collect()
    }

    async fn wanted_of_destination(
        &self,
        key: &ObjectKey,
        previous: Option<&Place>,
    ) -> Result<Option<Wanted>, Error> {
        let Some(object) = self.platform.objects.get(key).await? else { return Ok(None) };
        let contents = self.places.now();
        let stores: Vec<_> = contents
            .objects
            .iter()
            .filter(|(key, _)| key.kind.plural == "gitstatestores")
            .map(|(_, object)| (**object).clone())
            .collect();
        let known = inflation::destinations::destinations(std::slice::from_ref(&object), &stores, 0);
        let location = known.all.into_values().next().and_then(|destination| destination.location);
        let Some(location) = location else { return Ok(None) };
        let spec: DestinationSpec = object
            .parse_spec()
            .map_err(|error| store::Error::Unusable { store: key.readable(), reason: chain(&error) })?;
        let place = Place { repository: location.repository, branch: location.branch, prefix: location.path };
        let mut work: BTreeMap<(String, String), Work> = BTreeMap::new();
        let mut change = |place: &Place, wanted: bool| -> Result<(), Error> {
            let directory = directory(key, place)?;
            let changes = if wanted {
                canary::put(directory.as_ref(), Arrangement::Nested)
            } else {
                canary::remove(directory.as_ref(), Arrangement::Nested)
            };
            let work = work.entry((place.repository.clone(), place.branch.clone())).or_default();
            work.changes.extend(changes);
            work.canary = true;
            Ok(())
        };
        if let Some(previous) = previous.filter(|previous| **previous != place) {
            change(previous, false)?;
        }
        change(&place, spec.init_workloads.enabled)?;
        Ok(Some(Wanted { serial: None, has_revision: false, place: Some(place), work }))
    }
}

/// A Destination's directory; none for the root of the repository.
fn directory(key: &ObjectKey, place: &Place) -> Result<Option<StorePath>, Error> {
    let path = Some(&*place.prefix).filter(|path| !path.is_empty()).map(StorePath::parse).transpose();
    path.map_err(|error| store::Error::Unusable { store: key.readable(), reason: error.to_string() }.into())
}

fn unusable(store: &StoreName, reason: &dyn std::fmt::Display) -> Error {
    store::Error::Unusable { store: store.key.readable(), reason: reason.to_string() }.into()
}
