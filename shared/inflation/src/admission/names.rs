//! What names and labels may be made of, as Kubernetes has it.

use domain::problem::Problem;

use crate::field::child;

const LABEL_MAX: usize = 63;
const SUBDOMAIN_MAX: usize = 253;

fn is_lower_alphanumeric(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

/// `a-z`, `0-9` and `-`, a letter or digit at both ends, at most 63.
pub(super) fn is_dns_label(text: &str) -> bool {
    text.len() <= LABEL_MAX
        && text.starts_with(is_lower_alphanumeric)
        && text.ends_with(is_lower_alphanumeric)
        && text.chars().all(|c| is_lower_alphanumeric(c) || c == '-')
}

/// DNS labels joined by dots, at most 253.
pub(super) fn is_subdomain(text: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(is_lower_alphanumeric)
            && part.ends_with(is_lower_alphanumeric)
            && part.chars().all(|c| is_lower_alphanumeric(c) || c == '-')
    };
    text.len() <= SUBDOMAIN_MAX && text.split('.').all(is_part)
}

/// Letters, digits, `-`, `_` and `.`, a letter or digit at both ends, at most 63.
fn is_word(text: &str) -> bool {
    let at_ends = |c: char| c.is_ascii_alphanumeric();
    text.len() <= LABEL_MAX
        && text.starts_with(at_ends)
        && text.ends_with(at_ends)
        && text.chars().all(|c| at_ends(c) || matches!(c, '-' | '_' | '.'))
}

/// A word, or `subdomain/word`: key of a label or annotation, name of a finalizer.
pub(super) fn is_qualified(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, word)) => is_subdomain(prefix) && is_word(word),
        None => is_word(text),
    }
}

/// Labels of an object, of a Pipeline, or of a selector.
pub(super) fn check_labels<'a>(
    labels: impl IntoIterator<Item = (&'a String, &'a String)>,
    at: &str,
    problems: &mut Vec<Problem>,
) {
    for (key, value) in labels {
        if !is_qualified(key) {
            problems.push(not_qualified("label", child(at, key), key));
        }
        if !(value.is_empty() || is_word(value)) {
            let message = format!(
                "`{value}` is not a label value: at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends"
            );
            problems.push(Problem::error("label", child(at, key), message));
        }
    }
}

pub(super) fn not_qualified(code: &str, field: String, key: &str) -> Problem {
    let message = format!(
        "`{key}` is not a qualified name: at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both \
         ends, perhaps after a DNS name and `/`"
    );
    Problem::error(code, field, message)
}

pub(super) fn not_a_subdomain(field: impl Into<String>, name: &str) -> Problem {
    let message = format!(
        "`{name}` is not a DNS name: lower-case letters, digits, `-` and `.`, with a letter or digit at both ends"
    );
    Problem::error("name", field, message)
}

pub(super) fn not_a_label(field: impl Into<String>, name: &str) -> Problem {
    let message = format!(
        "`{name}` is not a DNS label: at most 63 lower-case letters, digits and `-`, with a letter or digit at both ends"
    );
    Problem::error("name", field, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kubernetes() {
        for name in ["a", "a-b", "0", &"x".repeat(63)] {
            assert!(is_dns_label(name), "{name}");
        }
        for name in ["", "-a", "a-", "A", "a.b", "a_b", &"x".repeat(64)] {
            assert!(!is_dns_label(name), "{name}");
        }
        assert!(is_subdomain("a.b-c.0") && is_subdomain(&"a".repeat(253)));
        for name in ["", "a..b", ".a", "a.", "a/b", "a.-b", &"a".repeat(254)] {
            assert!(!is_subdomain(name), "{name}");
        }
        for name in ["a", "A_b.c", "a.b/C", "kratix.io/promise-name"] {
            assert!(is_qualified(name), "{name}");
        }
        for name in ["", "/a", "a/", "A/b", "a/b/c", "_a", "a b", "ä"] {
            assert!(!is_qualified(name), "{name}");
        }
    }
}
