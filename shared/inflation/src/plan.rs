//! Plans of Promises and requests. Whatever can be wrong was found at admission, so a plan always comes out.

use domain::digest::Digest;
use domain::id::{LaneKey, Uid};
use domain::output::Selector;
use domain::plan::{Container, EnvVar, Gate, Pipeline, Plan, WorkflowAction, WorkflowType};
use resources::Object;
use resources::keys::{KUBECTL_LAST_APPLIED_ANNOTATION, LAST_APPLIED_ANNOTATION};
use resources::pipeline as written;
use resources::promise::WorkflowPipelines;
use serde_json::{Value, json};

use crate::world::{InstalledPromise, Role, promise_lane};

/// The plan of a Promise's own workflow. A configure plan waits for the Promises that are required.
pub fn inflate_promise(promise: &InstalledPromise, action: WorkflowAction) -> Plan {
    let gates = match action {
        WorkflowAction::Configure => required_promises(promise),
        WorkflowAction::Delete => Vec::new(),
    };
    let subject = Subject { promise, object: &promise.object, workflow: WorkflowType::Promise, action };
    subject.plan(promise.lane(), promise.work_hash.clone(), gates)
}

/// The plan of a request's workflow. A configure plan waits until the Promise's own is complete; a delete plan, whose
/// Promise may be going as well, for nothing.
pub fn inflate_request(promise: &InstalledPromise, request: &Object, action: WorkflowAction) -> Plan {
    let work_hash = Digest::of_json(&(&promise.work_hash, request.spec()));
    let gates = match action {
        WorkflowAction::Configure => {
            vec![Gate::PromiseComplete { promise: promise.lane(), work_hash: promise.work_hash.clone() }]
        }
        WorkflowAction::Delete => Vec::new(),
    };
    let subject = Subject { promise, object: request, workflow: WorkflowType::Resource, action };
    subject.plan(subject.request_lane(), work_hash, gates)
}

fn required_promises(promise: &InstalledPromise) -> Vec<Gate> {
    let gate = |required: &resources::promise::RequiredPromise| Gate::PromiseInstalled {
        promise: promise_lane(&required.name),
        version: required.version.clone().filter(|version| !version.is_empty()),
    };
    promise.spec.required_promises.iter().map(gate).collect()
}

/// What a plan is of.
struct Subject<'a> {
    promise: &'a InstalledPromise,
    object: &'a Object,
    workflow: WorkflowType,
    action: WorkflowAction,
}

impl Subject<'_> {
    fn plan(&self, lane: LaneKey, work_hash: Digest, gates: Vec<Gate>) -> Plan {
        let selectors = self.promise.spec.destination_selectors.iter();
        Plan {
            lane,
            uid: Uid(self.object.metadata.uid.clone().unwrap_or_default()),
            generation: self.object.metadata.generation.unwrap_or_default(),
            workflow: self.workflow,
            action: self.action,
            promise: self.promise.name().into(),
            work_hash,
            gates,
            selectors: selectors.map(|one| Selector { match_labels: one.match_labels.clone() }).collect(),
            pipelines: self.written().iter().map(|pipeline| self.pipeline(pipeline)).collect(),
            input: input(self.object),
        }
    }

    fn request_lane(&self) -> LaneKey {
        match &self.promise.api {
            Some(api) => LaneKey(Role::Request(self.promise, api).key(self.object)),
            None => self.promise.lane(),
        }
    }

    /// All pipelines of the workflow, also all that delete (upstream runs the first of these only).
    fn written(&self) -> &[written::Pipeline] {
        let workflows = &self.promise.spec.workflows;
        let WorkflowPipelines { configure, delete } = match self.workflow {
            WorkflowType::Promise => &workflows.promise,
            WorkflowType::Resource => &workflows.resource,
        };
        match self.action {
            WorkflowAction::Configure => configure,
            WorkflowAction::Delete => delete,
        }
    }

    fn pipeline(&self, pipeline: &written::Pipeline) -> Pipeline {
        let name = &pipeline.metadata.name;
        let container = |container| self.container(name, container);
        Pipeline {
            name: name.clone(),
            containers: pipeline.spec.containers.iter().map(container).collect(),
            kubernetes: pipeline_fragment(pipeline),
        }
    }

    fn container(&self, pipeline: &str, container: &written::Container) -> Container {
        let own = container.env.iter().filter(|env| env.value_from.is_none());
        let own =
            own.map(|env| EnvVar { name: env.name.clone(), value: env.value.clone().unwrap_or_default() });
        Container {
            name: container.name.clone(),
            image: container.image.clone(),
            command: container.command.clone(),
            args: container.args.clone(),
            env: self.environment(pipeline).into_iter().chain(own).collect(),
            kubernetes: container_fragment(container),
        }
    }

    /// In upstream's order.
    fn environment(&self, pipeline: &str) -> Vec<EnvVar> {
        let is_promise = self.workflow == WorkflowType::Promise;
        let request_plural = self.promise.api.as_ref().map_or("", |api| &*api.spec.names.plural);
        [
            ("KRATIX_WORKFLOW_ACTION", self.action.as_str()),
            ("KRATIX_WORKFLOW_TYPE", self.workflow.as_str()),
            ("KRATIX_PROMISE_NAME", self.promise.name()),
            ("KRATIX_PIPELINE_NAME", pipeline),
            ("KRATIX_OBJECT_KIND", &self.object.kind),
            ("KRATIX_OBJECT_GROUP", self.object.group()),
            ("KRATIX_OBJECT_VERSION", self.object.version()),
            ("KRATIX_OBJECT_NAME", self.object.name()),
            ("KRATIX_OBJECT_NAMESPACE", self.object.namespace().unwrap_or_default()),
            ("KRATIX_CRD_PLURAL", if is_promise { "promises" } else { request_plural }),
            ("KRATIX_CLUSTER_SCOPED", if is_promise { "true" } else { "false" }),
        ]
        .map(|(name, value)| EnvVar { name: name.into(), value: value.into() })
        .into()
    }
}

/// The object as containers see it: without what every write moves, and without status, which is added per job.
fn input(object: &Object) -> Value {
    let mut seen = object.clone();
    seen.body.remove("status");
    seen.metadata.resource_version = None;
    seen.metadata.other.remove("managedFields");
    for annotation in [LAST_APPLIED_ANNOTATION, KUBECTL_LAST_APPLIED_ANNOTATION] {
        seen.metadata.annotations.remove(annotation);
    }
    seen.to_value()
}

/// `labels` and `annotations` of a pipeline, and its spec without the containers.
fn pipeline_fragment(pipeline: &written::Pipeline) -> Value {
    let mut fragment = json!(pipeline.spec);
    if !pipeline.metadata.labels.is_empty() {
        fragment["labels"] = json!(pipeline.metadata.labels);
    }
    if !pipeline.metadata.annotations.is_empty() {
        fragment["annotations"] = json!(pipeline.metadata.annotations);
    }
    without(fragment, &["containers"])
}

/// What a container has beyond its typed parts; of `env` the variables with `valueFrom`.
fn container_fragment(container: &written::Container) -> Value {
    let mut rest = container.clone();
    rest.env.retain(|env| env.value_from.is_some());
    without(json!(rest), &["name", "image", "command", "args"])
}

fn without(mut fragment: Value, fields: &[&str]) -> Value {
    if let Some(map) = fragment.as_object_mut() {
        map.retain(|name, _| !fields.contains(&&**name));
    }
    if fragment.as_object().is_some_and(serde_json::Map::is_empty) { Value::Null } else { fragment }
}
