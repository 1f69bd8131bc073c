//! Which Destinations a group of files goes to.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::digest::Digest;
use crate::footprint::StoreId;
use crate::output::Spread;
use crate::plan::Labels;

/// A Destination as far as scheduling needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Destination {
    pub name: String,
    pub labels: Labels,
    /// `strictMatchLabels`: never chosen by an empty selector when it has labels.
    pub strict: bool,
    /// Under deletion: nothing new goes there.
    pub terminating: bool,
    /// `cleanup: all`: once it is under deletion, what stands there goes.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub cleanup: bool,
    /// Where its files go; none while its store is unknown.
    pub location: Option<Location>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    pub store: StoreId,
    pub repository: String,
    pub branch: String,
    /// The store's path and the Destination's, joined.
    pub path: String,
}

/// All Destinations at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Destinations {
    /// Resource version of the newest change of a Destination or store that went into it.
    pub revision: u64,
    pub all: BTreeMap<String, Destination>,
    /// The state stores that exist: what stands in another cannot be reached any more.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub stores: BTreeSet<StoreId>,
}

impl Destinations {
    /// Of what scheduling sees: equal when only a status has changed.
    pub fn digest(&self) -> Digest {
        Digest::of_json(&(&self.all, &self.stores))
    }

    /// Where a Destination's files go; none while it or its store is not there.
    pub fn location(&self, destination: &str) -> Option<&Location> {
        let location = self.all.get(destination)?.location.as_ref()?;
        self.stores.contains(&location.store).then_some(location)
    }

    /// Whether the Destination is being deleted and takes with it what stands there.
    pub fn is_emptied(&self, destination: &str) -> bool {
        self.all.get(destination).is_some_and(|d| d.terminating && d.cleanup)
    }
}

impl Destination {
    /// Whether the selector picks this Destination. An empty one picks all but strict Destinations with labels.
    pub fn matches(&self, selector: &Labels) -> bool {
        if selector.is_empty() {
            return !self.strict || self.labels.is_empty();
        }
        selector.iter().all(|(key, value)| self.labels.get(key) == Some(value))
    }
}

/// Where a group stands already, and by which selector it came there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held<'a> {
    pub destination: &'a str,
    /// The selector is the one of the run that placed it: only the Destination's labels can have changed since.
    pub same_selector: bool,
}

/// Decides where one group goes: the Destinations' names, each with whether it no longer matches. `seed` spreads
/// groups over equal Destinations, always in the same way.
///
/// What is placed stays when its Destination's labels change (then it is misplaced, kratix-S6), and moves when the
/// run's own selector stops matching.
pub fn choose(
    spread: Spread,
    selector: &Labels,
    held: &[Held<'_>],
    destinations: &Destinations,
    seed: &str,
) -> BTreeMap<String, bool> {
    let located = |name: &str| destinations.location(name).is_some();
    let stays = |held: &&Held<'_>| {
        let matches = destinations.all.get(held.destination).is_some_and(|d| d.matches(selector));
        located(held.destination)
            && !destinations.is_emptied(held.destination)
            && (held.same_selector || matches)
    };
    let mut names: BTreeSet<&str> = held.iter().filter(stays).map(|held| held.destination).collect();
    let takes = |d: &&Destination| !d.terminating && d.matches(selector) && located(&d.name);
    let matching = destinations.all.values().filter(takes).map(|d| &*d.name);
    match spread {
        Spread::All => names.extend(matching),
        Spread::One => match names.first().copied() {
            Some(first) => names = BTreeSet::from([first]),
            None => names.extend(pick(&matching.collect::<Vec<_>>(), seed)),
        },
    }
    let misplaced = |name: &str| !destinations.all.get(name).is_some_and(|d| d.matches(selector));
    names.into_iter().map(|name| (name.to_owned(), misplaced(name))).collect()
}

