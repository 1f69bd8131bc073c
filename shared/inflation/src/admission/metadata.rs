//! The head of an object: name, namespace, labels, annotations, finalizers.

use domain::problem::Problem;
use resources::keys::{KRATIX_GROUP, LAST_APPLIED_ANNOTATION};
use resources::{KnownKind, Object};

use super::names::{
    check_labels, is_dns_label, is_qualified, is_subdomain, not_a_label, not_a_subdomain, not_qualified,
};
use super::parts::required;
use crate::field::{child, item};
use crate::world::Role;

/// Names that upstream puts into labels.
const LABEL_MAX: usize = 63;
/// Of all annotations together, in bytes; the last-applied one aside.
const ANNOTATIONS_MAX: usize = 256 << 10;

pub(super) fn check(object: &mut Object, role: &Role<'_>, problems: &mut Vec<Problem>) {
    object.metadata.namespace = match object.metadata.namespace.take() {
        _ if !role.is_namespaced() => None,
        Some(namespace) if !namespace.is_empty() => Some(namespace),
        _ => Some("default".into()),
    };
    check_name(object, role, problems);
    if let Some(namespace) = object.namespace().filter(|namespace| !is_dns_label(namespace)) {
        problems.push(not_a_label("metadata.namespace", namespace));
    }
    check_labels(&object.metadata.labels, "metadata.labels", problems);
    check_annotations(object, problems);
    for (index, finalizer) in object.metadata.finalizers.iter().enumerate() {
        if !is_qualified(finalizer) {
            problems.push(not_qualified("name", item("metadata.finalizers", index), finalizer));
        }
    }
}

fn check_name(object: &Object, role: &Role<'_>, problems: &mut Vec<Problem>) {
    let name = object.name();
    if name.is_empty() {
        let problem = required("metadata.name");
        problems.push(match object.metadata.other.get("generateName") {
            Some(_) => problem.help("`generateName` is not supported, write a name"),
            None => problem,
        });
    } else if !is_subdomain(name) {
        problems.push(not_a_subdomain("metadata.name", name));
    } else if is_label_too(role) && name.len() > LABEL_MAX {
        let message = format!(
            "{} characters are more than the {LABEL_MAX} that a {} may have",
            name.len(),
            object.kind
        );
        problems.push(Problem::error("name", "metadata.name", message));
    }
}

/// Requests and Promises, whose names are labels of their requests.
fn is_label_too(role: &Role<'_>) -> bool {
    matches!(role, Role::Request(..) | Role::Known(KnownKind { group: KRATIX_GROUP, kind: "Promise", .. }))
}

fn check_annotations(object: &Object, problems: &mut Vec<Problem>) {
    let mut size = 0;
    for (key, value) in &object.metadata.annotations {
        if !is_qualified(key) {
            problems.push(not_qualified("name", child("metadata.annotations", key), key));
        }
        if key != LAST_APPLIED_ANNOTATION {
            size += key.len() + value.len();
        }
    }
    if size > ANNOTATIONS_MAX {
        let message = format!("{size} bytes are more than the {ANNOTATIONS_MAX} that annotations may have");
        problems.push(Problem::error("too-large", "metadata.annotations", message));
    }
}
