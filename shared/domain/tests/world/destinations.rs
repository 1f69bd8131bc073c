//! Destinations and stores that come, change and go.

use std::collections::BTreeSet;

use domain::placement::{Destination, Destinations};

use super::{Message, World};
use crate::story::names::destination;
use crate::story::{labels, location, store};

const NAMES: [&str; 3] = ["a", "b", "c"];

pub(crate) fn initial() -> Destinations {
    let mut all = Destinations::default();
    destination(&mut all, "a", &[("env", "dev"), ("zone", "a")], location("git", "a"));
    destination(&mut all, "b", &[("env", "prod")], location("git", "b"));
    all
}

impl World {
    /// Changes one Destination or the stores in one of many ways. `lag`: replicas hear of it later, some much later.
    pub(crate) fn change_destinations(&mut self, which: usize, how: u8, lag: bool) {
        let name = NAMES[which % NAMES.len()];
        self.lagging = lag.then(|| self.destinations.clone());
        let all = &mut self.destinations;
        all.revision += 1;
        match how % 14 {
            0 => destination(all, name, &[("env", "dev"), ("zone", "a")], location("git", name)),
            1 => destination(all, name, &[("env", "prod")], location("git", name)),
            2 => destination(all, name, &[], location("git", name)),
            3 => destination(all, name, &[("env", "dev")], location("git-2", name)),
            4 => destination(all, name, &[("env", "prod")], location("git", &format!("{name}-moved"))),
            5 | 6 => drop(all.all.remove(name)),
            7 => change(all, name, |it| it.labels = labels(&[("env", "lab")])),
            8 => change(all, name, |it| it.strict = !it.strict),
            9 => change(all, name, |it| (it.terminating, it.cleanup) = (true, true)),
            10 => change(all, name, |it| it.terminating = true),
            11 => change(all, name, |it| it.location = None),
            12 => drop(all.stores.remove(&store(if which.is_multiple_of(2) { "git" } else { "git-2" }))),
            // Renamed: one goes, another with the same place comes.
            _ => {
                if let Some(old) = all.all.remove(name) {
                    let new = format!("{name}-renamed");
                    all.all.insert(new.clone(), Destination { name: new, ..old });
                }
            }
        }
        self.bus.push(Message::Destinations(self.destinations.clone()));
    }

    /// Everything that any selector asks for is there.
    pub(crate) fn heal_destinations(&mut self) {
        let mut healed = initial();
        destination(&mut healed, "b", &[("env", "prod"), ("zone", "a")], location("git", "b"));
        destination(&mut healed, "c", &[("env", "nowhere"), ("zone", "a")], location("git-2", "c"));
        healed.revision = self.destinations.revision + 1;
        healed.stores = BTreeSet::from([store("git"), store("git-2")]);
        self.destinations = healed;
        self.lagging = None;
        for branch in self.branches.values_mut() {
            branch.down = false;
        }
    }
}

fn change(all: &mut Destinations, name: &str, change: impl FnOnce(&mut Destination)) {
    if let Some(destination) = all.all.get_mut(name) {
        change(destination);
    }
}
