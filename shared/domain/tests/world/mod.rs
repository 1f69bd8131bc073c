//! A small model of everything around one lane: an object, a bus that loses, repeats and reorders, runners that die
//! or answer late, stores with pushes under way, Destinations that change, and a scheduler that crashes between its
//! compare-and-set and its actions. Every record that the lane takes is checked.

pub(crate) mod destinations;
pub(crate) mod object;
pub(crate) mod rest;
pub(crate) mod runners;
pub(crate) mod stores;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::control::ControlLabel;
use domain::digest::Digest;
use domain::footprint::{Place, StoreId};
use domain::id::ResourceVersion;
use domain::invariant::{Violation, check_step, check_stores};
use domain::lane::{
    Action, GateState, Input, JobOutcome, Lane, Outcome, PlanArrival, RunState, Timer, WriteResult,
};
use domain::output::OutputGroup;
use domain::placement::Destinations;
use domain::plan::{Labels, WorkflowType};
use domain::time::Timestamp;
use domain::token::{JobId, Token};

use self::object::Object;
use self::stores::Branch;
use crate::story::lane_key;

/// What is under way on the bus. Anything may be lost, doubled, or overtaken.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    Plan(PlanArrival),
    /// Gates have to be looked at again.
    Gates,
    Job(JobId),
    Cancel(JobId),
    Write(StoreId),
    Result(JobId, JobOutcome),
    Answer(StoreId, u64, WriteResult),
    Cleared(ControlLabel, ResourceVersion),
    DependentsGone,
    Destinations(Destinations),
}

pub(crate) struct World {
    /// The newest record.
    pub(crate) lane: Lane,
    pub(crate) workflow: WorkflowType,
    pub(crate) object: Option<Object>,
    /// How many objects there have been.
    pub(crate) lives: u32,
    /// Versions of all objects together.
    pub(crate) version: u64,
    pub(crate) now: Timestamp,
    pub(crate) bus: Vec<Message>,
    pub(crate) timers: Vec<(Timer, Timestamp)>,
    /// Jobs that are being executed somewhere, some of them by two runners.
    pub(crate) runners: Vec<JobId>,
    pub(crate) branches: BTreeMap<StoreId, Branch>,
    pub(crate) destinations: Destinations,
    /// How a replica sees them that has not heard of the last change yet: results are taken with this view.
    pub(crate) lagging: Option<Destinations>,
    pub(crate) gates_open: bool,
    /// Requests of this Promise exist.
    pub(crate) dependents: bool,
    /// The scheduler dies after the next compare-and-set.
    pub(crate) crash: bool,
    /// Results that were applied.
    pub(crate) applied: BTreeMap<String, JobOutcome>,
    /// What the pipelines of the current run left, by index.
    pub(crate) produced: BTreeMap<u32, Vec<OutputGroup>>,
    /// Highest token of which a result was applied.
    highest: Option<Token>,
    /// Places that the lane has given up with what stood there.
    pub(crate) abandoned: BTreeSet<Place>,
}

impl World {
    pub(crate) fn new(workflow: WorkflowType) -> Self {
        let key = match workflow {
            WorkflowType::Promise => "promises_platform_kratix_io._.redis",
            WorkflowType::Resource => "redises_marketplace_kratix_io.default.cache",
        };
        Self {
            lane: Lane::new(lane_key(key), 7),
            workflow,
            object: None,
            lives: 0,
            version: 10,
            now: Timestamp(1_000_000),
            bus: Vec::new(),
            timers: Vec::new(),
            runners: Vec::new(),
            branches: stores::branches(),
            destinations: destinations::initial(),
            lagging: None,
            gates_open: true,
            dependents: workflow == WorkflowType::Promise,
            crash: false,
            applied: BTreeMap::new(),
            produced: BTreeMap::new(),
            highest: None,
            abandoned: BTreeSet::new(),
        }
    }

    /// Something reaches its receiver.
    pub(crate) fn receive(&mut self, message: Message) {
        match message {
            Message::Plan(arrival) => drop(self.take(Input::PlanArrived(arrival))),
            Message::Gates => self.look_at_gates(),
            Message::Job(job) => self.run_job(job),
            Message::Cancel(job) => self.cancel_job(&job),
            Message::Write(store) => self.write(&store),
            Message::Result(job, outcome) => self.result(&job, outcome),
            Message::Answer(store, serial, result) => {
                self.take(Input::WriteAnswered { store, serial, result });
            }
            Message::Cleared(label, resource_version) => {
                self.take(Input::ControlCleared { label, resource_version });
            }
            Message::DependentsGone => drop(self.take(Input::DependentsGone)),
            Message::Destinations(destinations) => drop(self.take(Input::DestinationsChanged(destinations))),
        }
    }

    /// The scheduler takes one input: compare-and-set, then actions, unless it dies in between.
    pub(crate) fn take(&mut self, input: Input) -> Outcome {
        let outcome = self.persist(input);
        if !std::mem::take(&mut self.crash) && outcome != Outcome::Stale {
            self.act();
        }
        outcome
    }

    /// The compare-and-set.
    pub(crate) fn persist(&mut self, input: Input) -> Outcome {
        let before = self.lane.clone();
        let confirms = matches!(input, Input::WriteAnswered { .. });
        let renumbers = matches!(input, Input::JobFinished { outcome: JobOutcome::Refused { .. }, .. });
        let (after, outcome) = before.clone().step(input, self.now);
        if outcome != Outcome::Applied {
            assert_eq!(before, after, "{outcome:?} changes nothing");
            return outcome;
        }
        assert_eq!(check_step(&before, &after), Vec::<Violation>::new());
        assert_may_start(&before, &after);
        self.follow_places(&before, &after, confirms);
        let run = |lane: &Lane| lane.highest_token().map(|token| token.run);
        if run(&before) < run(&after) && !renumbers {
            self.produced.clear();
        }
        self.lane = after;
        assert_eq!(check_stores(&self.lane, &self.held()), Vec::<Violation>::new());
        self.assert_stored();
        outcome
    }

