//! Kinds by any name that a person or a manifest gives them: the known ones, and those of Promises' APIs.

use domain::id::{ObjectKey, ResourceKind};
use resources::keys::KRATIX_GROUP;
use resources::kinds::{self, KNOWN_KINDS, KnownKind, Support};
use resources::{Crd, Object};

/// Namespace of what names none.
pub(crate) const DEFAULT_NAMESPACE: &str = "default";

/// One kind, wherever it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub resource: ResourceKind,
    /// As in a manifest: `GitStateStore`.
    pub name: String,
    /// `gitstatestore`.
    pub singular: String,
    pub namespaced: bool,
    pub role: Role,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Known(Support),
    /// Offered by the Promise of this name.
    Request {
        promise: String,
    },
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no kind `{spelling}`")]
pub(crate) struct Unknown {
    spelling: String,
    requests: Vec<String>,
}

impl Unknown {
    pub(crate) fn help(&self) -> String {
        let known =
            KNOWN_KINDS.iter().filter(|known| known.support == Support::Acted).map(|known| known.plural);
        let all: Vec<&str> = known.chain(self.requests.iter().map(String::as_str)).collect();
        format!("kinds are {}", all.join(", "))
    }
}

/// All kinds at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kinds {
    apis: Vec<(String, Crd)>,
}

pub(crate) fn promises() -> ResourceKind {
    ResourceKind::new("promises", KRATIX_GROUP)
}

impl Kinds {
    /// With the APIs of these Promises; objects of other kinds are passed over. Of two that offer one kind the first
    /// counts.
    pub(crate) fn of<'a>(objects: impl IntoIterator<Item = &'a Object>) -> Self {
        let apis = objects.into_iter().filter_map(|object| Some((object.name().to_owned(), api_of(object)?)));
        Self { apis: apis.collect() }
    }

    /// As a command line names it.
    pub(crate) fn spelled(&self, spelling: &str) -> Result<Kind, Unknown> {
        let known = kinds::find_spelling(spelling).map(Kind::from);
        let request = || self.apis.iter().find(|(_, api)| api.is_spelled(spelling)).map(request);
        known
            .or_else(request)
            .ok_or_else(|| Unknown { spelling: spelling.to_owned(), requests: self.requests() })
    }

    /// As a manifest names it.
    pub(crate) fn written(&self, kind: &str, group: &str) -> Option<Kind> {
        let known = kinds::find(kind, group).filter(|known| known.kind == kind).map(Kind::from);
        let of_api = |(_, api): &&(String, Crd)| api.spec.group == group && api.spec.names.kind == kind;
        known.or_else(|| self.apis.iter().find(of_api).map(request))
    }

    /// Of stored objects.
    pub(crate) fn stored(&self, resource: &ResourceKind) -> Option<Kind> {
        let known =
            KNOWN_KINDS.iter().find(|known| known.plural == resource.plural && known.group == resource.group);
        let of_api = |(_, api): &&(String, Crd)| {
            api.spec.names.plural == resource.plural && api.spec.group == resource.group
        };
        known.map(Kind::from).or_else(|| self.apis.iter().find(of_api).map(request))
    }

    /// Kinds of all Promises' requests.
    pub(crate) fn of_requests(&self) -> Vec<Kind> {
        self.apis.iter().map(request).collect()
    }

    fn requests(&self) -> Vec<String> {
        self.apis.iter().map(|(_, api)| api.spec.names.plural.clone()).collect()
    }

    /// `redis/cache (team-a)`, as commands take it.
    pub(crate) fn readable(&self, key: &ObjectKey) -> String {
        let singular = self.stored(&key.kind).map_or_else(|| key.kind.plural.clone(), |kind| kind.singular);
        format!("{singular}/{}", key.readable())
    }
}

/// The API that a Promise offers, checked or not.
fn api_of(object: &Object) -> Option<Crd> {
    if (&*object.kind, object.group()) != ("Promise", KRATIX_GROUP) {
        return None;
    }
    serde_json::from_value(object.spec()?.get("api")?.clone()).ok()
}

fn request((promise, api): &(String, Crd)) -> Kind {
    Kind {
        resource: ResourceKind::new(&api.spec.names.plural, &api.spec.group),
        name: api.spec.names.kind.clone(),
        singular: api.spec.names.singular(),
        namespaced: true,
        role: Role::Request { promise: promise.clone() },
    }
}

