//! A Promise's API: the parts of a CustomResourceDefinition that are used. Everything else in it is left alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kinds::is_spelling;
use crate::meta::ObjectMeta;
use crate::structural;

/// `apiVersion: apiextensions.k8s.io/v1`, `kind: CustomResourceDefinition`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Crd {
    pub api_version: String,
    pub kind: String,
    pub metadata: ObjectMeta,
    pub spec: CrdSpec,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct CrdSpec {
    pub group: String,
    pub names: CrdNames,
    /// `Namespaced`; a Promise's API has no other.
    pub scope: String,
    pub versions: Vec<CrdVersion>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct CrdNames {
    pub kind: String,
    pub plural: String,
    /// The kind in lower case when unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub singular: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short_names: Vec<String>,
    /// The kind with `List` when unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_kind: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct CrdVersion {
    pub name: String,
    pub served: bool,
    pub storage: bool,
    pub schema: VersionSchema,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VersionSchema {
    #[serde(rename = "openAPIV3Schema")]
    #[schemars(schema_with = "structural::any_object")]
    pub open_api_v3_schema: Value,
}

impl CrdNames {
    pub fn singular(&self) -> String {
        self.singular.clone().unwrap_or_else(|| self.kind.to_lowercase())
    }

    pub fn list_kind(&self) -> String {
        self.list_kind.clone().unwrap_or_else(|| format!("{}List", self.kind))
    }

    /// Whether both mean the same once defaults are filled in.
    pub fn same(&self, other: &Self) -> bool {
        let all = |names: &Self| Self {
            singular: Some(names.singular()),
            list_kind: Some(names.list_kind()),
            ..names.clone()
        };
        all(self) == all(other)
    }
}

impl Crd {
    pub fn served_versions(&self) -> impl Iterator<Item = &CrdVersion> {
        self.spec.versions.iter().filter(|version| version.served)
    }

    /// Whether a command line means this kind, as [`crate::kinds::find_spelling`].
    pub fn is_spelled(&self, spelling: &str) -> bool {
        let names = &self.spec.names;
        let singular = names.singular();
        let all = [&*names.plural, &*singular, &*names.kind].into_iter();
        is_spelling(spelling, &self.spec.group, all.chain(names.short_names.iter().map(String::as_str)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> CrdNames {
        CrdNames {
            kind: "TestBundle".into(),
            plural: "testbundles".into(),
            singular: None,
            short_names: vec!["tb".into()],
            list_kind: None,
            categories: Vec::new(),
        }
    }

    #[test]
    fn unset_names_have_defaults() {
        let written = CrdNames { singular: Some("testbundle".into()), ..names() };
        assert!(names().same(&written));
        assert!(!names().same(&CrdNames { singular: Some("bundle".into()), ..names() }));
    }

    #[test]
    fn requests_are_spelled_like_known_kinds() {
        let spec = CrdSpec {
            group: "a.io".into(),
            names: names(),
            scope: "Namespaced".into(),
            versions: Vec::new(),
        };
        let crd =
            Crd { api_version: String::new(), kind: String::new(), metadata: ObjectMeta::default(), spec };
        for spelling in ["testbundle", "TestBundles", "tb", "testbundles.a.io"] {
            assert!(crd.is_spelled(spelling), "{spelling}");
        }
        assert!(!crd.is_spelled("testbundles.b.io"));
    }
}
