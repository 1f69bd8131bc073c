//! Pulling: one durable consumer per service, any number of replicas.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::AckKind;
use async_nats::jetstream::consumer::{AckPolicy, Consumer, pull};
use async_nats::jetstream::message::Acker;
use bytes::Bytes;
use domain::id::ObjectKey;
use futures::StreamExt;
use messages::envelope::{self, Encoded, Message, Received};
use messages::subject;
use tokio::sync::Semaphore;

use super::{Bus, Error};
use crate::shutdown::Shutdown;

/// How often an idle pull is renewed; bounds what a lost request costs.
const EXPIRES: Duration = Duration::from_secs(30);
const HEARTBEAT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub struct ConsumerSpec {
    pub stream: &'static str,
    pub durable: String,
    pub filter: String,
    pub ack_wait: Duration,
    /// Messages out at a time, over all replicas.
    pub max_ack_pending: i64,
}

/// What becomes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// Done, for good.
    Ack,
    /// Once more, after a while.
    Retry(Duration),
    /// It can never be handled: kept in DLQ with the reason.
    Dead(String),
}

/// A message that this process is responsible for.
pub struct Delivery {
    pub subject: String,
    pub payload: Bytes,
    headers: async_nats::HeaderMap,
    acker: Acker,
    /// From 1; higher: an earlier delivery was not acknowledged in time.
    pub attempt: i64,
    pub sequence: u64,
}

impl Delivery {
    fn new(message: async_nats::jetstream::Message) -> Result<Self, Error> {
        let subject = message.subject.to_string();
        let info = message.info().map_err(|error| Error::read(&subject, error))?;
        let (attempt, sequence) = (info.delivered, info.stream_sequence);
        let (message, acker) = message.split();
        let headers = message.headers.unwrap_or_default();
        Ok(Self { subject, payload: message.payload, headers, acker, attempt, sequence })
    }

    pub fn header(&self, name: &str) -> Option<String> {
        self.headers.get(name).map(|value| value.as_str().to_owned())
    }

    /// The lane or object that the subject names.
    pub fn key(&self) -> Option<ObjectKey> {
        subject::key_of(&self.subject)
    }

    pub fn trace(&self) -> Option<messages::trace::TraceParent> {
        self.header(envelope::TRACE)?.parse().ok()
    }

    pub fn decode<M: Message>(&self) -> Result<Received<M>, envelope::Error> {
        envelope::decode(|name| self.header(name), &self.payload)
    }

    /// Tells the server that it is still being worked on.
    pub async fn progress(&self) {
        self.answer(AckKind::Progress).await;
    }

    pub async fn settle(self, bus: &Bus, disposition: Disposition) {
        match disposition {
            Disposition::Ack => self.answer(AckKind::Ack).await,
            Disposition::Retry(Duration::ZERO) => self.answer(AckKind::Nak(None)).await,
            Disposition::Retry(delay) => self.answer(AckKind::Nak(Some(delay))).await,
            Disposition::Dead(reason) => {
                if self.bury(bus, &reason).await {
                    self.answer(AckKind::Term).await;
                } else {
                    self.answer(AckKind::Nak(Some(Duration::from_secs(5)))).await;
                }
            }
        }
    }

    /// A lost answer means a redelivery, which every handler takes.
    async fn answer(&self, kind: AckKind) {
        if let Err(error) = self.acker.ack_with(kind).await {
            tracing::warn!(subject = self.subject, %error, "the message will be delivered again");
        }
    }

    async fn bury(&self, bus: &Bus, reason: &str) -> bool {
        tracing::error!(subject = self.subject, reason, "message put aside in DLQ");
        let headers = vec![("Dlq-Reason", reason.to_owned()), ("Dlq-Seq", self.sequence.to_string())];
        let encoded = Encoded { headers, payload: self.payload.to_vec() };
        match bus.publish_surely(&format!("dlq.{}", self.subject), &encoded, None).await {
            Ok(()) => true,
            Err(error) => {
                tracing::error!(error = crate::telemetry::chain(&error), "DLQ does not take it");
                false
            }
        }
    }
}

impl Bus {
    pub async fn consumer(&self, spec: &ConsumerSpec) -> Result<Consumer<pull::Config>, Error> {
        let config = pull::Config {
            durable_name: Some(spec.durable.clone()),
            filter_subject: spec.filter.clone(),
            ack_policy: AckPolicy::Explicit,
            ack_wait: spec.ack_wait,
            max_ack_pending: spec.max_ack_pending,
            ..pull::Config::default()
        };
        let failed = |e: Box<dyn std::error::Error + Send + Sync>| Error::Consumer {
            name: spec.durable.clone(),
            source: e,
        };
        let stream = self.jetstream().get_stream_no_info(spec.stream).await.map_err(|e| failed(e.into()))?;
        stream.create_consumer(config).await.map_err(|e| failed(e.into()))
    }

    /// The consumer, however long the bus is away; none at the shutdown.
    async fn consumer_at_last(
        &self,
        spec: &ConsumerSpec,
        shutdown: &mut Shutdown,
    ) -> Option<Consumer<pull::Config>> {
        while !shutdown.is_requested() {
            match self.consumer(spec).await {
                Ok(consumer) => return Some(consumer),
                Err(error) => away(spec, crate::telemetry::chain(&error), shutdown).await,
            }
        }
        None
    }

