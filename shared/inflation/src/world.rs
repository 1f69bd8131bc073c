//! What is installed, as far as admission and inflation look at it.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::digest::Digest;
use domain::id::{LaneKey, ObjectKey, ResourceKind};
use domain::problem::Problem;
use resources::keys::KRATIX_GROUP;
use resources::kinds::{self, KnownKind};
use resources::{Crd, Object, PromiseSpec};

use crate::schema::Schema;

/// A snapshot of the objects that others are checked against.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub promises: Vec<Arc<InstalledPromise>>,
    pub destinations: Vec<Object>,
    /// GitStateStores and BucketStateStores.
    pub stores: Vec<Object>,
}

/// A stored Promise with its parts read.
#[derive(Debug)]
pub struct InstalledPromise {
    pub object: Object,
    pub spec: PromiseSpec,
    /// None when the Promise offers no API.
    pub api: Option<Crd>,
    /// Of its spec alone: what its own plans and those of its requests are made from.
    pub work_hash: Digest,
    /// By served version.
    pub(crate) schemas: BTreeMap<String, Schema>,
}

/// What an object is to Millrace.
#[derive(Clone, Copy, Debug)]
pub enum Role<'a> {
    Known(&'static KnownKind),
    /// A request of this Promise.
    Request(&'a InstalledPromise, &'a Crd),
}

impl World {
    pub fn promise(&self, name: &str) -> Option<&Arc<InstalledPromise>> {
        self.promises.iter().find(|promise| promise.object.name() == name)
    }

    /// The Promise whose API has the kind.
    pub fn promise_of(&self, group: &str, kind: &str) -> Option<&Arc<InstalledPromise>> {
        self.promises.iter().find(|promise| {
            promise.api.as_ref().is_some_and(|api| api.spec.group == group && api.spec.names.kind == kind)
        })
    }

    /// None for a kind that is not known here.
    pub fn role(&self, object: &Object) -> Option<Role<'_>> {
        if let Some(known) =
            kinds::find(&object.kind, object.group()).filter(|known| known.kind == object.kind)
        {
            return Some(Role::Known(known));
        }
        let promise = self.promise_of(object.group(), &object.kind)?;
        Some(Role::Request(promise, promise.api.as_ref()?))
    }

    /// The kind that a command line means: known by itself or from a Promise, in any of its spellings.
    pub fn spelled(&self, spelling: &str) -> Option<Role<'_>> {
        let offered = || {
            self.promises.iter().find_map(|promise| {
                let api = promise.api.as_ref().filter(|api| api.is_spelled(spelling))?;
                Some(Role::Request(promise, api))
            })
        };
        kinds::find_spelling(spelling).map(Role::Known).or_else(offered)
    }
}

impl InstalledPromise {
    /// Reads the parts of a Promise. Fails only for one that never was admitted.
    pub fn new(object: Object) -> Result<Self, Problem> {
        let spec: PromiseSpec = object.parse_spec().map_err(|error| unreadable("spec", &error))?;
        let api: Option<Crd> = match &spec.api {
            Some(api) => {
                Some(serde_json::from_value(api.clone()).map_err(|error| unreadable("spec.api", &error))?)
            }
            None => None,
        };
        let served = api.iter().flat_map(Crd::served_versions);
        let schemas = served
            .map(|version| {
                (version.name.clone(), Schema::of_requests(version.schema.open_api_v3_schema.clone()))
            })
            .collect();
        let work_hash = Digest::of_json(&object.spec());
        Ok(Self { object, spec, api, work_hash, schemas })
    }

    pub fn name(&self) -> &str {
        self.object.name()
    }

    pub fn lane(&self) -> LaneKey {
        promise_lane(self.name())
    }
}

fn unreadable(field: &str, error: &dyn std::fmt::Display) -> Problem {
    Problem::error("schema", field, format!("cannot be read: {error}"))
}

/// The lane of the Promise of that name.
pub(crate) fn promise_lane(name: &str) -> LaneKey {
    LaneKey(ObjectKey::new(ResourceKind::new("promises", KRATIX_GROUP), None, name))
}

impl Role<'_> {
    pub fn kind(&self) -> ResourceKind {
        match self {
            Self::Known(known) => ResourceKind::new(known.plural, known.group),
            Self::Request(_, api) => ResourceKind::new(&api.spec.names.plural, &api.spec.group),
        }
    }

    pub fn is_namespaced(&self) -> bool {
        match self {
            Self::Known(known) => known.namespaced,
            Self::Request(..) => true,
        }
    }

    /// The key of an object of this role. One that names no namespace is in `default`.
    pub fn key(&self, object: &Object) -> ObjectKey {
        let namespace = self.is_namespaced().then(|| object.namespace().unwrap_or("default"));
        ObjectKey::new(self.kind(), namespace, object.name())
    }
}
