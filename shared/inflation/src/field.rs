//! Paths of fields, as problems name them: `spec.containers[0].image`, `metadata.labels["a.b/c"]`.

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// The path of field `name` of what stands at `at` (empty: the object itself).
pub(crate) fn child(at: &str, name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$');
    if name.is_empty() || !name.chars().all(is_plain) {
        return format!("{at}[{name:?}]");
    }
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

pub(crate) fn item(at: &str, index: usize) -> String {
    format!("{at}[{index}]")
}

/// The steps of a path made by [`child`] and [`item`]. What cannot be read ends it.
pub(crate) fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rest = path;
    while let Some((step, after)) = first_step(rest) {
        steps.push(step);
        rest = after;
    }
    steps
}

fn first_step(path: &str) -> Option<(Step, &str)> {
    if let Some(quoted) = path.strip_prefix("[\"") {
        let (name, after) = until_quote(quoted)?;
        return Some((Step::Key(name), after.strip_prefix(']')?));
    }
    if let Some(index) = path.strip_prefix('[') {
        let (index, after) = index.split_once(']')?;
        return Some((Step::Index(index.parse().ok()?), after));
    }
    let path = path.strip_prefix('.').unwrap_or(path);
    let end = path.find(['.', '[']).unwrap_or(path.len());
    (end > 0).then(|| (Step::Key(path[..end].to_owned()), &path[end..]))
}

/// Reads up to the closing quote, undoing the escapes of quotes and backslashes.
fn until_quote(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((name, &text[at + 1..])),
            '\\' => name.push(characters.next()?.1),
            other => name.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_they_were_made() {
        for names in
            [&["spec", "a-b"][..], &["metadata", "labels", "a.b/c"], &["x\"y\\z", ""], &["a[0]", "b"]]
        {
            let path = names.iter().fold(String::new(), |at, name| child(&at, name));
            let keys = names.iter().map(|name| Step::Key((*name).into())).collect::<Vec<_>>();
            assert_eq!(steps(&path), keys, "{path}");
        }
        let path = item(&child(&item("a", 0), "b"), 12);
        assert_eq!(path, "a[0].b[12]");
        let (a, b) = (Step::Key("a".into()), Step::Key("b".into()));
        assert_eq!(steps(&path), [a, Step::Index(0), b, Step::Index(12)]);
        assert_eq!(steps(""), []);
    }
}
