//! Objects of the fixtures, and what the tests say about them.

use std::path::PathBuf;
use std::sync::Arc;

use domain::problem::{Problem, Severity};
use inflation::{Admitted, Content, Document, InstalledPromise, World, admit, documents};
use resources::Object;

pub(crate) const SHOP: &str = include_str!("fixtures/shop.yaml");

/// The objects of a text that holds nothing else.
pub(crate) fn objects(text: &str) -> Vec<Object> {
    let object = |document: Document| match document.content {
        Content::Object(object) => *object,
        other => panic!("line {}: {other:?}", document.line),
    };
    documents::decode(text).into_iter().map(object).collect()
}

/// The object of that kind among the fixtures.
pub(crate) fn fixture(kind: &str) -> Object {
    objects(SHOP).into_iter().find(|object| object.kind == kind).unwrap()
}

#[track_caller]
pub(crate) fn admitted(object: Object, world: &World) -> Admitted {
    let name = object.name().to_owned();
    admit(object, None, world).unwrap_or_else(|problems| panic!("{name}: {problems:#?}"))
}

pub(crate) fn install(promise: Object) -> Arc<InstalledPromise> {
    Arc::new(InstalledPromise::new(admitted(promise, &World::default()).object).unwrap())
}

/// With the fixtures installed.
pub(crate) fn world() -> World {
    World {
        promises: vec![install(fixture("Promise"))],
        destinations: vec![fixture("Destination")],
        stores: vec![fixture("GitStateStore")],
    }
}

pub(crate) fn line(problem: &Problem) -> String {
    let severity = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Unsupported => "unsupported",
    };
    let code =
        if problem.severity == Severity::Unsupported { String::new() } else { format!(" {}", problem.code) };
    let help = problem.help.as_ref().map(|help| format!(" -- {help}")).unwrap_or_default();
    format!("{severity}{code} | {problem}{help}")
}

/// A file of manifests from elsewhere: below `MILLRACE_CASES`, or beside the project. Without it a test says so.
pub(crate) fn case(file: &str) -> Option<String> {
    let root = std::env::var_os("MILLRACE_CASES").map(PathBuf::from);
    let root =
        root.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/cases")));
    let text = std::fs::read_to_string(root.join(file)).ok();
    if text.is_none() {
        eprintln!("left out: no {file} below {}", root.display());
    }
    text
}
