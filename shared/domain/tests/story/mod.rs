//! Tells what happens to one lane, sentence by sentence, and keeps what its stores hold.
//!
//! The object's plans, the runner, the stores and the clock are played here; the lane is the real one.

#![allow(dead_code, unused_imports, reason = "every test file takes what it needs")]

pub(crate) mod names;
pub(crate) mod show;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::control::{ControlLabel, Controls};
use domain::digest::Digest;
use domain::footprint::{Place, StoreId};
use domain::id::{LaneKey, ResourceVersion, Source, Uid};
use domain::invariant::{Violation, check_step, check_stores};
use domain::lane::{
    Action, ControlRequest, Input, JobOutcome, Lane, Outcome, PlanArrival, Timer, Waiting, WriteResult,
};
use domain::output::{OutputGroup, Selector};
use domain::placement::Destinations;
use domain::plan::{Gate, PlanRef, WorkflowAction, WorkflowType};
use domain::problem::Problem;
use domain::time::Timestamp;
use domain::token::{JobId, Token};

pub(crate) use names::{labels, lane_key, location, store};

/// Where time starts, so that a time in a record is easily told from zero.
const START: i64 = 1_000_000;

#[derive(Clone)]
pub(crate) struct Story {
    pub(crate) lane: Lane,
    pub(crate) destinations: Destinations,
    /// What the stores hold.
    pub(crate) held: BTreeMap<Place, Digest>,
    /// Every job that was ever pending, in order: `run 1: one`.
    pub(crate) started: Vec<String>,
    now: Timestamp,
    workflow: WorkflowType,
    pub(crate) life: u32,
    pub(crate) version: u64,
    pub(crate) labels: BTreeSet<ControlLabel>,
    pub(crate) plan: Option<PlanRef>,
    gates: Vec<Gate>,
    selectors: Vec<Selector>,
    unsupported: Vec<Problem>,
}

impl Story {
    /// A request of the Promise `redis`, with one Destination `dev` (`env=dev`) in store `git`.
    pub(crate) fn request() -> Self {
        Self::of(WorkflowType::Resource, lane_key("redises_marketplace_kratix_io.default.cache"))
    }

    /// The Promise `redis` itself, with the same Destination.
    pub(crate) fn promise() -> Self {
        Self::of(WorkflowType::Promise, lane_key("promises_platform_kratix_io._.redis"))
    }

    fn of(workflow: WorkflowType, key: LaneKey) -> Self {
        let mut story = Self {
            lane: Lane::new(key, 7),
            destinations: Destinations::default(),
            held: BTreeMap::new(),
            started: Vec::new(),
            now: Timestamp(START),
            workflow,
            life: 1,
            version: 10,
            labels: BTreeSet::new(),
            plan: None,
            gates: Vec::new(),
            selectors: Vec::new(),
            unsupported: Vec::new(),
        };
        story.destination("dev", &[("env", "dev")]);
        story
    }

    // What happens to the object.

    /// Its spec is this version, with these pipelines, from now on.
    pub(crate) fn plan(&mut self, spec: u32, pipelines: &[&str]) -> Outcome {
        self.planned(spec, WorkflowAction::Configure, pipelines)
    }

    /// It is being deleted.
    pub(crate) fn delete(&mut self, pipelines: &[&str]) -> Outcome {
        self.delete_of(0, pipelines)
    }

    /// It is being deleted, and its spec is this version.
    pub(crate) fn delete_of(&mut self, spec: u32, pipelines: &[&str]) -> Outcome {
        self.planned(spec, WorkflowAction::Delete, pipelines)
    }

    fn planned(&mut self, spec: u32, action: WorkflowAction, pipelines: &[&str]) -> Outcome {
        self.is_planned(spec, action, pipelines);
        self.arrives()
    }

    /// As [`Story::plan`] and [`Story::delete_of`], but the lane has not heard of it.
    pub(crate) fn is_planned(&mut self, spec: u32, action: WorkflowAction, pipelines: &[&str]) {
        self.version += 1;
        self.plan = Some(self.plan_of(spec, action, pipelines));
    }

