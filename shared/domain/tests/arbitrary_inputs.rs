//! INV-11 for a lane: whatever arrives, in whatever order, ends no process and breaks no record.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::control::{ControlLabel, Controls};
use domain::digest::Digest;
use domain::footprint::StoreId;
use domain::id::{LaneKey, ObjectKey, ResourceKind, ResourceVersion, Source, Uid};
use domain::invariant::{Violation, check_history};
use domain::lane::{
    ControlRequest, Input, JobOutcome, Lane, Outcome, PlanArrival, RunState, Timer, WriteResult,
};
use domain::output::{OutputGroup, Selector};
use domain::placement::{Destination, Destinations, Location};
use domain::plan::{Gate, Labels, PlanRef, WorkflowAction, WorkflowType};
use domain::problem::Problem;
use domain::time::Timestamp;
use domain::token::{JobId, Token};
use proptest::prelude::*;

fn one_of<T: Clone + std::fmt::Debug + 'static>(all: &[T]) -> impl Strategy<Value = T> + use<T> {
    prop::sample::select(all.to_vec())
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0u64..6, 1 => Just(u64::MAX), 1 => Just(u64::MAX - 1)]
}

fn key() -> LaneKey {
    LaneKey(ObjectKey::new(ResourceKind::new("redises", "marketplace.kratix.io"), Some("default"), "cache"))
}

fn uid() -> impl Strategy<Value = Uid> {
    one_of(&["uid-1", "uid-2"]).prop_map(|uid| Uid(uid.into()))
}

fn digest() -> impl Strategy<Value = Digest> {
    (0u8..3).prop_map(|byte| Digest::of(&[byte]))
}

fn store() -> impl Strategy<Value = StoreId> {
    one_of(&["git", "git-2"]).prop_map(|name| {
        StoreId::of(&ObjectKey::new(ResourceKind::new("gitstatestores", "platform.kratix.io"), None, name))
    })
}

fn some_labels() -> impl Strategy<Value = Labels> {
    one_of(&[vec![], vec![("env", "dev")], vec![("env", "prod")]])
        .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
}

fn gates() -> impl Strategy<Value = Vec<Gate>> {
    let gate = digest().prop_map(|work_hash| Gate::PromiseComplete { promise: key(), work_hash });
    prop::collection::vec(gate, 0..2)
}

fn plan() -> impl Strategy<Value = PlanRef> {
    let pipelines = one_of(&[vec![], vec!["one"], vec!["one", "two"], vec!["one", "one"]]);
    let action = one_of(&[WorkflowAction::Configure, WorkflowAction::Configure, WorkflowAction::Delete]);
    let workflow = one_of(&[WorkflowType::Resource, WorkflowType::Promise]);
    (uid(), digest(), digest(), workflow, action, pipelines, gates(), some_labels()).prop_map(
        |(uid, digest, work_hash, workflow, action, pipelines, gates, selector)| PlanRef {
            digest,
            uid,
            generation: 1,
            workflow,
            action,
            promise: "redis".into(),
            work_hash,
            pipelines: pipelines.into_iter().map(Into::into).collect(),
            gates,
            selectors: vec![Selector { match_labels: selector }],
        },
    )
}

fn arrival() -> impl Strategy<Value = Input> {
    let controls = prop::collection::btree_set(one_of(&ControlLabel::ALL), 0..3);
    (plan(), number(), controls, prop::bool::weighted(0.1)).prop_map(
        |(plan, version, labels, unsupported)| {
            let resource_version = ResourceVersion(version);
            let source = Source { key: key().0, uid: plan.uid.clone(), resource_version };
            let unsupported = unsupported.then(|| Problem::unsupported("spec.later", "not acted on"));
            Input::PlanArrived(PlanArrival {
                plan,
                sources: vec![source],
                controls: Controls { labels, resource_version },
                unsupported: unsupported.into_iter().collect(),
            })
        },
    )
}

fn destinations() -> impl Strategy<Value = Destinations> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let destination =
        (one_of(&["a", "b"]), one_of(&["a", "b"]), some_labels(), store(), one_of(&["", "x"]), flags);
    let all = prop::collection::vec(destination, 0..3);
    let stores = prop::collection::vec(store(), 0..3);
    (number(), all, stores).prop_map(|(revision, all, stores)| {
        let all = all.into_iter().map(
            |(key, name, labels, store, path, (strict, terminating, cleanup, located))| {
                let location = Location {
                    repository: store.as_str().into(),
                    store,
                    branch: "main".into(),
                    path: path.into(),
                };
                let location = located.then_some(location);
                (
                    key.to_owned(),
                    Destination { name: name.into(), labels, strict, terminating, cleanup, location },
                )
            },
        );
        Destinations { revision, all: all.collect(), stores: BTreeSet::from_iter(stores) }
    })
}

fn outcome() -> impl Strategy<Value = JobOutcome> {
    let group = (one_of(&[".", "x"]), prop::option::of(some_labels()), digest()).prop_map(
        |(directory, own_selector, digest)| OutputGroup {
            directory: directory.into(),
            own_selector,
            digest,
            files: 1,
        },
    );
    let message = || "so it ended".to_owned();
    let token =
        (number(), 0u32..3, 0u32..3).prop_map(|(run, pipeline, attempt)| Token { run, pipeline, attempt });
    let pause = prop::option::of(one_of(&[Duration::ZERO, Duration::from_secs(1), Duration::MAX]));
    prop_oneof![
        4 => prop::collection::vec(group, 0..4)
            .prop_map(|groups| JobOutcome::Succeeded { groups, contributed: None, log: None }),
        1 => Just(JobOutcome::Failed { message: message(), log: None }),
        1 => Just(JobOutcome::Cancelled { log: None }),
        1 => pause.prop_map(move |retry_after| {
            JobOutcome::Suspended { message: message(), retry_after, contributed: None, log: None }
        }),
        1 => token.prop_map(|highest| JobOutcome::Refused { highest }),
    ]
}