impl From<&'static KnownKind> for Kind {
    fn from(known: &'static KnownKind) -> Self {
        Self {
            resource: ResourceKind::new(known.plural, known.group),
            name: known.kind.into(),
            singular: known.singular.into(),
            namespaced: known.namespaced,
            role: Role::Known(known.support),
        }
    }
}

impl Kind {
    pub(crate) fn is_promise(&self) -> bool {
        self.resource == promises()
    }

    pub(crate) fn is_request(&self) -> bool {
        matches!(self.role, Role::Request { .. })
    }

    pub(crate) fn is_secret(&self) -> bool {
        self.resource == ResourceKind::new("secrets", "")
    }

    /// Of the object of that name; without a namespace in the default one.
    pub(crate) fn key(&self, namespace: Option<&str>, name: &str) -> ObjectKey {
        let namespace = self.namespaced.then(|| namespace.unwrap_or(DEFAULT_NAMESPACE));
        ObjectKey::new(self.resource.clone(), namespace, name)
    }

    pub(crate) fn key_of(&self, object: &Object) -> ObjectKey {
        self.key(object.namespace(), object.name())
    }

    /// `redis.marketplace.kratix.io`, as `kubectl` reports what it did.
    pub(crate) fn qualified(&self) -> String {
        if self.resource.group.is_empty() {
            self.singular.clone()
        } else {
            format!("{}.{}", self.singular, self.resource.group)
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    pub(crate) fn promise(name: &str, kind: &str, short: &str) -> Object {
        let plural = format!("{}s", kind.to_lowercase());
        Object::from_value(json!({
            "apiVersion": "platform.kratix.io/v1alpha1", "kind": "Promise", "metadata": {"name": name},
            "spec": {"api": {
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{plural}.a.io")},
                "spec": {
                    "group": "a.io", "scope": "Namespaced",
                    "names": {"kind": kind, "plural": plural, "shortNames": [short]},
                    "versions": [{"name": "v1", "served": true, "storage": true,
                                  "schema": {"openAPIV3Schema": {"type": "object"}}}],
                },
            }},
        }))
        .unwrap()
    }

    #[test]
    fn requests_are_found_beside_known_kinds() {
        let kinds = Kinds::of(&[promise("bundle", "TestBundle", "tb")]);
        for spelling in ["testbundle", "testbundles", "tb", "TestBundles", "testbundles.a.io"] {
            let kind = kinds.spelled(spelling).unwrap();
            assert_eq!(kind.resource, ResourceKind::new("testbundles", "a.io"), "{spelling}");
            assert_eq!(kind.role, Role::Request { promise: "bundle".into() });
        }
        assert_eq!(kinds.spelled("dest").unwrap().name, "Destination");
        assert_eq!(kinds.written("TestBundle", "a.io").unwrap().qualified(), "testbundle.a.io");
        assert_eq!(kinds.written("Secret", "").unwrap().qualified(), "secret");
        assert!(kinds.written("TestBundle", "b.io").is_none());
        assert!(kinds.written("secret", "").is_none(), "a manifest's kind is exact");
    }

    #[test]
    fn an_unknown_kind_comes_with_those_there_are() {
        let unknown = Kinds::of(&[promise("bundle", "TestBundle", "tb")]).spelled("redis").unwrap_err();
        assert_eq!(unknown.to_string(), "there is no kind `redis`");
        let help = unknown.help();
        assert!(help.starts_with("kinds are promises, ") && help.ends_with(", testbundles"), "{help}");
    }

    #[test]
    fn keys_follow_the_scope() {
        let kinds = Kinds::of(&[promise("bundle", "TestBundle", "tb")]);
        let bundle = kinds.spelled("tb").unwrap();
        assert_eq!(bundle.key(None, "x").to_string(), "testbundles_a_io.default.x");
        assert_eq!(kinds.readable(&bundle.key(Some("team-a"), "x")), "testbundle/x (team-a)");
        let promise = kinds.spelled("promise").unwrap();
        assert_eq!(promise.key(Some("team-a"), "x").namespace, None);
    }
}
