//! The public log of transitions, read as its subscribers do.

use async_nats::jetstream;
use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use domain::id::LaneKey;
use domain::lane::{Lane, Transition};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use messages::record;
use messages::subject::{self, stream as streams};
use runtime::bus::Bus;
use runtime::telemetry::chain;
use serde_json::{Value, json};

use crate::failure::Failure;

/// One transition, a CloudEvent.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub id: String,
    pub source: String,
    pub kind: String,
    pub subject: String,
    /// RFC 3339.
    pub time: String,
    /// The record after the transition.
    pub lane: Lane,
}

fn failed(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Failure {
    Failure::Read { what: "events".into(), source: source.into() }
}

/// Events in order, of one lane or all: those that are there, and with `follow` all that come.
pub(crate) async fn read(
    bus: &Bus,
    lane: Option<&LaneKey>,
    follow: bool,
) -> Result<BoxStream<'static, Result<Event, Failure>>, Failure> {
    let stream =
        jetstream::new(bus.client().clone()).get_stream_no_info(streams::EVENTS).await.map_err(failed)?;
    let config = pull::OrderedConfig {
        filter_subject: lane.map_or_else(|| subject::ALL_EVENTS.to_owned(), subject::event),
        deliver_policy: DeliverPolicy::All,
        ..pull::OrderedConfig::default()
    };
    let consumer = stream.create_consumer(config).await.map_err(failed)?;
    let there = usize::try_from(consumer.cached_info().num_pending).unwrap_or(usize::MAX);
    if there == 0 && !follow {
        return Ok(stream::empty().boxed());
    }
    let messages = consumer.messages().await.map_err(failed)?;
    let count = if follow { usize::MAX } else { there };
    let events = messages.take(count).filter_map(|message| async {
        match message {
            Ok(message) => decode(&message).map(Ok),
            Err(error) => Some(Err(failed(error))),
        }
    });
    Ok(events.boxed())
}

/// One event that cannot be read must not hide the others.
fn decode(message: &jetstream::Message) -> Option<Event> {
    let header = |name: &str| message.headers.as_ref()?.get(name).map(|value| value.as_str().to_owned());
    match record::decode(header, &message.payload) {
        Ok(lane) => Some(Event {
            id: header("ce-id").unwrap_or_default(),
            source: header("ce-source").unwrap_or_default(),
            kind: header("ce-type").unwrap_or_default(),
            subject: header("ce-subject").unwrap_or_default(),
            time: header("ce-time").unwrap_or_default(),
            lane,
        }),
        Err(error) => {
            tracing::warn!(subject = %message.subject, error = chain(&error), "an event is left out");
            None
        }
    }
}

impl Event {
    /// The event in structured mode.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "specversion": "1.0", "id": self.id, "source": self.source, "type": self.kind, "subject": self.subject,
            "time": self.time, "datacontenttype": "application/json", "sequence": self.lane.sequence.to_string(),
            "data": self.lane,
        })
    }

    /// `run-started`.
    pub(crate) fn transition(&self) -> String {
        name(self.lane.transition)
    }
}

pub(crate) fn name(transition: Transition) -> String {
    let name = serde_json::to_value(transition).ok();
    name.as_ref().and_then(Value::as_str).unwrap_or("unknown").to_owned()
}

/// Where the lane stands after a transition, in some words.
pub(crate) fn detail(lane: &Lane) -> String {
    let mut parts = Vec::new();
    if let Some(run) = &lane.run {
        let pipelines: Vec<String> =
            run.pipelines.iter().map(|p| format!("{}={}", p.name, p.phase.as_str())).collect();
        parts.push(format!("run {} {}", run.number, pipelines.join(" ")).trim_end().to_owned());
    }
    if let Some(waiting) = lane.waiting() {
        parts.push(waiting.to_string());
    }
    parts.join("; ")
}
