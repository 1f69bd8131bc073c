//! What a refused document may hope for: a decision on plain data.
//!
//! A rename is a new document and one that is gone. The new one is asked for first and clashes with what is about to
//! go; that is worth a complaint only when nothing is going any more.

use std::collections::{BTreeMap, BTreeSet};

use domain::id::{ObjectKey, ResourceKind};
use domain::problem::Problem;
use resources::keys::KRATIX_GROUP;

use super::plan::Stored;
use crate::kinds::promises;

/// Codes of refusals that pass by themselves: the inflater could not reach something, others wrote at the same time,
/// the object is going.
pub(super) const PASSING: [&str; 3] = ["unavailable", "contended", "terminating"];
/// Another object has what this one asks for: a Promise's API, a Destination's place.
const CONFLICT: &str = "conflict";
/// The Promise may still come.
const UNKNOWN_KIND: &str = "unknown-kind";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Passes by itself.
    Passing,
    /// With other objects, which may go or change.
    Clash,
    Lasting,
}

impl Refusal {
    pub(super) fn of(problems: &[Problem]) -> Self {
        let codes: Vec<&str> =
            problems.iter().filter(|problem| problem.is_error()).map(|problem| &*problem.code).collect();
        if !codes.iter().all(|code| *code == CONFLICT || PASSING.contains(code)) {
            Self::Lasting
        } else if codes.iter().any(|code| PASSING.contains(code)) || codes.is_empty() {
            Self::Passing
        } else {
            Self::Clash
        }
    }
}

/// Whether a change of other objects may make a lasting refusal another one.
pub(super) fn depends_on_others(problems: &[Problem]) -> bool {
    problems.iter().any(|problem| [CONFLICT, UNKNOWN_KIND].contains(&&*problem.code))
}

/// Kinds of which documents may clash, and of what decides about that.
pub(super) fn contended() -> Vec<ResourceKind> {
    let others = ["destinations", "gitstatestores", "bucketstatestores"];
    let others = others.into_iter().map(|plural| ResourceKind::new(plural, KRATIX_GROUP));
    [promises()].into_iter().chain(others).collect()
}

fn is_contended(key: &ObjectKey) -> bool {
    contended().contains(&key.kind)
}

/// What happens, in one pass, to the objects that documents may clash with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Movement {
    /// To be removed, and not known to be gone.
    pub going: BTreeSet<ObjectKey>,
    /// Some came, changed or went, perhaps after a document was refused because of them.
    pub changed: bool,
}

impl Movement {
    /// At the start of a pass, with those that were going in the pass before.
    pub(super) fn begin(stored: &BTreeMap<ObjectKey, Stored>, before: &BTreeSet<ObjectKey>) -> Self {
        let going = stored.iter().filter(|(key, stored)| stored.terminating && is_contended(key));
        Self {
            going: going.map(|(key, _)| key.clone()).collect(),
            changed: before.iter().any(|key| !stored.contains_key(key)),
        }
    }

    pub(super) fn changed(&mut self, key: &ObjectKey) {
        self.changed |= is_contended(key);
    }

    pub(super) fn removed(&mut self, key: &ObjectKey) {
        if is_contended(key) {
            self.going.insert(key.clone());
        }
    }

