//! What can go wrong, and what becomes of the message then.

use std::time::Duration;

use messages::envelope;
use runtime::bus::{Delivery, Disposition};
use runtime::telemetry::chain;
use runtime::{artifacts, bus, objects};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Bus(#[from] bus::Error),
    #[error(transparent)]
    Objects(#[from] objects::Error),
    #[error(transparent)]
    Artifact(#[from] artifacts::Error),
    #[error("a message on {subject}")]
    Message { subject: String, source: envelope::Error },
    #[error("a message on {0}, which names no object")]
    Subject(String),
    #[error("listening on {subject}")]
    Listen { subject: &'static str, source: async_nats::SubscribeError },
}

impl Error {
    pub(crate) fn disposition(&self, delivery: &Delivery) -> Disposition {
        match self {
            Self::Message { .. } | Self::Subject(_) => Disposition::Dead(chain(self)),
            Self::Objects(objects::Error::Conflict(_)) => Disposition::Retry(Duration::from_millis(50)),
            Self::Bus(_) | Self::Objects(_) | Self::Artifact(_) | Self::Listen { .. } => {
                tracing::warn!(
                    subject = delivery.subject,
                    attempt = delivery.attempt,
                    error = chain(self),
                    "trying again"
                );
                Disposition::Retry(Duration::from_secs(2))
            }
        }
    }
}
