//! Whether a system is quiet, and how it stands then; on plain data.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::id::{LaneKey, ObjectKey};
use domain::lane::{Action, Lane, Waiting};
use domain::plan::WorkflowType;
use domain::problem::Problem;
use domain::time::Timestamp;
use inflation::controls::controls;
use messages::plan::PlanEntry;
use resources::Object;
use resources::kinds::Support;

use crate::kinds::{Kind, Kinds, Role};
use crate::sync;

/// A timer that is due later than this leaves a system quiet.
const FAR: Duration = Duration::from_mins(1);

/// A system at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    pub kinds: Kinds,
    pub objects: BTreeMap<ObjectKey, Object>,
    pub plans: BTreeMap<ObjectKey, PlanEntry>,
    pub lanes: BTreeMap<LaneKey, Lane>,
    /// Where messages wait, by stream; or what is not there yet.
    pub backlog: Vec<String>,
    /// Nothing was published while all this was read.
    pub still: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Something is under way: the first thing that was found.
    Busy(String),
    /// Only messages wait to be acknowledged, or something moved during the look.
    Draining(String),
    Quiet(Verdict),
}

/// How a quiet system stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Went wrong.
    pub failed: Vec<Reason>,
    /// Not done, and not going on by itself.
    pub waiting: Vec<Reason>,
    /// Not acted on by this version, and nothing hangs on it.
    pub notes: Vec<Reason>,
    /// Documents of synced directories that were refused.
    pub refused: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reason {
    pub object: ObjectKey,
    pub reason: String,
}

/// Kinds of Kargo that are lanes: one that is not acted on leaves work undone.
const LANES: [&str; 2] = ["stages", "promotions"];

pub(crate) fn judge(view: &View, sync: &sync::Standing, now: Timestamp) -> Standing {
    if !sync.current {
        return Standing::Busy("the directories are being synced".into());
    }
    let planned =
        view.objects.iter().filter_map(|(key, object)| Some((key, object, planned_kind(view, key)?)));
    let unplanned = planned.into_iter().find_map(|(key, object, _)| behind(view, key, object));
    let later = || sync.later.iter().find(|key| waiting(view, key).is_none());
    if let Some(reason) = unplanned.or_else(|| at_work(view, now)) {
        Standing::Busy(reason)
    } else if let Some(key) = later() {
        Standing::Busy(format!("{} is to go before a document is applied", view.kinds.readable(key)))
    } else if let Some(backlog) = view.backlog.first() {
        Standing::Draining(backlog.clone())
    } else if view.still {
        Standing::Quiet(verdict(view, sync))
    } else {
        Standing::Draining("something has just changed".into())
    }
}

/// What some lane is about to do by itself. Needs the lanes and kinds only.
pub(crate) fn at_work(view: &View, now: Timestamp) -> Option<String> {
    view.lanes.values().find_map(|lane| working(view, lane, now))
}

/// Of objects that get plans.
fn planned_kind(view: &View, key: &ObjectKey) -> Option<Kind> {
    view.kinds.stored(&key.kind).filter(|kind| kind.is_promise() || kind.is_request())
}

fn waiting(view: &View, key: &ObjectKey) -> Option<Waiting> {
    view.lanes.get(&LaneKey(key.clone()))?.waiting()
}

/// Why an object's newest spec is not in its lane yet.
fn behind(view: &View, key: &ObjectKey, object: &Object) -> Option<String> {
    let name = || view.kinds.readable(key);
    let Some(entry) = view.plans.get(key).filter(|entry| is_current(entry, object)) else {
        return Some(format!("{} has no plan yet", name()));
    };
    let is_seen = |lane: &Lane| lane.seen == entry.sources;
    let arrived = entry.plan.is_none() || view.lanes.get(&entry.lane).is_some_and(is_seen);
    (!arrived).then(|| format!("the plan of {} has not arrived yet", name()))
}

/// Whether the entry was made from this spec and these labels. The version alone does not tell: it moves with every
/// status as well.
fn is_current(entry: &PlanEntry, object: &Object) -> bool {
    Some(&*entry.uid.0) == object.metadata.uid.as_deref()
        && Some(entry.generation) == object.metadata.generation
        && entry.deletion == object.is_terminating()
        && entry.controls.labels == controls(object).labels
}

fn working(view: &View, lane: &Lane, now: Timestamp) -> Option<String> {
    let what = lane.pending().into_iter().find_map(|action| match action {
        Action::ArmTimer { at, .. } => (at < now + FAR).then(|| "tries again soon".to_owned()),
        Action::DeleteDependents => goes_on_deleting(view, lane).then(|| "deletes its requests".to_owned()),
        Action::StartJob { .. } | Action::CancelJob { .. } => Some("runs a pipeline".into()),
        Action::Write { store, .. } => Some(format!("writes to {store}")),
        Action::ReportStatus
        | Action::ClearControl { .. }
        | Action::WakeDependents
        | Action::RestartDependents
        | Action::InstallApi { .. }
        | Action::RemoveApi
        | Action::Release => Some("is being reported".into()),
    });
    what.map(|what| format!("{} {what}", view.kinds.readable(&lane.key.0)))
}

