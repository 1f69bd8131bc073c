//! Any object: its head typed, the rest as it was written.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::meta::{ObjectMeta, null_as_empty};

/// A manifest of any kind. Nothing is lost on the way from JSON and back, except empty or null parts of `metadata`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Object {
    pub api_version: String,
    pub kind: String,
    #[serde(default, deserialize_with = "null_as_empty")]
    pub metadata: ObjectMeta,
    /// `spec`, `status`, `data`, ...
    #[serde(flatten)]
    pub body: Map<String, Value>,
}

/// The value is no object: without `apiVersion`, `kind`, or with a `metadata` of another shape.
#[derive(Debug, thiserror::Error)]
#[error("not an object: {0}")]
pub struct NotAnObject(serde_json::Error);

/// `spec` does not have the shape of its kind.
#[derive(Debug, thiserror::Error)]
#[error("spec of {kind} {name}: {error}")]
pub struct InvalidSpec {
    kind: String,
    name: String,
    error: serde_json::Error,
}

/// Shows no value of a Secret.
impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Object");
        shown.field("api_version", &self.api_version).field("kind", &self.kind);
        if self.kind == "Secret" {
            return shown.field("name", &self.metadata.name).finish_non_exhaustive();
        }
        shown.field("metadata", &self.metadata).field("body", &self.body).finish()
    }
}

impl Object {
    pub fn from_value(value: Value) -> Result<Self, NotAnObject> {
        serde_json::from_value(value).map_err(NotAnObject)
    }

    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("all keys are strings")
    }

    /// `platform.kratix.io` of `platform.kratix.io/v1alpha1`; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version.rsplit_once('/').map_or("", |(group, _)| group)
    }

    pub fn version(&self) -> &str {
        self.api_version.rsplit_once('/').map_or(&*self.api_version, |(_, version)| version)
    }

    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    pub fn namespace(&self) -> Option<&str> {
        self.metadata.namespace.as_deref()
    }

    pub fn spec(&self) -> Option<&Value> {
        self.body.get("spec")
    }

    pub fn status(&self) -> Option<&Value> {
        self.body.get("status")
    }

    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.get(key).map(String::as_str)
    }

    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.get(key).map(String::as_str)
    }

    /// Whether deletion was asked for.
    pub fn is_terminating(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// `spec` as its kind's type; an absent one counts as empty.
    pub fn parse_spec<T: DeserializeOwned>(&self) -> Result<T, InvalidSpec> {
        let spec = self.spec().cloned().unwrap_or_else(|| Value::Object(Map::new()));
        serde_json::from_value(spec).map_err(|error| InvalidSpec {
            kind: self.kind.clone(),
            name: self.metadata.name.clone(),
            error,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_lost() {
        let value = json!({
            "apiVersion": "v1", "kind": "Thing", "data": {"a": [1, null]}, "spec": {}, "status": {"phase": "x"},
            "metadata": {
                "name": "a", "namespace": "b", "uid": "u", "resourceVersion": "7", "generation": 2,
                "creationTimestamp": "2024-01-01T00:00:00Z", "labels": {"x": "y"}, "finalizers": ["f/g"],
                "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u"}],
                "managedFields": [{"manager": "m"}],
            },
        });
        let object = Object::from_value(value.clone()).unwrap();
        assert_eq!(object.to_value(), value);
        assert_eq!((object.group(), object.version()), ("", "v1"));
        assert_eq!(object.metadata.other.keys().collect::<Vec<_>>(), ["managedFields"]);
    }

    #[test]
    fn secrets_are_not_shown() {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "data": {"a": "hunter2"},
            "metadata": {"name": "login", "annotations": {"last": "hunter2"}},
        });
        assert_eq!(
            format!("{:?}", Object::from_value(secret).unwrap()),
            "Object { api_version: \"v1\", kind: \"Secret\", name: \"login\", .. }"
        );
    }

    #[test]
    fn generators_write_nulls() {
        let head = json!({"apiVersion": "a.b/v1", "kind": "K", "metadata": {
            "name": "a", "creationTimestamp": null, "labels": null, "annotations": null, "finalizers": null,
        }});
        let object = Object::from_value(head).unwrap();
        assert_eq!(
            object.to_value(),
            json!({"apiVersion": "a.b/v1", "kind": "K", "metadata": {"name": "a"}})
        );
        assert_eq!((object.group(), object.version()), ("a.b", "v1"));
        let bare = json!({"apiVersion": "v1", "kind": "K", "metadata": null});
        assert_eq!(Object::from_value(bare).unwrap().name(), "");
    }
}