/// An input, or what makes one that concerns the record as it is.
#[derive(Clone, Debug)]
enum Arrives {
    Any(Input),
    CurrentJob(JobOutcome, Destinations),
    CurrentWrite(bool),
    CurrentGate(bool),
    CurrentTimer,
}

fn arrives() -> impl Strategy<Value = Arrives> {
    use ControlRequest::{Abort, Pause, Restart, Resume, Retry};
    let job = (uid(), number(), 0u32..3, 0u32..3).prop_map(|(uid, run, pipeline, attempt)| JobId {
        uid,
        incarnation: 7,
        token: Token { run, pipeline, attempt },
    });
    let ended = (job, outcome(), destinations())
        .prop_map(|(job, outcome, destinations)| Input::JobFinished { job, outcome, destinations });
    let answered = (store(), number(), any::<bool>())
        .prop_map(|(store, serial, written)| Input::WriteAnswered { store, serial, result: result(written) });
    let resumed = (number(), 0u32..3).prop_map(|(run, pipeline)| Timer::Resume { run, pipeline });
    let rewritten = (store(), number()).prop_map(|(store, serial)| Timer::Write { store, serial });
    let asked = one_of(&[Pause, Resume, Restart, Abort, Retry]).prop_map(Input::Control);
    let cleared = (one_of(&ControlLabel::ALL), number())
        .prop_map(|(label, at)| Input::ControlCleared { label, resource_version: ResourceVersion(at) });
    let performed = (number(), number()).prop_map(|(sequence, version)| Input::Performed {
        sequence,
        resource_version: ResourceVersion(version),
    });
    let gated = (gates(), prop::option::of(Just("closed".to_owned())), some_labels())
        .prop_map(|(gates, closed, selector)| Input::GateChanged { gates, closed, selector });
    prop_oneof![
        5 => arrival().prop_map(Arrives::Any),
        8 => (outcome(), destinations()).prop_map(|(outcome, all)| Arrives::CurrentJob(outcome, all)),
        4 => prop::bool::weighted(0.8).prop_map(Arrives::CurrentWrite),
        3 => prop::bool::weighted(0.8).prop_map(Arrives::CurrentGate),
        1 => Just(Arrives::CurrentTimer),
        3 => destinations().prop_map(|all| Arrives::Any(Input::DestinationsChanged(all))),
        3 => asked.prop_map(Arrives::Any),
        1 => prop_oneof![ended, answered, cleared, performed, gated].prop_map(Arrives::Any),
        1 => prop_oneof![resumed, rewritten].prop_map(|timer| Arrives::Any(Input::TimerFired(timer))),
        1 => one_of(&[Input::DependentsGone, Input::Released]).prop_map(Arrives::Any),
    ]
}

fn result(written: bool) -> WriteResult {
    if written {
        WriteResult::Written { revision: None }
    } else {
        WriteResult::Failed { message: "unreachable".into() }
    }
}

fn input(lane: &Lane, arrives: Arrives) -> Option<Input> {
    match arrives {
        Arrives::Any(input) => Some(input),
        Arrives::CurrentJob(outcome, destinations) => {
            Some(Input::JobFinished { job: lane.job()?, outcome, destinations })
        }
        Arrives::CurrentWrite(written) => {
            let (store, writes) = lane.footprint.stores.iter().find(|(_, writes)| !writes.is_answered())?;
            let (store, serial) = (store.clone(), writes.serial);
            Some(Input::WriteAnswered { store, serial, result: result(written) })
        }
        Arrives::CurrentGate(open) => {
            let closed = (!open).then(|| "closed".to_owned());
            Some(Input::GateChanged { gates: lane.awaited_gates().to_vec(), closed, selector: Labels::new() })
        }
        Arrives::CurrentTimer => match lane.run.as_ref().map(|run| (run.number, &run.state)) {
            Some((run, RunState::Suspended { pipeline, .. })) => {
                Some(Input::TimerFired(Timer::Resume { run, pipeline: *pipeline }))
            }
            _ => None,
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_input_breaks_a_record(all in prop::collection::vec((arrives(), 0i64..5), 1..80)) {
        let mut records = vec![Lane::new(key(), 7)];
        let mut now = Timestamp(0);
        for (arrives, passed) in all {
            let lane = records.last().expect("there is a first").clone();
            now = now + Duration::from_secs(passed.unsigned_abs());
            let Some(input) = input(&lane, arrives) else { continue };
            let (after, outcome) = lane.clone().step(input.clone(), now);
            prop_assert_eq!(&(after.clone(), outcome), &lane.clone().step(input, now), "the same answer each time");
            if outcome == Outcome::Applied {
                records.push(after);
            } else {
                prop_assert_eq!(after, lane);
            }
        }
        prop_assert_eq!(check_history(&records), Vec::<Violation>::new());
    }
}
