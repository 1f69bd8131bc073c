//! The control labels that an object carries.

use domain::control::{ControlLabel, Controls};
use domain::id::ResourceVersion;
use resources::Object;

/// Those with the value `true`; any other value is none. An object that is not stored has version 0.
pub fn controls(object: &Object) -> Controls {
    let is_set = |label: &ControlLabel| object.label(label.key()) == Some("true");
    let version = object.metadata.resource_version.as_deref().and_then(|version| version.parse().ok());
    Controls {
        labels: ControlLabel::ALL.into_iter().filter(is_set).collect(),
        resource_version: ResourceVersion(version.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_true_counts() {
        let object = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "a", "resourceVersion": "12", "labels": {
            "kratix.io/paused": "true", "kratix.io/manual-reconciliation": "yes", "other": "true",
        }}});
        let found = controls(&Object::from_value(object).unwrap());
        assert_eq!(found.labels.into_iter().collect::<Vec<_>>(), [ControlLabel::Paused]);
        assert_eq!(found.resource_version, ResourceVersion(12));
    }
}
