//! Time, injected: services ask their clock, and only this one asks the machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use domain::time::Timestamp;

#[derive(Clone, Debug)]
pub enum Clock {
    System,
    /// Stands still until it is set: milliseconds since 1970.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => Timestamp(jiff::Timestamp::now().as_millisecond()),
            Self::Manual(now) => Timestamp(now.load(Ordering::SeqCst)),
        }
    }
}

/// RFC 3339 in UTC, whole seconds, as Kubernetes writes times.
pub fn rfc3339(time: Timestamp) -> String {
    let seconds = time.0.div_euclid(1000);
    jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}
