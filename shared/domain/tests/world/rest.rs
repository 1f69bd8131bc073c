//! The end of a case: everything is delivered, what is broken heals, and the lane has to come to the right rest.

use std::collections::BTreeSet;

use domain::control::ControlLabel;
use domain::lane::{ControlRequest, Input, Life, RunState, Waiting};
use domain::names::join_path;
use domain::output::{DEFAULT_DIRECTORY, merged_selector};
use domain::plan::{Labels, WorkflowType};

use super::World;

/// Rounds in which a lane has to come to rest. A round delivers all messages and ends all jobs and pushes.
const ROUNDS: usize = 200;

impl World {
    /// Nothing is lost any more: deliver, run, push and sweep until nothing changes.
    pub(crate) fn come_to_rest(&mut self) {
        self.lagging = None;
        let mut quiet = false;
        for _ in 0..ROUNDS {
            let sequence = self.lane.sequence;
            self.serve();
            self.sweep();
            let idle = self.bus.is_empty() && self.runners.is_empty() && !self.is_pushing();
            quiet = idle && self.lane.sequence == sequence;
            if quiet {
                break;
            }
        }
        assert!(quiet, "no rest after {ROUNDS} rounds: {:?} {:?}", self.lane.pending(), self.lane);
    }

    /// Everybody does what is to be done now.
    pub(crate) fn serve(&mut self) {
        for message in std::mem::take(&mut self.bus) {
            self.receive(message);
        }
        self.finish_all();
        self.push_all();
    }

    /// INV-7: at rest, whoever is not done has a timer or names what it waits for.
    pub(crate) fn assert_not_stuck(&self) {
        let lane = &self.lane;
        assert!(
            lane.is_settled() || lane.waiting().is_some(),
            "neither done nor waiting: {:?}",
            lane.run.as_ref().map(|run| &run.state)
        );
    }

    /// Rule 6: at rest, whatever stays is where its Destination is now, and only stores that exist are asked.
    pub(crate) fn assert_follows_destinations(&self) {
        for placement in self.lane.footprint.placements.iter().filter(|placement| !placement.leaving) {
            let location = self.destinations.location(&placement.destination);
            let follows = location.is_some_and(|location| {
                location.store == placement.store && placement.place.prefix.starts_with(&location.path)
            });
            assert!(follows, "{} is not where {} is: {location:?}", placement.place, placement.destination);
        }
        for (store, writes) in &self.lane.footprint.stores {
            let exists = self.destinations.stores.contains(store);
            assert!(exists || writes.is_answered(), "{store} is gone and still asked");
        }
    }

    /// Stores, Destinations and gates are there; people take their hold back.
    pub(crate) fn heal(&mut self) {
        self.heal_destinations();
        self.gates_open = true;
        self.edit(|object| {
            object.unsupported = false;
            object.labels.remove(&ControlLabel::Paused);
        });
        self.come_to_rest();
        self.take(Input::Control(ControlRequest::Resume));
        self.come_to_rest();
        for _ in 0..20 {
            self.pass(600);
            while !self.timers.is_empty() {
                self.fire(0);
            }
            self.come_to_rest();
            let Some(waiting) = self.lane.waiting() else { break };
            let request = match waiting {
                Waiting::Failed { .. } => ControlRequest::Retry,
                Waiting::Aborted => ControlRequest::Restart,
                Waiting::Suspended { .. } | Waiting::Paused => ControlRequest::Resume,
                // The store answers at the next attempt; the others are nobody's to take back.
                Waiting::StoreFailing { .. }
                | Waiting::Unscheduled { .. }
                | Waiting::Unsupported { .. }
                | Waiting::Gate { .. }
                | Waiting::Dependents => continue,
            };
            self.take(Input::Control(request));
            self.come_to_rest();
        }
    }

    /// The last change is done, and the stores hold what the last run produced, where it belongs, and nothing else.
    pub(crate) fn assert_converged(&self) {
        let lane = &self.lane;
        assert!(lane.is_settled() && lane.waiting().is_none(), "{:?}: {lane:?}", lane.waiting());
        assert_eq!(lane.pending(), [], "at rest nothing is pending");
        let Some(object) = &self.object else {
            assert!(matches!(lane.life, Life::New | Life::Released), "{:?} without an object", lane.life);
            assert!(self.held().is_empty(), "orphans: {:?}", self.held());
            return;
        };
        assert!(!object.deleting, "a deleted object has to go");
        let run = lane.run.as_ref().expect("an object has a run");
        let newest = self.arrival().expect("an object has a plan").plan;
        assert_eq!(run.state, RunState::Complete);
        assert_eq!(
            (&run.plan.uid, &run.plan.work_hash),
            (&newest.uid, &newest.work_hash),
            "INV-3: the last change"
        );
        let on_a_request = BTreeSet::from([ControlLabel::ReconcileResources]); // where it means nothing
        assert!(object.labels.is_subset(&on_a_request), "labels that nobody took off: {:?}", object.labels);
        self.assert_placed();
    }

    /// Derives from the applied results alone what has to stand where.
    fn assert_placed(&self) {
        let run = self.lane.run.as_ref().expect("an object has a run");
        let mut inherited = Labels::new();
        let mut expected = Vec::new();
        for (index, pipeline) in (0..).zip(&run.pipelines) {
            let groups = self.produced.get(&index).expect("a pipeline that counts as succeeded has a result");
            for group in groups {
                if self.workflow == WorkflowType::Promise && group.directory == DEFAULT_DIRECTORY {
                    inherited.extend(group.own_selector.clone().unwrap_or_default());
                }
            }
            for group in groups {
                let own = group.own_selector.as_ref();
                let selector = merged_selector(&group.directory, own, &inherited, &run.plan.selectors);
                expected.push((pipeline.name.clone(), group, selector));
            }
        }
        let mut count = 0;
        for (pipeline, group, selector) in expected {
            let all = self.lane.footprint.placements.iter();
            let placed: Vec<_> =
                all.filter(|p| p.pipeline == pipeline && p.directory == group.directory).collect();
            count += placed.len();
            let matching: Vec<_> = self.destinations.all.values().filter(|d| d.matches(&selector)).collect();
            match self.workflow {
                WorkflowType::Resource => assert_eq!(placed.len(), 1, "{pipeline}/{}", group.directory),
                WorkflowType::Promise => {
                    let missing = matching.iter().find(|d| !placed.iter().any(|p| p.destination == d.name));
                    assert_eq!(missing, None, "{pipeline}/{} goes to all that match", group.directory);
                }
            }
            for placement in placed {
                let destination = &self.destinations.all[&placement.destination];
                let location = destination.location.as_ref().expect("all are located");
                assert_eq!(placement.misplaced, !destination.matches(&selector));
                assert_eq!(placement.confirmed.as_ref(), Some(&group.digest));
                assert_eq!(
                    (&placement.store, &placement.place.repository),
                    (&location.store, &location.repository)
                );
                let start = join_path(&[
                    &location.path,
                    match self.workflow {
                        WorkflowType::Resource => "resources/default/redis/cache",
                        WorkflowType::Promise => "dependencies/redis",
                    },
                    &pipeline,
                ]);
                assert!(placement.place.prefix.starts_with(&start), "{} is not in {start}", placement.place);
            }
        }
        assert_eq!(count, self.lane.footprint.placements.len(), "nothing else is placed");
    }
}
