//! What admission makes of objects that are right.

use crate::common::{SHOP, admitted, case, fixture, install, line, objects, world};
use domain::problem::Severity;
use inflation::{Lines, Role, World, admit, documents};
use resources::Object;
use resources::keys::LAST_APPLIED_ANNOTATION;
use serde_json::{Value, json};

fn object(value: Value) -> Object {
    Object::from_value(value).unwrap()
}

#[test]
fn a_request_is_completed() {
    let world = world();
    let mut request = fixture("Shop");
    request.metadata.namespace = None;
    request.metadata.labels.insert("kratix.io/promise-name".into(), "other".into());
    request.metadata.finalizers = vec!["example.org/own".into()];
    request.metadata.uid = Some("forged".into());
    request.metadata.resource_version = Some("1".into());
    request.metadata.generation = Some(7);
    request.metadata.deletion_timestamp = Some("2024-01-01T00:00:00Z".into());
    request.metadata.other.insert("managedFields".into(), json!([]));
    request.body.insert("status".into(), json!({"phase": "forged"}));
    let admitted = admitted(request, &world);
    assert_eq!(admitted.key.to_string(), "shops_example_org.default.books");
    assert!(admitted.stored && admitted.problems.is_empty());
    let expected = json!({
        "apiVersion": "example.org/v1", "kind": "Shop",
        "metadata": {
            "name": "books", "namespace": "default", "labels": {"kratix.io/promise-name": "shop"},
            "finalizers": ["example.org/own", "kratix.io/workflows-cleanup"],
        },
        "spec": {"size": "small", "replicas": 1},
    });
    assert_eq!(admitted.object.to_value(), expected);
    // What was admitted is admitted as it is.
    let again = admit(admitted.object.clone(), Some(&admitted.object), &world).unwrap();
    assert_eq!(again.object, admitted.object);
}

#[test]
fn a_finalizer_does_not_come_back_during_deletion() {
    let world = world();
    let mut current = admitted(fixture("Promise"), &World::default()).object;
    current.metadata.deletion_timestamp = Some("2024-01-01T00:00:00Z".into());
    let taken = admit(fixture("Promise"), Some(&current), &world).unwrap();
    assert_eq!(taken.object.metadata.finalizers, Vec::<String>::new());
}

#[test]
fn stores_and_destinations_have_upstreams_defaults() {
    let store = admitted(fixture("GitStateStore"), &World::default());
    assert_eq!(store.key.to_string(), "gitstatestores_platform_kratix_io._.git");
    let expected = json!({
        "url": "file:///srv/git/state.git", "branch": "main", "authMethod": "basicAuth", "gitAuthor": {"name": "kratix"},
    });
    assert_eq!(store.object.spec(), Some(&expected));
    assert_eq!(store.object.metadata.finalizers, Vec::<String>::new());
    let destination = admitted(fixture("Destination"), &world()).object;
    let expected = json!({
        "path": "west", "stateStoreRef": {"kind": "GitStateStore", "name": "git"}, "cleanup": "none",
        "filepath": {"mode": "nestedByMetadata"}, "initWorkloads": {"enabled": true},
    });
    assert_eq!(destination.spec(), Some(&expected));
}

#[test]
fn secrets_hold_base64() {
    let mut secret = fixture("Secret");
    secret.metadata.namespace = Some("team-a".into());
    secret.body.insert("data".into(), json!({"user": "b2xk", "long": "YWJj\nZGVm\n"}));
    let secret = admitted(secret, &World::default()).object;
    assert_eq!(secret.body["data"], json!({"user": "a2lt", "long": "YWJjZGVm"}));
    assert_eq!(secret.body.get("stringData"), None);

    let mut immutable = secret.clone();
    immutable.body.insert("immutable".into(), json!(true));
    let mut changed = immutable.clone();
    changed.body["data"] = json!({"user": "bmV3"});
    let refused = admit(changed, Some(&immutable), &World::default()).unwrap_err();
    assert_eq!(
        refused.iter().map(line).collect::<Vec<_>>(),
        ["error immutable | data: cannot be changed: the object is immutable"]
    );
}

#[test]
fn a_namespace_is_a_no_op() {
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "namespace": "b"}});
    let taken = admitted(object(namespace), &World::default());
    assert!(!taken.stored && taken.problems.is_empty());
    assert_eq!(taken.key.to_string(), "namespaces._.a");
}