/// A Promise waits for its requests for ever if one of them cannot go.
fn goes_on_deleting(view: &View, promise: &Lane) -> bool {
    let is_dependent = |lane: &&Lane| {
        let plan = lane.newest_plan();
        plan.is_some_and(|plan| plan.workflow == WorkflowType::Resource && plan.promise == promise.key.0.name)
    };
    let mut dependents = view.lanes.values().filter(is_dependent).peekable();
    dependents.peek().is_none() || dependents.any(|lane| !lane.is_deleting() || lane.waiting().is_none())
}

/// Also objects that never get a plan have an entry, where this version does not act on something of theirs.
fn cannot_be_planned(entry: &PlanEntry) -> bool {
    entry.plan.is_none() && entry.problems.iter().any(Problem::is_error)
}

fn verdict(view: &View, sync: &sync::Standing) -> Verdict {
    let mut verdict = Verdict { refused: sync.refused, ..Verdict::default() };
    let reason = |object: &ObjectKey, reason: String| Reason { object: object.clone(), reason };
    for (key, lane) in &view.lanes {
        if let Some(waiting) = lane.waiting() {
            let list = if waiting.is_failure() { &mut verdict.failed } else { &mut verdict.waiting };
            list.push(reason(&key.0, waiting.to_string()));
        }
    }
    for (key, entry) in
        view.plans.iter().filter(|(key, entry)| cannot_be_planned(entry) && view.objects.contains_key(key))
    {
        let problems: Vec<String> = entry.problems.iter().map(ToString::to_string).collect();
        verdict.failed.push(reason(key, problems.join("; ")));
    }
    for key in view.objects.keys() {
        let Some(kind) = view.kinds.stored(&key.kind) else { continue };
        if kind.role == Role::Known(Support::KnownNotActed) {
            let list =
                if LANES.contains(&&*key.kind.plural) { &mut verdict.waiting } else { &mut verdict.notes };
            list.push(reason(key, format!("this version does not act on a {}", kind.name)));
        }
    }
    verdict
}

#[cfg(test)]
mod tests {
    use domain::control::Controls;
    use domain::digest::Digest;
    use domain::footprint::{StoreId, StoreWrites, WriteFailure};
    use domain::id::{ResourceVersion, Source, Uid};
    use domain::lane::{Input, PlanArrival};
    use domain::plan::{Plan, WorkflowAction};
    use serde_json::{Value, json};

    use super::*;
    use crate::kinds::tests::promise;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn synced() -> sync::Standing {
        sync::Standing { current: true, ..sync::Standing::default() }
    }

    /// A request of one pipeline, its plan and the lane after that plan arrived.
    fn request(view: &mut View, name: &str) -> ObjectKey {
        let key: ObjectKey = format!("rediss_a_io.default.{name}").parse().unwrap();
        let object = json!({"apiVersion": "a.io/v1", "kind": "Redis",
            "metadata": {"name": name, "namespace": "default", "uid": "u", "generation": 1, "resourceVersion": "7"}});
        let plan = Plan {
            lane: LaneKey(key.clone()),
            uid: Uid("u".into()),
            generation: 1,
            workflow: WorkflowType::Resource,
            action: WorkflowAction::Configure,
            promise: "redis".into(),
            work_hash: Digest::of(b"work"),
            gates: Vec::new(),
            selectors: Vec::new(),
            pipelines: Vec::new(),
            input: Value::Null,
        };
        let sources =
            vec![Source { key: key.clone(), uid: Uid("u".into()), resource_version: ResourceVersion(7) }];
        let entry = PlanEntry {
            lane: LaneKey(key.clone()),
            uid: Uid("u".into()),
            generation: 1,
            deletion: false,
            controls: Controls::default(),
            problems: Vec::new(),
            plan: Some(plan.reference()),
            sources: sources.clone(),
        };
        let arrival = PlanArrival {
            plan: plan.reference(),
            sources,
            controls: Controls::default(),
            unsupported: Vec::new(),
        };
        let (mut lane, _) = Lane::new(LaneKey(key.clone()), 1).step(Input::PlanArrived(arrival), NOW);
        lane.performed.told = lane.performed.visible;
        view.objects.insert(key.clone(), Object::from_value(object).unwrap());
        view.plans.insert(key.clone(), entry);
        view.lanes.insert(LaneKey(key.clone()), lane);
        key
    }

    fn view() -> View {
        View { kinds: Kinds::of(&[promise("redis", "Redis", "rd")]), still: true, ..View::default() }
    }

