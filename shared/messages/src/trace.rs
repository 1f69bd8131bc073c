//! W3C trace context: one trace from an object's change to the store's commit.

use std::fmt;
use std::str::FromStr;

/// A `traceparent`: version 00, trace id, span id, flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    pub trace: u128,
    pub span: u64,
    pub flags: u8,
}

impl TraceParent {
    /// The same trace, one hop further.
    #[must_use]
    pub fn child(self, span: u64) -> Self {
        Self { span, ..self }
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, self.flags)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a traceparent of version 00")]
pub struct InvalidTraceParent;

impl FromStr for TraceParent {
    type Err = InvalidTraceParent;

    fn from_str(text: &str) -> Result<Self, InvalidTraceParent> {
        let parts: Vec<&str> = text.split('-').collect();
        let (["00", trace, span, flags], true) = (&parts[..], text.is_ascii()) else {
            return Err(InvalidTraceParent);
        };
        if (trace.len(), span.len(), flags.len()) != (32, 16, 2) {
            return Err(InvalidTraceParent);
        }
        let parent = Self {
            trace: u128::from_str_radix(trace, 16).map_err(|_| InvalidTraceParent)?,
            span: u64::from_str_radix(span, 16).map_err(|_| InvalidTraceParent)?,
            flags: u8::from_str_radix(flags, 16).map_err(|_| InvalidTraceParent)?,
        };
        if parent.trace == 0 || parent.span == 0 { Err(InvalidTraceParent) } else { Ok(parent) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_survives_the_round_trip_and_nonsense_is_refused() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(text.parse::<TraceParent>().unwrap().to_string(), text);
        for bad in ["", "00", "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", &"é".repeat(28)] {
            assert!(bad.parse::<TraceParent>().is_err(), "{bad}");
        }
    }
}
