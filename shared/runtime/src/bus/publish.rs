//! Publishing, with the five ways in which it can end.

use async_nats::HeaderMap;
use async_nats::jetstream;
use async_nats::jetstream::message::PublishMessage;
use domain::id::ObjectKey;
use messages::envelope::{self, Encoded, Message};
use messages::subject;
use messages::trace::TraceParent;

use super::{Bus, Error};

/// How a publish ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// Stored, at this sequence of its stream.
    Stored(u64),
    /// The server has seen this id before.
    Duplicate,
    /// The subject is not at the expected sequence.
    Wrong,
    /// The subject's only slot is taken, or the stream is full.
    Busy,
    /// No answer: it may or may not be stored.
    Unknown,
}

/// Server error codes: wrong last sequence (R1), the two that replicated streams answer with, and "full".
const WRONG_LAST_SEQUENCE: [u64; 3] = [10071, 10163, 10164];
const MAX_MESSAGES_PER_SUBJECT: u64 = 10077;

pub fn headers_of(encoded: &Encoded) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in &encoded.headers {
        headers.insert(*name, value.as_str());
    }
    headers
}

impl Bus {
    /// A message as the next hop of its trace.
    pub fn encode<M: Message>(
        &self,
        subject: &str,
        message: &M,
        trace: Option<TraceParent>,
    ) -> Result<Encoded, Error> {
        let hop = self.next_hop(trace);
        envelope::encode(message, Some(hop))
            .map_err(|source| Error::Message { subject: subject.to_owned(), source })
    }

    /// "Look at this object." No message id: one intent per object is kept, and a newer one must never be taken for a
    /// duplicate.
    pub async fn publish_intent(&self, object: &ObjectKey, trace: Option<TraceParent>) -> Result<(), Error> {
        let headers = vec![(envelope::TRACE, self.next_hop(trace).to_string())];
        self.publish_surely(&subject::intent(object), &Encoded { headers, payload: Vec::new() }, None).await
    }

    /// Publishes once. `id`: for the server's duplicate window; `expected`: the sequence the subject must be at.
    pub async fn publish(
        &self,
        subject: &str,
        encoded: &Encoded,
        id: Option<&str>,
        expected: Option<u64>,
    ) -> Result<Published, Error> {
        let mut message =
            PublishMessage::build().payload(encoded.payload.clone().into()).headers(headers_of(encoded));
        if let Some(id) = id {
            message = message.message_id(id);
        }
        if let Some(expected) = expected {
            message = message.expected_last_subject_sequence(expected);
        }
        self.send(subject, message).await
    }

    pub(crate) async fn send(&self, subject: &str, message: PublishMessage) -> Result<Published, Error> {
        let pending = match self.jetstream().send_publish(subject.to_owned(), message).await {
            Ok(pending) => pending,
            Err(error) => return judge(subject, error),
        };
        match pending.await {
            Ok(ack) if ack.duplicate => Ok(Published::Duplicate),
            Ok(ack) => Ok(Published::Stored(ack.sequence)),
            Err(error) => judge(subject, error),
        }
    }

    /// Publishes until the server has it. Only for messages that may be stored twice.
    pub async fn publish_surely(
        &self,
        subject: &str,
        encoded: &Encoded,
        id: Option<&str>,
    ) -> Result<(), Error> {
        for _ in 0..5 {
            match self.publish(subject, encoded, id, None).await? {
                Published::Stored(_) | Published::Duplicate => return Ok(()),
                Published::Wrong | Published::Busy | Published::Unknown => {}
            }
        }
        Err(Error::Contended { subject: subject.to_owned() })
    }
}

fn judge(subject: &str, error: jetstream::context::PublishError) -> Result<Published, Error> {
    use jetstream::context::PublishErrorKind as Kind;
    let code = std::error::Error::source(&error)
        .and_then(|source| source.downcast_ref::<jetstream::Error>())
        .map(|source| source.error_code().0);
    match (error.kind(), code) {
        (_, Some(code)) if WRONG_LAST_SEQUENCE.contains(&code) => Ok(Published::Wrong),
        (_, Some(MAX_MESSAGES_PER_SUBJECT)) => Ok(Published::Busy),
        (Kind::WrongLastSequence, _) => Ok(Published::Wrong),
        // During an election there is no responder for a moment.
        (Kind::TimedOut | Kind::BrokenPipe | Kind::StreamNotFound, _) => Ok(Published::Unknown),
        _ => Err(Error::Publish { subject: subject.to_owned(), source: error.into() }),
    }
}
