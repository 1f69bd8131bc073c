//! Every stream and bucket, declared in one place.

use std::time::Duration;

use async_nats::jetstream::stream::{
    Config, DiscardPolicy, RetentionPolicy, Source, StorageType, SubjectTransform,
};
use async_nats::jetstream::{kv, object_store};
use messages::subject::{self, bucket, stream};

use super::{Bus, Error};
use crate::config::BusConfig;

const GIB: i64 = 1 << 30;
const DAY: Duration = Duration::from_hours(24);
/// Ids of work are remembered for this long: an economy; the fences are the guarantee.
const WORK_WINDOW: Duration = Duration::from_mins(10);

fn base(name: &str, subjects: &[&str], replicas: usize) -> Config {
    Config {
        name: name.into(),
        subjects: subjects.iter().map(|subject| (*subject).into()).collect(),
        storage: StorageType::File,
        num_replicas: replicas,
        allow_direct: true,
        duplicate_window: Duration::from_mins(2),
        max_messages: -1,
        max_messages_per_subject: -1,
        ..Config::default()
    }
}

/// The newest message of each subject. "Discard new" so that at the limit nothing vanishes: known subjects can
/// still be updated.
fn latest(name: &str, subjects: &[&str], replicas: usize, history: i64, max_bytes: i64) -> Config {
    Config {
        max_messages_per_subject: history,
        discard: DiscardPolicy::New,
        max_bytes,
        ..base(name, subjects, replicas)
    }
}

fn work(name: &str, subjects: &[&str], replicas: usize) -> Config {
    Config {
        retention: RetentionPolicy::WorkQueue,
        discard: DiscardPolicy::New,
        max_bytes: GIB,
        duplicate_window: WORK_WINDOW,
        ..base(name, subjects, replicas)
    }
}

fn streams(replicas: usize) -> Vec<Config> {
    vec![
        latest(stream::INTENT, &[subject::ALL_INTENTS], replicas, 1, 2 * GIB),
        latest(stream::PLAN, &[subject::ALL_PLANS], replicas, 1, 2 * GIB),
        // 64 per subject: EVENTS is sourced from here, and may lag behind a hot lane by some transitions.
        Config { deny_delete: true, ..latest(stream::STATE, &[subject::ALL_RECORDS], replicas, 64, 8 * GIB) },
        Config {
            max_messages_per_subject: 1,
            discard_new_per_subject: true,
            ..work(stream::JOB, &[subject::ALL_JOBS], replicas)
        },
        work(stream::RESULT, &[subject::ALL_RESULTS], replicas),
        // The newer command replaces the older: what is wanted stands in the record.
        Config {
            max_messages_per_subject: 1,
            discard: DiscardPolicy::Old,
            ..work(stream::WRITE, &[subject::ALL_WRITES], replicas)
        },
        // Schedules need "discard old".
        Config {
            retention: RetentionPolicy::WorkQueue,
            allow_message_schedules: true,
            allow_message_ttl: true,
            allow_rollup: true,
            ..base(stream::TIMER, &[subject::ALL_TIMERS_SET, subject::ALL_TIMERS_DUE], replicas)
        },
        Config { max_age: 90 * DAY, max_bytes: GIB, ..base(stream::DLQ, &[subject::ALL_DEAD], replicas) },
        Config {
            sources: Some(vec![Source {
                name: stream::STATE.into(),
                subject_transforms: vec![SubjectTransform {
                    source: subject::ALL_RECORDS.into(),
                    destination: subject::EVENT_OF_RECORD.into(),
                }],
                ..Source::default()
            }]),
            max_age: 30 * DAY,
            max_bytes: 2 * GIB,
            deny_delete: true,
            deny_purge: true,
            // A larger one delays sourced messages that carry ids.
            duplicate_window: Duration::from_millis(100),
            ..base(stream::EVENTS, &[], replicas)
        },
    ]
}

impl Bus {
    /// Makes what is missing and brings the rest up to date. Safe to call from many places at once.
    pub async fn provision(&self, config: &BusConfig) -> Result<(), Error> {
        let context = self.jetstream();
        for stream in streams(config.replicas) {
            let name = stream.name.clone();
            context.create_or_update_stream(stream).await.map_err(|e| Error::stream(&name, e))?;
        }
        for name in [bucket::OBJECTS, bucket::SECRETS] {
            let bucket = kv::Config {
                bucket: name.into(),
                history: 1,
                num_replicas: config.replicas,
                storage: StorageType::File,
                ..kv::Config::default()
            };
            context.create_or_update_key_value(bucket).await.map_err(|e| Error::stream(name, e))?;
        }
        if context.get_object_store(bucket::ARTIFACTS).await.is_err() {
            let store = object_store::Config {
                bucket: bucket::ARTIFACTS.into(),
                num_replicas: config.replicas,
                storage: StorageType::File,
                ..object_store::Config::default()
            };
            context.create_object_store(store).await.map_err(|e| Error::stream(bucket::ARTIFACTS, e))?;
        }
        Ok(())
    }
}
