//! "Did you mean": the known name nearest to a wrong one.

/// The nearest of `known`, when it is near enough to be meant: a third of its letters may differ.
pub(crate) fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong_lower = wrong.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&wrong_lower, &name.to_lowercase());
    let near = known.into_iter().filter(|name| *name != wrong).map(|name| (distance(name), name));
    near.filter(|(distance, name)| *distance <= (name.chars().count() / 3).max(1)).min().map(|(_, name)| name)
}

/// `did you mean ...?`, as a remedy.
pub(crate) fn did_you_mean<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(wrong, known).map(|name| format!("did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_names_are_offered() {
        let known = ["containers", "volumes", "rbac"];
        assert_eq!(nearest("container", known), Some("containers"));
        assert_eq!(nearest("Volumes", known), Some("volumes"));
        assert_eq!(nearest("contianers", known), Some("containers"));
        assert_eq!(nearest("image", known), None);
        assert_eq!(nearest("", known), None);
    }
}
