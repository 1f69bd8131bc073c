//! Names and places of the stories.

use domain::footprint::StoreId;
use domain::id::{LaneKey, ObjectKey, ResourceKind};
use domain::output::group_id;
use domain::placement::{Destination, Destinations, Location};
use domain::plan::Labels;

pub(crate) fn lane_key(text: &str) -> LaneKey {
    text.parse().expect("a lane key")
}

pub(crate) fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
}

pub(crate) fn store(name: &str) -> StoreId {
    StoreId::of(&ObjectKey::new(ResourceKind::new("gitstatestores", "platform.kratix.io"), None, name))
}

/// Directory `path` of the store's repository.
pub(crate) fn location(store_name: &str, path: &str) -> Location {
    Location {
        store: store(store_name),
        repository: format!("https://{store_name}.example/state"),
        branch: "main".into(),
        path: path.into(),
    }
}

/// Adds a Destination, or gives it other labels or another location.
pub(crate) fn destination(all: &mut Destinations, name: &str, pairs: &[(&str, &str)], location: Location) {
    all.revision += 1;
    all.stores.insert(location.store.clone());
    let destination = Destination {
        name: name.into(),
        labels: labels(pairs),
        strict: false,
        terminating: false,
        cleanup: false,
        location: Some(location),
    };
    all.all.insert(name.into(), destination);
}

/// `dev/resources/default/redis/cache/one/5058f` is `one@dev`; another group's has its id: `one/8277e@dev`.
pub(crate) fn short(prefix: &str) -> String {
    let parts: Vec<&str> = prefix.split('/').collect();
    match parts[..] {
        [destination, "resources", _, _, _, pipeline, group]
        | [destination, "dependencies", _, pipeline, group] => {
            if group_id(".").starts_with(group) {
                format!("{pipeline}@{destination}")
            } else {
                format!("{pipeline}/{group}@{destination}")
            }
        }
        _ => prefix.into(),
    }
}
