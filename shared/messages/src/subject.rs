//! Every subject, stream, durable consumer and bucket; nothing elsewhere builds one by hand.

use domain::footprint::StoreId;
use domain::id::{LaneKey, ObjectKey, ResourceKind};
use domain::lane::Timer;
use domain::token::JobId;

pub mod stream {
    pub const INTENT: &str = "INTENT";
    pub const PLAN: &str = "PLAN";
    pub const STATE: &str = "STATE";
    pub const JOB: &str = "JOB";
    pub const RESULT: &str = "RESULT";
    pub const WRITE: &str = "WRITE";
    pub const TIMER: &str = "TIMER";
    pub const EVENTS: &str = "EVENTS";
    pub const DLQ: &str = "DLQ";
}

pub mod bucket {
    pub const OBJECTS: &str = "objects";
    pub const SECRETS: &str = "secrets";
    pub const ARTIFACTS: &str = "artifacts";
    /// The streams behind them.
    pub const OBJECTS_STREAM: &str = "KV_objects";
    pub const SECRETS_STREAM: &str = "KV_secrets";
    pub const ARTIFACTS_STREAM: &str = "OBJ_artifacts";
}

/// Durable consumers, one per service (and pool, and store).
pub mod durable {
    use domain::footprint::StoreId;

    pub const INFLATE: &str = "inflate";
    pub const SCHEDULE: &str = "schedule";
    pub const DESTINATIONS: &str = "destinations";

    pub fn run(pool: &str) -> String {
        format!("run-{pool}")
    }

    pub fn write(store: &StoreId) -> String {
        format!("write-{store}")
    }
}

/// The pool of runners that takes jobs which name none.
pub const DEFAULT_POOL: &str = "default";

pub const ALL_INTENTS: &str = "intent.*.*.*";
pub const ALL_PLANS: &str = "plan.*.*.*";
pub const ALL_RECORDS: &str = "state.*.*.*";
pub const ALL_JOBS: &str = "job.*.*.*.*";
pub const ALL_RESULTS: &str = "result.*.*.*";
pub const ALL_WRITES: &str = "write.*.*.*.*";
pub const ALL_TIMERS_SET: &str = "timer.at.>";
pub const ALL_TIMERS_DUE: &str = "timer.due.>";
pub const ALL_EVENTS: &str = "evt.*.*.*";
pub const ALL_DEAD: &str = "dlq.>";
/// How EVENTS takes its subjects from STATE.
pub const EVENT_OF_RECORD: &str = "evt.{{wildcard(1)}}.{{wildcard(2)}}.{{wildcard(3)}}";

/// Core request-reply of admission.
pub const ADMIT_APPLY: &str = "admit.apply";
pub const ADMIT_DELETE: &str = "admit.delete";
/// Queue group that shares admission among inflaters.
pub const ADMIT_GROUP: &str = "inflater";

pub fn intent(object: &ObjectKey) -> String {
    format!("intent.{object}")
}

/// Intents of all objects of a kind.
pub fn intents_of(kind: &ResourceKind) -> String {
    format!("intent.{}.*.*", kind.token())
}

pub fn plan(object: &ObjectKey) -> String {
    format!("plan.{object}")
}

pub fn plans_of(kind: &ResourceKind) -> String {
    format!("plan.{}.*.*", kind.token())
}

pub fn record(lane: &LaneKey) -> String {
    format!("state.{lane}")
}

pub fn records_of(kind: &ResourceKind) -> String {
    format!("state.{}.*.*", kind.token())
}

pub fn event(lane: &LaneKey) -> String {
    format!("evt.{lane}")
}

pub fn job(pool: &str, lane: &LaneKey) -> String {
    format!("job.{pool}.{lane}")
}

pub fn jobs_of(pool: &str) -> String {
    format!("job.{pool}.*.*.*")
}

/// Core message that asks the runner of a job to end it.
pub fn cancel(pool: &str, lane: &LaneKey) -> String {
    format!("cancel.{pool}.{lane}")
}

pub fn cancels_of(pool: &str) -> String {
    format!("cancel.{pool}.*.*.*")
}

/// About a lane, or a Destination.
pub fn result(about: &ObjectKey) -> String {
    format!("result.{about}")
}

/// For a lane, or a Destination.
pub fn write(store: &StoreId, about: &ObjectKey) -> String {
    format!("write.{store}.{about}")
}

pub fn writes_of(store: &StoreId) -> String {
    format!("write.{store}.*.*.*")
}

/// A timer's own subject; setting it again replaces it.
pub fn timer_set(timer: &Timer, lane: &LaneKey) -> String {
    format!("timer.at.{}.{lane}", timer_kind(timer))
}

pub fn timer_due(timer: &Timer, lane: &LaneKey) -> String {
    format!("timer.due.{}.{lane}", timer_kind(timer))
}

fn timer_kind(timer: &Timer) -> String {
    match timer {
        Timer::Resume { .. } => "resume".into(),
        Timer::Write { store, .. } => format!("write-{store}"),
    }
}

/// The lane or object key in the last three tokens of a subject.
pub fn key_of(subject: &str) -> Option<ObjectKey> {
    let tokens: Vec<&str> = subject.rsplitn(4, '.').collect();
    match tokens[..] {
        [name, namespace, kind, _] => format!("{kind}.{namespace}.{name}").parse().ok(),
        _ => None,
    }
}

/// Ids for the server's duplicate window: an economy, never the guarantee.
pub fn job_message_id(job: &JobId) -> String {
    format!("job/{job}")
}

pub fn result_message_id(job: &JobId) -> String {
    format!("result/{job}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_back_from_every_subject() {
        let key: ObjectKey = "redis_example_com.team-a.cache".parse().unwrap();
        let lane = LaneKey(key.clone());
        let store = StoreId::of(&"gitstatestores_platform_kratix_io._.my_store".parse().unwrap());
        let timer = Timer::Write { store: store.clone(), serial: 1 };
        for subject in [
            intent(&key),
            plan(&key),
            record(&lane),
            job(DEFAULT_POOL, &lane),
            result(&key),
            write(&store, &key),
            timer_set(&timer, &lane),
            timer_due(&timer, &lane),
        ] {
            assert_eq!(key_of(&subject), Some(key.clone()), "{subject}");
        }
        assert_eq!(key_of("intent.a"), None);
    }
}
