//! What can go wrong while an input is handled, and what becomes of its message then.

use std::time::Duration;

use domain::digest::Digest;
use domain::id::LaneKey;
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
    Decode { subject: String, source: envelope::Error },
    #[error("a message on {0}, which names no object")]
    Subject(String),
    /// Its queue's slot still holds the previous job's message.
    #[error("{0}: the previous job's message is not removed yet")]
    SlotTaken(LaneKey),
    #[error("{0}: the record was changed by others again and again")]
    Contended(LaneKey),
    #[error("{lane}: plan {plan} has no API definition")]
    NoApi { lane: LaneKey, plan: Digest },
}

impl Error {
    /// What cannot be read is put aside; all else is tried again.
    pub(crate) fn disposition(&self, delivery: &Delivery) -> Disposition {
        let delay = match self {
            Self::Decode { .. } | Self::Subject(_) => return Disposition::Dead(chain(self)),
            Self::SlotTaken(_) => Duration::from_millis(100),
            Self::Contended(_) | Self::Objects(objects::Error::Conflict(_)) => Duration::from_millis(50),
            Self::Bus(_) | Self::Objects(_) | Self::Artifact(_) | Self::NoApi { .. } => {
                Duration::from_secs(2)
            }
        };
        if delivery.attempt > 3 {
            tracing::warn!(
                subject = delivery.subject,
                attempt = delivery.attempt,
                error = chain(self),
                "trying again"
            );
        }
        Disposition::Retry(delay)
    }
}
