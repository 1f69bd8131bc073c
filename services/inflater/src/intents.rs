//! An object has changed: its newest plan, and the objects whose plans hang on it.

use std::sync::Arc;

use domain::id::{LaneKey, ObjectKey, ResourceKind, Source, Uid};
use domain::plan::{Plan, WorkflowAction};
use domain::problem::{Problem, Severity};
use inflation::{InstalledPromise, Role, World, controls, plan};
use messages::envelope;
use messages::plan::PlanEntry;
use messages::subject;
use messages::trace::TraceParent;
use resources::Object;
use resources::keys::KRATIX_GROUP;
use runtime::bus::Delivery;
use runtime::objects;

use crate::{Error, Inflater};

/// Writers of one plan that keep colliding give the intent back after so many tries.
const ATTEMPTS: u32 = 10;

pub(crate) fn promise_kind() -> ResourceKind {
    ResourceKind::new("promises", KRATIX_GROUP)
}

/// What an entry is made of.
struct Inputs {
    object: Object,
    made_from: MadeFrom,
}

enum MadeFrom {
    /// A Promise, or a request of this Promise.
    Promise(Arc<InstalledPromise>),
    /// A request whose Promise is gone.
    Nothing,
    /// An object that has no plan: what of it is not acted on is all that there is to say.
    Data,
}

impl MadeFrom {
    fn promise(&self) -> Option<&Arc<InstalledPromise>> {
        match self {
            Self::Promise(promise) => Some(promise),
            Self::Nothing | Self::Data => None,
        }
    }
}

impl Inflater {
    pub(crate) async fn on_intent(&self, delivery: &Delivery) -> Result<(), Error> {
        let key = delivery.key().ok_or_else(|| Error::Subject(delivery.subject.clone()))?;
        self.replan(&key, delivery.trace()).await
    }

    /// Makes PLAN hold what the object's newest version asks for.
    pub(crate) async fn replan(&self, key: &ObjectKey, trace: Option<TraceParent>) -> Result<(), Error> {
        for _ in 0..ATTEMPTS {
            let subject = subject::plan(key);
            let Some(inputs) = self.read(key).await? else { return self.forget_data(key, &subject).await };
            let (entry, plan) = entry(key, &inputs, &self.worlds.now());
            let latest = self.plans.load(&subject).await?;
            let before = latest.as_ref().filter(|latest| !latest.is_end()).and_then(|latest| {
                envelope::decode::<PlanEntry>(|name| latest.header(name), &latest.payload).ok()
            });
            let before = before.map(|received| received.message);
            let silent = matches!(inputs.made_from, MadeFrom::Data) && entry.problems.is_empty();
            if silent && before.is_none() {
                return Ok(());
            }
            if before.as_ref().is_some_and(|before| is_newer(before, &entry)) {
                continue; // made by another replica from newer objects: read them too
            }
            if before.as_ref() == Some(&entry) {
                return Ok(());
            }
            if let Some(plan) = plan {
                self.platform.artifacts.put_json(&plan).await?;
            }
            self.tell_dependents(key, before.as_ref(), &entry, trace).await?;
            let encoded = self.platform.bus.encode(&subject, &entry, trace)?;
            let expected = latest.map_or(0, |latest| latest.sequence);
            if self.plans.put(&subject, &encoded, expected).await?.is_some() {
                return Ok(());
            }
        }
        Err(objects::Error::Conflict(key.clone()).into())
    }

    /// The object and its Promise as they are stored; none for what has no plan.
    async fn read(&self, key: &ObjectKey) -> Result<Option<Inputs>, Error> {
        let Some(object) = self.platform.objects.get(key).await? else { return Ok(None) };
        if key.kind == promise_kind() {
            let promise = self.worlds.promise(key, &object);
            return Ok(promise.map(|promise| Inputs { object, made_from: MadeFrom::Promise(promise) }));
        }
        let mut world = self.worlds.now();
        if world.role(&object).is_none() {
            world = self.worlds.fresh().await?;
        }
        let promise = match world.role(&object) {
            None => return Ok(None),
            Some(Role::Known(_)) => return Ok(Some(Inputs { object, made_from: MadeFrom::Data })),
            Some(Role::Request(promise, _)) => promise.lane().0,
        };
        let stored = self.platform.objects.get(&promise).await?;
        let promise = stored.and_then(|stored| self.worlds.promise(&promise, &stored));
        let made_from = promise.map_or(MadeFrom::Nothing, MadeFrom::Promise);
        Ok(Some(Inputs { object, made_from }))
    }

