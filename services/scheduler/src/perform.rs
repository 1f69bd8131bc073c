//! Doing what is pending. Every action is idempotent by what it names, so it may be done again at any time.

use std::time::Duration;

use domain::control::ControlLabel;
use domain::digest::Digest;
use domain::footprint::StoreId;
use domain::id::LaneKey;
use domain::lane::{Action, Input, Lane};
use domain::plan::Plan;
use domain::token::JobId;
use messages::envelope;
use messages::job::JobCommand;
use messages::plan::PlanEntry;
use messages::subject::{self, DEFAULT_POOL};
use messages::trace::TraceParent;
use messages::write::{WriteCommand, WriteTarget};
use resources::keys::WORKFLOWS_FINALIZER;
use runtime::bus::Published;
use runtime::objects;

use crate::{Error, Scheduler};

/// A finished job's message leaves its slot within milliseconds; later the trigger is better delivered again.
const SLOT_WAITS: [u64; 4] = [2, 5, 10, 50];

impl Scheduler {
    /// Performs what the record asks for, and what that leads to.
    pub(crate) async fn perform(&self, lane: Lane, trace: Option<TraceParent>) -> Result<(), Error> {
        let lane = self.look_again(lane, trace).await?;
        let mut reported = None;
        for action in lane.pending() {
            tracing::debug!(lane = %lane.key, ?action, "performing");
            match action {
                Action::StartJob { job, plan, contributed } => {
                    self.start_job(&lane.key, job, plan, contributed, trace).await?;
                }
                Action::CancelJob { job } => self.cancel_job(&lane.key, &job, trace).await?,
                Action::Write { store, serial } => self.order_write(&lane, store, serial, trace).await?,
                Action::ArmTimer { timer, at } => self.arm_timer(&lane.key, timer, at, trace).await?,
                Action::ReportStatus => reported = self.report(&lane.key, trace).await?,
                Action::ClearControl { label } => self.clear_control(&lane, label, trace).await?,
                Action::WakeDependents => self.wake_dependents(&lane, trace).await?,
                Action::RestartDependents => self.restart_dependents(&lane, trace).await?,
                Action::DeleteDependents => self.delete_dependents(&lane, trace).await?,
                Action::InstallApi { plan } => self.install_api(&lane.key, &plan).await?,
                Action::RemoveApi => self.remove_api(&lane).await?,
                Action::Release => return self.release(&lane, trace).await,
            }
        }
        // While more is to come, the next transition reports again; only what rests is worth recording.
        if let Some((sequence, resource_version)) = reported
            && lane.is_resting()
        {
            self.transact(&lane.key, trace, vec![Input::Performed { sequence, resource_version }]).await?;
        }
        Ok(())
    }

    async fn start_job(
        &self,
        lane: &LaneKey,
        job: JobId,
        plan: Digest,
        contributed: Option<Digest>,
        trace: Option<TraceParent>,
    ) -> Result<(), Error> {
        let (subject, id) = (subject::job(DEFAULT_POOL, lane), subject::job_message_id(&job));
        let command = JobCommand { lane: lane.clone(), job, plan, contributed };
        let encoded = self.platform.bus.encode(&subject, &command, trace)?;
        for wait in [0].into_iter().chain(SLOT_WAITS) {
            tokio::time::sleep(Duration::from_millis(wait)).await;
            match self.platform.bus.publish(&subject, &encoded, Some(&id), None).await? {
                Published::Stored(_) | Published::Duplicate => return Ok(()),
                Published::Busy | Published::Wrong | Published::Unknown => {}
            }
        }
        // A job of hours outlives the server's memory of ids; then the slot holds this very job.
        let held = self.jobs.load(&subject).await?;
        let held = held
            .and_then(|held| envelope::decode::<JobCommand>(|name| held.header(name), &held.payload).ok());
        match held {
            Some(held) if held.message.job == command.job => Ok(()),
            Some(_) | None => Err(Error::SlotTaken(lane.clone())),
        }
    }

