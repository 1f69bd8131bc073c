//! Every version of every message that was ever released can be read; the newest is written exactly as its file says.
//!
//! `UPDATE=1 cargo test -p messages` writes files that do not exist yet. A file that exists is never rewritten: a
//! change of a released format gets a new version.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;
use std::time::Duration;

use domain::control::{ControlLabel, Controls};
use domain::digest::Digest;
use domain::footprint::StoreId;
use domain::id::{LaneKey, ObjectKey, ResourceVersion, Source, Uid};
use domain::lane::{Input, JobOutcome, Lane, PlanArrival, Timer, WriteResult};
use domain::output::{OutputGroup, Selector};
use domain::placement::{Destination, Destinations, Location};
use domain::plan::{Gate, Labels, PlanRef, WorkflowAction, WorkflowType};
use domain::problem::Problem;
use domain::time::Timestamp;
use domain::token::{JobId, Token};
use messages::admit::{AdmitAnswer, AdmitRequest, Change, Origin};
use messages::envelope::{self, Message};
use messages::job::JobCommand;
use messages::log::{ContainerLog, JobLog};
use messages::plan::PlanEntry;
use messages::result::{DestinationAnswer, JobEnd, ResultBody, ResultMessage, WriteAnswer};
use messages::timer::TimerCommand;
use messages::write::{WriteCommand, WriteTarget};
use serde_json::{Value, json};

fn file(name: &str, version: u32) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.v{version}.json"))
}

