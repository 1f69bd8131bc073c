//! Stores: a branch with a head, and pushes that were prepared on some head and land on that one or not at all.

use std::collections::BTreeMap;

use domain::digest::Digest;
use domain::footprint::{Place, StoreId};
use domain::lane::WriteResult;

use super::{Message, World};
use crate::story::store;

#[derive(Debug, Default)]
pub(crate) struct Branch {
    head: u64,
    pub(crate) files: BTreeMap<Place, Digest>,
    /// The server refuses everything.
    pub(crate) down: bool,
    pushes: Vec<Push>,
}

/// Prepared from the record at `serial`.
#[derive(Clone, Debug)]
struct Push {
    parent: u64,
    serial: u64,
    wanted: Vec<(Place, Option<Digest>)>,
}

pub(crate) fn branches() -> BTreeMap<StoreId, Branch> {
    ["git", "git-2"].into_iter().map(|name| (store(name), Branch::default())).collect()
}

impl World {
    /// A writer is woken: it takes the head, then reads what the record wants.
    pub(crate) fn write(&mut self, store: &StoreId) {
        let exists = self.destinations.stores.contains(store);
        let Some(writes) = self.lane.footprint.stores.get(store) else { return };
        let serial = writes.serial;
        let Some(branch) = self.branches.get_mut(store).filter(|branch| exists && !branch.down) else {
            let result = WriteResult::Failed { message: "unreachable".into() };
            self.bus.push(Message::Answer(store.clone(), serial, result));
            return;
        };
        let here = self.lane.footprint.placements.iter().filter(|placement| placement.store == *store);
        let wanted = here.map(|placement| (placement.place.clone(), placement.wanted.clone())).collect();
        branch.pushes.push(Push { parent: branch.head, serial, wanted });
    }

    /// A prepared push is sent: the lease refuses it when the branch has moved, and the writer starts over.
    /// `heard`: the answer gets back to the writer.
    pub(crate) fn push(&mut self, which: usize, index: usize, heard: bool) {
        let stores: Vec<StoreId> = self.branches.keys().cloned().collect();
        let store = &stores[which % stores.len()];
        let Some(branch) = self.branches.get_mut(store).filter(|branch| !branch.pushes.is_empty()) else {
            return;
        };
        let push = branch.pushes.remove(index % branch.pushes.len());
        if branch.down {
            let result = WriteResult::Failed { message: "unreachable".into() };
            self.bus.push(Message::Answer(store.clone(), push.serial, result));
        } else if push.parent != branch.head {
            self.bus.push(Message::Write(store.clone()));
        } else {
            branch.head += 1; // also with nothing to change: a frozen push must not land on this parent later
            for (place, digest) in push.wanted {
                match digest {
                    Some(digest) => drop(branch.files.insert(place, digest)),
                    None => drop(branch.files.remove(&place)),
                }
            }
            if heard {
                let result = WriteResult::Written { revision: Some(branch.head.to_string()) };
                self.bus.push(Message::Answer(store.clone(), push.serial, result));
            }
        }
    }

    /// All prepared pushes are sent.
    pub(crate) fn push_all(&mut self) {
        for which in 0..self.branches.len() {
            while self.branches.values().nth(which).is_some_and(|branch| !branch.pushes.is_empty()) {
                self.push(which, 0, true);
            }
        }
    }

    /// Pushes are forgotten: their writer died.
    pub(crate) fn kill_writer(&mut self, which: usize) {
        let count = self.branches.len();
        if let Some(branch) = self.branches.values_mut().nth(which % count) {
            branch.pushes.clear();
        }
    }

    pub(crate) fn is_pushing(&self) -> bool {
        self.branches.values().any(|branch| !branch.pushes.is_empty())
    }

    pub(crate) fn set_down(&mut self, which: usize, down: bool) {
        let count = self.branches.len();
        if let Some(branch) = self.branches.values_mut().nth(which % count) {
            branch.down = down;
        }
    }
}