fn pick<'a>(candidates: &[&'a str], seed: &str) -> Option<&'a str> {
    let hash = <Sha256 as sha2::Digest>::digest(seed);
    let number = hash.iter().take(8).fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let count = u64::try_from(candidates.len()).ok().filter(|count| *count > 0)?;
    candidates.get(usize::try_from(number % count).ok()?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect()
    }

    fn store() -> StoreId {
        StoreId::of(&"gitstatestores_platform_kratix_io._.default".parse().unwrap())
    }

    type Pairs<'a> = &'a [(&'a str, &'a str)];

    /// Name, labels, and whether it is strict.
    fn destinations(list: &[(&str, Pairs<'_>, bool)]) -> Destinations {
        let all = list.iter().map(|(name, own, strict)| {
            let location = Location {
                store: store(),
                repository: "file:///repo".into(),
                branch: "main".into(),
                path: (*name).into(),
            };
            let destination = Destination {
                name: (*name).into(),
                labels: labels(own),
                strict: *strict,
                terminating: false,
                cleanup: false,
                location: Some(location),
            };
            ((*name).to_owned(), destination)
        });
        Destinations { revision: 1, all: all.collect(), stores: BTreeSet::from([store()]) }
    }

    fn targets(choice: &BTreeMap<String, bool>) -> Vec<(&str, bool)> {
        choice.iter().map(|(name, misplaced)| (&**name, *misplaced)).collect()
    }

    /// kratix-S1, kratix-S2, kratix-S5.
    #[test]
    fn a_request_goes_to_one_match_or_waits() {
        let all = destinations(&[("a", &[("env", "dev")], false), ("b", &[("env", "prod")], false)]);
        let prod = choose(Spread::One, &labels(&[("env", "prod")]), &[], &all, "x");
        assert_eq!(targets(&prod), [("b", false)]);
        assert_eq!(targets(&choose(Spread::One, &labels(&[("env", "qa")]), &[], &all, "x")), []);
    }

    /// kratix-S3, kratix-S6, kratix-S11: it stays where it is, misplaced only if that Destination no longer matches.
    #[test]
    fn a_placed_request_stays() {
        let all = destinations(&[("a", &[("env", "dev")], false), ("b", &[("env", "dev")], false)]);
        for name in ["a", "b"] {
            let held = [Held { destination: name, same_selector: true }];
            assert_eq!(
                targets(&choose(Spread::One, &labels(&[("env", "dev")]), &held, &all, "x")),
                [(name, false)]
            );
            assert_eq!(
                targets(&choose(Spread::One, &labels(&[("env", "qa")]), &held, &all, "x")),
                [(name, true)]
            );
        }
    }

    /// A change of the run's own selector moves it (unlike kratix-S10).
    #[test]
    fn a_new_selector_moves_what_no_longer_matches() {
        let all = destinations(&[("a", &[("env", "dev")], false), ("b", &[("env", "prod")], false)]);
        let held = [Held { destination: "a", same_selector: false }];
        assert_eq!(
            targets(&choose(Spread::One, &labels(&[("env", "prod")]), &held, &all, "x")),
            [("b", false)]
        );
        assert_eq!(
            targets(&choose(Spread::All, &labels(&[("env", "prod")]), &held, &all, "x")),
            [("b", false)]
        );
    }

    /// kratix-S8, kratix-S9: all that match; without a selector all that are not strict.
    #[test]
    fn a_dependency_goes_everywhere() {
        let all = destinations(&[
            ("a", &[("env", "dev")], false),
            ("b", &[("env", "dev")], true),
            ("c", &[], true),
            ("d", &[], false),
        ]);
        let chosen = choose(Spread::All, &labels(&[("env", "dev")]), &[], &all, "x");
        assert_eq!(targets(&chosen), [("a", false), ("b", false)]);
        let chosen = choose(Spread::All, &Labels::new(), &[], &all, "x");
        assert_eq!(targets(&chosen), [("a", false), ("c", false), ("d", false)]);
    }

    #[test]
    fn nothing_new_goes_to_a_destination_that_is_going() {
        let mut all = destinations(&[("a", &[], false), ("b", &[], false)]);
        if let Some(a) = all.all.get_mut("a") {
            a.terminating = true;
        }
        for seed in ["x", "y", "z", "q"] {
            assert_eq!(targets(&choose(Spread::One, &Labels::new(), &[], &all, seed)), [("b", false)]);
        }
    }

    /// It had left two places, and both match again: one is enough.
    #[test]
    fn of_two_places_a_request_keeps_one() {
        let all = destinations(&[("a", &[], false), ("b", &[], false)]);
        let held = [
            Held { destination: "b", same_selector: false },
            Held { destination: "a", same_selector: false },
        ];
        assert_eq!(targets(&choose(Spread::One, &Labels::new(), &held, &all, "x")), [("a", false)]);
        let both = choose(Spread::All, &Labels::new(), &held, &all, "x");
        assert_eq!(targets(&both), [("a", false), ("b", false)]);
    }

    /// kratix-F11: what stands there stays (`cleanup: none`) or moves (`cleanup: all`).
    #[test]
    fn a_destination_that_is_going_keeps_its_files_or_not() {
        let mut all = destinations(&[("a", &[], false), ("b", &[], false)]);
        let held = [Held { destination: "a", same_selector: true }];
        for (cleanup, place) in [(false, "a"), (true, "b")] {
            if let Some(a) = all.all.get_mut("a") {
                (a.terminating, a.cleanup) = (true, cleanup);
            }
            assert_eq!(targets(&choose(Spread::One, &Labels::new(), &held, &all, "x")), [(place, false)]);
        }
    }

    #[test]
    fn nothing_stays_in_a_store_that_is_gone() {
        let mut all = destinations(&[("a", &[], false)]);
        all.stores.clear();
        let held = [Held { destination: "a", same_selector: true }];
        assert_eq!(targets(&choose(Spread::One, &Labels::new(), &held, &all, "x")), []);
    }
}