    /// Of a document that clashes with others.
    pub(super) fn outlook(&self, document: &ObjectKey) -> Outlook {
        let of_promises = document.kind == promises();
        let going = self.going.iter().filter(|key| (key.kind == promises()) == of_promises);
        let going: BTreeSet<ObjectKey> = going.cloned().collect();
        if !going.is_empty() {
            Outlook::After(going)
        } else if self.changed {
            Outlook::Again
        } else {
            Outlook::Refused
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// Perhaps accepted once these are gone.
    After(BTreeSet<ObjectKey>),
    /// The answer may be out of date already.
    Again,
    Refused,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kinds;
    use crate::manifests::tests::document;

    fn key(spelling: &str, name: &str) -> ObjectKey {
        Kinds::default().spelled(spelling).unwrap().key(None, name)
    }

    fn stored(key: &ObjectKey, terminating: bool) -> (ObjectKey, Stored) {
        // Only the key and the flag count.
        let object = document("apiVersion: v1\nkind: Any\nmetadata: {name: x}\n").object;
        (key.clone(), Stored { terminating, ..Stored::of(&object) })
    }

    fn refusal(codes: &[&str]) -> Refusal {
        let problems: Vec<_> = codes.iter().map(|code| Problem::error(code, "", "")).collect();
        Refusal::of(&problems)
    }

    #[test]
    fn the_worst_problem_decides() {
        assert_eq!(refusal(&["unavailable"]), Refusal::Passing);
        assert_eq!(refusal(&["conflict", "conflict"]), Refusal::Clash);
        assert_eq!(refusal(&["conflict", "contended"]), Refusal::Passing);
        assert_eq!(refusal(&["conflict", "schema"]), Refusal::Lasting);
        assert_eq!(refusal(&["unavailable", "unknown-kind"]), Refusal::Lasting);
        let problems = [Problem::warning("old", "", ""), Problem::error("conflict", "", "")];
        assert_eq!(Refusal::of(&problems), Refusal::Clash);
    }

    #[test]
    fn only_what_others_decide_waits_for_them() {
        assert!(depends_on_others(&[Problem::error("schema", "", ""), Problem::error("conflict", "", "")]));
        assert!(depends_on_others(&[Problem::error("unknown-kind", "", "")]));
        assert!(!depends_on_others(&[Problem::error("schema", "", "")]));
    }

    #[test]
    fn a_conflict_without_any_movement_is_refused() {
        let (new, old) = (key("destination", "new"), key("destination", "old"));
        let movement = Movement::begin(&[stored(&old, false)].into(), &BTreeSet::new());
        assert_eq!(movement.outlook(&new), Outlook::Refused);
    }

    /// The course of a rename: pruned after the refusal, then on its way, then gone.
    #[test]
    fn a_clash_is_tried_until_what_is_removed_is_gone_and_once_more() {
        let (new, old) = (key("destination", "new"), key("destination", "old"));
        let after = || Outlook::After([old.clone()].into());
        let mut first = Movement::begin(&[stored(&old, false)].into(), &BTreeSet::new());
        first.removed(&old);
        assert_eq!(first.outlook(&new), after());
        let second = Movement::begin(&[stored(&old, true)].into(), &first.going);
        assert_eq!(second.outlook(&new), after());
        let third = Movement::begin(&BTreeMap::new(), &second.going);
        assert_eq!(third.outlook(&new), Outlook::Again);
        let last = Movement::begin(&BTreeMap::new(), &third.going);
        assert_eq!(last.outlook(&new), Outlook::Refused);
    }

    #[test]
    fn what_others_became_in_this_pass_is_worth_another_try() {
        let mut movement = Movement::default();
        movement.changed(&key("secret", "s"));
        assert_eq!(movement.outlook(&key("destination", "d")), Outlook::Refused);
        movement.changed(&key("gitstatestore", "g"));
        assert_eq!(movement.outlook(&key("destination", "d")), Outlook::Again);
    }

    #[test]
    fn promises_and_destinations_do_not_wait_for_each_other() {
        let (promise, destination) = (key("promise", "p"), key("destination", "d"));
        let mut movement = Movement::default();
        movement.removed(&promise);
        movement.removed(&key("secret", "s"));
        assert_eq!(movement.outlook(&destination), Outlook::Refused);
        assert_eq!(movement.outlook(&key("promise", "q")), Outlook::After([promise].into()));
        movement.removed(&key("gitstatestore", "g"));
        assert_eq!(movement.outlook(&destination), Outlook::After([key("gitstatestore", "g")].into()));
    }
}
