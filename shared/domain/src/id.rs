//! Names of objects and lanes, and their injective form as tokens of a subject.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A kind of object as the API knows it: plural name and group (`""` for the core group).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceKind {
    pub plural: String,
    pub group: String,
}

impl ResourceKind {
    pub fn new(plural: impl Into<String>, group: impl Into<String>) -> Self {
        Self { plural: plural.into(), group: group.into() }
    }

    /// `testbundles_test_kratix_io`, `secrets`: one token of a subject.
    pub fn token(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}_{}", self.plural, self.group.replace('.', "_"))
        }
    }

    /// The inverse of [`ResourceKind::token`]: neither plural names nor groups hold a `_`.
    pub fn from_token(token: &str) -> Self {
        match token.split_once('_') {
            Some((plural, group)) => Self::new(plural, group.replace('_', ".")),
            None => Self::new(token, ""),
        }
    }
}

/// `plural.group`, as in `kubectl get`.
impl fmt::Display for ResourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plural)?;
        if self.group.is_empty() { Ok(()) } else { write!(f, ".{}", self.group) }
    }
}

/// Identifies an object among all objects. Written `<plural_group>.<namespace>.<name>`, every `.` inside a part
/// replaced by `_`, the namespace `_` when cluster-scoped: injective, since Kubernetes names hold no `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ObjectKey {
    pub kind: ResourceKind,
    pub namespace: Option<String>,
    pub name: String,
}

impl ObjectKey {
    pub fn new(kind: ResourceKind, namespace: Option<&str>, name: impl Into<String>) -> Self {
        Self { kind, namespace: namespace.map(Into::into), name: name.into() }
    }

    /// Whether all parts are names of Kubernetes: lower-case letters, digits, `-` and `.`, the last two not at an end.
    pub fn is_well_formed(&self) -> bool {
        let is_name = |part: &str| {
            let inner = part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.'));
            inner && !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with(['.', '-'])
        };
        let group = self.kind.group.is_empty() || is_name(&self.kind.group);
        group
            && is_name(&self.kind.plural)
            && is_name(&self.name)
            && self.namespace.as_deref().is_none_or(is_name)
    }

    /// `name (namespace)` or `name`, for messages to people.
    pub fn readable(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{} ({namespace})", self.name),
            None => self.name.clone(),
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |text: &str| text.replace('.', "_");
        let namespace = self.namespace.as_deref().map_or_else(|| "_".into(), part);
        write!(f, "{}.{namespace}.{}", self.kind.token(), part(&self.name))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an object key: <plural_group>.<namespace or _>.<name>")]
pub struct InvalidKey(String);

impl FromStr for ObjectKey {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        let parts: Vec<&str> = text.split('.').collect();
        match parts[..] {
            [kind, namespace, name] if !(kind.is_empty() || namespace.is_empty() || name.is_empty()) => {
                Ok(Self {
                    kind: ResourceKind::from_token(kind),
                    namespace: (namespace != "_").then(|| namespace.replace('_', ".")),
                    name: name.replace('_', "."),
                })
            }
            _ => Err(InvalidKey(text.to_owned())),
        }
    }
}

impl TryFrom<String> for ObjectKey {
    type Error = InvalidKey;

    fn try_from(text: String) -> Result<Self, InvalidKey> {
        text.parse()
    }
}

impl From<ObjectKey> for String {
    fn from(key: ObjectKey) -> Self {
        key.to_string()
    }
}

/// The resource whose work is sequential: a Promise, a resource request, or a Stage.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LaneKey(pub ObjectKey);

impl fmt::Display for LaneKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for LaneKey {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        text.parse().map(Self)
    }
}

/// Identity of one life of an object; a new object of the same name has another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Uid(pub String);

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Version of a stored object; every write gets a higher one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResourceVersion(pub u64);

/// Which object, in which version, a plan was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    pub key: ObjectKey,
    pub uid: Uid,
    pub resource_version: ResourceVersion,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_the_round_trip() {
        for (kind, namespace, name, text) in [
            (
                ResourceKind::new("promises", "platform.kratix.io"),
                None,
                "redis",
                "promises_platform_kratix_io._.redis",
            ),
            (ResourceKind::new("secrets", ""), Some("default"), "a.b", "secrets.default.a_b"),
        ] {
            let key = ObjectKey::new(kind, namespace, name);
            assert_eq!(key.to_string(), text);
            assert_eq!(text.parse(), Ok(key));
        }
        assert!("a.b".parse::<ObjectKey>().is_err());
        assert!("a..b".parse::<ObjectKey>().is_err());
    }
}
