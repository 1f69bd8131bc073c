//! Against the schemas that existing manifests were validated with. They are data from elsewhere, found by
//! `MILLRACE_CASES` or beside the project; without them the tests say so and pass.

use std::collections::BTreeSet;
use std::path::PathBuf;

use resources::kinds::KNOWN_KINDS;
use resources::structural::schema_of;
use resources::{BucketStateStoreSpec, Crd, DestinationSpec, GitStateStoreSpec, Object, PromiseSpec};
use serde_json::Value;

fn cases(below: &str) -> Option<PathBuf> {
    let root = std::env::var_os("MILLRACE_CASES").map(PathBuf::from);
    let root =
        root.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/cases")));
    let found = Some(root.join("upstream").join(below)).filter(|path| path.exists());
    if found.is_none() {
        eprintln!("left out: no {below} below {}", root.display());
    }
    found
}

fn crds(below: &str) -> Vec<Crd> {
    let Some(directory) = cases(below) else { return Vec::new() };
    let files = std::fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("a file").path());
    let texts = files.map(|file| std::fs::read_to_string(file).expect("text"));
    texts.map(|text| serde_saphyr::from_str(&text).expect("a CustomResourceDefinition")).collect()
}

/// Every field that a schema names, as `spec.filepath.mode`, `spec.containers[].name`.
fn fields(schema: &Value, at: &str, all: &mut BTreeSet<String>) {
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        let field = format!("{at}.{name}");
        fields(inner, &field, all);
        all.insert(field);
    }
    if schema["items"].is_object() {
        fields(&schema["items"], &format!("{at}[]"), all);
    }
}

/// What upstream's schema accepts, ours does, with the same defaults and choices.
#[test]
fn every_field_of_upstream_is_known() {
    for crd in crds("kratix/crds") {
        let ours = match &*crd.spec.names.kind {
            "Promise" => schema_of::<PromiseSpec>(),
            "Destination" => schema_of::<DestinationSpec>(),
            "GitStateStore" => schema_of::<GitStateStoreSpec>(),
            "BucketStateStore" => schema_of::<BucketStateStoreSpec>(),
            _ => continue,
        };
        let theirs = &crd.spec.versions[0].schema.open_api_v3_schema["properties"]["spec"];
        let (mut known, mut wanted) = (BTreeSet::new(), BTreeSet::new());
        fields(&ours, "spec", &mut known);
        fields(theirs, "spec", &mut wanted);
        assert!(wanted.is_subset(&known), "{}: {:?}", crd.spec.names.kind, wanted.difference(&known));
        for field in wanted {
            let pointer = field.replacen("spec", "", 1).replace("[]", "/items").replace('.', "/properties/");
            let (ours, theirs) = (ours.pointer(&pointer).unwrap(), theirs.pointer(&pointer).unwrap());
            for keyword in ["type", "default", "enum"] {
                let defaulted_in_code = keyword == "default" && theirs.get(keyword).is_none();
                if !defaulted_in_code && field != "spec.initWorkloads" {
                    assert_eq!(ours.get(keyword), theirs.get(keyword), "{field}: {keyword}");
                }
            }
        }
    }
}

/// Names, short names, scope and versions as the CRDs have them.
#[test]
fn every_kind_of_upstream_is_known() {
    for crd in crds("kratix/crds").into_iter().chain(crds("kargo/crds")) {
        let names = &crd.spec.names;
        let known =
            resources::kinds::find(&names.kind, &crd.spec.group).unwrap_or_else(|| panic!("{}", names.kind));
        assert_eq!((known.plural, known.singular), (&*names.plural, &*names.singular()));
        assert_eq!(known.namespaced, crd.spec.scope == "Namespaced", "{}", names.kind);
        assert!(
            crd.served_versions().all(|version| known.versions.contains(&&*version.name)),
            "{}",
            names.kind
        );
        for short in &names.short_names {
            assert_eq!(resources::kinds::find_spelling(short), Some(known), "{short}");
        }
    }
    assert!(KNOWN_KINDS.iter().all(|known| !known.versions.is_empty()));
}

/// A Promise of 282 KB survives the way in and out.
#[test]
fn a_large_promise_round_trips() {
    let Some(file) = cases("kratix/redis-redis-promise.yaml") else { return };
    let mut value: Value = serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let object = Object::from_value(value.clone()).unwrap();
    assert!(object.parse_spec::<PromiseSpec>().unwrap().api.is_some());
    // `null` timestamps are only dropped from the object's own head.
    value["metadata"].as_object_mut().unwrap().retain(|_, value| !value.is_null());
    assert_eq!(object.to_value(), value);
}
