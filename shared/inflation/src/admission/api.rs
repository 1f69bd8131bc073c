//! A Promise's API: its CustomResourceDefinition, by itself, against what it was, and against other Promises.

use std::collections::BTreeSet;

use domain::problem::Problem;
use resources::api::{CrdNames, CrdVersion};
use resources::keys::CRD_API_VERSION;
use resources::kinds::KNOWN_KINDS;
use resources::{KnownKind, Object};
use serde_json::Value;

use super::names::{is_dns_label, is_subdomain, not_a_label, not_a_subdomain};
use super::parts::{items, part, required};
use crate::field::{child, item};
use crate::schema::Schema;
use crate::world::World;

const AT: &str = "spec.api";
const VERSIONS: &str = "spec.api.spec.versions";
const CRD_KIND: &str = "CustomResourceDefinition";

pub(super) fn check(
    promise: &str,
    api: Option<&Value>,
    current: Option<&Object>,
    world: &World,
    problems: &mut Vec<Problem>,
) {
    let before = current.and_then(|current| current.spec()?.get("api"));
    let Some(api) = api else {
        if before.is_some() {
            problems.push(Problem::error("immutable", AT, "cannot be removed from a Promise"));
        }
        return;
    };
    if let Some(before) = before {
        check_unchanged(api, before, problems);
    }
    check_type(api, problems);
    let spec = &api["spec"];
    if let Some(scope) = part::<String>(spec, "scope").filter(|scope| scope != "Namespaced") {
        let message = format!("must be `Namespaced`, found `{scope}`");
        problems.push(Problem::error("invalid", "spec.api.spec.scope", message));
    }
    check_versions(spec, problems);
    if let Some(names) = part::<CrdNames>(spec, "names") {
        check_names(&names, problems);
        if let Some(group) = part::<String>(spec, "group") {
            check_group(api, &names, &group, problems);
            check_others(promise, &names, &group, world, problems);
        }
    }
    let strategy = spec.pointer("/conversion/strategy").and_then(Value::as_str);
    if strategy.is_some_and(|strategy| strategy != "None") {
        let message = "this version does not convert between versions of an API";
        problems.push(Problem::unsupported("spec.api.spec.conversion", message));
    }
}

fn check_type(api: &Value, problems: &mut Vec<Problem>) {
    for (field, wanted) in [("apiVersion", CRD_API_VERSION), ("kind", CRD_KIND)] {
        if let Some(found) = part::<String>(api, field).filter(|found| found != wanted) {
            problems.push(Problem::error(
                "invalid",
                child(AT, field),
                format!("must be `{wanted}`, found `{found}`"),
            ));
        }
    }
}

/// As upstream: name, kind, apiVersion and names stay.
fn check_unchanged(api: &Value, before: &Value, problems: &mut Vec<Problem>) {
    let mut changed = Vec::new();
    for (pointer, field) in [
        ("/metadata/name", "spec.api.metadata.name"),
        ("/kind", "spec.api.kind"),
        ("/apiVersion", "spec.api.apiVersion"),
    ] {
        if api.pointer(pointer) != before.pointer(pointer) {
            changed.push(field);
        }
    }
    let names = |api: &Value| part::<CrdNames>(&api["spec"], "names");
    if let (Some(now), Some(then)) = (names(api), names(before))
        && !now.same(&then)
    {
        changed.push("spec.api.spec.names");
    }
    problems.extend(changed.into_iter().map(|field| Problem::error("immutable", field, "cannot be changed")));
}

fn check_names(names: &CrdNames, problems: &mut Vec<Problem>) {
    const NAMES: &str = "spec.api.spec.names";
    let mut check = |field: String, name: &str| {
        if !is_dns_label(&name.to_lowercase()) {
            problems.push(not_a_label(field, name));
        }
    };
    check(child(NAMES, "kind"), &names.kind);
    if let Some(list) = &names.list_kind {
        check(child(NAMES, "listKind"), list);
    }
    let lower = [("plural", Some(&names.plural)), ("singular", names.singular.as_ref())];
    let lower = lower.into_iter().filter_map(|(field, name)| Some((child(NAMES, field), name?)));
    let short = child(NAMES, "shortNames");
    let short = names.short_names.iter().enumerate().map(|(index, name)| (item(&short, index), name));
    for (field, name) in lower.chain(short).filter(|(_, name)| !is_dns_label(name)) {
        problems.push(not_a_label(field, name));
    }
}

fn check_group(api: &Value, names: &CrdNames, group: &str, problems: &mut Vec<Problem>) {
    if !(is_subdomain(group) && group.contains('.')) {
        problems
            .push(not_a_subdomain("spec.api.spec.group", group).help("a DNS name with a dot, `example.org`"));
    }
    let full = format!("{}.{group}", names.plural);
    match api.pointer("/metadata/name").and_then(Value::as_str) {
        Some(name) if name == full => {}
        Some(name) => {
            let message = format!("must be `{full}`, plural and group; found `{name}`");
            problems.push(Problem::error("name", "spec.api.metadata.name", message));
        }
        None => problems
            .push(required("spec.api.metadata.name").help(format!("write `{full}`, plural and group"))),
    }
    let is_taken = |known: &&KnownKind| {
        known.group == group && (known.plural == names.plural || known.kind == names.kind)
    };
    if let Some(known) = KNOWN_KINDS.iter().find(is_taken) {
        let message = format!("{} of `{}` is a kind of the platform itself", known.kind, known.group);
        problems.push(Problem::error("reserved", "spec.api.spec.names", message));
    }
}

fn check_versions(spec: &Value, problems: &mut Vec<Problem>) {
    let versions: Vec<&Value> = items(spec, "versions").collect();
    let with = |flag: &str| versions.iter().filter(|version| version[flag] == Value::Bool(true)).count();
    if with("served") == 0 {
        problems.push(Problem::error("invalid", VERSIONS, "no version is served"));
    }
    let stored = with("storage");
    if stored != 1 {
        let message = format!("exactly one version has `storage: true`, found {stored}");
        problems.push(Problem::error("invalid", VERSIONS, message));
    }
    let mut seen = BTreeSet::new();
    for (index, version) in versions.into_iter().enumerate() {
        let Ok(version) = serde_json::from_value::<CrdVersion>(version.clone()) else { continue };
        let at = item(VERSIONS, index);
        if !is_dns_label(&version.name) {
            problems.push(not_a_label(child(&at, "name"), &version.name));
        }
        let schema = version.schema.open_api_v3_schema;
        let at_schema = child(&child(&at, "schema"), "openAPIV3Schema");
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            problems.push(Problem::error("invalid", child(&at_schema, "type"), "must be `object`"));
        }
        problems.extend(Schema::of_requests(schema).check(&at_schema));
        if !seen.insert(version.name.clone()) {
            let message = format!("version `{}` is there twice", version.name);
            problems.push(Problem::error("duplicate", child(&at, "name"), message));
        }
    }
}

/// Two Promises that offer one API would fight over its requests.
fn check_others(promise: &str, names: &CrdNames, group: &str, world: &World, problems: &mut Vec<Problem>) {
    for other in world.promises.iter().filter(|other| other.name() != promise) {
        let Some(api) = &other.api else { continue };
        let theirs = &api.spec.names;
        if api.spec.group == group && (theirs.plural == names.plural || theirs.kind == names.kind) {
            let message = format!("`{}` is the API of Promise `{}` already", api.metadata.name, other.name());
            problems.push(Problem::error("conflict", AT, message));
        }
    }
}
