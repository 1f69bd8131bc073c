//! Objects of synced directories that were deleted by hand: the deletion holds until their document changes.

use std::collections::BTreeMap;
use std::io;

use domain::id::ObjectKey;
use messages::admit::Origin;
use resources::Object;
use resources::keys::{ORIGIN_DIGEST_ANNOTATION, ORIGIN_DIRECTORY_ANNOTATION, ORIGIN_FILE_ANNOTATION};

use crate::failure::Failure;
use crate::state::{StateDir, update_private};

pub(crate) type Deleted = BTreeMap<ObjectKey, Origin>;

/// Where a stored object comes from; none for one that a command made.
pub(crate) fn origin(object: &Object) -> Option<Origin> {
    Some(Origin {
        directory: object.annotation(ORIGIN_DIRECTORY_ANNOTATION)?.to_owned(),
        file: object.annotation(ORIGIN_FILE_ANNOTATION)?.to_owned(),
        digest: object.annotation(ORIGIN_DIGEST_ANNOTATION)?.to_owned(),
    })
}

pub(crate) fn load(state: &StateDir) -> Result<Deleted, Failure> {
    change(state, |_| {})
}

/// The document of this digest makes the object no more.
pub(crate) fn remember(state: &StateDir, key: &ObjectKey, origin: Origin) -> Result<(), Failure> {
    change(state, |deleted| drop(deleted.insert(key.clone(), origin))).map(drop)
}

pub(crate) fn forget<'a>(
    state: &StateDir,
    keys: impl IntoIterator<Item = &'a ObjectKey>,
) -> Result<(), Failure> {
    let keys: Vec<&ObjectKey> = keys.into_iter().collect();
    if keys.is_empty() {
        return Ok(());
    }
    change(state, |deleted| deleted.retain(|key, _| !keys.contains(&key))).map(drop)
}

/// All that is remembered after the change.
fn change(state: &StateDir, edit: impl FnOnce(&mut Deleted)) -> Result<Deleted, Failure> {
    let path = state.deleted_file();
    let changed = update_private(&path, |content| {
        let before: Deleted =
            if content.is_empty() { Deleted::new() } else { serde_json::from_slice(content)? };
        let mut deleted = before.clone();
        edit(&mut deleted);
        let content = if deleted == before { None } else { Some(serde_json::to_vec_pretty(&deleted)?) };
        Ok((content, deleted))
    });
    changed.map_err(|source: io::Error| Failure::File { file: path, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_deleted_is_remembered_until_it_is_forgotten() {
        let root = tempfile::tempdir().unwrap();
        let state = StateDir::create(&root.path().join("state")).unwrap();
        assert!(load(&state).unwrap().is_empty());
        let key = |name: &str| -> ObjectKey { format!("redis_a_io.default.{name}").parse().unwrap() };
        let origin = Origin { directory: "/d".into(), file: "f.yaml".into(), digest: "1".into() };
        remember(&state, &key("a"), origin.clone()).unwrap();
        remember(&state, &key("b"), origin.clone()).unwrap();
        forget(&state, [&key("a"), &key("c")]).unwrap();
        assert_eq!(load(&state).unwrap(), Deleted::from([(key("b"), origin)]));
    }
}
