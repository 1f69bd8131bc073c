//! Manifests for tests: small ones, built; everything is plain Kratix.

use serde_json::{Value, json};

use crate::Repository;

/// One pipeline that runs a shell script after the library of [`crate::signals`].
pub fn pipeline(name: &str, script: &str) -> Value {
    json!({
        "apiVersion": "platform.kratix.io/v1alpha1",
        "kind": "Pipeline",
        "metadata": {"name": name},
        "spec": {"containers": [{
            "name": "only",
            "image": "registry.test/pipeline:1",
            "command": ["sh", "-ec", format!(". /kratix-scripts/lib.sh\n{script}")],
        }]},
    })
}

/// Says when it starts and ends, and writes one file of its name.
pub fn noted(name: &str) -> Value {
    pipeline(name, &format!("say start; out {name}.yaml \"from $who\"; say end"))
}

/// The same, waiting at a gate of its name in between.
pub fn gated(name: &str) -> Value {
    pipeline(name, &format!("say start; gate {name}; out {name}.yaml \"from $who\"; say end"))
}

/// A Promise of kind `Thing`, group `test.millrace.dev`.
#[derive(Clone, Debug)]
pub struct Promise {
    pub name: String,
    pub promise: Vec<Value>,
    pub configure: Vec<Value>,
    pub delete: Vec<Value>,
    pub promise_delete: Vec<Value>,
    pub selectors: Value,
    /// Anything more of the spec.
    pub note: String,
}

impl Default for Promise {
    fn default() -> Self {
        Self {
            name: "things".into(),
            promise: Vec::new(),
            configure: Vec::new(),
            delete: Vec::new(),
            promise_delete: Vec::new(),
            selectors: json!([{"matchLabels": {"environment": "dev"}}]),
            note: "a thing".into(),
        }
    }
}

impl Promise {
    pub fn with(configure: impl IntoIterator<Item = Value>) -> Self {
        Self { configure: configure.into_iter().collect(), ..Self::default() }
    }

    pub fn manifest(&self) -> Value {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "size": {"type": "integer", "description": self.note},
        }}}});
        json!({
            "apiVersion": "platform.kratix.io/v1alpha1",
            "kind": "Promise",
            "metadata": {"name": self.name},
            "spec": {
                "destinationSelectors": self.selectors,
                "api": {
                    "apiVersion": "apiextensions.k8s.io/v1",
                    "kind": "CustomResourceDefinition",
                    "metadata": {"name": "things.test.millrace.dev"},
                    "spec": {
                        "group": "test.millrace.dev",
                        "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
                        "scope": "Namespaced",
                        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
                    },
                },
                "workflows": {
                    "promise": {"configure": self.promise, "delete": self.promise_delete},
                    "resource": {"configure": self.configure, "delete": self.delete},
                },
            },
        })
    }
}

pub fn thing(namespace: &str, name: &str, size: i64) -> Value {
    json!({
        "apiVersion": "test.millrace.dev/v1", "kind": "Thing",
        "metadata": {"name": name, "namespace": namespace}, "spec": {"size": size},
    })
}

pub fn store(name: &str, repository: &Repository) -> Value {
    json!({
        "apiVersion": "platform.kratix.io/v1alpha1", "kind": "GitStateStore",
        "metadata": {"name": name}, "spec": {"url": repository.url()},
    })
}

pub fn destination(name: &str, store: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "platform.kratix.io/v1alpha1", "kind": "Destination",
        "metadata": {"name": name, "labels": labels},
        "spec": {"path": name, "stateStoreRef": {"kind": "GitStateStore", "name": store}},
    })
}
