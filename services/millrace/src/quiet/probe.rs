//! Reads a system as it is at one moment.

use std::collections::BTreeMap;

use async_nats::jetstream::{self, stream};
use domain::id::ObjectKey;
use domain::time::Timestamp;
use futures::StreamExt;
use futures::stream::BoxStream;
use messages::envelope;
use messages::plan::PlanEntry;
use messages::subject::{self, bucket, durable, stream as streams};
use resources::Object;
use runtime::Platform;
use runtime::bus::{Records, Register};
use runtime::telemetry::chain;

use super::judge::View;
use crate::failure::Failure;
use crate::kinds::{Kinds, promises};

/// Streams that keep their messages, with the consumers (by the start of their names) that every change passes.
const READ: [(&str, &[&str]); 2] =
    [(streams::INTENT, &[durable::INFLATE, durable::DESTINATIONS]), (streams::PLAN, &[durable::SCHEDULE])];
/// Streams that hold a message only until it is dealt with.
const QUEUES: [&str; 3] = [streams::JOB, streams::RESULT, streams::WRITE];

pub(crate) struct Probe {
    platform: Platform,
    jetstream: jetstream::Context,
    records: Records,
    plans: Register,
}

fn failed(what: &str) -> impl Fn(Box<dyn std::error::Error + Send + Sync>) -> Failure {
    move |source| Failure::Read { what: what.to_owned(), source }
}

impl Probe {
    pub(crate) async fn open(platform: &Platform) -> Result<Self, Failure> {
        let bus = &platform.bus;
        Ok(Self {
            jetstream: jetstream::new(bus.client().clone()),
            records: Records::open(bus).await?,
            plans: Register::open(bus, streams::PLAN).await?,
            platform: platform.clone(),
        })
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.platform.clock.now()
    }

    /// A tick for every transition of a lane; that one may be lost does not matter.
    pub(crate) async fn changes(&self) -> Result<BoxStream<'static, ()>, Failure> {
        Ok(self.platform.bus.watch_records(None).await?)
    }

    /// The lanes alone.
    pub(crate) async fn lanes(&self) -> Result<View, Failure> {
        let promises = self.platform.objects.list(Some(&promises())).await?;
        let kinds = Kinds::of(promises.iter().map(|(_, promise)| promise));
        let lanes = self.records.scan(None).await?;
        let lanes = lanes.into_iter().map(|stored| (stored.lane.key.clone(), stored.lane)).collect();
        Ok(View { kinds, lanes, ..View::default() })
    }

    /// Everything.
    pub(crate) async fn look(&self) -> Result<View, Failure> {
        let before = self.sequences().await?;
        let backlog = self.backlog().await?;
        let lanes = self.records.scan(None).await?;
        let plans = self.plans().await?;
        let objects: BTreeMap<_, Object> = self.platform.objects.list(None).await?.into_iter().collect();
        let after = self.sequences().await?;
        Ok(View {
            kinds: Kinds::of(objects.values()),
            lanes: lanes.into_iter().map(|stored| (stored.lane.key.clone(), stored.lane)).collect(),
            plans,
            objects,
            backlog,
            still: before == after,
        })
    }

    async fn plans(&self) -> Result<BTreeMap<ObjectKey, PlanEntry>, Failure> {
        let latest = self.plans.scan(subject::ALL_PLANS).await?;
        let read = latest.iter().filter(|latest| !latest.is_end()).filter_map(|latest| {
            let key = subject::key_of(&latest.subject)?;
            match envelope::decode::<PlanEntry>(|name| latest.header(name), &latest.payload) {
                Ok(received) => Some((key, received.message)),
                Err(error) => {
                    tracing::warn!(subject = latest.subject, error = chain(&error), "a plan cannot be read");
                    None
                }
            }
        });
        Ok(read.collect())
    }

    async fn stream(&self, name: &str) -> Result<stream::Stream, Failure> {
        self.jetstream.get_stream(name).await.map_err(|error| failed(name)(error.into()))
    }

    /// The last sequence of everything that is published.
    async fn sequences(&self) -> Result<Vec<u64>, Failure> {
        let objects = format!("KV_{}", bucket::OBJECTS);
        let all = [streams::INTENT, streams::PLAN, streams::STATE, &objects].into_iter().chain(QUEUES);
        let mut sequences = Vec::new();
        for name in all {
            sequences.push(self.stream(name).await?.cached_info().state.last_sequence);
        }
        Ok(sequences)
    }

    async fn backlog(&self) -> Result<Vec<String>, Failure> {
        let mut backlog = Vec::new();
        for (name, expected) in READ {
            let mut missing = expected.to_vec();
            let stream = self.stream(name).await?;
            let mut consumers = stream.consumers();
            while let Some(consumer) = consumers.next().await {
                let info = consumer.map_err(|error| failed(name)(error.into()))?;
                // Others are readers such as this one, to whom nothing is owed.
                let Some(durable) = info.config.durable_name else { continue };
                missing.retain(|expected| !durable.starts_with(expected));
                let open = info.num_pending + u64::try_from(info.num_ack_pending).unwrap_or(u64::MAX);
                backlog.extend((open > 0).then(|| format!("{name}: {open} messages for {durable}")));
            }
            backlog
                .extend(missing.into_iter().map(|durable| format!("{name}: {durable} does not read it yet")));
        }
        for name in QUEUES {
            let messages = self.stream(name).await?.cached_info().state.messages;
            backlog.extend((messages > 0).then(|| format!("{name}: {messages} messages")));
        }
        Ok(backlog)
    }
}
