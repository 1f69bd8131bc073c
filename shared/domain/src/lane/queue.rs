//! Plans that wait: the newest only, or all in order of their names.

use serde::{Deserialize, Serialize};

use crate::plan::PlanRef;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// A newer plan replaces the waiting one: Promises and requests.
    LatestWins,
    /// All wait, in the order of their names: Promotions of a Stage.
    FifoByName,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Queue(Vec<Waiting>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Waiting {
    name: String,
    plan: PlanRef,
}

impl Queue {
    pub fn push(&mut self, discipline: Discipline, name: &str, plan: PlanRef) {
        match discipline {
            Discipline::LatestWins => self.0.clear(),
            Discipline::FifoByName => self.0.retain(|waiting| waiting.name != name),
        }
        let at = self.0.partition_point(|waiting| waiting.name.as_str() < name);
        self.0.insert(at, Waiting { name: name.to_owned(), plan });
    }

    pub fn pop(&mut self) -> Option<PlanRef> {
        if self.0.is_empty() { None } else { Some(self.0.remove(0).plan) }
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn first(&self) -> Option<&PlanRef> {
        self.0.first().map(|waiting| &waiting.plan)
    }

    pub fn last(&self) -> Option<&PlanRef> {
        self.0.last().map(|waiting| &waiting.plan)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
