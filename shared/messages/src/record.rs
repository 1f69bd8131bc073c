//! STATE: the lane record, which is also a public CloudEvent in binary mode (headers `ce-*`, the record as data).

use domain::id::LaneKey;
use domain::lane::Lane;
use domain::time::Timestamp;

use crate::envelope::{Encoded, Error, TRACE};
use crate::trace::TraceParent;

/// Version of the record's schema, the last part of the event's type.
pub const VERSION: u32 = 1;
const TYPE: &str = "dev.millrace.lane";

/// The event's id: the same for every copy of one transition.
pub fn event_id(lane: &Lane) -> String {
    format!("{}/{}/{}", lane.key, lane.incarnation, lane.sequence)
}

/// `dev.millrace.lane.<transition>.v1`.
fn event_type(lane: &Lane) -> String {
    let transition = serde_json::to_value(lane.transition).unwrap_or_default();
    format!("{TYPE}.{}.v{VERSION}", transition.as_str().unwrap_or("unknown"))
}

/// `promises.platform.kratix.io/_/redis`.
fn event_subject(lane: &LaneKey) -> String {
    format!("{}/{}/{}", lane.0.kind, lane.0.namespace.as_deref().unwrap_or("_"), lane.0.name)
}

pub fn encode(lane: &Lane, now: Timestamp, trace: Option<TraceParent>) -> Result<Encoded, Error> {
    let payload = serde_json::to_vec(lane).map_err(|source| Error::Payload { kind: "record", source })?;
    let time = jiff::Timestamp::from_millisecond(now.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let mut headers = vec![
        ("ce-specversion", "1.0".to_owned()),
        ("ce-id", event_id(lane)),
        ("ce-source", format!("/millrace/lanes/{}", event_subject(&lane.key))),
        ("ce-type", event_type(lane)),
        ("ce-subject", event_subject(&lane.key)),
        ("ce-time", time.to_string()),
        ("ce-datacontenttype", "application/json".to_owned()),
        ("ce-sequence", lane.sequence.to_string()),
    ];
    headers.extend(trace.map(|trace| (TRACE, trace.to_string())));
    Ok(Encoded { headers, payload })
}

pub fn decode(header: impl Fn(&str) -> Option<String>, payload: &[u8]) -> Result<Lane, Error> {
    let found = header("ce-type").unwrap_or_default();
    if !found.starts_with(TYPE) {
        return Err(Error::Type { expected: TYPE, found });
    }
    let version = found.rsplit(".v").next().and_then(|version| version.parse().ok());
    if !version.is_some_and(|version: u32| (1..=VERSION).contains(&version)) {
        return Err(Error::Version { kind: "record", found, known: VERSION });
    }
    serde_json::from_slice(payload).map_err(|source| Error::Payload { kind: "record", source })
}
