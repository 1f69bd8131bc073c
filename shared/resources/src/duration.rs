//! Durations as Go writes them: `90s`, `1h30m`, `1.5h`.

use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a duration such as 90s, 10m or 1h30m")]
pub struct InvalidDuration(String);

/// Reads a duration that is not negative. Units: `ns`, `us`, `µs`, `ms`, `s`, `m`, `h`; `0` needs none.
pub fn parse(text: &str) -> Result<Duration, InvalidDuration> {
    let invalid = || InvalidDuration(text.to_owned());
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).ok_or_else(invalid)?;
        let number: f64 = rest[..digits].parse().map_err(|_| invalid())?;
        let after = &rest[digits..];
        let unit = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let seconds = number * seconds_of(&after[..unit]).ok_or_else(invalid)?;
        let part = Duration::try_from_secs_f64(seconds).map_err(|_| invalid())?;
        sum = sum.checked_add(part).ok_or_else(invalid)?;
        rest = &after[unit..];
    }
    Ok(sum)
}

fn seconds_of(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1e-9),
        "us" | "µs" | "μs" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        "m" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations() {
        for (text, seconds) in
            [("90s", 90), ("1h30m", 5400), ("1.5h", 5400), ("0", 0), ("2000ms", 2), ("+1m", 60)]
        {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "5", "m", "1d", "-1m", "1h 30m", "1..5h", "999999999999999999999h", "1m5"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
