//! Plans, whole: of the fixtures, and of the first real Promise when it is there.

use crate::common::{admitted, case, fixture, install, objects, world};
use domain::plan::{Gate, Plan, WorkflowAction};
use inflation::plan::{inflate_promise, inflate_request};
use inflation::{Role, World};
use resources::Object;
use resources::keys::LAST_APPLIED_ANNOTATION;
use serde_json::json;

/// As it would be stored.
fn stored(mut object: Object) -> Object {
    let meta = &mut object.metadata;
    meta.uid = Some("6f1d".into());
    meta.resource_version = Some("41".into());
    meta.generation = Some(2);
    meta.annotations.insert(LAST_APPLIED_ANNOTATION.into(), "{}".into());
    object.body.insert("status".into(), json!({"phase": "old"}));
    object
}

fn json(plan: &Plan) -> String {
    serde_json::to_string_pretty(plan).unwrap()
}

/// A Promise is its own input; here only its head is shown.
fn without_spec(mut plan: Plan) -> Plan {
    plan.input["spec"] = json!("...");
    plan
}

fn request(world: &World) -> Object {
    stored(admitted(fixture("Shop"), world).object)
}

#[test]
fn of_a_promise() {
    let promise = install(stored(fixture("Promise")));
    insta::assert_snapshot!(
        "promise_configure",
        json(&without_spec(inflate_promise(&promise, WorkflowAction::Configure)))
    );
    let delete = inflate_promise(&promise, WorkflowAction::Delete);
    assert_eq!(delete.pipelines, []);
}

/// All pipelines in order, also all that delete; the delete plan waits for nothing.
#[test]
fn of_a_request() {
    let world = world();
    let request = request(&world);
    let Some(Role::Request(promise, _)) = world.role(&request) else { panic!("no request") };
    insta::assert_snapshot!(
        "request_configure",
        json(&inflate_request(promise, &request, WorkflowAction::Configure))
    );
    let delete = inflate_request(promise, &request, WorkflowAction::Delete);
    let names = delete.pipelines.iter().map(|pipeline| &*pipeline.name).collect::<Vec<_>>();
    assert_eq!((names, &delete.gates[..]), (vec!["close", "farewell"], &[][..]));
    let action = &delete.pipelines[1].containers[0].env[0];
    assert_eq!((&*action.name, &*action.value), ("KRATIX_WORKFLOW_ACTION", "delete"));
}

#[test]
fn only_specs_move_the_work_hash() {
    let world = world();
    let promise = &world.promises[0];
    let hash = |request: &Object| inflate_request(promise, request, WorkflowAction::Configure).work_hash;
    let before = request(&world);
    let mut after = before.clone();
    after.metadata.labels.insert("a".into(), "b".into());
    after.metadata.generation = Some(9);
    after.body.insert("status".into(), json!({"phase": "new"}));
    assert_eq!(hash(&before), hash(&after));
    after.body.insert("spec".into(), json!({"size": "large"}));
    assert_ne!(hash(&before), hash(&after));

    let mut changed = fixture("Promise");
    changed.body["spec"]["destinationSelectors"] = json!([]);
    let changed = install(changed);
    let plan = inflate_request(&changed, &before, WorkflowAction::Configure);
    assert_ne!(plan.work_hash, hash(&before));
    // The gate names the very plan of the Promise that the request's was made from.
    let Gate::PromiseComplete { promise, work_hash } = &plan.gates[0] else { panic!("{:?}", plan.gates) };
    assert_eq!(promise, &changed.lane());
    assert_eq!(work_hash, &inflate_promise(&changed, WorkflowAction::Configure).work_hash);
}

/// What only Kubernetes understands is handed on as written; required Promises are gates.
#[test]
fn of_a_promise_for_clusters() {
    let mut promise = fixture("Promise");
    promise.body["spec"]["requiredPromises"] =
        json!([{"name": "redis"}, {"name": "postgres", "version": "v2"}]);
    let pipeline = &mut promise.body["spec"]["workflows"]["promise"]["configure"][0];
    pipeline["metadata"]["labels"] = json!({"team": "a"});
    pipeline["metadata"]["annotations"] = json!({"note": "b"});
    pipeline["spec"]["nodeSelector"] = json!({"disk": "ssd"});
    pipeline["spec"]["volumes"] = json!([{"name": "v", "emptyDir": {}}]);
    pipeline["spec"]["containers"][0]["imagePullPolicy"] = json!("Always");
    pipeline["spec"]["containers"][0]["env"] = json!([
        {"name": "A", "value": "1"},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "C"},
    ]);
    let plan = inflate_promise(&install(promise), WorkflowAction::Configure);
    insta::assert_snapshot!("promise_for_clusters", json(&without_spec(plan)));
}

#[test]
fn of_upstreams_core_promise() {
    let (Some(promise), Some(request)) =
        (case("upstream/kratix/core-promise.yaml"), case("upstream/kratix/core-example-resource.yaml"))
    else {
        return;
    };
    let promise = install(objects(&promise).remove(0));
    let configure = without_spec(inflate_promise(&promise, WorkflowAction::Configure));
    insta::assert_snapshot!("core_promise_configure", json(&configure));
    let world = World { promises: vec![promise.clone()], ..World::default() };
    let request = admitted(objects(&request).remove(0), &world).object;
    insta::assert_snapshot!(
        "core_request_configure",
        json(&inflate_request(&promise, &request, WorkflowAction::Configure))
    );
}