    pub(crate) fn plan_of(&self, spec: u32, action: WorkflowAction, pipelines: &[&str]) -> PlanRef {
        let gates = if action == WorkflowAction::Configure { self.gates.clone() } else { Vec::new() };
        let uid = Uid(format!("uid-{}", self.life));
        PlanRef {
            digest: Digest::of_json(&(&uid, spec, action, pipelines, &gates)),
            uid,
            generation: i64::from(spec),
            workflow: self.workflow,
            action,
            promise: "redis".into(),
            work_hash: Digest::of_json(&spec),
            pipelines: pipelines.iter().map(|name| (*name).into()).collect(),
            gates,
            selectors: self.selectors.clone(),
        }
    }

    /// Another object takes its name.
    pub(crate) fn recreated(&mut self, spec: u32, pipelines: &[&str]) -> Outcome {
        self.life += 1;
        self.labels.clear();
        self.plan(spec, pipelines)
    }

    /// Its newest plan is delivered, for the first time or again.
    pub(crate) fn arrives(&mut self) -> Outcome {
        let input = self.arrival();
        self.step(input)
    }

    pub(crate) fn arrival(&self) -> Input {
        let plan = self.plan.clone().expect("a plan was told before");
        let resource_version = ResourceVersion(self.version);
        let source = Source { key: self.lane.key.0.clone(), uid: plan.uid.clone(), resource_version };
        Input::PlanArrived(PlanArrival {
            plan,
            sources: vec![source],
            controls: Controls { labels: self.labels.clone(), resource_version },
            unsupported: self.unsupported.clone(),
        })
    }

    /// Somebody changes what matters to nobody, such as an annotation.
    pub(crate) fn touch(&mut self) -> Outcome {
        self.version += 1;
        self.arrives()
    }

    pub(crate) fn label(&mut self, label: ControlLabel) -> Outcome {
        self.labels.insert(label);
        self.touch()
    }

    pub(crate) fn unlabel(&mut self, label: ControlLabel) -> Outcome {
        self.labels.remove(&label);
        self.touch()
    }

    /// The scheduler takes the label off the object; the answer comes with [`Story::cleared`].
    pub(crate) fn take_off(&mut self, label: ControlLabel) -> ResourceVersion {
        self.labels.remove(&label);
        self.version += 1;
        ResourceVersion(self.version)
    }

    pub(crate) fn cleared(&mut self, label: ControlLabel, resource_version: ResourceVersion) -> Outcome {
        self.step(Input::ControlCleared { label, resource_version })
    }

    /// From the next plan on.
    pub(crate) fn unsupported(&mut self, fields: &[&str]) {
        self.unsupported = fields.iter().map(|field| Problem::unsupported(*field, "not acted on")).collect();
    }

    // What the Promise and its requests do.

    /// From the next plan on, this Promise plan has to be complete first.
    pub(crate) fn needs_promise(&mut self, spec: u32) {
        let promise = lane_key("promises_platform_kratix_io._.redis");
        self.gates = vec![Gate::PromiseComplete { promise, work_hash: Digest::of_json(&spec) }];
    }

    pub(crate) fn gate_opens(&mut self) -> Outcome {
        self.gate_opens_with(&[])
    }

    /// The Promise's workflow wrote this selector for its requests.
    pub(crate) fn gate_opens_with(&mut self, selector: &[(&str, &str)]) -> Outcome {
        let gates = self.lane.awaited_gates().to_vec();
        self.step(Input::GateChanged { gates, closed: None, selector: labels(selector) })
    }

    pub(crate) fn gate_closes(&mut self, reason: &str) -> Outcome {
        let gates = self.lane.awaited_gates().to_vec();
        self.step(Input::GateChanged { gates, closed: Some(reason.into()), selector: labels(&[]) })
    }

    /// From the next plan on: `destinationSelectors` of the Promise.
    pub(crate) fn promise_selects(&mut self, selectors: &[&[(&str, &str)]]) {
        self.selectors = selectors.iter().map(|pairs| Selector { match_labels: labels(pairs) }).collect();
    }

    pub(crate) fn dependents_gone(&mut self) -> Outcome {
        self.step(Input::DependentsGone)
    }

