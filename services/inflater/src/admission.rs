//! Admission: check and write in one request. The only way by which specs are written.

use async_nats::Message;
use domain::id::ObjectKey;
use domain::problem::Problem;
use futures::StreamExt;
use inflation::{World, apply};
use messages::admit::{AdmitAnswer, AdmitRequest, Change, Origin};
use messages::envelope;
use messages::subject::{ADMIT_APPLY, ADMIT_DELETE, ADMIT_GROUP};
use messages::trace::TraceParent;
use resources::Object;
use resources::keys::{
    KRATIX_GROUP, LAST_APPLIED_ANNOTATION, ORIGIN_DIGEST_ANNOTATION, ORIGIN_DIRECTORY_ANNOTATION,
    ORIGIN_FILE_ANNOTATION,
};
use runtime::objects;
use runtime::shutdown::Shutdown;
use runtime::telemetry::chain;
use serde_json::Value;

use crate::{Error, Inflater};

/// Writes that race with status writes before the request is given back.
const ATTEMPTS: u32 = 10;
const AT_A_TIME: usize = 16;

impl Inflater {
    /// Answers until the shutdown. Replicas share the requests.
    pub(crate) async fn serve_admission(&self, mut shutdown: Shutdown) -> Result<(), Error> {
        let client = self.platform.bus.client();
        let listen = async |subject: &'static str| {
            let subscriber = client.queue_subscribe(subject, ADMIT_GROUP.into()).await;
            subscriber.map_err(|source| Error::Listen { subject, source })
        };
        let requests = futures::stream::select(listen(ADMIT_APPLY).await?, listen(ADMIT_DELETE).await?);
        let stopped = async move { shutdown.requested().await };
        requests.take_until(stopped).for_each_concurrent(AT_A_TIME, |request| self.answer(request)).await;
        Ok(())
    }

    async fn answer(&self, request: Message) {
        let Some(reply) = request.reply.clone() else { return };
        let header = |name: &str| request.headers.as_ref()?.get(name).map(|value| value.as_str().to_owned());
        let answer = match envelope::decode::<AdmitRequest>(header, &request.payload) {
            Ok(received) => self.admit(received.message, received.trace).await,
            Err(source) => Err(Error::Message { subject: request.subject.to_string(), source }),
        };
        let answer = answer.unwrap_or_else(|error| AdmitAnswer::Refused {
            problems: vec![Problem::error("unavailable", "", chain(&error)).help("try again in a moment")],
        });
        let Ok(encoded) = envelope::encode(&answer, None) else { return };
        let headers = runtime::bus::headers_of(&encoded);
        let client = self.platform.bus.client();
        if let Err(error) = client.publish_with_headers(reply, headers, encoded.payload.into()).await {
            tracing::warn!(%error, "an answer was not sent; who asked will ask again");
        }
    }

    async fn admit(&self, request: AdmitRequest, trace: Option<TraceParent>) -> Result<AdmitAnswer, Error> {
        if let AdmitRequest::Label { object, .. } | AdmitRequest::Delete { object, .. } = &request
            && !object.is_well_formed()
        {
            return Ok(not_there(object));
        }
        match request {
            AdmitRequest::Apply { object, origin } => self.apply(object, origin.as_ref(), trace).await,
            AdmitRequest::Label { object, labels } => self.label(&object, &labels, trace).await,
            AdmitRequest::Delete { object, origin } => self.delete(&object, origin.as_ref(), trace).await,
        }
    }

    async fn apply(
        &self,
        manifest: Value,
        origin: Option<&Origin>,
        trace: Option<TraceParent>,
    ) -> Result<AdmitAnswer, Error> {
        let manifest = match Object::from_value(manifest) {
            Ok(manifest) => manifest,
            Err(error) => {
                let problems = vec![Problem::error("not-an-object", "", chain(&error))];
                return Ok(AdmitAnswer::Refused { problems });
            }
        };
        let mut world = self.worlds.now();
        let unique = manifest.group() == KRATIX_GROUP;
        // APIs and paths have one owner: two who ask for one at once are checked one after the other.
        let _alone = if unique { Some(self.unique.lock().await) } else { None };
        if unique || world.role(&manifest).is_none() {
            world = self.worlds.fresh().await?;
        }
        for _ in 0..ATTEMPTS {
            match self.try_apply(&manifest, origin, &world, trace).await {
                Err(Error::Objects(objects::Error::Conflict(_) | objects::Error::Exists(_))) => {}
                other => return other,
            }
        }
        let text = "it is changed by others again and again";
        Ok(AdmitAnswer::Refused { problems: vec![Problem::error("contended", "", text)] })
    }

    async fn try_apply(
        &self,
        manifest: &Object,
        origin: Option<&Origin>,
        world: &World,
        trace: Option<TraceParent>,
    ) -> Result<AdmitAnswer, Error> {
        // A name that is none must not become a key; it is refused with everything else that is wrong.
        let key = world.role(manifest).map(|role| role.key(manifest)).filter(ObjectKey::is_well_formed);
        let current = match &key {
            Some(key) => self.platform.objects.get(key).await?,
            None => None,
        };
        let candidate = merged(current.as_ref(), manifest, origin);
        let admitted = match inflation::admit(candidate, current.as_ref(), world) {
            Ok(admitted) => admitted,
            Err(problems) => return Ok(AdmitAnswer::Refused { problems }),
        };
        let Some(key) = key else {
            let text = "its kind has no place among the objects";
            return Ok(AdmitAnswer::Refused { problems: vec![Problem::error("unknown-kind", "kind", text)] });
        };
        if !admitted.stored {
            return Ok(AdmitAnswer::Done {
                change: Change::Unchanged,
                object: key,
                problems: admitted.problems,
            });
        }
        let (stored, change) = match &current {
            None => (self.platform.objects.create(&key, admitted.object).await?, Change::Created),
            Some(current) => {
                let stored =
                    self.platform.objects.update(&key, at_version_of(current, admitted.object)).await?;
                let same = stored.metadata.resource_version == current.metadata.resource_version;
                (stored, if same { Change::Unchanged } else { Change::Configured })
            }
        };
        if change != Change::Unchanged {
            self.platform.bus.publish_intent(&key, trace).await?;
            self.worlds.reached(&key, objects::version_of(&stored)).await;
        }
        tracing::info!(%key, ?change, "admitted");
        Ok(AdmitAnswer::Done { change, object: key, problems: admitted.problems })
    }

    async fn label(
        &self,
        key: &ObjectKey,
        labels: &std::collections::BTreeMap<String, Option<String>>,
        trace: Option<TraceParent>,
    ) -> Result<AdmitAnswer, Error> {
        for _ in 0..ATTEMPTS {
            let Some(current) = self.platform.objects.get(key).await? else { return Ok(not_there(key)) };
            let mut candidate = current.clone();
            for (label, value) in labels {
                match value {
                    Some(value) => candidate.metadata.labels.insert(label.clone(), value.clone()),
                    None => candidate.metadata.labels.remove(label),
                };
            }
            let world = self.worlds.now();
            let admitted = match inflation::admit(candidate, Some(&current), &world) {
                Ok(admitted) => admitted,
                Err(problems) => return Ok(AdmitAnswer::Refused { problems }),
            };
            match self.platform.objects.update(key, at_version_of(&current, admitted.object)).await {
                Ok(stored) => {
                    let same = stored.metadata.resource_version == current.metadata.resource_version;
                    if !same {
                        self.platform.bus.publish_intent(key, trace).await?;
                    }
                    let change = if same { Change::Unchanged } else { Change::Configured };
                    return Ok(AdmitAnswer::Done { change, object: key.clone(), problems: Vec::new() });
                }
                Err(objects::Error::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(AdmitAnswer::Refused {
            problems: vec![Problem::error("contended", "", "it is changed by others again and again")],
        })
    }

    async fn delete(
        &self,
        key: &ObjectKey,
        origin: Option<&Origin>,
        trace: Option<TraceParent>,
    ) -> Result<AdmitAnswer, Error> {
        let Some(current) = self.platform.objects.get(key).await? else { return Ok(not_there(key)) };
        if let Some(origin) = origin {
            let from = current.annotation(ORIGIN_DIRECTORY_ANNOTATION);
            if from != Some(&origin.directory) {
                return Ok(AdmitAnswer::Done {
                    change: Change::Unchanged,
                    object: key.clone(),
                    problems: Vec::new(),
                });
            }
        }
        self.platform.objects.delete(key).await?;
        self.platform.bus.publish_intent(key, trace).await?;
        tracing::info!(%key, "deletion asked for");
        Ok(AdmitAnswer::Done { change: Change::Deleted, object: key.clone(), problems: Vec::new() })
    }
}

/// What was admitted, to be written only over the object that it was checked against.
fn at_version_of(current: &Object, mut admitted: Object) -> Object {
    admitted.metadata.resource_version.clone_from(&current.metadata.resource_version);
    admitted
}

fn not_there(key: &ObjectKey) -> AdmitAnswer {
    let text = format!("{} {} is not there", key.kind, key.readable());
    AdmitAnswer::Refused { problems: vec![Problem::error("not-found", "", text)] }
}

/// The manifest over what is there, with the annotations by which the next merge knows this one.
fn merged(current: Option<&Object>, manifest: &Object, origin: Option<&Origin>) -> Object {
    let mut candidate = match current {
        None => manifest.clone(),
        Some(live) => {
            let last =
                live.annotation(LAST_APPLIED_ANNOTATION).and_then(|text| serde_json::from_str(text).ok());
            apply::merge(last.as_ref(), live, manifest)
        }
    };
    let annotations = &mut candidate.metadata.annotations;
    let applied = apply::comparable(manifest.clone()).to_value().to_string();
    annotations.insert(LAST_APPLIED_ANNOTATION.into(), applied);
    if let Some(Origin { directory, file, digest }) = origin {
        let owned = annotations.get(ORIGIN_DIRECTORY_ANNOTATION);
        // An object belongs to the directory that created it.
        if current.is_none() || owned.is_none_or(|owner| owner == directory) {
            annotations.insert(ORIGIN_DIRECTORY_ANNOTATION.into(), directory.clone());
            annotations.insert(ORIGIN_FILE_ANNOTATION.into(), file.clone());
            annotations.insert(ORIGIN_DIGEST_ANNOTATION.into(), digest.clone());
        }
    }
    candidate
}
