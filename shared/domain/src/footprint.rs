//! What a lane has placed where: wanted and confirmed, per place; and what each store has answered.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::ObjectKey;
use crate::time::Timestamp;

/// A state store object, as a token of a subject: `<plural>-<name>`, dots as `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoreId(String);

impl StoreId {
    pub fn of(store: &ObjectKey) -> Self {
        Self(format!("{}-{}", store.kind.plural, store.name.replace('.', "_")))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where files stand. Two stores that name one repository and branch name the same places.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// URL of a Git repository, or a bucket.
    pub repository: String,
    pub branch: String,
    /// Full path from the root of the repository, without slashes at its ends.
    pub prefix: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}:{}", self.repository, self.branch, self.prefix)
    }
}

/// One workload group at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    #[serde(flatten)]
    pub place: Place,
    pub store: StoreId,
    pub destination: String,
    pub pipeline: String,
    pub directory: String,
    /// The placement's public name.
    pub name: String,
    /// Digest of the group that should stand there; none: nothing should.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wanted: Option<Digest>,
    /// What the store last acknowledged there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub confirmed: Option<Digest>,
    /// Nothing produces it any more: pruned once everything else is confirmed.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub leaving: bool,
    /// The Destination's labels no longer match; it is still written (kratix-S6).
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub misplaced: bool,
}

impl Placement {
    /// The store holds there what should stand there.
    pub fn is_confirmed(&self) -> bool {
        self.wanted.is_some() && self.wanted == self.confirmed
    }

    /// Nothing produces it any more. Until it is pruned, what the store holds of it stays; more is not written.
    pub fn leave(&mut self) {
        if !self.leaving {
            self.leaving = true;
            self.wanted.clone_from(&self.confirmed);
        }
    }

    /// It is not to stand there any more, whatever else becomes of its run.
    pub fn evict(&mut self) {
        self.leaving = true;
        self.wanted = None;
    }
}

/// What was asked of a store for this lane, and what it said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreWrites {
    /// Moves with every change of what is wanted in the store. An answer names the serial it made true.
    pub serial: u64,
    pub answered: u64,
    /// Digest of all that is wanted in the store at `serial`.
    pub wanted: Digest,
    /// Commit or version of the last acknowledged write.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub revision: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure: Option<WriteFailure>,
}

impl StoreWrites {
    /// Before the first write: `wanted` gets serial 1.
    fn before(wanted: Digest) -> Self {
        Self { serial: 1, answered: 0, wanted, revision: None, failure: None }
    }

    pub fn is_answered(&self) -> bool {
        self.answered == self.serial
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteFailure {
    pub message: String,
    pub attempts: u32,
    /// When it is tried again; none: it is being tried.
    pub retry_at: Option<Timestamp>,
}

/// All placements of a lane, by place, and the state of the stores they are in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    pub placements: Vec<Placement>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub stores: BTreeMap<StoreId, StoreWrites>,
}

impl Footprint {
    pub fn is_empty(&self) -> bool {
        self.placements.is_empty()
    }

    /// Everything that should stand somewhere does, and nothing is left to prune.
    pub fn is_confirmed(&self) -> bool {
        self.placements.iter().all(|p| !p.leaving && p.is_confirmed())
            && self.stores.values().all(StoreWrites::is_answered)
    }

    /// Every store has answered for what is wanted of it.
    pub fn is_written(&self) -> bool {
        self.stores.values().all(StoreWrites::is_answered)
    }

    /// Puts a placement at its place; what stood there before keeps its confirmed digest.
    pub fn put(&mut self, placement: Placement) {
        match self.placements.iter_mut().find(|old| old.place == placement.place) {
            Some(old) => *old = Placement { confirmed: old.confirmed.clone(), ..placement },
            None => self.placements.push(placement),
        }
        self.placements.sort_by(|a, b| a.place.cmp(&b.place));
    }

    /// Gives up the placements that `gone` picks: their files stay where they are and are no longer ours.
    pub fn abandon(&mut self, gone: impl Fn(&Placement) -> bool) -> Vec<Place> {
        let (gone, kept) = std::mem::take(&mut self.placements).into_iter().partition(gone);
        self.placements = kept;
        let gone: Vec<Placement> = gone;
        gone.into_iter().map(|placement| placement.place).collect()
    }

    /// From now on nothing is wanted at the places that are leaving.
    pub fn prune_leaving(&mut self) {
        for placement in self.placements.iter_mut().filter(|placement| placement.leaving) {
            placement.wanted = None;
        }
    }

    /// Gives a store a new serial where what is wanted in it has changed. Called after every change of `wanted`.
    pub fn renumber(&mut self) {
        let placements = self.placements.iter().map(|placement| placement.store.clone());
        let stores: BTreeSet<StoreId> = self.stores.keys().cloned().chain(placements).collect();
        for store in stores {
            let digest = self.wanted_in(&store);
            let (mut empty, mut confirmed) = (true, true);
            for placement in self.placements.iter().filter(|placement| placement.store == store) {
                empty = false;
                confirmed &= placement.is_confirmed();
            }
            let writes = self.stores.entry(store).or_insert_with(|| StoreWrites::before(digest.clone()));
            if writes.wanted != digest || (writes.is_answered() && !confirmed) {
                writes.serial += 1;
                writes.wanted = digest;
                writes.failure = None;
            }
            if empty {
                writes.answered = writes.serial; // nothing is asked of a store that may be gone
            }
        }
    }

    fn wanted_in(&self, store: &StoreId) -> Digest {
        let here = self.placements.iter().filter(|placement| placement.store == *store);
        Digest::of_json(&here.map(|placement| (&placement.place, &placement.wanted)).collect::<Vec<_>>())
    }

    /// The store says that it holds what was wanted at its current serial.
    pub fn confirm(&mut self, store: &StoreId, revision: Option<String>) {
        if let Some(writes) = self.stores.get_mut(store) {
            writes.answered = writes.serial;
            writes.revision = revision.or_else(|| writes.revision.take());
            writes.failure = None;
        }
        for placement in self.placements.iter_mut().filter(|placement| placement.store == *store) {
            placement.confirmed.clone_from(&placement.wanted);
        }
        self.placements.retain(|placement| placement.store != *store || placement.wanted.is_some());
        // Entries that went with their confirmation change the digest, but ask nothing new of the store.
        let digest = self.wanted_in(store);
        if let Some(writes) = self.stores.get_mut(store) {
            writes.wanted = digest;
        }
    }

    /// What outlives the object: a late answer to an old serial must not pass for one to a new life's.
    #[must_use]
    pub fn serials(self) -> Self {
        let stores = self
            .stores
            .into_iter()
            .map(|(store, writes)| (store, StoreWrites { revision: None, failure: None, ..writes }));
        Self { placements: Vec::new(), stores: stores.collect() }
    }
}