    /// Best effort: the runner reads the record at each of its progress ticks too.
    async fn cancel_job(&self, lane: &LaneKey, job: &JobId, trace: Option<TraceParent>) -> Result<(), Error> {
        let subject = subject::cancel(DEFAULT_POOL, lane);
        let command =
            JobCommand { lane: lane.clone(), job: job.clone(), plan: Digest::of(b""), contributed: None };
        let encoded = self.platform.bus.encode(&subject, &command, trace)?;
        let headers = runtime::bus::headers_of(&encoded);
        let sent =
            self.platform.bus.client().publish_with_headers(subject, headers, encoded.payload.into()).await;
        if let Err(error) = sent {
            tracing::warn!(%lane, %error, "cancel not sent; the runner will read it in the record");
        }
        Ok(())
    }

    async fn order_write(
        &self,
        lane: &Lane,
        store: StoreId,
        serial: u64,
        trace: Option<TraceParent>,
    ) -> Result<(), Error> {
        let subject = subject::write(&store, &lane.key.0);
        let failure = lane.footprint.stores.get(&store).and_then(|writes| writes.failure.as_ref());
        let attempt = failure.map_or(0, |failure| failure.attempts);
        let id = format!("write/{}/{}/{store}/{serial}/{attempt}", lane.key, lane.incarnation);
        let command = WriteCommand { store, target: WriteTarget::Lane { lane: lane.key.clone(), serial } };
        let encoded = self.platform.bus.encode(&subject, &command, trace)?;
        Ok(self.platform.bus.publish_surely(&subject, &encoded, Some(&id)).await?)
    }

    /// Takes the label off the very version it was acted on. On a newer one it may have been put on again: then the
    /// plan of that version decides.
    async fn clear_control(
        &self,
        lane: &Lane,
        label: ControlLabel,
        trace: Option<TraceParent>,
    ) -> Result<(), Error> {
        let key = &lane.key.0;
        let Some(mut object) = self.platform.objects.get(key).await? else { return Ok(()) };
        let labelled = object.metadata.labels.remove(label.key()).is_some();
        if labelled && objects::version_of(&object) != lane.controls.read {
            return Ok(self.platform.bus.publish_intent(key, trace).await?);
        }
        if labelled {
            object = self.platform.objects.update(key, object).await?;
        }
        let resource_version = objects::version_of(&object);
        self.transact(&lane.key, trace, vec![Input::ControlCleared { label, resource_version }]).await?;
        Ok(self.platform.bus.publish_intent(key, trace).await?)
    }

    async fn release(&self, lane: &Lane, trace: Option<TraceParent>) -> Result<(), Error> {
        let key = &lane.key.0;
        if let Some(mut object) = self.platform.objects.get(key).await?
            && object.metadata.uid.as_deref() == lane.uid().map(|uid| &*uid.0)
        {
            object.metadata.finalizers.retain(|finalizer| finalizer != WORKFLOWS_FINALIZER);
            self.platform.objects.update(key, object).await?;
        }
        let plan = subject::plan(key);
        if let Some(latest) = self.plans.load(&plan).await?.filter(|latest| !latest.is_end()) {
            let entry = envelope::decode::<PlanEntry>(|name| latest.header(name), &latest.payload);
            // A new object of this name may have a plan already: it stays.
            if entry.is_ok_and(|entry| Some(&entry.message.uid) == lane.uid()) {
                self.plans.put_end(&plan, latest.sequence).await?;
            }
        }
        let promise = Self::promise_of(lane);
        self.transact(&lane.key, trace, vec![Input::Released]).await?;
        self.records.forget_history(&lane.key).await?;
        match promise {
            Some(promise) => self.check_dependents(&promise, trace).await,
            None => Ok(()),
        }
    }

    /// The plan that a lane's record names.
    pub(crate) async fn plan(&self, digest: &Digest) -> Result<Plan, Error> {
        Ok(self.platform.artifacts.get_json(digest).await?)
    }
}