    // How jobs end.

    pub(crate) fn current(&self) -> JobId {
        self.lane.job().expect("a job is outstanding")
    }

    /// The job succeeds and leaves one group of files, the same whenever the spec is.
    pub(crate) fn succeeds(&mut self) -> Outcome {
        let run = self.lane.run.as_ref().expect("a run");
        let group = group(".", &format!("{} of spec {}", self.pipeline(), run.plan.generation));
        self.succeeds_with(&[group])
    }

    /// All jobs of the run succeed one after another.
    pub(crate) fn all_succeed(&mut self) {
        while self.lane.job().is_some() {
            self.succeeds();
        }
    }

    pub(crate) fn succeeds_with(&mut self, groups: &[OutputGroup]) -> Outcome {
        let job = self.current();
        self.ends(job, JobOutcome::Succeeded { groups: groups.to_vec(), contributed: None, log: None })
    }

    pub(crate) fn fails(&mut self) -> Outcome {
        let job = self.current();
        self.ends(job, JobOutcome::Failed { message: "exit code 1".into(), log: None })
    }

    pub(crate) fn cancelled(&mut self) -> Outcome {
        let job = self.current();
        self.ends(job, JobOutcome::Cancelled { log: None })
    }

    pub(crate) fn suspends(&mut self, seconds: Option<u64>) -> Outcome {
        let job = self.current();
        let retry_after = seconds.map(Duration::from_secs);
        let message = "waits for approval".into();
        self.ends(job, JobOutcome::Suspended { message, retry_after, contributed: None, log: None })
    }

    pub(crate) fn refused(&mut self, highest: Token) -> Outcome {
        let job = self.current();
        self.ends(job, JobOutcome::Refused { highest })
    }

    pub(crate) fn ends(&mut self, job: JobId, outcome: JobOutcome) -> Outcome {
        let destinations = self.destinations.clone();
        self.step(Input::JobFinished { job, outcome, destinations })
    }

    /// Name of the pipeline whose job is outstanding.
    pub(crate) fn pipeline(&self) -> String {
        let run = self.lane.run.as_ref().expect("a run");
        let index = run.token().expect("a job is outstanding").pipeline;
        run.pipeline(index).expect("the pipeline exists").name.clone()
    }

    // What stores do.

    /// All stores do what is asked of them until nothing is.
    pub(crate) fn written(&mut self) {
        while let Some((store, serial)) = self.asked().into_iter().next() {
            assert!(self.destinations.stores.contains(&store), "{store} is gone and still asked");
            self.written_in(&store, serial);
        }
    }

    pub(crate) fn written_in(&mut self, store: &StoreId, serial: u64) -> Outcome {
        for placement in self.lane.footprint.placements.iter().filter(|p| p.store == *store) {
            match &placement.wanted {
                Some(digest) => drop(self.held.insert(placement.place.clone(), digest.clone())),
                None => drop(self.held.remove(&placement.place)),
            }
        }
        self.says_written(store, serial)
    }

    /// The answer alone, late or wrong.
    pub(crate) fn says_written(&mut self, store: &StoreId, serial: u64) -> Outcome {
        let result = WriteResult::Written { revision: Some(format!("commit-{serial}")) };
        self.step(Input::WriteAnswered { store: store.clone(), serial, result })
    }

    pub(crate) fn write_fails(&mut self) -> Outcome {
        let (store, serial) = self.asked().into_iter().next().expect("a write is asked");
        let result = WriteResult::Failed { message: "connection refused".into() };
        self.step(Input::WriteAnswered { store, serial, result })
    }

    /// Writes that are pending: store and serial.
    pub(crate) fn asked(&self) -> Vec<(StoreId, u64)> {
        let writes = self.lane.pending().into_iter().filter_map(|action| match action {
            Action::Write { store, serial } => Some((store, serial)),
            _ => None,
        });
        writes.collect()
    }

    // What Destinations, people and time do.

    /// Adds or changes a Destination in store `git`. The lane hears of it with [`Story::announce`], or by a result.
    pub(crate) fn destination(&mut self, name: &str, pairs: &[(&str, &str)]) {
        let place = location("git", name);
        names::destination(&mut self.destinations, name, pairs, place);
    }

