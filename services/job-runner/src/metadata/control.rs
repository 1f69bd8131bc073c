//! `workflow-control.yaml`: whether the workflow goes on after this pipeline.

use std::time::Duration;

use serde::Deserialize;

use super::{Error, shown};

/// The file as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct Written {
    suspend: bool,
    message: String,
    retry_after: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    pub suspend: bool,
    pub message: String,
    pub retry_after: Option<Duration>,
}

impl Control {
    /// Whether the workflow stops here, until a person or the time resumes it at this pipeline.
    pub fn suspends(&self) -> bool {
        self.suspend || self.retry_after.is_some()
    }
}

pub(super) fn check(written: Written) -> Result<Control, Error> {
    let Written { suspend, message, retry_after: text } = written;
    let retry_after = match &*text {
        "" => None,
        text => Some(parse_duration(text).map_err(|why| Error::RetryAfter { text: shown(text), why })?),
    };
    Ok(Control { suspend, message, retry_after })
}

/// A duration as Go writes it: numbers with units, as `1h30m`, `1.5s` or `300ms`; or `0`. Not a negative one.
fn parse_duration(text: &str) -> Result<Duration, &'static str> {
    const SYNTAX: &str = "expected a duration such as `30s`, `1h30m` or `1.5h`";
    if text.starts_with('-') {
        return Err("must not be negative");
    }
    let mut left = text.strip_prefix('+').unwrap_or(text);
    if left == "0" {
        return Ok(Duration::ZERO);
    }
    if left.is_empty() {
        return Err(SYNTAX);
    }
    let mut nanos: u128 = 0;
    while !left.is_empty() {
        let number = take_while(&mut left, |c| c.is_ascii_digit() || c == '.');
        let unit = unit_nanos(take_while(&mut left, |c| !c.is_ascii_digit() && c != '.')).ok_or(SYNTAX)?;
        nanos = nanos.saturating_add(amount(number, unit).ok_or(SYNTAX)?);
    }
    // Go counts nanoseconds in 63 bits, 292 years.
    let nanos = u64::try_from(nanos).ok().filter(|nanos| i64::try_from(*nanos).is_ok()).ok_or("too long")?;
    Ok(Duration::from_nanos(nanos))
}

fn take_while<'a>(text: &mut &'a str, wanted: impl Fn(char) -> bool) -> &'a str {
    let (taken, left) = text.split_at(text.find(|c| !wanted(c)).unwrap_or(text.len()));
    *text = left;
    taken
}

fn unit_nanos(unit: &str) -> Option<u64> {
    match unit {
        "ns" => Some(1),
        "us" | "µs" | "μs" => Some(1_000),
        "ms" => Some(1_000_000),
        "s" => Some(1_000_000_000),
        "m" => Some(60_000_000_000),
        "h" => Some(3_600_000_000_000),
        _ => None,
    }
}

/// Nanoseconds of `12.5` units, cut to whole ones.
fn amount(number: &str, unit: u64) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    if whole.len() > 20 {
        return Some(u128::MAX); // whatever the unit, longer than any duration
    }
    let fraction = fraction.get(..18).unwrap_or(fraction); // more digits are less than a nanosecond of an hour
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u128>().ok() };
    let scale = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    Some(digits(whole)? * u128::from(unit) + digits(fraction)? * u128::from(unit) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, nanos) in [
            ("0", 0),
            ("+0", 0),
            ("0s", 0),
            ("5s", 5_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5h", 5_400_000_000_000),
            (".5s", 500_000_000),
            ("5.s", 5_000_000_000),
            ("300ms1us2ns", 300_001_002),
            ("2µs", 2_000),
            ("0000000000000000000000001ns", 1),
            ("0.1234567899999999999999999s", 123_456_789),
            ("2562047h47m16.854775807s", i64::MAX),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_nanos(nanos.cast_unsigned())), "{text}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for text in ["", "5", "s", ".s", "1.2.3s", "1 s", "1d", "5m3", "-5s", "1e3s", "٣s", "2562047h47m17s"]
        {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert_eq!(parse_duration(&format!("{}h", "9".repeat(100_000))), Err("too long"));
        assert_eq!(parse_duration(&"9h".repeat(100_000)), Ok(Duration::from_hours(900_000)));
        assert_eq!(parse_duration(&"9999999h".repeat(1_000)), Err("too long"));
    }
}
