//! Three-way merge of a manifest into the object that is there.

use resources::Object;
use resources::keys::{KUBECTL_LAST_APPLIED_ANNOTATION, LAST_APPLIED_ANNOTATION};
use serde_json::{Map, Value};

/// The live object with the manifest applied: its fields win, those that it had when it was applied last
/// (`last_applied`) and no longer has are removed, everything else stays. A null removes a field; lists are replaced as
/// a whole. What the server owns is live's.
pub fn merge(last_applied: Option<&Value>, live: &Object, manifest: &Object) -> Object {
    let manifest = comparable(manifest.clone()).to_value();
    let last_applied = last_applied.cloned().unwrap_or_default();
    let mut merged = live.to_value();
    merge_value(&last_applied, &mut merged, &manifest);
    Object::from_value(merged).expect("a merge of two typed heads has the types of one of them")
}

/// What of a manifest is merged, and remembered in [`LAST_APPLIED_ANNOTATION`].
pub fn comparable(mut manifest: Object) -> Object {
    drop_server_owned(&mut manifest);
    for annotation in [LAST_APPLIED_ANNOTATION, KUBECTL_LAST_APPLIED_ANNOTATION] {
        manifest.metadata.annotations.remove(annotation);
    }
    manifest
}

/// Takes out the fields that only the server writes.
pub(crate) fn drop_server_owned(object: &mut Object) {
    object.body.remove("status");
    let metadata = &mut object.metadata;
    metadata.uid = None;
    metadata.resource_version = None;
    metadata.generation = None;
    metadata.creation_timestamp = None;
    metadata.deletion_timestamp = None;
    for field in ["managedFields", "selfLink", "deletionGracePeriodSeconds"] {
        metadata.other.remove(field);
    }
}

fn merge_value(last: &Value, live: &mut Value, manifest: &Value) {
    match (live, manifest) {
        (Value::Object(live), Value::Object(manifest)) => merge_fields(last.as_object(), live, manifest),
        (live, manifest) => *live = without_nulls(manifest),
    }
}

fn merge_fields(
    last: Option<&Map<String, Value>>,
    live: &mut Map<String, Value>,
    manifest: &Map<String, Value>,
) {
    live.retain(|name, _| manifest.contains_key(name) || !last.is_some_and(|last| last.contains_key(name)));
    for (name, value) in manifest {
        let before = last.and_then(|last| last.get(name)).unwrap_or(&Value::Null);
        match live.get_mut(name) {
            _ if value.is_null() => drop(live.remove(name)),
            Some(live) => merge_value(before, live, value),
            None => drop(live.insert(name.clone(), without_nulls(value))),
        }
    }
}

/// A null in a manifest asks for absence; inside lists it is data.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(metadata: Value, rest: Value) -> Object {
        let mut value = rest;
        value["apiVersion"] = json!("v1");
        value["kind"] = json!("K");
        value["metadata"] = metadata;
        Object::from_value(value).unwrap()
    }

    #[test]
    fn the_manifest_wins_and_strangers_stay() {
        let last =
            json!({"metadata": {"labels": {"a": "1", "gone": "1"}}, "spec": {"x": 1, "old": {"y": 1}}});
        let live = object(
            json!({"name": "n", "uid": "u", "resourceVersion": "5", "generation": 3,
                   "labels": {"a": "1", "gone": "1", "cli": "1"}, "finalizers": ["f/x"]}),
            json!({"spec": {"x": 1, "old": {"y": 1}, "defaulted": "d", "list": [1, 2]}, "status": {"phase": "ok"}}),
        );
        let manifest = object(
            json!({"name": "n", "uid": "other", "labels": {"a": "2"}}),
            json!({"spec": {"x": 2, "list": [3]}, "status": {}}),
        );
        let merged = merge(Some(&last), &live, &manifest);
        let expected = object(
            json!({"name": "n", "uid": "u", "resourceVersion": "5", "generation": 3,
                   "labels": {"a": "2", "cli": "1"}, "finalizers": ["f/x"]}),
            json!({"spec": {"x": 2, "defaulted": "d", "list": [3]}, "status": {"phase": "ok"}}),
        );
        assert_eq!(merged, expected);
        // Applied again, nothing moves.
        assert_eq!(merge(Some(&comparable(manifest.clone()).to_value()), &merged, &manifest), expected);
    }

    #[test]
    fn nested_fields_are_removed_one_by_one() {
        let last = json!({"spec": {"m": {"a": 1, "b": 1}}});
        let live = object(json!({"name": "n"}), json!({"spec": {"m": {"a": 1, "b": 1, "c": 1}}}));
        let manifest = object(
            json!({"name": "n"}),
            json!({"spec": {"m": {"a": 1}, "n": null, "o": {"p": null, "q": [null]}}}),
        );
        let merged = merge(Some(&last), &live, &manifest);
        assert_eq!(merged.spec(), Some(&json!({"m": {"a": 1, "c": 1}, "o": {"q": [null]}})));
        let cleared = object(json!({"name": "n"}), json!({"spec": {"m": null}}));
        assert_eq!(merge(Some(&last), &live, &cleared).spec(), Some(&json!({})));
    }

    #[test]
    fn without_a_last_manifest_nothing_is_removed() {
        let live = object(json!({"name": "n", "labels": {"a": "1"}}), json!({"data": {"k": "v"}}));
        let manifest = object(json!({"name": "n"}), json!({"data": "other"}));
        let merged = merge(None, &live, &manifest);
        assert_eq!(merged.label("a"), Some("1"));
        assert_eq!(merged.body["data"], "other");
    }
}
