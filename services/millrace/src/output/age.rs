//! How long ago, as `kubectl` writes it: two units at most, coarser with time.

use domain::time::Timestamp;

/// Since a time in RFC 3339.
pub(crate) fn since(time: Option<&str>, now: Timestamp) -> String {
    let then = time.and_then(|time| time.parse::<jiff::Timestamp>().ok());
    then.map_or_else(|| "<unknown>".into(), |then| short(now.0.saturating_sub(then.as_millisecond()) / 1000))
}

fn short(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |first: i64, unit: &str, second: i64, small: &str| {
        if second == 0 { format!("{first}{unit}") } else { format!("{first}{unit}{second}{small}") }
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        _ if days < 730 => format!("{days}d"),
        _ => two(days / 365, "y", days % 365, "d"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_kubectls() {
        for (seconds, expected) in [
            (-5, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (11_000, "3h3m"),
            (30_000, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (700_000, "8d"),
            (60 * 86_400, "60d"),
            (800 * 86_400, "2y70d"),
        ] {
            assert_eq!(short(seconds), expected, "{seconds}");
        }
        assert_eq!(since(None, Timestamp(0)), "<unknown>");
        assert_eq!(since(Some("1970-01-01T00:00:01Z"), Timestamp(4000)), "3s");
    }
}