    /// A record is what it is after it was stored.
    fn assert_stored(&self) {
        let stored = serde_json::to_string(&self.lane).expect("a record is JSON");
        let loaded: Lane = serde_json::from_str(&stored).expect("a stored record is one");
        assert_eq!(loaded, self.lane);
    }

    /// What leaves the footprint without a store's word is given up.
    fn follow_places(&mut self, before: &Lane, after: &Lane, confirms: bool) {
        for placement in &after.footprint.placements {
            self.abandoned.remove(&placement.place);
        }
        for old in &before.footprint.placements {
            let kept = after.footprint.placements.iter().any(|new| new.place == old.place);
            let pruned = confirms && old.wanted.is_none();
            if !kept && !pruned {
                self.abandoned.insert(old.place.clone());
            }
        }
    }

    pub(crate) fn result(&mut self, job: &JobId, outcome: JobOutcome) {
        let destinations = self.lagging.as_ref().unwrap_or(&self.destinations).clone();
        let input = Input::JobFinished { job: job.clone(), outcome: outcome.clone(), destinations };
        let expected = self.lane.job();
        if self.take(input) == Outcome::Applied {
            assert_eq!(expected.as_ref(), Some(job), "INV-1: only the outstanding job's result counts");
            assert!(self.highest < Some(job.token), "INV-2: {} after {:?}", job.token, self.highest);
            self.highest = Some(job.token);
            if let (Some(run), JobOutcome::Succeeded { groups, .. }) = (&self.lane.run, &outcome)
                && run.number == job.token.run
            {
                self.produced.insert(job.token.pipeline, groups.clone());
            }
            let earlier = self.applied.insert(job.to_string(), outcome);
            assert_eq!(earlier, None, "INV-4: two results of {job}");
        }
    }

    /// What the stores hold at places that are not given up.
    pub(crate) fn held(&self) -> BTreeMap<Place, Digest> {
        let files = self.branches.values().flat_map(|branch| &branch.files);
        let own = files.filter(|(place, _)| !self.abandoned.contains(place));
        own.map(|(place, digest)| (place.clone(), digest.clone())).collect()
    }

    pub(crate) fn look_at_gates(&mut self) {
        if self.lane.awaited_gates().is_empty() {
            return;
        }
        let gates = self.lane.awaited_gates().to_vec();
        let closed = (!self.gates_open).then(|| "its Promise is not complete".to_owned());
        self.take(Input::GateChanged { gates, closed, selector: Labels::new() });
    }

    /// Performs what is pending, each as idempotent as a service does it.
    pub(crate) fn act(&mut self) {
        for action in self.lane.pending() {
            match action {
                Action::StartJob { job, .. } => {
                    let queued = self.bus.iter().any(|message| matches!(message, Message::Job(_)));
                    if !queued {
                        self.bus.push(Message::Job(job)); // one per lane, a new one is refused
                    }
                }
                Action::CancelJob { job } => self.bus.push(Message::Cancel(job)),
                Action::Write { store, .. } => {
                    self.bus.retain(|message| !matches!(message, Message::Write(other) if *other == store));
                    self.bus.push(Message::Write(store)); // a newer one replaces an older one
                }
                Action::ArmTimer { timer, at } => {
                    self.timers.retain(|(other, _)| *other != timer);
                    self.timers.push((timer, at));
                }
                Action::ReportStatus => self.report(),
                Action::ClearControl { label } => self.clear(label),
                Action::DeleteDependents => {
                    self.dependents = false;
                    self.bus.push(Message::DependentsGone);
                }
                Action::Release => self.release(),
                Action::WakeDependents
                | Action::RestartDependents
                | Action::InstallApi { .. }
                | Action::RemoveApi => {}
            }
        }
    }

    /// A timer comes early or in time; its message can be lost like any other.
    pub(crate) fn fire(&mut self, index: usize) {
        if !self.timers.is_empty() {
            let (timer, _) = self.timers.remove(index % self.timers.len());
            self.take(Input::TimerFired(timer));
        }
    }

    pub(crate) fn pass(&mut self, seconds: u64) {
        self.now = self.now + Duration::from_secs(seconds);
    }

    /// Everything the sweep compares and performs.
    pub(crate) fn sweep(&mut self) {
        if let Some(arrival) = self.arrival() {
            self.take(Input::PlanArrived(arrival));
        }
        if self.lane.gate != GateState::Open || !self.lane.queue.is_empty() {
            self.look_at_gates();
        }
        if self.lane.destinations.revision != self.destinations.revision {
            self.take(Input::DestinationsChanged(self.destinations.clone()));
        }
        let deletes = self.lane.run.as_ref().is_some_and(|run| run.state == RunState::Dependents);
        if deletes && !self.dependents {
            self.take(Input::DependentsGone);
        }
        self.act();
    }
}

/// Rule 3: what starts is of the newest plan; a pause keeps everything from starting.
fn assert_may_start(before: &Lane, after: &Lane) {
    if after.job().is_some() && after.job() != before.job() {
        assert!(after.queue.is_empty(), "a job of an overtaken plan has started");
        assert!(!after.controls.paused, "a job has started on a paused lane");
        assert!(
            after.unsupported.is_empty() || after.is_deleting(),
            "a job has started on an unsupported plan"
        );
    }
}