    /// An object without a lane is gone: nobody else ends its entry.
    async fn forget_data(&self, key: &ObjectKey, subject: &str) -> Result<(), Error> {
        let Some(latest) = self.plans.load(subject).await?.filter(|latest| !latest.is_end()) else {
            return Ok(());
        };
        let entry = envelope::decode::<PlanEntry>(|name| latest.header(name), &latest.payload);
        if entry.is_ok_and(|entry| entry.message.plan.is_none() && entry.message.lane.0 == *key) {
            self.plans.put_end(subject, latest.sequence).await?;
        }
        Ok(())
    }

    /// A Promise's new spec is a new plan for each of its requests.
    async fn tell_dependents(
        &self,
        key: &ObjectKey,
        before: Option<&PlanEntry>,
        entry: &PlanEntry,
        trace: Option<TraceParent>,
    ) -> Result<(), Error> {
        let hash = |entry: &PlanEntry| entry.plan.as_ref().map(|plan| plan.work_hash.clone());
        let changed = before.and_then(hash) != hash(entry);
        if key.kind != promise_kind() || !changed || before.is_none() {
            return Ok(());
        }
        let object = self.platform.objects.get(key).await?;
        let promise = object.and_then(|object| self.worlds.promise(key, &object));
        let Some(api) = promise.as_ref().and_then(|promise| promise.api.as_ref()) else { return Ok(()) };
        let kind = ResourceKind::new(&api.spec.names.plural, &api.spec.group);
        for (request, _) in self.platform.objects.list(Some(&kind)).await? {
            self.platform.bus.publish_intent(&request, trace).await?;
        }
        Ok(())
    }
}

fn source(key: &ObjectKey, object: &Object) -> Source {
    let uid = Uid(object.metadata.uid.clone().unwrap_or_default());
    Source { key: key.clone(), uid, resource_version: objects::version_of(object) }
}

/// Whether any source of `old` is newer than the same source of `new`.
fn is_newer(old: &PlanEntry, new: &PlanEntry) -> bool {
    old.sources.iter().any(|old| {
        new.sources.iter().any(|new| new.key == old.key && new.resource_version < old.resource_version)
    })
}

fn entry(key: &ObjectKey, inputs: &Inputs, world: &World) -> (PlanEntry, Option<Plan>) {
    let Inputs { object, made_from } = inputs;
    let promise = made_from.promise();
    let action = if object.is_terminating() { WorkflowAction::Delete } else { WorkflowAction::Configure };
    let plan = promise.map(|promise| {
        if key.kind == promise_kind() {
            plan::inflate_promise(promise, action)
        } else {
            plan::inflate_request(promise, object, action)
        }
    });
    let problems = match (made_from, action) {
        (MadeFrom::Nothing, _) => {
            let gone = Problem::error("no-promise", "", "its Promise is gone");
            vec![gone.help("install the Promise again")]
        }
        // Deletion goes on whatever the object looks like by now.
        (_, WorkflowAction::Delete) => Vec::new(),
        (MadeFrom::Promise(_), WorkflowAction::Configure) => problems(object, world),
        (MadeFrom::Data, WorkflowAction::Configure) => problems(object, world)
            .into_iter()
            .filter(|found| found.severity == Severity::Unsupported)
            .collect(),
    };
    let mut sources = vec![source(key, object)];
    if let Some(promise) = promise.filter(|_| key.kind != promise_kind()) {
        sources.push(source(&promise.lane().0, &promise.object));
    }
    sources.sort_by(|a, b| a.key.cmp(&b.key));
    let entry = PlanEntry {
        lane: LaneKey(key.clone()),
        uid: Uid(object.metadata.uid.clone().unwrap_or_default()),
        generation: object.metadata.generation.unwrap_or_default(),
        deletion: object.is_terminating(),
        controls: controls::controls(object),
        problems,
        plan: plan.as_ref().map(Plan::reference),
        sources,
    };
    (entry, plan)
}

/// What of the stored object this version does not act on, and what else its author should know.
fn problems(object: &Object, world: &World) -> Vec<Problem> {
    match inflation::admit(object.clone(), Some(object), world) {
        Ok(admitted) => admitted.problems,
        Err(problems) => problems,
    }
}
