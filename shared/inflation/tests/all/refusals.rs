//! What is said about bad inputs, word for word: `refusals.txt`. `UPDATE=1` writes what is said now.
//!
//! A case is a title, a patch (merged over a fixture; null removes), and the expected lines. Its first line names the
//! fixture: a kind; `a over b` is a change of the stored `b` to `a`; `text` takes the patch for the whole manifest.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::common::{fixture, line, world};
use inflation::{Content, InstalledPromise, World, admit, documents};
use resources::Object;
use serde_json::Value;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/refusals.txt");

/// RFC 7396.
fn patch(value: &mut Value, change: Value) {
    match (value, change) {
        (Value::Object(fields), Value::Object(changes)) => {
            for (name, change) in changes {
                if change.is_null() {
                    fields.remove(&name);
                } else {
                    patch(
                        fields.entry(name).or_insert_with(|| Value::Object(serde_json::Map::new())),
                        change,
                    );
                }
            }
        }
        (value, change) => *value = change,
    }
}

/// The fixtures, and a Promise under deletion.
fn everything() -> World {
    let mut world = world();
    let mut going = fixture("Promise").to_value();
    let names = serde_json::json!({"kind": "Stall", "plural": "stalls"});
    patch(
        &mut going,
        serde_json::json!({
            "metadata": {"name": "going", "deletionTimestamp": "2024-01-01T00:00:00Z"},
            "spec": {"api": {"metadata": {"name": "stalls.example.org"}, "spec": {"names": names}}},
        }),
    );
    world.promises.push(Arc::new(InstalledPromise::new(Object::from_value(going).unwrap()).unwrap()));
    world
}

fn said(fixture_line: &str, text: &str, world: &World) -> Vec<String> {
    let (name, over) =
        fixture_line.split_once(" over ").map_or((fixture_line, None), |(name, over)| (name, Some(over)));
    let object = if name == "text" {
        match documents::decode(text).remove(0).content {
            Content::Object(object) => *object,
            Content::Foreign => return vec!["foreign".into()],
            Content::Broken(problems) => return problems.iter().map(line).collect(),
        }
    } else {
        let mut value = fixture(name).to_value();
        patch(&mut value, serde_saphyr::from_str(text).unwrap());
        Object::from_value(value).unwrap()
    };
    let current = over.map(fixture);
    match admit(object, current.as_ref(), world) {
        Ok(admitted) => admitted.problems.iter().map(line).chain(["taken".to_owned()]).collect(),
        Err(problems) => problems.iter().map(line).collect(),
    }
}

#[test]
fn every_refusal_says_what_is_wrong() {
    let world = everything();
    let text = std::fs::read_to_string(FILE).unwrap();
    let (mut now, mut unlike, mut count) = (String::new(), Vec::new(), 0);
    for case in text.split("## ").skip(1) {
        let (title, rest) = case.split_once('\n').unwrap();
        let (fixture_line, rest) = rest.split_once('\n').unwrap();
        let (change, expected) = rest.split_once("=>\n").unwrap();
        let lines = said(fixture_line, change, &world).join("\n");
        if lines != expected.trim_end() {
            unlike.push(format!("{title}:\n{lines}"));
        }
        write!(now, "## {title}\n{fixture_line}\n{change}=>\n{lines}\n\n").unwrap();
        count += 1;
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(FILE, now.trim_end().to_owned() + "\n").unwrap();
    }
    assert!(unlike.is_empty(), "now said otherwise:\n{}", unlike.join("\n"));
    assert!(count >= 30, "only {count} cases");
}
