//! The snapshot that objects are checked against, with each Promise read once per version.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use domain::id::{ObjectKey, ResourceKind, ResourceVersion};
use inflation::{InstalledPromise, World};
use resources::Object;
use resources::keys::KRATIX_GROUP;
use runtime::objects::{self, Objects, Snapshot};
use runtime::shutdown::Shutdown;

fn kinds() -> Vec<ResourceKind> {
    ["promises", "destinations", "gitstatestores", "bucketstatestores"]
        .map(|plural| ResourceKind::new(plural, KRATIX_GROUP))
        .to_vec()
}

pub(crate) struct Worlds {
    objects: Arc<dyn Objects>,
    snapshot: Snapshot,
    /// Promises by the object they were read from: reading one compiles its schemas.
    read: Mutex<BTreeMap<ObjectKey, (ResourceVersion, Arc<InstalledPromise>)>>,
}

impl Worlds {
    pub(crate) async fn follow(
        objects: Arc<dyn Objects>,
        shutdown: Shutdown,
    ) -> Result<Self, objects::Error> {
        let snapshot = Snapshot::follow(objects.clone(), kinds(), shutdown).await?;
        Ok(Self { objects, snapshot, read: Mutex::new(BTreeMap::new()) })
    }

    /// As this replica last heard.
    pub(crate) fn now(&self) -> World {
        let contents = self.snapshot.now();
        self.build(contents.objects.iter().map(|(key, object)| (key, &**object)))
    }

    /// As it is stored, for answers that must not be wrong because of a change elsewhere a moment ago.
    pub(crate) async fn fresh(&self) -> Result<World, objects::Error> {
        let mut all = Vec::new();
        for kind in kinds() {
            all.extend(self.objects.list(Some(&kind)).await?);
        }
        Ok(self.build(all.iter().map(|(key, object)| (key, object))))
    }

    /// Returns once this replica has heard of the version.
    pub(crate) async fn reached(&self, key: &ObjectKey, version: ResourceVersion) {
        if kinds().contains(&key.kind) {
            self.snapshot.clone().reached(version).await;
        }
    }

    fn build<'a>(&self, all: impl Iterator<Item = (&'a ObjectKey, &'a Object)>) -> World {
        let mut world = World::default();
        for (key, object) in all {
            match &*key.kind.plural {
                "promises" => world.promises.extend(self.promise(key, object)),
                "destinations" => world.destinations.push(object.clone()),
                _ => world.stores.push(object.clone()),
            }
        }
        world
    }

    pub(crate) fn promise(&self, key: &ObjectKey, object: &Object) -> Option<Arc<InstalledPromise>> {
        let version = objects::version_of(object);
        // Nothing between lock and unlock panics; were it poisoned, Promises would just be read again.
        let known = self.read.lock().ok().and_then(|read| read.get(key).cloned());
        if let Some((_, promise)) = known.filter(|(at, _)| *at == version) {
            return Some(promise);
        }
        match InstalledPromise::new(object.clone()) {
            Ok(promise) => {
                let promise = Arc::new(promise);
                if let Ok(mut read) = self.read.lock() {
                    read.insert(key.clone(), (version, promise.clone()));
                }
                Some(promise)
            }
            Err(problem) => {
                tracing::error!(%key, %problem, "a stored Promise cannot be read");
                None
            }
        }
    }
}
