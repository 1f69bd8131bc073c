//! Subjects of which only the newest message counts, read from the leader and replaced by compare-and-set.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use messages::envelope::Encoded;

use super::publish::{Published, headers_of};
use super::{Bus, Error};

/// Names the write in a header, so that a lost answer can be told from a lost write.
const WRITER: &str = "Millrace-Write";

/// One stream used as a table: subject to newest message.
#[derive(Clone)]
pub struct Register {
    bus: Bus,
    stream: Stream<()>,
    name: &'static str,
}

/// The newest message of a subject.
#[derive(Clone, Debug)]
pub struct Latest {
    pub subject: String,
    pub sequence: u64,
    pub headers: HeaderMap,
    pub payload: Bytes,
}

impl Latest {
    pub fn header(&self, name: &str) -> Option<String> {
        self.headers.get(name).map(|value| value.as_str().to_owned())
    }

    /// A marker that the subject is over (see [`Register::put_end`]).
    pub fn is_end(&self) -> bool {
        self.payload.is_empty()
    }
}

impl From<StreamMessage> for Latest {
    fn from(message: StreamMessage) -> Self {
        Self {
            subject: message.subject.to_string(),
            sequence: message.sequence,
            headers: message.headers,
            payload: message.payload,
        }
    }
}

impl Register {
    pub async fn open(bus: &Bus, name: &'static str) -> Result<Self, Error> {
        let stream = bus.jetstream().get_stream_no_info(name).await.map_err(|e| Error::stream(name, e))?;
        Ok(Self { bus: bus.clone(), stream, name })
    }

    /// From the leader, so that it is not older than what was acknowledged before the call.
    pub async fn load(&self, subject: &str) -> Result<Option<Latest>, Error> {
        match self.stream.get_last_raw_message_by_subject(subject).await {
            Ok(message) => Ok(Some(message.into())),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(Error::read(subject, error)),
        }
    }

    /// Replaces what is at `expected` (0: nothing yet). None: somebody else was faster.
    pub async fn put(&self, subject: &str, encoded: &Encoded, expected: u64) -> Result<Option<u64>, Error> {
        let token = uuid::Uuid::new_v4().to_string();
        let mut headers = headers_of(encoded);
        headers.insert(WRITER, token.as_str());
        let message = async_nats::jetstream::message::PublishMessage::build()
            .payload(encoded.payload.clone().into())
            .headers(headers)
            .expected_last_subject_sequence(expected);
        match self.bus.send(subject, message).await? {
            Published::Stored(sequence) => Ok(Some(sequence)),
            Published::Busy => Err(Error::stream(self.name, "the stream is full")),
            // Only the subject itself tells whether the write is there.
            Published::Wrong | Published::Unknown | Published::Duplicate => {
                let latest = self.load(subject).await?;
                Ok(latest.filter(|latest| latest.header(WRITER).as_ref() == Some(&token)).map(|l| l.sequence))
            }
        }
    }

    /// Ends a subject: an empty message stays, so that what was there cannot come back.
    pub async fn put_end(&self, subject: &str, expected: u64) -> Result<Option<u64>, Error> {
        self.put(subject, &Encoded { headers: Vec::new(), payload: Vec::new() }, expected).await
    }

    /// Forgets all but the newest message of a subject.
    pub async fn forget_history(&self, subject: &str) -> Result<(), Error> {
        let purge = self.stream.purge().filter(subject).keep(1);
        purge.await.map(drop).map_err(|error| Error::read(subject, error))
    }

    /// A tick for every message from now on. The server keeps nothing for it.
    pub async fn changes(&self, filter: &str) -> Result<BoxStream<'static, ()>, Error> {
        let config = pull::OrderedConfig {
            filter_subject: filter.to_owned(),
            deliver_policy: DeliverPolicy::New,
            headers_only: true,
            ..pull::OrderedConfig::default()
        };
        let consumer = self.stream.create_consumer(config).await.map_err(|e| Error::read(filter, e))?;
        let messages = consumer.messages().await.map_err(|e| Error::read(filter, e))?;
        Ok(messages.map(|_| ()).boxed())
    }

    /// The newest message of every subject that matches.
    pub async fn scan(&self, filter: &str) -> Result<Vec<Latest>, Error> {
        let config = pull::Config {
            filter_subject: filter.to_owned(),
            deliver_policy: DeliverPolicy::LastPerSubject,
            ack_policy: AckPolicy::None,
            inactive_threshold: Duration::from_secs(30),
            memory_storage: true,
            num_replicas: 1,
            ..pull::Config::default()
        };
        let consumer = self.stream.create_consumer(config).await.map_err(|e| Error::read(filter, e))?;
        let mut left = usize::try_from(consumer.cached_info().num_pending).unwrap_or(usize::MAX);
        let mut found = Vec::with_capacity(left.min(1 << 16));
        while left > 0 {
            let batch = consumer.fetch().max_messages(left.min(500)).messages().await;
            let mut batch = batch.map_err(|error| Error::read(filter, error))?;
            let before = left;
            while let Some(message) = batch.next().await {
                let message = message.map_err(|error| Error::read(filter, error))?;
                let sequence = message.info().map_err(|error| Error::read(filter, error))?.stream_sequence;
                let (message, _) = message.split();
                found.push(Latest {
                    subject: message.subject.to_string(),
                    sequence,
                    headers: message.headers.unwrap_or_default(),
                    payload: message.payload,
                });
                left -= 1;
            }
            if left == before {
                break; // messages counted at the start were replaced meanwhile
            }
        }
        let name = consumer.cached_info().name.clone();
        if let Err(error) = self.stream.delete_consumer(&name).await {
            tracing::debug!(%error, consumer = name, "the server removes it by itself after 30 s");
        }
        Ok(found)
    }
}