/// The file's value; written first where there is none and `UPDATE` is set.
#[track_caller]
fn golden(name: &str, version: u32, current: &[u8]) -> Value {
    let path = file(name, version);
    if !path.exists() && std::env::var_os("UPDATE").is_some() {
        let value: Value = serde_json::from_slice(current).unwrap();
        std::fs::write(&path, serde_json::to_string_pretty(&value).unwrap() + "\n").unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

#[track_caller]
fn check<M: Message + PartialEq + Debug>(name: &str, message: &M) {
    let encoded = envelope::encode(message, None).unwrap();
    let golden = golden(name, M::VERSION, &encoded.payload);
    let written: Value = serde_json::from_slice(&encoded.payload).unwrap();
    assert_eq!(written, golden, "{name} is written in another form: give it a new version");
    for version in 1..=M::VERSION {
        let text = std::fs::read(file(name, version)).unwrap();
        let header = |header: &str| match header {
            envelope::TYPE => Some(M::TYPE.to_owned()),
            envelope::VERSION => Some(version.to_string()),
            _ => None,
        };
        let read = envelope::decode::<M>(header, &text).unwrap();
        assert_eq!(read.message, *message, "{name} of version {version}");
    }
}

fn lane() -> LaneKey {
    "redis_example_com.team-a.cache".parse().unwrap()
}

fn promise() -> LaneKey {
    "promises_platform_kratix_io._.redis".parse().unwrap()
}

fn store() -> StoreId {
    StoreId::of(&"gitstatestores_platform_kratix_io._.default".parse().unwrap())
}

fn plan() -> PlanRef {
    let gate = Gate::PromiseComplete { promise: promise(), work_hash: Digest::of(b"promise") };
    PlanRef {
        digest: Digest::of(b"plan"),
        uid: Uid("6f1c".into()),
        generation: 2,
        workflow: WorkflowType::Resource,
        action: WorkflowAction::Configure,
        promise: "redis".into(),
        work_hash: Digest::of(b"work"),
        pipelines: vec!["one".into(), "two".into()],
        gates: vec![gate, Gate::PromiseInstalled { promise: promise(), version: Some("v1".into()) }],
        selectors: vec![Selector { match_labels: Labels::from([("env".into(), "dev".into())]) }],
    }
}

fn sources() -> Vec<Source> {
    vec![Source { key: lane().0, uid: Uid("6f1c".into()), resource_version: ResourceVersion(7) }]
}

fn controls() -> Controls {
    Controls { labels: [ControlLabel::ManualReconciliation].into(), resource_version: ResourceVersion(7) }
}

fn job() -> JobId {
    JobId {
        uid: Uid("6f1c".into()),
        incarnation: 1_790_000_000,
        token: Token { run: 3, pipeline: 1, attempt: 2 },
    }
}

#[test]
fn plans() {
    let problem = Problem::unsupported("spec.dependencies", "not acted on").help("leave it out");
    check(
        "plan",
        &PlanEntry {
            lane: lane(),
            uid: Uid("6f1c".into()),
            generation: 2,
            deletion: false,
            controls: controls(),
            problems: vec![problem],
            plan: Some(plan()),
            sources: sources(),
        },
    );
}

#[test]
fn jobs() {
    let contributed = Some(Digest::of(b"status"));
    check("job", &JobCommand { lane: lane(), job: job(), plan: Digest::of(b"plan"), contributed });
}

#[test]
fn results() {
    let body = |end| ResultBody::Job(JobEnd { lane: lane(), job: job(), end });
    let group = OutputGroup {
        directory: ".".into(),
        own_selector: Some(Labels::from([("zone".into(), "a".into())])),
        digest: Digest::of(b"files"),
        files: 2,
    };
    let (contributed, log) = (Some(Digest::of(b"status")), Some(Digest::of(b"log")));
    let retry_after = Some(Duration::from_secs(10));
    for (name, body) in [
        (
            "result-succeeded",
            body(JobOutcome::Succeeded {
                groups: vec![group],
                contributed: contributed.clone(),
                log: log.clone(),
            }),
        ),
        ("result-failed", body(JobOutcome::Failed { message: "exit code 3".into(), log: log.clone() })),
        ("result-cancelled", body(JobOutcome::Cancelled { log: log.clone() })),
        (
            "result-suspended",
            body(JobOutcome::Suspended { message: "later".into(), retry_after, contributed, log }),
        ),
        ("result-refused", body(JobOutcome::Refused { highest: Token { run: 9, pipeline: 0, attempt: 1 } })),
        (
            "result-written",
            ResultBody::Write(WriteAnswer {
                lane: lane(),
                store: store(),
                serial: 4,
                answer: WriteResult::Written { revision: Some("abc".into()) },
            }),
        ),
        (
            "result-not-written",
            ResultBody::Write(WriteAnswer {
                lane: lane(),
                store: store(),
                serial: 4,
                answer: WriteResult::Failed { message: "refused".into() },
            }),
        ),
        (
            "result-destination",
            ResultBody::Destination(DestinationAnswer {
                destination: "destinations_platform_kratix_io._.dev".parse().unwrap(),
                generation: 1,
                place: None,
                store: "gitstatestores_platform_kratix_io._.default".parse().unwrap(),
                answer: WriteResult::Written { revision: None },
            }),
        ),
    ] {
        check(name, &ResultMessage { body });
    }
}

#[test]
fn writes_and_timers() {
    check(
        "write-lane",
        &WriteCommand { store: store(), target: WriteTarget::Lane { lane: lane(), serial: 4 } },
    );
    let destination: ObjectKey = "destinations_platform_kratix_io._.dev".parse().unwrap();
    check(
        "write-destination",
        &WriteCommand {
            store: store(),
            target: WriteTarget::Destination { destination, generation: 1, previous: None },
        },
    );
    check("timer-resume", &TimerCommand { lane: lane(), timer: Timer::Resume { run: 3, pipeline: 1 } });
    check("timer-write", &TimerCommand { lane: lane(), timer: Timer::Write { store: store(), serial: 4 } });
}

#[test]
fn admission() {
    let origin = Some(Origin { directory: "/d".into(), file: "a.yaml".into(), digest: "0f".into() });
    check("admit-apply", &AdmitRequest::Apply { object: json!({"kind": "Promise"}), origin: origin.clone() });
    let labels = BTreeMap::from([("a".to_owned(), Some("b".to_owned())), ("c".to_owned(), None)]);
    check("admit-label", &AdmitRequest::Label { object: lane().0, labels });
    check("admit-delete", &AdmitRequest::Delete { object: lane().0, origin });
    check(
        "admitted-done",
        &AdmitAnswer::Done { change: Change::Created, object: lane().0, problems: Vec::new() },
    );
    let problems =
        vec![Problem::error("unknown-field", "spec.sise", "no such field").help("did you mean `size`?")];
    check("admitted-refused", &AdmitAnswer::Refused { problems });
}

#[test]
fn logs() {
    let log = JobLog(vec![ContainerLog {
        container: "only".into(),
        exit_code: Some(3),
        signal: None,
        stdout: "out".into(),
        stderr: "err".into(),
        dropped: 5,
    }]);
    let golden = golden("log", 1, &serde_json::to_vec(&log).unwrap());
    assert_eq!(serde_json::to_value(&log).unwrap(), golden);
    assert_eq!(serde_json::from_value::<JobLog>(golden).unwrap(), log);
}

/// A record with a bit of everything in it, made by real transitions.
#[test]
fn records() {
    let location = Location {
        store: store(),
        repository: "file:///r".into(),
        branch: "main".into(),
        path: "dev".into(),
    };
    let destination = Destination {
        name: "dev".into(),
        labels: Labels::from([("env".into(), "dev".into())]),
        strict: false,
        terminating: false,
        cleanup: false,
        location: Some(location),
    };
    let all = BTreeMap::from([("dev".into(), destination)]);
    let destinations = Destinations { revision: 5, all, stores: [store()].into() };
    let arrival =
        PlanArrival { plan: plan(), sources: sources(), controls: controls(), unsupported: Vec::new() };
    let gate = Input::GateChanged { gates: plan().gates, closed: None, selector: Labels::new() };
    let group =
        OutputGroup { directory: ".".into(), own_selector: None, digest: Digest::of(b"files"), files: 2 };
    let mut lane = Lane::new(lane(), 1_790_000_000);
    let now = Timestamp(1_790_000_001_000);
    lane = lane.step(Input::PlanArrived(arrival), now).0.step(gate, now).0;
    let job = lane.job().unwrap();
    let outcome =
        JobOutcome::Succeeded { groups: vec![group], contributed: Some(Digest::of(b"s")), log: None };
    lane = lane.step(Input::JobFinished { job, outcome, destinations }, now).0;

    let encoded = messages::record::encode(&lane, now, None).unwrap();
    let golden = golden("record", messages::record::VERSION, &encoded.payload);
    assert_eq!(serde_json::from_slice::<Value>(&encoded.payload).unwrap(), golden);
    let headers: BTreeMap<_, _> = encoded.headers.iter().cloned().collect();
    assert_eq!(headers["ce-type"], "dev.millrace.lane.pipeline-succeeded.v1");
    assert_eq!(headers["ce-subject"], "redis.example.com/team-a/cache");
    assert_eq!(headers["ce-id"], "redis_example_com.team-a.cache/1790000000/3");
    let text = std::fs::read(file("record", 1)).unwrap();
    let header = |name: &str| headers.get(name).cloned();
    assert_eq!(messages::record::decode(header, &text).unwrap(), lane);
    assert!(messages::record::decode(|_| Some("dev.millrace.lane.x.v99".into()), &text).is_err());
}

#[test]
fn what_is_newer_than_this_program_is_an_error_that_says_so() {
    let header = |name: &str| match name {
        envelope::TYPE => Some("job".to_owned()),
        envelope::VERSION => Some("2".to_owned()),
        _ => None,
    };
    let error = envelope::decode::<JobCommand>(header, b"{}").unwrap_err().to_string();
    assert_eq!(error, "`job` of version 2: this program reads versions up to 1; update it");
    let error = envelope::decode::<JobCommand>(|_| Some("plan".into()), b"{}").unwrap_err().to_string();
    assert_eq!(error, "a message of type `plan` where `job` was expected");
}
