//! A Promise and its requests: waking them, running them again, deleting them; and the Promise's API.

use domain::digest::Digest;
use domain::id::{LaneKey, ObjectKey, ResourceKind};
use domain::lane::{Input, Lane, Life, RunState};
use domain::plan::WorkflowType;
use futures::{StreamExt, TryStreamExt};
use messages::trace::TraceParent;
use resources::Object;
use resources::keys::{CRD_API_VERSION, KRATIX_GROUP, PROMISE_NAME_LABEL};
use runtime::objects;
use serde_json::Value;

use crate::{Error, Scheduler};

/// Lanes that are woken at a time.
const AT_A_TIME: usize = 16;

fn crd_kind() -> ResourceKind {
    ResourceKind::new("customresourcedefinitions", "apiextensions.k8s.io")
}

impl Scheduler {
    /// The Promise that a request's lane belongs to.
    pub(crate) fn promise_of(lane: &Lane) -> Option<LaneKey> {
        let plan = lane.newest_plan().filter(|plan| plan.workflow == WorkflowType::Resource)?;
        Some(LaneKey(ObjectKey::new(ResourceKind::new("promises", KRATIX_GROUP), None, plan.promise.clone())))
    }

    /// The kind of a Promise's requests; none for a Promise without an API.
    async fn requests_of(&self, promise: &Lane) -> Result<Option<ResourceKind>, Error> {
        let Some(plan) = promise.newest_plan() else { return Ok(None) };
        let plan = self.plan(&plan.digest).await?;
        let spec = plan.input.pointer("/spec/api/spec");
        let text = |path: &str| spec.and_then(|spec| spec.pointer(path)).and_then(Value::as_str);
        Ok(text("/names/plural").zip(text("/group")).map(|(plural, group)| ResourceKind::new(plural, group)))
    }

    /// Tells every lane that waits for this Promise how its gates stand now.
    pub(crate) async fn wake_dependents(
        &self,
        promise: &Lane,
        trace: Option<TraceParent>,
    ) -> Result<(), Error> {
        let waits = |lane: &Lane| lane.awaited_gates().iter().any(|gate| *gate.promise() == promise.key);
        let records = self.records.scan(None).await?;
        let waiting = records.into_iter().map(|stored| stored.lane).filter(waits);
        futures::stream::iter(waiting)
            .map(Ok)
            .try_for_each_concurrent(AT_A_TIME, |lane| Box::pin(self.wake(lane, trace)))
            .await
    }

    async fn wake(&self, lane: Lane, trace: Option<TraceParent>) -> Result<(), Error> {
        match self.look_at_gates(&lane).await? {
            Some(input) => {
                let lane = self.transact(&lane.key, trace, vec![input]).await?;
                self.perform(lane, trace).await
            }
            None => Ok(()),
        }
    }

    /// As upstream: every request gets the label that runs it from its start.
    pub(crate) async fn restart_dependents(
        &self,
        promise: &Lane,
        trace: Option<TraceParent>,
    ) -> Result<(), Error> {
        let Some(kind) = self.requests_of(promise).await? else { return Ok(()) };
        let label = domain::control::ControlLabel::RunFromStart.key();
        for (key, mut request) in self.platform.objects.list(Some(&kind)).await? {
            if request.metadata.labels.insert(label.into(), "true".into()).is_none() {
                match self.platform.objects.update(&key, request).await {
                    Ok(_) | Err(objects::Error::NotFound(_)) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            self.platform.bus.publish_intent(&key, trace).await?;
        }
        Ok(())
    }

    /// Asks for the deletion of every request; each cleans up by itself.
    pub(crate) async fn delete_dependents(
        &self,
        promise: &Lane,
        trace: Option<TraceParent>,
    ) -> Result<(), Error> {
        let Some(kind) = self.requests_of(promise).await? else {
            return self.dependents_gone(&promise.key, trace).await;
        };
        for (key, request) in self.platform.objects.list(Some(&kind)).await? {
            if !request.is_terminating() {
                self.platform.objects.delete(&key).await?;
                self.platform.bus.publish_intent(&key, trace).await?;
            }
        }
        self.check_dependents(&promise.key, trace).await
    }

    /// Sends `DependentsGone` once no request has an object, a job or a footprint.
    pub(crate) async fn check_dependents(
        &self,
        key: &LaneKey,
        trace: Option<TraceParent>,
    ) -> Result<(), Error> {
        let promise = self.records.load(key).await?.lane;
        if !promise.run.as_ref().is_some_and(|run| run.state == RunState::Dependents) {
            return Ok(());
        }
        if let Some(kind) = self.requests_of(&promise).await? {
            let objects = !self.platform.objects.list(Some(&kind)).await?.is_empty();
            let lanes = self.records.scan(Some(&kind)).await?;
            if objects || lanes.iter().any(|stored| stored.lane.life == Life::Live) {
                return Ok(());
            }
        }
        self.dependents_gone(key, trace).await
    }

    async fn dependents_gone(&self, key: &LaneKey, trace: Option<TraceParent>) -> Result<(), Error> {
        let lane = self.transact(key, trace, vec![Input::DependentsGone]).await?;
        Box::pin(self.perform(lane, trace)).await
    }

    /// Stores the Promise's CRD as an object, for whoever asks which kinds there are.
    pub(crate) async fn install_api(&self, lane: &LaneKey, plan: &Digest) -> Result<(), Error> {
        let api = self.plan(plan).await?.input.pointer("/spec/api").cloned();
        let Some(mut api) = api.filter(|api| !api.is_null()) else { return Ok(()) };
        if let Some(fields) = api.as_object_mut() {
            fields.insert("apiVersion".into(), CRD_API_VERSION.into());
            fields.insert("kind".into(), "CustomResourceDefinition".into());
        }
        let no_api = |_| Error::NoApi { lane: lane.clone(), plan: plan.clone() };
        let mut crd = Object::from_value(api).map_err(no_api)?;
        crd.metadata.labels.insert(PROMISE_NAME_LABEL.into(), lane.0.name.clone());
        let key = ObjectKey::new(crd_kind(), None, crd.metadata.name.clone());
        match self.platform.objects.get(&key).await? {
            None => match self.platform.objects.create(&key, crd).await {
                Ok(_) | Err(objects::Error::Exists(_)) => Ok(()),
                Err(error) => Err(error.into()),
            },
            Some(current) if current.spec() == crd.spec() => Ok(()),
            Some(mut current) => {
                current.body.extend(crd.body);
                current.metadata.labels.extend(crd.metadata.labels);
                match self.platform.objects.update(&key, current).await {
                    Ok(_) | Err(objects::Error::Conflict(_)) => Ok(()), // another replica installs the same
                    Err(error) => Err(error.into()),
                }
            }
        }
    }

    pub(crate) async fn remove_api(&self, promise: &Lane) -> Result<(), Error> {
        if let Some(kind) = self.requests_of(promise).await? {
            let name = format!("{}.{}", kind.plural, kind.group);
            self.platform.objects.delete(&ObjectKey::new(crd_kind(), None, name)).await?;
        }
        Ok(())
    }
}
