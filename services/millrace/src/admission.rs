//! Asking the inflater: the only way by which this program changes an object.

use std::time::Duration;

use async_nats::client::RequestErrorKind;
use messages::admit::{AdmitAnswer, AdmitRequest};
use messages::envelope;
use messages::subject;
use runtime::bus::{Bus, headers_of};

/// A large Promise takes a fraction of this.
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// It may or may not have been done; asking again does no harm.
    #[error("the inflater, which admits changes, cannot be reached: {reason}")]
    Unreachable { reason: String },
    #[error("what the inflater says")]
    Message(#[from] envelope::Error),
}

#[derive(Clone, Debug)]
pub(crate) struct Admission {
    bus: Bus,
}

impl Admission {
    pub(crate) fn new(bus: &Bus) -> Self {
        Self { bus: bus.clone() }
    }

    pub(crate) async fn ask(&self, request: &AdmitRequest) -> Result<AdmitAnswer, Error> {
        let subject = match request {
            AdmitRequest::Apply { .. } | AdmitRequest::Label { .. } => subject::ADMIT_APPLY,
            AdmitRequest::Delete { .. } => subject::ADMIT_DELETE,
        };
        let encoded = envelope::encode(request, Some(self.bus.next_hop(None)))?;
        let headers = headers_of(&encoded);
        let sent = async_nats::Request::new()
            .headers(headers)
            .payload(encoded.payload.into())
            .timeout(Some(TIMEOUT));
        let answer = self.bus.client().send_request(subject, sent).await.map_err(|error| {
            let reason = match error.kind() {
                RequestErrorKind::NoResponders => "none is running".into(),
                RequestErrorKind::TimedOut => format!("no answer within {} s", TIMEOUT.as_secs()),
                _ => error.to_string(),
            };
            Error::Unreachable { reason }
        })?;
        let header = |name: &str| answer.headers.as_ref()?.get(name).map(|value| value.as_str().to_owned());
        Ok(envelope::decode(header, &answer.payload)?.message)
    }
}
