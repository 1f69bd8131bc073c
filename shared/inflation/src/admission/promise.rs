//! Promise (kratix-P5: immutability, names, duplicates).

use std::time::Duration;

use domain::problem::Problem;
use resources::keys::RECONCILIATION_INTERVAL_ANNOTATION;
use resources::promise::{DestinationSelector, RequiredPromise};
use resources::{Object, duration};
use serde_json::Value;

use super::names::{check_labels, is_dns_label, is_subdomain, not_a_label, not_a_subdomain};
use super::parts::{is_set, items, not_acted_on, part};
use super::{api, check_spec, pipelines};
use crate::field::{child, item};
use crate::schema::known;
use crate::world::{InstalledPromise, World};

const SHORTEST_INTERVAL: Duration = Duration::from_mins(1);

pub(super) fn check(
    object: &mut Object,
    current: Option<&Object>,
    world: &World,
    problems: &mut Vec<Problem>,
) {
    check_spec(object, &known::PROMISE, problems);
    if let Some(api) = object.body.get_mut("spec").and_then(|spec| spec.get_mut("api")) {
        known::CRD.apply(api, "spec.api", problems);
    }
    let Some(spec) = object.spec() else { return };
    api::check(object.name(), spec.get("api"), current, world, problems);
    pipelines::check(object.name(), spec, problems);
    check_config(&spec["workflows"]["config"], problems);
    check_requirements(object.name(), spec, problems);
    for (index, selector) in items(spec, "destinationSelectors").enumerate() {
        let at = child(&item("spec.destinationSelectors", index), "matchLabels");
        if let Ok(selector) = serde_json::from_value::<DestinationSelector>(selector.clone()) {
            check_labels(&selector.match_labels, &at, problems);
        }
    }
    if is_set(spec, "dependencies") {
        problems.push(not_acted_on("spec.dependencies", "dependencies"));
    }
    if object.annotation(RECONCILIATION_INTERVAL_ANNOTATION).is_some() {
        let field = child("metadata.annotations", RECONCILIATION_INTERVAL_ANNOTATION);
        problems.push(not_acted_on(field, "reconciliation intervals"));
    }
    if !problems.iter().any(Problem::is_error) {
        // What the schemas let pass, its readers can read.
        problems.extend(InstalledPromise::new(object.clone()).err());
    }
}

fn check_config(config: &Value, problems: &mut Vec<Problem>) {
    let namespace: Option<String> = part(config, "pipelineNamespace");
    if let Some(namespace) = namespace.filter(|namespace| !namespace.is_empty()) {
        let field = "spec.workflows.config.pipelineNamespace";
        problems.push(not_acted_on(field, "a namespace of its own for pipelines"));
        if !is_dns_label(&namespace) {
            problems.push(not_a_label(field, &namespace));
        }
    }
    if let Some(interval) = part::<String>(config, "reconciliationInterval") {
        let field = "spec.workflows.config.reconciliationInterval";
        problems.push(not_acted_on(field, "reconciliation intervals"));
        match duration::parse(&interval) {
            Ok(interval) if interval < SHORTEST_INTERVAL => {
                problems.push(Problem::error("invalid", field, "must be at least 1m"));
            }
            Ok(_) => {}
            Err(error) => problems.push(Problem::error("invalid", field, error.to_string())),
        }
    }
}

fn check_requirements(own_name: &str, spec: &Value, problems: &mut Vec<Problem>) {
    for (index, required) in items(spec, "requiredPromises").enumerate() {
        let field = child(&item("spec.requiredPromises", index), "name");
        let Ok(required) = serde_json::from_value::<RequiredPromise>(required.clone()) else { continue };
        if required.name == own_name {
            problems.push(Problem::error("invalid", field, "a Promise cannot require itself"));
        } else if !is_subdomain(&required.name) {
            problems.push(not_a_subdomain(field, &required.name));
        }
    }
    if is_set(spec, "requiredPromises") {
        problems.push(not_acted_on("spec.requiredPromises", "required Promises"));
    }
}
