//! The canary documents of a Destination: once an agent has applied them, it is known to read the store.

use bytes::Bytes;

use crate::store::{Change, StorePath};

const NAMESPACE_FILE: &str = "kratix-canary-namespace.yaml";
const CONFIG_MAP_FILE: &str = "kratix-canary-configmap.yaml";

const NAMESPACE: &str = "\
apiVersion: v1
kind: Namespace
metadata:
  name: kratix-worker-system
";

const CONFIG_MAP: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: kratix-info
  namespace: kratix-worker-system
data:
  canary: \"This object is here because the cluster's agent reads this state store.\"
";

/// Where in the Destination's directory the documents stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// `filepath.mode: nestedByMetadata`: the Namespace below `dependencies/`, the ConfigMap below `resources/`.
    Nested,
    /// The other modes: both at the top.
    Flat,
}

/// Puts both documents into a Destination's directory (the store's `path` and the Destination's `path`; `None` is
/// the root of the store).
pub fn put(directory: Option<&StorePath>, arrangement: Arrangement) -> [Change; 2] {
    let [namespace, config_map] = paths(directory, arrangement);
    [
        Change::PutFile { path: namespace, content: Bytes::from_static(NAMESPACE.as_bytes()) },
        Change::PutFile { path: config_map, content: Bytes::from_static(CONFIG_MAP.as_bytes()) },
    ]
}

/// Takes both documents away again.
pub fn remove(directory: Option<&StorePath>, arrangement: Arrangement) -> [Change; 2] {
    paths(directory, arrangement).map(|path| Change::RemoveFile { path })
}

fn paths(directory: Option<&StorePath>, arrangement: Arrangement) -> [StorePath; 2] {
    let files = match arrangement {
        Arrangement::Nested => {
            [format!("dependencies/{NAMESPACE_FILE}"), format!("resources/{CONFIG_MAP_FILE}")]
        }
        Arrangement::Flat => [NAMESPACE_FILE.to_owned(), CONFIG_MAP_FILE.to_owned()],
    };
    files.map(|file| {
        let file = StorePath::parse(&file).expect("the documents' own names are clean paths");
        directory.map_or_else(|| file.clone(), |directory| directory.join(&file))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(directory: Option<&str>, arrangement: Arrangement, expected: [&str; 2]) {
        let directory = directory.map(|text| StorePath::parse(text).expect("a path"));
        let put = put(directory.as_ref(), arrangement).map(|change| match change {
            Change::PutFile { path, .. } => path.to_string(),
            other => panic!("{other:?}"),
        });
        let removed = remove(directory.as_ref(), arrangement).map(|change| match change {
            Change::RemoveFile { path } => path.to_string(),
            other => panic!("{other:?}"),
        });
        assert_eq!(put, expected);
        assert_eq!(removed, expected);
    }

    #[test]
    fn documents_stand_where_the_mode_wants_them() {
        let nested = ["dependencies/kratix-canary-namespace.yaml", "resources/kratix-canary-configmap.yaml"];
        check(None, Arrangement::Nested, nested);
        let below = nested.map(|path| format!("clusters/worker-1/{path}"));
        check(Some("clusters/worker-1"), Arrangement::Nested, [&below[0], &below[1]]);
        let flat = ["w/kratix-canary-namespace.yaml", "w/kratix-canary-configmap.yaml"];
        check(Some("w"), Arrangement::Flat, flat);
    }
}
