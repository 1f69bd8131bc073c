//! Whatever stands anywhere in an object: admission ends, says something or takes it, and means it.

use std::sync::LazyLock;

use domain::plan::WorkflowAction;
use inflation::plan::{inflate_promise, inflate_request};
use inflation::{InstalledPromise, Lines, Role, World, admit, apply, destinations, documents};
use proptest::prelude::*;
use resources::Object;
use serde_json::{Value, json};

use crate::common::{SHOP, objects, world};

static OBJECTS: LazyLock<Vec<Object>> = LazyLock::new(|| objects(SHOP));
static WORLD: LazyLock<World> = LazyLock::new(world);

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "[a-z.-]{0,12}".prop_map(Value::from),
        Just(json!("../x")),
        Just(json!("a\0b\nc")),
    ];
    let name = prop_oneof![
        "\\PC{0,6}",
        Just("spec".to_owned()),
        Just("name".to_owned()),
        Just("default".to_owned())
    ];
    leaf.prop_recursive(3, 12, 3, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(name.clone(), inner, 0..3).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// Every place in a value, outermost first.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.replace('/', "~1"), value)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (name, value) in inner {
        let place = format!("{at}/{name}");
        places(value, &place, all);
        all.push(place);
    }
}

/// A fixture with something else at one of its places.
fn any_object() -> impl Strategy<Value = Object> {
    (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any_value()).prop_filter_map(
        "the head has another shape",
        |(which, place, value)| {
            let mut object = which.get::<Object>(&OBJECTS).to_value();
            let mut all = Vec::new();
            places(&object, "", &mut all);
            *object.pointer_mut(place.get::<String>(&all))? = value;
            Object::from_value(object).ok()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_admitted_holds(object in any_object()) {
        match admit(object, None, &WORLD) {
            Err(problems) => prop_assert!(problems.iter().any(domain::problem::Problem::is_error)),
            Ok(admitted) => {
                let again = admit(admitted.object.clone(), Some(&admitted.object), &WORLD).unwrap();
                prop_assert_eq!(&again.object, &admitted.object);
                follow(&admitted.object, &WORLD);
            }
        }
    }

    #[test]
    fn a_merge_with_itself_is_nothing(live in any_object(), manifest in any_object(), last in any_value()) {
        let merged = apply::merge(Some(&last), &live, &manifest);
        let last = apply::comparable(manifest.clone()).to_value();
        prop_assert_eq!(apply::merge(Some(&last), &merged, &manifest), merged);
    }

    #[test]
    fn any_text_is_read(text in "(\\PC|[\n :{}\\[\\]&*!|>'\"#%-]){0,200}") {
        for document in documents::decode(&text) {
            let lines = Lines::of(&text, document.index);
            prop_assert!(lines.is_none_or(|lines| lines.line("a.b[0]") >= 1));
        }
    }
}

/// What comes after admission takes what was admitted.
fn follow(object: &Object, world: &World) {
    match (&*object.kind, world.role(object)) {
        ("Promise", _) => {
            let promise = InstalledPromise::new(object.clone()).unwrap();
            let plan = inflate_promise(&promise, WorkflowAction::Configure);
            assert_eq!(plan.pipelines.len(), promise.spec.workflows.promise.configure.len());
        }
        (_, Some(Role::Request(promise, _))) => {
            let plan = inflate_request(promise, object, WorkflowAction::Delete);
            assert_eq!(plan.lane.0, world.role(object).unwrap().key(object));
        }
        ("Destination", _) => {
            let seen = destinations::destinations(std::slice::from_ref(object), &world.stores, 1);
            assert!(seen.all.contains_key(object.name()));
        }
        _ => {}
    }
}