    pub(crate) fn change(&mut self, name: &str, change: impl FnOnce(&mut domain::placement::Destination)) {
        self.destinations.revision += 1;
        change(self.destinations.all.get_mut(name).expect("the Destination exists"));
    }

    pub(crate) fn destination_gone(&mut self, name: &str) {
        self.destinations.revision += 1;
        self.destinations.all.remove(name);
    }

    pub(crate) fn announce(&mut self) -> Outcome {
        let destinations = self.destinations.clone();
        self.step(Input::DestinationsChanged(destinations))
    }

    pub(crate) fn asks(&mut self, request: ControlRequest) -> Outcome {
        self.step(Input::Control(request))
    }

    pub(crate) fn passes(&mut self, seconds: u64) {
        self.now = self.now + Duration::from_secs(seconds);
    }

    /// Fires all timers that are due.
    pub(crate) fn timers_fire(&mut self) -> Vec<Outcome> {
        let due = self.lane.pending().into_iter().filter_map(|action| match action {
            Action::ArmTimer { timer, at } if at <= self.now => Some(timer),
            _ => None,
        });
        let due: Vec<Timer> = due.collect();
        due.into_iter().map(|timer| self.step(Input::TimerFired(timer))).collect()
    }

    /// The status was written, dependents woken, the API installed.
    pub(crate) fn reported(&mut self) -> Outcome {
        let sequence = self.lane.sequence;
        self.step(Input::Performed { sequence, resource_version: ResourceVersion(self.version) })
    }

    pub(crate) fn released(&mut self) -> Outcome {
        self.step(Input::Released)
    }

    // How the lane stands.

    /// Takes one input and checks every invariant that a record can show.
    pub(crate) fn step(&mut self, input: Input) -> Outcome {
        let before = self.lane.clone();
        let (after, outcome) = before.clone().step(input, self.now);
        if outcome == Outcome::Applied {
            assert_eq!(check_step(&before, &after), Vec::<Violation>::new());
        } else {
            assert_eq!(before, after, "{outcome:?} changes nothing");
        }
        self.lane = after;
        self.note_job();
        outcome
    }

    fn note_job(&mut self) {
        for action in self.lane.pending() {
            if let Action::StartJob { job, .. } = action {
                let line = format!("run {}: {}", job.token.run, self.pipeline());
                let known = self.started.last().is_some_and(|last| *last == line);
                if !known {
                    self.started.push(line);
                }
            }
        }
    }

    /// `running 1/0/1`, `complete 2`: see [`show::state`].
    pub(crate) fn state(&self) -> String {
        show::state(&self.lane)
    }

    pub(crate) fn waiting(&self) -> Option<String> {
        self.lane.waiting().as_ref().map(ToString::to_string)
    }

    pub(crate) fn waits_for(&self) -> Waiting {
        self.lane.waiting().expect("it waits for something")
    }

    pub(crate) fn pending(&self) -> Vec<String> {
        self.lane.pending().iter().map(show::action).collect()
    }

    /// What the stores hold, shortly: `one@dev`, `one/dir@dev`.
    pub(crate) fn files(&self) -> Vec<String> {
        self.held.keys().map(|place| names::short(&place.prefix)).collect()
    }

    /// Complete, confirmed, and the stores hold its footprint and nothing else.
    pub(crate) fn assert_settled(&self) {
        assert!(self.lane.is_settled(), "{}: {:?}", self.state(), self.lane.waiting());
        assert_eq!(check_stores(&self.lane, &self.held), Vec::<Violation>::new());
    }
}

/// A group of files of one content, without a selector of its own.
pub(crate) fn group(directory: &str, content: &str) -> OutputGroup {
    let digest = Digest::of(content.as_bytes());
    OutputGroup { directory: directory.into(), own_selector: None, digest, files: 1 }
}

/// A group with an entry in `destination-selectors.yaml`.
pub(crate) fn group_for(directory: &str, content: &str, selector: &[(&str, &str)]) -> OutputGroup {
    OutputGroup { own_selector: Some(labels(selector)), ..group(directory, content) }
}
