//! `$(NAME)` in commands, arguments and variables, as Kubernetes expands it.

/// Replaces `$(NAME)` by the variable's value; one that is not known stays as written, and `$$` is a `$` that starts
/// nothing.
pub(crate) fn expand(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let reference = after.strip_prefix('(').and_then(|inner| inner.split_once(')'));
        rest = match (after.strip_prefix('$'), reference) {
            (Some(escaped), _) => {
                expanded.push('$');
                escaped
            }
            (None, Some((name, behind))) => {
                expanded.push_str(&value(name).unwrap_or_else(|| format!("$({name})")));
                behind
            }
            (None, None) => {
                expanded.push('$');
                after
            }
        };
    }
    expanded.push_str(rest);
    expanded
}

/// Variables in order: each may refer to those before it.
pub(crate) fn variables(written: &[domain::plan::EnvVar]) -> Vec<(String, String)> {
    let mut known: Vec<(String, String)> = Vec::with_capacity(written.len());
    for variable in written {
        let value = expand(&variable.value, |name| lookup(&known, name));
        known.push((variable.name.clone(), value));
    }
    known
}

/// Of two equal names the later one counts.
pub(crate) fn lookup(variables: &[(String, String)], name: &str) -> Option<String> {
    variables.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

#[cfg(test)]
mod tests {
    use domain::plan::EnvVar;

    use super::*;

    #[test]
    fn references_are_expanded_and_escapes_are_not() {
        let known = |name: &str| (name == "A").then(|| "1".to_owned());
        for (text, expected) in [
            ("plain", "plain"),
            ("$(A)-$(A)", "1-1"),
            ("$(B)", "$(B)"),
            ("$$(A)", "$(A)"),
            ("$A $ $(", "$A $ $("),
            ("é$(A)é", "é1é"),
        ] {
            assert_eq!(expand(text, known), expected, "{text}");
        }
    }

    #[test]
    fn a_variable_sees_those_before_it() {
        let written = [("A", "$(B)"), ("B", "x"), ("C", "$(B)$(A)"), ("B", "y")]
            .map(|(name, value)| EnvVar { name: name.into(), value: value.into() });
        let known = variables(&written);
        assert_eq!(lookup(&known, "A").as_deref(), Some("$(B)"));
        assert_eq!(lookup(&known, "C").as_deref(), Some("x$(B)"));
        assert_eq!(lookup(&known, "B").as_deref(), Some("y"));
    }
}
