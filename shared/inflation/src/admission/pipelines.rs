//! The pipelines of a Promise (kratix-P5: duplicate names, lengths, labels).

use std::collections::BTreeSet;

use domain::names::{PIPELINE_ID_MAX, pipeline_id};
use domain::plan::WorkflowType;
use domain::problem::Problem;
use resources::ObjectMeta;
use resources::keys::KRATIX_API_VERSION;
use resources::pipeline::EnvVar;
use serde_json::Value;

use super::names::{check_labels, is_dns_label, is_subdomain, not_a_label, not_a_subdomain};
use super::parts::{is_set, items, not_acted_on, part, required};
use crate::field::{child, item};
use crate::schema::unknown_field;

/// Fields of `metadata` that Kubernetes has and no pipeline needs.
const OTHER_METADATA: [&str; 4] = ["generateName", "managedFields", "selfLink", "deletionGracePeriodSeconds"];

/// Fields that change what a job does, and what they are about.
const NOT_ACTED_ON: [(&str, &str); 3] =
    [("volumes", "volumes"), ("jobOptions", "options of a Job"), ("restartPolicy", "restart policies")];
const NOT_ACTED_ON_IN_CONTAINERS: [(&str, &str); 2] =
    [("envFrom", "values from elsewhere"), ("volumeMounts", "volumes")];
/// Fields that matter to a Kubernetes Job only, and are handed on.
const CLUSTER_ONLY: [&str; 4] = ["imagePullSecrets", "rbac", "nodeSelector", "tolerations"];
const CLUSTER_ONLY_IN_CONTAINERS: [&str; 3] = ["imagePullPolicy", "securityContext", "resources"];

/// A list of pipelines.
struct Workflow<'a> {
    promise: &'a str,
    kind: WorkflowType,
    action: &'a str,
    names: BTreeSet<String>,
}

/// `problems` holds what the schema found in the pipelines; those of what turns out to be no Pipeline are taken out.
pub(super) fn check(promise: &str, spec: &Value, problems: &mut Vec<Problem>) {
    for kind in [WorkflowType::Promise, WorkflowType::Resource] {
        let workflows = &spec["workflows"][kind.as_str()];
        for action in ["configure", "delete"] {
            let at = child(&child("spec.workflows", kind.as_str()), action);
            let mut workflow = Workflow { promise, kind, action, names: BTreeSet::new() };
            for (index, pipeline) in items(workflows, action).enumerate() {
                workflow.check_element(&item(&at, index), pipeline, problems);
            }
            if is_set(workflows, action) && kind == WorkflowType::Resource && spec.get("api").is_none() {
                problems.push(Problem::warning("no-effect", at, "never run: the Promise offers no API"));
            }
        }
    }
}

impl Workflow<'_> {
    fn check_element(&mut self, at: &str, pipeline: &Value, problems: &mut Vec<Problem>) {
        let text = |field: &str| pipeline.get(field).and_then(Value::as_str);
        if let (Some(kind), Some(api_version)) = (text("kind"), text("apiVersion"))
            && (kind, api_version) != ("Pipeline", KRATIX_API_VERSION)
        {
            problems.retain(|problem| !problem.field.starts_with(at));
            let message = format!(
                "`{kind}` of `{api_version}` cannot be run, only `Pipeline` of `{KRATIX_API_VERSION}`"
            );
            problems.push(Problem::error("invalid", child(at, "kind"), message));
            return;
        }
        if let Some(metadata) = part(pipeline, "metadata") {
            self.check_head(&child(at, "metadata"), &metadata, problems);
        }
        let at = child(at, "spec");
        if let Some(spec) = pipeline.get("spec").filter(|spec| spec.is_object()) {
            check_containers(&child(&at, "containers"), spec, problems);
            check_support(&at, spec, &NOT_ACTED_ON, &CLUSTER_ONLY, problems);
        }
    }

    fn check_head(&mut self, at: &str, metadata: &ObjectMeta, problems: &mut Vec<Problem>) {
        let field = child(at, "name");
        let name = &metadata.name;
        let id = pipeline_id(self.promise, self.kind, self.action, name);
        if name.is_empty() {
            problems.push(required(field));
        } else if !is_subdomain(name) {
            problems.push(not_a_subdomain(field, name));
        } else if !self.names.insert(name.clone()) {
            let message =
                format!("pipeline `{name}` is there twice in {}.{}", self.kind.as_str(), self.action);
            problems.push(Problem::error("duplicate", field, message));
        } else if id.len() > PIPELINE_ID_MAX {
            let length = id.len();
            let message =
                format!("`{id}` has {length} characters, more than the {PIPELINE_ID_MAX} that it may have");
            problems.push(
                Problem::error("name", field, message)
                    .help("shorten the name of the pipeline or of the Promise"),
            );
        }
        check_labels(&metadata.labels, &child(at, "labels"), problems);
        for name in metadata.other.keys().filter(|name| !OTHER_METADATA.contains(&&***name)) {
            problems.push(unknown_field(
                child(at, name),
                name,
                ["name", "namespace", "labels", "annotations"],
            ));
        }
    }
}

