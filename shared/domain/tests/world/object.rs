//! The object whose lane it is: its spec, its labels, its life; and the inflater that makes its plans.

use std::collections::BTreeSet;

use domain::control::{ControlLabel, Controls};
use domain::digest::Digest;
use domain::id::{ResourceVersion, Source, Uid};
use domain::lane::{Input, PlanArrival};
use domain::output::Selector;
use domain::plan::{Gate, PlanRef, WorkflowAction};
use domain::problem::Problem;

use super::{Message, World};
use crate::story::{labels, lane_key};

type Spec = (&'static [&'static str], &'static [&'static str], &'static [(&'static str, &'static str)]);

/// Configure pipelines, delete pipelines, and the Promise's selector, by spec.
const SPECS: [Spec; 6] = [
    (&["one"], &["gone"], &[]),
    (&["one", "two"], &["gone"], &[]),
    (&["one", "three"], &["gone", "more"], &[]),
    (&[], &[], &[]),
    (&["one", "two", "three"], &["gone"], &[("env", "dev")]),
    (&["two", "one"], &[], &[("env", "prod")]),
];

#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) uid: Uid,
    pub(crate) version: u64,
    pub(crate) spec: usize,
    pub(crate) deleting: bool,
    pub(crate) gated: bool,
    pub(crate) unsupported: bool,
    pub(crate) labels: BTreeSet<ControlLabel>,
    /// The last reported status.
    status: String,
}

impl World {
    /// Creates the object, or another one where its predecessor went without a word.
    pub(crate) fn create(&mut self, spec: usize, gated: bool) {
        self.lives += 1;
        self.version += 1;
        self.object = Some(Object {
            uid: Uid(format!("uid-{}", self.lives)),
            version: self.version,
            spec: spec % SPECS.len(),
            deleting: false,
            gated,
            unsupported: false,
            labels: BTreeSet::new(),
            status: String::new(),
        });
        self.tell();
    }

    /// Somebody changes the object. The inflater answers with a plan.
    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut Object)) {
        if let Some(object) = self.object.as_mut() {
            self.version += 1;
            object.version = self.version;
            change(object);
            self.tell();
        }
    }

    fn tell(&mut self) {
        if let Some(arrival) = self.arrival() {
            self.bus.push(Message::Plan(arrival));
            self.bus.push(Message::Gates);
        }
    }

    /// The newest plan of the object, as PLAN has it.
    pub(crate) fn arrival(&self) -> Option<PlanArrival> {
        let object = self.object.as_ref()?;
        let resource_version = ResourceVersion(object.version);
        let source = Source { key: self.lane.key.0.clone(), uid: object.uid.clone(), resource_version };
        let problem = object.unsupported.then(|| Problem::unsupported("spec.later", "not acted on"));
        Some(PlanArrival {
            plan: self.plan(object),
            sources: vec![source],
            controls: Controls { labels: object.labels.clone(), resource_version },
            unsupported: problem.into_iter().collect(),
        })
    }

    fn plan(&self, object: &Object) -> PlanRef {
        let (configure, delete, selector) = SPECS[object.spec];
        let (action, pipelines) = if object.deleting {
            (WorkflowAction::Delete, delete)
        } else {
            (WorkflowAction::Configure, configure)
        };
        let promise = lane_key("promises_platform_kratix_io._.required");
        let work_hash = Digest::of_json(&object.spec);
        let gate = Gate::PromiseComplete { promise, work_hash: work_hash.clone() };
        let selector = Selector { match_labels: labels(selector) };
        PlanRef {
            digest: Digest::of_json(&(&object.uid, object.spec, action)),
            uid: object.uid.clone(),
            generation: 1,
            workflow: self.workflow,
            action,
            promise: "redis".into(),
            work_hash,
            pipelines: pipelines.iter().map(|name| (*name).into()).collect(),
            gates: if object.gated && !object.deleting { vec![gate] } else { Vec::new() },
            selectors: if selector.match_labels.is_empty() { Vec::new() } else { vec![selector] },
        }
    }

    /// Writes the status, and puts the suspend label on with it.
    pub(crate) fn report(&mut self) {
        let sequence = self.lane.sequence;
        let uid = self.lane.uid().cloned();
        if let Some(object) = self.object.as_mut().filter(|object| Some(&object.uid) == uid.as_ref()) {
            let status =
                format!("{:?} {:?}", self.lane.run.as_ref().map(|run| &run.state), self.lane.waiting());
            let label = self.lane.is_suspended()
                && !self.lane.controls.labels.contains(&ControlLabel::WorkflowSuspended);
            if object.status != status || label {
                self.edit(|object| {
                    object.status = status;
                    if label {
                        object.labels.insert(ControlLabel::WorkflowSuspended);
                    }
                });
            }
        }
        let resource_version = ResourceVersion(self.version);
        self.persist(Input::Performed { sequence, resource_version });
    }

    /// Takes a label off the version of the object that the lane has seen, or waits for it to see a newer one.
    pub(crate) fn clear(&mut self, label: ControlLabel) {
        let seen = self.lane.controls.read;
        let known = self.object.as_ref().is_some_and(|object| object.version == seen.0);
        if known {
            self.edit(|object| {
                object.labels.remove(&label);
            });
            self.bus.push(Message::Cleared(label, ResourceVersion(self.version)));
        }
    }

    /// Takes our finalizer off: a deleted object goes.
    pub(crate) fn release(&mut self) {
        let uid = self.lane.uid().cloned();
        if self.object.as_ref().is_some_and(|object| object.deleting && Some(&object.uid) == uid.as_ref()) {
            self.object = None;
        }
        if !std::mem::take(&mut self.crash) {
            self.take(Input::Released);
        }
    }
}