#[test]
fn objects_have_a_largest_size() {
    let map = |bytes: usize| {
        let data = json!({"a": "x".repeat(bytes)});
        object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}))
    };
    assert!(admit(map(1_570_000), None, &World::default()).is_ok());
    let mut remembered = map(1_000_000);
    remembered.metadata.annotations.insert(LAST_APPLIED_ANNOTATION.into(), "x".repeat(1_000_000));
    assert!(admit(remembered, None, &World::default()).is_ok());
    let refused = admit(map(1_573_000), None, &World::default()).unwrap_err();
    assert_eq!(
        refused.iter().map(line).collect::<Vec<_>>(),
        ["error too-large | 1573078 bytes are more than the 1572864 that an object may have"]
    );
}

/// A Destination in another store of the same repository is in the same place.
#[test]
fn places_are_compared_not_spellings() {
    let mut world = world();
    let mut mirror = fixture("GitStateStore");
    mirror.metadata.name = "mirror".into();
    mirror.body["spec"] = json!({"url": "file:///srv/git/state.git/", "path": "/we"});
    let mut other = fixture("Destination");
    other.metadata.name = "east".into();
    other.body["spec"] = json!({"path": "st", "stateStoreRef": {"kind": "GitStateStore", "name": "mirror"}});
    world.stores.push(mirror);
    assert!(admit(other.clone(), None, &world).is_ok(), "we/st is not west");
    other.body["spec"]["path"] = json!("../west");
    assert!(admit(other.clone(), None, &world).is_err());
    world.stores[1].body["spec"]["path"] = json!("");
    other.body["spec"]["path"] = json!("west/.");
    assert!(admit(other, None, &world).is_err());
}

/// Every manifest of upstream's that this version acts on is taken; of others every problem is known here.
#[test]
fn upstreams_manifests_are_taken() {
    let mut world = World::default();
    for name in [
        "core-promise",
        "redis-redis-promise",
        "postgres-postgres-promise",
        "paved-path-demo-paved-path-demo-promise",
        "nil-api-promise",
    ] {
        let Some(text) = case(&format!("upstream/kratix/{name}.yaml")) else { return };
        world.promises.push(install(objects(&text).remove(0)));
    }
    let requests = [
        "core-example-resource",
        "core-example-resource-v2",
        "redis-redis-resource-request",
        "postgres-postgres-resource-request",
    ];
    for name in requests {
        let Some(text) = case(&format!("upstream/kratix/{name}.yaml")) else { return };
        let request = objects(&text).remove(0);
        assert!(matches!(world.role(&request), Some(Role::Request(..))), "{name}");
        assert_eq!(admitted(request, &world).problems, [], "{name}");
    }
    let others = [
        "core-destination",
        "sample-platform_v1alpha1_bucketstatestore",
        "sample-platform_v1alpha1_gitstatestore",
        "sample-platform_v1alpha1_promise",
        "sample-platform_v1alpha1_work",
        "sample-platform_v1alpha1_worker",
        "redis-redis-promise",
        "nil-api-promise",
    ];
    let mut said = Vec::new();
    for name in others {
        let Some(text) = case(&format!("upstream/kratix/{name}.yaml")) else { return };
        for object in objects(&text) {
            said.push(format!("{name}: {}", object.kind));
            let problems = admit(object, None, &World::default())
                .map_or_else(|problems| problems, |taken| taken.problems);
            said.extend(problems.iter().map(|problem| format!("  {}", line(problem))));
        }
    }
    insta::assert_snapshot!("upstreams_manifests", said.join("\n"));
}

#[test]
fn kinds_are_found_as_a_command_line_spells_them() {
    let world = world();
    for spelling in ["shop", "Shops", "sh", "shops.example.org"] {
        let kind = world.spelled(spelling).map(|role| role.kind().to_string());
        assert_eq!(kind.as_deref(), Some("shops.example.org"), "{spelling}");
    }
    assert_eq!(world.spelled("dest").map(|role| role.is_namespaced()), Some(false));
    assert!(world.spelled("stall").is_none());
}

/// A problem's field leads to its line.
#[test]
fn problems_have_lines() {
    let text = SHOP.replace("size: small", "size: small\n  domian: x");
    let document = documents::decode(&text).into_iter().nth(1).unwrap();
    let request = objects(&text).remove(1);
    let problems = admit(request, None, &world()).unwrap_err();
    assert!(problems.iter().all(|problem| problem.severity == Severity::Error));
    let lines = Lines::of(&text, document.index).unwrap();
    let line = lines.line(&problems[0].field);
    assert_eq!(text.lines().nth(line - 1), Some("  domian: x"));
}
