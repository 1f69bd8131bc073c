//! How a message stands on the bus: JSON, with its type, version and trace in headers.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::trace::TraceParent;

pub const TYPE: &str = "Millrace-Type";
pub const VERSION: &str = "Millrace-Version";
pub const TRACE: &str = "traceparent";

/// One kind of message. A change that older readers cannot take gets a new version; older ones are read for ever.
pub trait Message: Serialize + DeserializeOwned {
    const TYPE: &'static str;
    const VERSION: u32;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    pub headers: Vec<(&'static str, String)>,
    pub payload: Vec<u8>,
}

/// What came off the bus.
#[derive(Clone, Debug, PartialEq)]
pub struct Received<M> {
    pub message: M,
    pub trace: Option<TraceParent>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("a message of type `{found}` where `{expected}` was expected")]
    Type { expected: &'static str, found: String },
    #[error("`{kind}` of version {found}: this program reads versions up to {known}; update it")]
    Version { kind: &'static str, found: String, known: u32 },
    #[error("`{kind}` cannot be read")]
    Payload { kind: &'static str, source: serde_json::Error },
}

pub fn encode<M: Message>(message: &M, trace: Option<TraceParent>) -> Result<Encoded, Error> {
    let payload = serde_json::to_vec(message).map_err(|source| Error::Payload { kind: M::TYPE, source })?;
    let mut headers = vec![(TYPE, M::TYPE.to_owned()), (VERSION, M::VERSION.to_string())];
    headers.extend(trace.map(|trace| (TRACE, trace.to_string())));
    Ok(Encoded { headers, payload })
}

pub fn decode<M: Message>(
    header: impl Fn(&str) -> Option<String>,
    payload: &[u8],
) -> Result<Received<M>, Error> {
    let found = header(TYPE).unwrap_or_default();
    if found != M::TYPE {
        return Err(Error::Type { expected: M::TYPE, found });
    }
    let found = header(VERSION).unwrap_or_default();
    if !found.parse().is_ok_and(|version: u32| (1..=M::VERSION).contains(&version)) {
        return Err(Error::Version { kind: M::TYPE, found, known: M::VERSION });
    }
    let message =
        serde_json::from_slice(payload).map_err(|source| Error::Payload { kind: M::TYPE, source })?;
    // A broken trace context costs the trace, not the message.
    let trace = header(TRACE).and_then(|text| text.parse().ok());
    Ok(Received { message, trace })
}