fn check_containers(at: &str, spec: &Value, problems: &mut Vec<Problem>) {
    if !is_set(spec, "containers") {
        problems.push(Problem::error("required", at, "a pipeline has at least one container"));
    }
    let mut names = BTreeSet::new();
    for (index, container) in items(spec, "containers").enumerate() {
        let at = item(at, index);
        if let Some(name) = part::<String>(container, "name") {
            check_container_name(child(&at, "name"), name, &mut names, problems);
        }
        if let Some(image) = part::<String>(container, "image") {
            if image.is_empty() {
                problems.push(required(child(&at, "image")));
            } else if image.contains(|c: char| c.is_whitespace() || c.is_control()) {
                problems.push(Problem::error("invalid", child(&at, "image"), "is not the name of an image"));
            }
        }
        for field in ["command", "args"] {
            for (index, word) in items(container, field).enumerate() {
                check_nul(item(&child(&at, field), index), word.as_str(), problems);
            }
        }
        for (index, env) in items(container, "env").enumerate() {
            if let Ok(env) = serde_json::from_value(env.clone()) {
                check_env(&item(&child(&at, "env"), index), &env, problems);
            }
        }
        check_support(&at, container, &NOT_ACTED_ON_IN_CONTAINERS, &CLUSTER_ONLY_IN_CONTAINERS, problems);
    }
}

fn check_container_name(
    field: String,
    name: String,
    names: &mut BTreeSet<String>,
    problems: &mut Vec<Problem>,
) {
    if name.is_empty() {
        problems.push(required(field));
    } else if !is_dns_label(&name) {
        problems.push(not_a_label(field, &name));
    } else if names.contains(&name) {
        problems.push(Problem::error("duplicate", field, format!("container `{name}` is there twice")));
    } else {
        names.insert(name);
    }
}

fn check_env(at: &str, env: &EnvVar, problems: &mut Vec<Problem>) {
    let is_name = |c: char| c.is_ascii_graphic() && c != '=';
    if env.name.is_empty() || !env.name.chars().all(is_name) {
        let message = format!("`{}` is not the name of a variable", env.name.escape_default());
        problems.push(Problem::error("name", child(at, "name"), message));
    }
    check_nul(child(at, "value"), env.value.as_deref(), problems);
    if env.value_from.is_some() {
        if env.value.as_ref().is_some_and(|value| !value.is_empty()) {
            problems.push(Problem::error("invalid", at, "has both `value` and `valueFrom`"));
        }
        problems.push(not_acted_on(child(at, "valueFrom"), "values from elsewhere"));
    }
}

/// No process can be given one.
fn check_nul(field: String, text: Option<&str>, problems: &mut Vec<Problem>) {
    if text.is_some_and(|text| text.contains('\0')) {
        problems.push(Problem::error("invalid", field, "holds a NUL character"));
    }
}

fn check_support(
    at: &str,
    parent: &Value,
    not_acted: &[(&str, &str)],
    cluster_only: &[&str],
    problems: &mut Vec<Problem>,
) {
    for (field, what) in not_acted.iter().filter(|(field, _)| is_set(parent, field)) {
        problems.push(not_acted_on(child(at, field), what));
    }
    for field in cluster_only.iter().filter(|field| is_set(parent, field)) {
        problems.push(Problem::warning(
            "cluster-only",
            child(at, field),
            "has no effect outside of a cluster",
        ));
    }
}
