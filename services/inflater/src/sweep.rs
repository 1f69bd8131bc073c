//! The sweep: objects whose newest spec is not in PLAN, because an intent was lost.

use std::collections::HashMap;
use std::time::Duration;

use domain::id::ObjectKey;
use domain::plan::Gate;
use inflation::{Role, World, controls};
use messages::envelope;
use messages::plan::PlanEntry;
use messages::subject;
use resources::Object;
use runtime::telemetry::chain;

use crate::intents::promise_kind;
use crate::{Error, Inflater};

/// Pause between sweeps.
pub(crate) const EVERY: Duration = Duration::from_secs(45);

impl Inflater {
    pub(crate) async fn sweep(&self) -> Result<(), Error> {
        let mut entries = HashMap::new();
        for latest in self.plans.scan(subject::ALL_PLANS).await?.iter().filter(|latest| !latest.is_end()) {
            match envelope::decode::<PlanEntry>(|name| latest.header(name), &latest.payload) {
                Ok(received) => drop(entries.insert(received.message.lane.0.clone(), received.message)),
                Err(error) => {
                    tracing::error!(subject = latest.subject, error = chain(&error), "plan left out");
                }
            }
        }
        let world = self.worlds.fresh().await?;
        for promise in &world.promises {
            self.compare(&promise.lane().0, &promise.object, None, &entries).await;
        }
        for promise in &world.promises {
            let Some(api) = &promise.api else { continue };
            let kind = Role::Request(promise, api).kind();
            for (key, object) in self.platform.objects.list(Some(&kind)).await? {
                self.compare(&key, &object, Some(&world), &entries).await;
            }
        }
        Ok(())
    }

    async fn compare(
        &self,
        key: &ObjectKey,
        object: &Object,
        world: Option<&World>,
        entries: &HashMap<ObjectKey, PlanEntry>,
    ) {
        let current = entries.get(key).is_some_and(|entry| {
            is_current(entry, object)
                && (key.kind == promise_kind() || follows_promise(entry, world, entries))
        });
        if current {
            return;
        }
        if let Err(error) = self.replan(key, None).await {
            tracing::warn!(%key, error = chain(&error), "left for the next sweep");
        }
    }
}

/// Whether the entry was made from this spec and these labels; a status written since does not matter.
fn is_current(entry: &PlanEntry, object: &Object) -> bool {
    Some(&*entry.uid.0) == object.metadata.uid.as_deref()
        && Some(entry.generation) == object.metadata.generation
        && entry.deletion == object.is_terminating()
        && entry.controls.labels == controls::controls(object).labels
}

/// Whether a request's plan waits for its Promise's newest plan.
fn follows_promise(
    entry: &PlanEntry,
    world: Option<&World>,
    entries: &HashMap<ObjectKey, PlanEntry>,
) -> bool {
    let gates = entry.plan.iter().flat_map(|plan| &plan.gates);
    gates.into_iter().all(|gate| match gate {
        Gate::PromiseComplete { promise, work_hash } => {
            let known = world.is_none_or(|world| world.promise(&promise.0.name).is_some());
            let newest = entries.get(&promise.0).and_then(|entry| entry.plan.as_ref());
            known && newest.is_none_or(|plan| plan.work_hash == *work_hash)
        }
        Gate::PromiseInstalled { .. } => true,
    })
}
