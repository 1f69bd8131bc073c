//! Destinations and their stores, as scheduling sees them.

use domain::footprint::StoreId;
use domain::id::{ObjectKey, ResourceKind};
use domain::names::join_path;
use domain::placement::{Destination, Destinations, Location};
use resources::destination::{Cleanup, DestinationSpec, FilepathMode, StoreKind};
use resources::keys::KRATIX_GROUP;
use resources::{GitStateStoreSpec, Object, kinds};

use crate::admission::url::{Access, access, repository};

/// A Destination has no location while its store is unknown, and where this version does not write: buckets, remote
/// repositories, modes other than `nestedByMetadata`, and Destinations or stores that cannot be read.
pub fn destinations(destinations: &[Object], stores: &[Object], revision: u64) -> Destinations {
    let all = destinations.iter().map(|object| {
        let spec = object.parse_spec::<DestinationSpec>().ok();
        let destination = Destination {
            name: object.name().into(),
            labels: object.metadata.labels.clone(),
            strict: spec.as_ref().is_some_and(|spec| spec.strict_match_labels),
            terminating: object.is_terminating(),
            cleanup: spec.as_ref().is_some_and(|spec| spec.cleanup == Cleanup::All),
            location: spec.and_then(|spec| location(&spec, stores)),
        };
        (object.name().to_owned(), destination)
    });
    let stores = stores.iter().filter_map(|store| {
        let known = kinds::find(&store.kind, store.group())?;
        Some(store_id(known.plural, store.name()))
    });
    Destinations { revision, all: all.collect(), stores: stores.collect() }
}

fn store_id(plural: &str, name: &str) -> StoreId {
    StoreId::of(&ObjectKey::new(ResourceKind::new(plural, KRATIX_GROUP), None, name))
}

fn location(spec: &DestinationSpec, stores: &[Object]) -> Option<Location> {
    let reference = &spec.state_store_ref;
    if spec.filepath.mode != FilepathMode::NestedByMetadata || reference.kind != StoreKind::GitStateStore {
        return None;
    }
    let store = stores
        .iter()
        .find(|store| store.kind == reference.kind.as_str() && store.name() == reference.name)?;
    let git: GitStateStoreSpec = store.parse_spec().ok()?;
    if access(&git.url) != Ok(Access::File) {
        return None;
    }
    Some(Location {
        store: store_id("gitstatestores", &reference.name),
        repository: repository(&git.url).into(),
        branch: git.branch,
        path: join_path(&[git.path.as_deref().unwrap_or_default(), &spec.path]),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(kind: &str, name: &str, spec: &Value) -> Object {
        Object::from_value(json!({
            "apiVersion": "platform.kratix.io/v1alpha1", "kind": kind, "spec": spec,
            "metadata": {"name": name, "labels": {"env": "dev"}},
        }))
        .unwrap()
    }

    fn destination(name: &str, store: &str, mode: &str) -> Object {
        let (kind, store) = store.split_once('/').unwrap();
        let spec =
            json!({"path": name, "stateStoreRef": {"kind": kind, "name": store}, "filepath": {"mode": mode}});
        object("Destination", name, &spec)
    }

    #[test]
    fn a_destination_is_where_its_store_is() {
        let stores = [
            object("GitStateStore", "near", &json!({"url": "file:///repo/", "path": "/top/"})),
            object("GitStateStore", "far", &json!({"url": "https://example.org/repo", "branch": "live"})),
            object("BucketStateStore", "near", &json!({"bucketName": "b", "endpoint": "e"})),
        ];
        let mut strict = destination("strict", "GitStateStore/near", "nestedByMetadata");
        strict.body["spec"]["strictMatchLabels"] = json!(true);
        strict.body["spec"]["cleanup"] = json!("all");
        strict.metadata.deletion_timestamp = Some("2024-01-01T00:00:00Z".into());
        let all = [
            destination("here", "GitStateStore/near", "nestedByMetadata"),
            strict,
            destination("remote", "GitStateStore/far", "nestedByMetadata"),
            destination("unknown", "GitStateStore/none", "nestedByMetadata"),
            destination("bucket", "BucketStateStore/near", "nestedByMetadata"),
            destination("flat", "GitStateStore/near", "none"),
            object("Destination", "broken", &json!({"path": 5})),
        ];
        let found = destinations(&all, &stores, 7);
        assert_eq!(found.revision, 7);
        let here = &found.all["here"];
        assert_eq!(here.labels["env"], "dev");
        let location = here.location.as_ref().unwrap();
        assert_eq!(location.store.as_str(), "gitstatestores-near");
        assert_eq!(
            (&*location.repository, &*location.branch, &*location.path),
            ("file:///repo", "main", "top/here")
        );
        assert!(found.all["strict"].strict && found.all["strict"].terminating && found.all["strict"].cleanup);
        let ids = found.stores.iter().map(StoreId::as_str).collect::<Vec<_>>();
        assert_eq!(ids, ["bucketstatestores-near", "gitstatestores-far", "gitstatestores-near"]);
        for name in ["remote", "unknown", "bucket", "flat", "broken"] {
            assert_eq!(found.all[name].location, None, "{name}");
        }
    }
}