    /// Handles messages, up to `concurrency` at a time, until the shutdown; then waits for those in hand.
    pub async fn consume<F, H>(
        &self,
        spec: &ConsumerSpec,
        concurrency: usize,
        mut shutdown: Shutdown,
        handle: F,
    ) -> Result<(), Error>
    where
        F: Fn(Arc<Delivery>) -> H + Send + Sync + 'static,
        H: Future<Output = Disposition> + Send,
    {
        let (handle, permits) = (Arc::new(handle), Arc::new(Semaphore::new(concurrency)));
        while !shutdown.is_requested() {
            let Some(consumer) = self.consumer_at_last(spec, &mut shutdown).await else { break };
            // What is fetched ahead ages in this process, so only about as much as can be handled at once.
            let builder = consumer.stream().max_messages_per_batch(concurrency);
            let messages = builder.expires(EXPIRES).heartbeat(HEARTBEAT).messages().await;
            let mut messages = match messages {
                Ok(messages) => messages,
                Err(error) => {
                    away(spec, error.to_string(), &mut shutdown).await;
                    continue;
                }
            };
            loop {
                let next = tokio::select! {
                    () = shutdown.requested() => break,
                    next = messages.next() => next,
                };
                let message = match next {
                    Some(Ok(message)) => message,
                    Some(Err(error)) => {
                        tracing::warn!(consumer = spec.durable, %error, "the bus is away for a moment");
                        continue;
                    }
                    None => break, // the consumer is gone: make it again
                };
                let Ok(permit) = permits.clone().acquire_owned().await else { break };
                let (bus, handle, ack_wait) = (self.clone(), handle.clone(), spec.ack_wait);
                tokio::spawn(async move {
                    let _permit = permit;
                    match Delivery::new(message) {
                        Ok(delivery) => run_one(&bus, delivery, ack_wait, &*handle).await,
                        Err(error) => {
                            tracing::error!(error = crate::telemetry::chain(&error), "not a delivery");
                        }
                    }
                });
            }
        }
        let all = u32::try_from(concurrency).unwrap_or(u32::MAX);
        if tokio::time::timeout(crate::shutdown::GRACE, permits.acquire_many(all)).await.is_err() {
            tracing::warn!(
                consumer = spec.durable,
                "ended with messages in hand; they will be delivered again"
            );
        }
        Ok(())
    }

    /// At most `most` messages: those that are there, or else the first one that comes. Empty at the shutdown or
    /// when none came for a while.
    pub async fn fetch(
        &self,
        consumer: &Consumer<pull::Config>,
        most: usize,
        shutdown: &mut Shutdown,
    ) -> Result<Vec<Delivery>, Error> {
        let name = &consumer.cached_info().name;
        let failed =
            |e: Box<dyn std::error::Error + Send + Sync>| Error::Consumer { name: name.clone(), source: e };
        let mut found = Vec::new();
        if most > 1 {
            let mut ready =
                consumer.fetch().max_messages(most).messages().await.map_err(|e| failed(e.into()))?;
            while let Some(message) = ready.next().await {
                found.push(Delivery::new(message.map_err(&failed)?)?);
            }
        }
        if found.is_empty() {
            // Without heartbeats: on an idle one the client's batch forgets to ask to be woken again (0.51).
            let first = consumer.batch().max_messages(1).expires(HEARTBEAT);
            let mut first = first.messages().await.map_err(|e| failed(e.into()))?;
            let next = tokio::select! {
                () = shutdown.requested() => None,
                next = first.next() => next,
            };
            if let Some(message) = next {
                found.push(Delivery::new(message.map_err(failed)?)?);
            }
        }
        Ok(found)
    }
}

/// An outage ends no service: it says so and waits a moment.
async fn away(spec: &ConsumerSpec, error: String, shutdown: &mut Shutdown) {
    tracing::warn!(consumer = spec.durable, error, "the bus is away for a moment");
    tokio::select! {
        () = shutdown.requested() => {}
        () = tokio::time::sleep(Duration::from_millis(500)) => {}
    }
}

/// Handles one message, and tells the server all the while that it is being worked on.
async fn run_one<F, H>(bus: &Bus, delivery: Delivery, ack_wait: Duration, handle: &F)
where
    F: Fn(Arc<Delivery>) -> H,
    H: Future<Output = Disposition>,
{
    let delivery = Arc::new(delivery);
    let disposition = {
        let mut ticks = tokio::time::interval(ack_wait / 3);
        ticks.tick().await;
        let handled = handle(delivery.clone());
        tokio::pin!(handled);
        loop {
            tokio::select! {
                disposition = &mut handled => break disposition,
                _ = ticks.tick() => delivery.progress().await,
            }
        }
    };
    match Arc::try_unwrap(delivery) {
        Ok(delivery) => delivery.settle(bus, disposition).await,
        Err(delivery) => {
            // A handler kept it, which none should: without an answer it is delivered again.
            tracing::error!(subject = delivery.subject, "delivery still held after its handler ended");
        }
    }
}
