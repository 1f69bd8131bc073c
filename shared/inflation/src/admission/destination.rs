//! Destination (kratix-P5: path clash).

use domain::names::join_path;
use domain::problem::Problem;
use resources::destination::{DestinationSpec, Filepath, FilepathMode, StoreKind, StoreRef};
use resources::{GitStateStoreSpec, Object};

use super::check_spec;
use super::parts::{not_acted_on, part, required};
use super::store::check_path;
use super::url::repository;
use crate::schema::known;
use crate::world::World;

pub(super) fn check(
    object: &mut Object,
    current: Option<&Object>,
    world: &World,
    problems: &mut Vec<Problem>,
) {
    check_spec(object, &known::DESTINATION, problems);
    let Some(spec) = object.spec() else { return };
    let path: Option<String> = part(spec, "path");
    let reference: Option<StoreRef> = part(spec, "stateStoreRef");
    if let Some(path) = &path {
        if path.is_empty() {
            problems.push(required("spec.path"));
        }
        check_path("spec.path", path, problems);
    }
    if let (Some(path), Some(reference)) = (&path, &reference) {
        check_clash(object.name(), path, reference, world, problems);
    }
    if reference.is_some_and(|reference| reference.kind == StoreKind::BucketStateStore) {
        problems.push(not_acted_on("spec.stateStoreRef.kind", "buckets"));
    }
    if let Some(filepath) = part::<Filepath>(spec, "filepath") {
        check_mode(filepath.mode, current, problems);
    }
}

fn check_mode(mode: FilepathMode, current: Option<&Object>, problems: &mut Vec<Problem>) {
    let before = current.and_then(|current| current.parse_spec::<DestinationSpec>().ok());
    if before.is_some_and(|before| before.filepath.mode != mode) {
        problems.push(Problem::error("immutable", "spec.filepath.mode", "cannot be changed"));
    }
    if mode != FilepathMode::NestedByMetadata {
        problems.push(not_acted_on("spec.filepath.mode", &format!("mode `{}`", mode.as_str())));
    }
}

fn check_clash(name: &str, path: &str, store: &StoreRef, world: &World, problems: &mut Vec<Problem>) {
    let own = place(path, store, world);
    for other in world.destinations.iter().filter(|other| other.name() != name) {
        let other_place =
            other.parse_spec::<DestinationSpec>().map(|spec| place(&spec.path, &spec.state_store_ref, world));
        if other_place.is_ok_and(|place| place == own) {
            let message = format!("Destination `{}` has this path in the same store", other.name());
            problems.push(Problem::error("conflict", "spec.path", message));
        }
    }
}

/// What must differ between Destinations: repository and branch, and the path in it. While a store is unknown, its name
/// stands for both.
fn place(path: &str, reference: &StoreRef, world: &World) -> (String, String, String) {
    let store = world
        .stores
        .iter()
        .find(|store| store.kind == reference.kind.as_str() && store.name() == reference.name);
    let git = store
        .filter(|_| reference.kind == StoreKind::GitStateStore)
        .and_then(|store| store.parse_spec::<GitStateStoreSpec>().ok());
    match git {
        Some(git) => {
            let path = join_path(&[git.path.as_deref().unwrap_or_default(), path]);
            (repository(&git.url).into(), git.branch, path)
        }
        None => (reference.kind.as_str().into(), reference.name.clone(), join_path(&[path])),
    }
}