    fn lane<'a>(view: &'a mut View, key: &ObjectKey) -> &'a mut Lane {
        view.lanes.get_mut(&LaneKey(key.clone())).unwrap()
    }

    #[track_caller]
    fn check(view: &View, expected: &str) {
        match judge(view, &synced(), NOW) {
            Standing::Busy(reason) => assert_eq!(reason, expected),
            Standing::Draining(reason) => assert_eq!(format!("draining: {reason}"), expected),
            Standing::Quiet(verdict) => assert_eq!(format!("quiet: {verdict:?}"), expected),
        }
    }

    fn quiet() -> String {
        format!("quiet: {:?}", Verdict::default())
    }

    #[test]
    fn a_settled_system_is_quiet() {
        let mut view = view();
        request(&mut view, "a");
        check(&view, &quiet());
        check(
            &View { backlog: vec!["INTENT: 2 messages".into()], ..view.clone() },
            "draining: INTENT: 2 messages",
        );
        check(&View { still: false, ..view.clone() }, "draining: something has just changed");
        let syncing = sync::Standing::default();
        assert!(matches!(judge(&view, &syncing, NOW), Standing::Busy(_)));
    }

    #[test]
    fn every_spec_must_have_arrived() {
        let mut view = view();
        let key = request(&mut view, "a");
        let newest = |view: &mut View, generation| {
            view.objects.get_mut(&key).unwrap().metadata.generation = Some(generation);
        };
        newest(&mut view, 2);
        check(&view, "redis/a (default) has no plan yet");
        newest(&mut view, 1);
        view.objects.get_mut(&key).unwrap().metadata.resource_version = Some("99".into());
        check(&view, &quiet()); // a status was written
        view.plans.get_mut(&key).unwrap().sources[0].resource_version = ResourceVersion(99);
        check(&view, "the plan of redis/a (default) has not arrived yet");
        view.plans.clear();
        check(&view, "redis/a (default) has no plan yet");
    }

    #[test]
    fn what_is_not_told_is_not_done() {
        let mut view = view();
        let key = request(&mut view, "a");
        lane(&mut view, &key).performed.told = 0;
        check(&view, "redis/a (default) is being reported");
    }

    #[test]
    fn a_far_timer_leaves_a_system_quiet_and_failing() {
        let mut view = view();
        let key = request(&mut view, "a");
        let store = StoreId::of(&"gitstatestores_platform_kratix_io._.default".parse().unwrap());
        let mut failing = |after: u64| {
            let retry_at = Some(NOW + Duration::from_secs(after));
            let failure = Some(WriteFailure { message: "no route".into(), attempts: 9, retry_at });
            let writes =
                StoreWrites { serial: 2, answered: 1, wanted: Digest::of(b""), revision: None, failure };
            let lane = lane(&mut view, &key);
            lane.footprint.stores.insert(store.clone(), writes);
            lane.run.as_mut().unwrap().state = domain::lane::RunState::Writing;
            judge(&view, &synced(), NOW)
        };
        assert_eq!(failing(59), Standing::Busy("redis/a (default) tries again soon".into()));
        let Standing::Quiet(verdict) = failing(60) else { panic!("not quiet") };
        assert_eq!(verdict.failed.len(), 1);
        assert!(verdict.failed[0].reason.contains("no route"));
    }

    #[test]
    fn what_cannot_be_planned_has_failed() {
        let mut view = view();
        let key = request(&mut view, "a");
        let entry = view.plans.get_mut(&key).unwrap();
        entry.plan = None;
        entry.problems = vec![Problem::error("no-promise", "", "its Promise is gone")];
        let Standing::Quiet(verdict) = judge(&view, &synced(), NOW) else { panic!("not quiet") };
        assert_eq!(verdict.failed, [Reason { object: key, reason: "its Promise is gone".into() }]);
    }

    #[test]
    fn kinds_that_are_not_acted_on_wait_if_they_are_lanes() {
        let mut view = view();
        for (plural, kind) in [("stages", "Stage"), ("warehouses", "Warehouse")] {
            let object =
                json!({"apiVersion": "kargo.akuity.io/v1alpha1", "kind": kind, "metadata": {"name": "x"}});
            let key = format!("{plural}_kargo_akuity_io.p.x").parse().unwrap();
            view.objects.insert(key, Object::from_value(object).unwrap());
        }
        let Standing::Quiet(verdict) = judge(&view, &synced(), NOW) else { panic!("not quiet") };
        assert_eq!((verdict.failed.len(), verdict.waiting.len(), verdict.notes.len()), (0, 1, 1));
    }

    #[test]
    fn an_object_that_is_to_be_made_again_is_awaited_unless_it_cannot_go() {
        let mut view = view();
        let key = request(&mut view, "a");
        let sync = sync::Standing { later: [key.clone()].into(), ..synced() };
        assert!(matches!(judge(&view, &sync, NOW), Standing::Busy(_)));
        lane(&mut view, &key).controls.paused = true;
        assert!(matches!(judge(&view, &sync, NOW), Standing::Quiet(_)));
    }
}
