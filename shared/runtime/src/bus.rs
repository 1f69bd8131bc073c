//! JetStream: connecting, publishing with compare-and-set, pulling, scanning. The rules of use are those that
//! measurements taught; each is explained where it is applied.

mod consume;
mod publish;
mod records;
mod register;
mod streams;

pub use consume::{ConsumerSpec, Delivery, Disposition};
pub use publish::{Published, headers_of};
pub use records::{Records, Stored};
pub use register::Register;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::jetstream;
use domain::digest::Digest;
use messages::trace::TraceParent;

use crate::config::BusConfig;

/// A request that takes longer is answered by nobody.
const TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no NATS server at {url}; is it running, and is the address right?")]
    Connect { url: String, source: async_nats::ConnectError },
    #[error("the key file {path}: it cannot be read; give a file with an nkey seed")]
    Key { path: String, source: std::io::Error },
    #[error("NATS server {found} is too old: {minimum} or newer is needed")]
    TooOld { found: String, minimum: &'static str },
    #[error("stream or bucket {name}")]
    Stream { name: String, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("consumer {name}")]
    Consumer { name: String, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("publishing on {subject}")]
    Publish { subject: String, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("reading {subject}")]
    Read { subject: String, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("message on {subject}")]
    Message { subject: String, source: messages::envelope::Error },
    #[error("{subject} is changed by others again and again")]
    Contended { subject: String },
}

impl Error {
    fn stream(name: &str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Stream { name: name.into(), source: source.into() }
    }

    fn read(subject: &str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Read { subject: subject.into(), source: source.into() }
    }
}

/// Milliseconds before an attempt to connect. The first one counts as well, and must not wait.
fn delay(attempt: usize) -> u64 {
    match attempt {
        0 | 1 => 0,
        2..5 => 100,
        _ => 500,
    }
}

/// Oldest server whose fixes this program relies on.
const MINIMUM: (i64, i64, i64) = (2, 14, 6);
const MINIMUM_TEXT: &str = "2.14.6";

/// A connection; cheap to clone.
#[derive(Clone, Debug)]
pub struct Bus {
    client: async_nats::Client,
    jetstream: jetstream::Context,
    /// When the stream of records was made, in seconds since 1970; 0 before [`Bus::identified`].
    incarnation: u64,
    spans: Arc<AtomicU64>,
}

impl Bus {
    pub async fn connect(config: &BusConfig) -> Result<Self, Error> {
        // Defaults notice a silent partition after 30 s and a lost server after two minutes.
        let mut options = async_nats::ConnectOptions::new()
            .name("millrace")
            .ping_interval(Duration::from_secs(3))
            .connection_timeout(TIMEOUT)
            .reconnect_delay_callback(|attempt| Duration::from_millis(delay(attempt)))
            .event_callback(|event| async move { tracing::debug!(%event, "bus") });
        if let Some(path) = &config.nkey_file {
            let failed = |source| Error::Key { path: path.display().to_string(), source };
            let seed = std::fs::read_to_string(path).map_err(failed)?;
            options = options.nkey(seed.trim().to_owned());
        }
        let failed = |source| Error::Connect { url: config.url.clone(), source };
        let client = options.connect(&config.url).await.map_err(failed)?;
        if !client.is_server_compatible(MINIMUM.0, MINIMUM.1, MINIMUM.2) {
            return Err(Error::TooOld { found: client.server_info().version, minimum: MINIMUM_TEXT });
        }
        let jetstream = jetstream::context::ContextBuilder::new()
            .timeout(TIMEOUT)
            .ack_timeout(TIMEOUT)
            .max_ack_inflight(1000)
            .backpressure_on_inflight(true)
            .build(client.clone());
        let seed = uuid::Uuid::new_v4().as_u64_pair().0;
        Ok(Self { client, jetstream, incarnation: 0, spans: Arc::new(AtomicU64::new(seed)) })
    }

    /// Reads when the stream of records was made.
    pub(crate) async fn identified(mut self) -> Result<Self, Error> {
        let name = messages::subject::stream::STATE;
        let stream = self.jetstream.get_stream(name).await.map_err(|e| Error::stream(name, e))?;
        let created = stream.cached_info().created.unix_timestamp();
        self.incarnation = u64::try_from(created).unwrap_or_default();
        Ok(self)
    }

    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// For core messages: requests, cancels.
    pub fn client(&self) -> &async_nats::Client {
        &self.client
    }

    pub(crate) fn jetstream(&self) -> &jetstream::Context {
        &self.jetstream
    }

    /// The next hop of a trace, or the first of a new one.
    pub fn next_hop(&self, trace: Option<TraceParent>) -> TraceParent {
        // Unique is enough: a counter from a random start, scattered by a hash.
        let count = self.spans.fetch_add(1, Ordering::Relaxed);
        let scatter = Digest::of(&count.to_be_bytes());
        let part =
            |from: usize| u64::from_str_radix(&scatter.as_str()[from..from + 16], 16).unwrap_or(1).max(1);
        match trace {
            Some(parent) => parent.child(part(0)),
            None => TraceParent {
                trace: u128::from(part(16)) << 64 | u128::from(part(32)),
                span: part(0),
                flags: 1,
            },
        }
    }
}
